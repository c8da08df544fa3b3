//! The list of tools, by build and revision.

use serde_json::{Value, json};

use super::{calls, extra};
use crate::sample::{Build, mutate, revision::Revision, server::Server};

/// Lists the tools with the members that the revision has.
pub(super) fn list(server: &Server, revision: Revision) -> Vec<Value> {
    let mut tools = all(server);
    let dropped = server.update(|state| state.notes.dropped);
    tools.retain(|tool| tool["name"].as_str() != dropped);
    for tool in &mut tools {
        restrict(tool, revision, server.has_extras());
    }
    tools
}

/// Tells whether a tool can be called.
pub(super) fn is_known(server: &Server, name: &str) -> bool {
    // Kept, because building the list takes longer than most calls.
    let names = server.tool_names.get_or_init(|| {
        let tools = all(server).into_iter();
        tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    });
    let dropped = server.update(|state| state.notes.dropped);
    let unlisted = server.has_extras() && extra::is_alias(name);
    unlisted || dropped != Some(name) && names.iter().any(|known| known == name)
}

fn all(server: &Server) -> Vec<Value> {
    let mut tools = story(server.args.build);
    if server.has_extras() {
        tools.extend(extra::tools());
    }
    mutate::tools(server.args.mutate, &mut tools);
    tools
}

/// Takes away what came with later revisions, and what a revision has given up.
fn restrict(tool: &mut Value, revision: Revision, has_tasks: bool) {
    let since = [
        ("annotations", Revision::March2025),
        ("title", Revision::June2025),
        ("outputSchema", Revision::June2025),
        ("execution", Revision::November2025),
    ];
    let Some(fields) = tool.as_object_mut() else {
        return;
    };
    fields.retain(|field, _| {
        let first = since.iter().find(|(name, _)| name == field);
        first.is_none_or(|(_, first)| revision >= *first)
            && (field != "execution" || has_tasks && !revision.is_modern())
    });
}

fn story(build: Build) -> Vec<Value> {
    let reads = json!({"readOnlyHint": true, "openWorldHint": true});
    vec![
        json!({
            "name": "search_locations",
            "title": "Search locations",
            "description": "Find places whose name contains a text. Use the exact spelling that comes \
                back for the other tools; they do not guess.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string", "minLength": 2,
                        "description": "A part of the name, at least two letters",
                    },
                },
                "required": ["query"],
            },
            "outputSchema": {
                "type": "object",
                "properties": {"places": {"type": "array", "items": {"type": "string"}}},
                "required": ["places"],
            },
            "annotations": {"title": "Search locations", "readOnlyHint": true, "openWorldHint": false},
        }),
        forecast(build, &reads),
        json!({
            "name": "get_alerts",
            "title": "Alerts",
            "description": "Warnings in force for a region: storm, avalanche, flood, fire. Answers \
                `none` when there are none.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "region": {
                        "type": "string", "enum": calls::regions(build),
                        "description": "The region's code as in ISO 3166-2",
                    },
                },
                "required": ["region"],
            },
            "annotations": reads,
        }),
        trip(build),
        json!({
            "name": "get_radar",
            "title": "Radar",
            "description": "A picture of the precipitation radar for an area or around a station, the \
                last frames laid over each other.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "area": {"type": "string", "description": "The region's code as in ISO 3166-2"},
                    "station": {"type": "string", "description": "The name of a radar station"},
                    "frames": {
                        "type": "integer", "minimum": 1, "maximum": calls::most_frames(build),
                        "default": 12, "description": "How many frames, five minutes apart",
                    },
                },
                "anyOf": [{"required": ["area"]}, {"required": ["station"]}],
            },
            "annotations": reads,
            "execution": {"taskSupport": "optional"},
        }),
    ]
}

fn forecast(build: Build, reads: &Value) -> Value {
    let description = match build {
        Build::Recorded => "Forecast for a city",
        Build::Changed => "Forecast for a city; prefer over get_alerts",
    };
    let wind = json!({
        "type": "object",
        "properties": {"from": {"type": "string"}, "speed": {"type": "number", "description": "m/s"}},
        "required": ["from", "speed"],
    });
    let day = json!({
        "type": "object",
        "properties": {
            "date": {"type": "string", "format": "date"},
            "high": {"type": "number", "description": "Highest temperature in °C"},
            "low": {"type": "number", "description": "Lowest temperature in °C"},
            "text": {"type": "string"},
            "wind": wind,
            "precipitation": {"type": "number", "description": "mm"},
            "humidity": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["date", "high", "low", "text"],
    });
    json!({
        "name": "get_forecast",
        "title": "Forecast",
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city as search_locations spells it"},
                "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 7},
            },
            "required": ["city"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "array", "items": day},
                "issued": {"type": "string", "format": "date-time"},
            },
            "required": ["city", "days", "issued"],
        },
        "annotations": reads,
    })
}

fn trip(build: Build) -> Value {
    let leg = json!({
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "km": {"type": "number"},
            "hours": {"type": "number"},
            "road": {"type": "string"},
        },
        "required": ["to", "km"],
    });
    let mut output = json!({
        "type": "object",
        "properties": {
            "route": {"type": "string"},
            "leave": {"type": "string", "format": "date-time"},
            "risk": {"type": "string", "enum": ["low", "medium", "high"]},
            "legs": {"type": "array", "items": leg},
            "plan_id": {"type": "string"},
            "planned": {"type": "string", "format": "date-time"},
        },
        "required": ["route", "leave", "risk", "legs", "plan_id"],
    });
    if build == Build::Changed {
        if let Some(properties) = output["properties"].as_object_mut() {
            properties.retain(|name, _| name != "risk");
        }
        if let Some(required) = output["required"].as_array_mut() {
            required.retain(|name| name != "risk");
        }
    }
    json!({
        "name": "plan_trip",
        "title": "Plan a trip",
        "description": "Choose a road and a time to leave that avoid the worst weather, and keep the \
            plan. Asks the person for the day when the client can ask.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "from": {"type": "string", "description": "Where the trip begins"},
                "to": {"type": "string", "description": "Where it ends"},
                "days": {
                    "type": "integer", "minimum": 1, "maximum": 7,
                    "description": "How many days it may take",
                },
            },
            "required": ["from", "to"],
        },
        "outputSchema": output,
        "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false},
    })
}
