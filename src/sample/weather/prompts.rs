//! Prompts, resources and completion.

use serde_json::{Value, json};

use super::{Reply, places};
use crate::sample::{
    revision::Revision,
    server::{Request, Server},
    wire::RpcError,
};

const STATIONS: &str = "weather://stations";
const FORECAST: &str = "weather://forecast/";

/// Lists the one resource.
pub(super) fn resources(server: &Server, revision: Revision) -> Vec<Value> {
    let mut stations = json!({
        "uri": STATIONS,
        "name": "stations",
        "description": "The places there are",
        "mimeType": "application/json",
    });
    if revision >= Revision::June2025 {
        stations["title"] = json!("Stations");
        stations["annotations"] = json!({"lastModified": server.values.started()});
    }
    vec![stations]
}

/// Lists the one template.
pub(super) fn templates(revision: Revision) -> Vec<Value> {
    let mut template = json!({
        "uriTemplate": format!("{FORECAST}{{city}}"),
        "name": "forecast",
        "description": "The forecast of a city as a resource",
        "mimeType": "application/json",
    });
    if revision >= Revision::June2025 {
        template["title"] = json!("Forecast");
    }
    vec![template]
}

/// Tells whether a resource exists.
pub(super) fn exists(uri: &str) -> bool {
    let city = uri.strip_prefix(FORECAST);
    uri == STATIONS || city.is_some_and(|city| places::known(city).is_some())
}

/// Builds the error of the revision in force for a resource that does not exist.
pub(super) fn not_found(request: &Request, uri: &str) -> RpcError {
    let code = if request.revision.is_modern() { -32602 } else { -32002 };
    RpcError::new(code, "Resource not found").with(json!({"uri": uri}))
}

/// Reads a resource.
pub(super) fn read(server: &Server, request: &Request) -> Reply {
    let uri = request.params["uri"].as_str().unwrap_or("");
    if !exists(uri) {
        return Err(not_found(request, uri));
    }
    let body = match uri.strip_prefix(FORECAST).and_then(places::known) {
        Some(city) => json!({"city": city, "today": places::day(server.args.build, city, 0)}),
        None => json!({"stations": places::PLACES}),
    };
    let contents = json!({"uri": uri, "mimeType": "application/json", "text": body.to_string()});
    Ok(json!({"contents": [contents]}))
}

/// Lists the one prompt.
pub(super) fn prompts(revision: Revision) -> Vec<Value> {
    let mut prompt = json!({
        "name": "trip_briefing",
        "description": "Brief a traveller about the weather on the way",
        "arguments": [
            {"name": "from", "description": "Where the trip begins", "required": true},
            {"name": "to", "description": "Where it ends", "required": true},
        ],
    });
    if revision >= Revision::June2025 {
        prompt["title"] = json!("Trip briefing");
    }
    vec![prompt]
}

/// Fills the prompt in.
pub(super) fn get(request: &Request) -> Reply {
    if request.name() != "trip_briefing" {
        return Err(RpcError::new(-32602, format!("Unknown prompt: {}", request.name())));
    }
    let [Some(from), Some(to)] = ["from", "to"].map(|name| request.argument(name).as_str()) else {
        return Err(RpcError::new(-32602, "Missing argument: from and to are required"));
    };
    let text = format!("Plan a trip from {from} to {to} and warn me of the worst hour.");
    Ok(json!({
        "description": "Brief a traveller about the weather on the way",
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}

/// Completes the name of a place.
pub(super) fn complete(request: &Request) -> Reply {
    let reference = &request.params["ref"];
    let known = match reference["type"].as_str() {
        Some("ref/prompt") => reference["name"] == "trip_briefing",
        Some("ref/resource") => reference["uri"].as_str().is_some_and(|uri| uri.starts_with(FORECAST)),
        _ => false,
    };
    if !known {
        return Err(RpcError::new(-32602, "Unknown reference"));
    }
    let begun = request.params["argument"]["value"].as_str().unwrap_or("").to_lowercase();
    let values: Vec<&str> =
        places::PLACES.into_iter().filter(|place| place.to_lowercase().starts_with(&begun)).collect();
    Ok(json!({"completion": {"total": values.len(), "hasMore": false, "values": values}}))
}
