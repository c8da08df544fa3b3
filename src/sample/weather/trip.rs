//! plan_trip: progress, a question to the person, a result that breaks its own schema.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Reply, legacy, places, progress, structured, tool_error};
use crate::sample::{
    Build, clock,
    revision::Revision,
    server::{Request, Server},
    wire::{self, RpcError},
};

const QUESTION: &str = "Which day do you leave?";
const KEY: &str = "departure";

/// Plans a trip; asks for the day in the way of the revision in force.
pub(super) fn plan_trip(server: &Server, request: &Request) -> Reply {
    let [from, to] = ["from", "to"].map(|name| request.argument(name).as_str().unwrap_or(""));
    for place in [from, to] {
        if places::known(place).is_none() {
            return Ok(tool_error(format!("unknown place: {place}")));
        }
    }
    let can_ask = legacy::client_can(server, request, "elicitation");
    let answered = request.revision.is_modern() && !request.params["inputResponses"].is_null();
    if !answered {
        server.pause(request, 52.0);
        progress(server, request, 1, 3, &format!("forecast for {from}"));
        server.pause(request, 8.0);
    }
    let answer = if answered {
        check_state(server, request)?;
        Some(request.params["inputResponses"][KEY].clone())
    } else if can_ask && request.revision.is_modern() {
        return Ok(ask_later(server, request));
    } else if can_ask && request.revision >= Revision::June2025 {
        server.ask(Some(request), "elicitation/create", &question(request.revision))
    } else {
        Some(json!({"action": "accept", "content": {"day": "2026-12-04"}}))
    };
    let answer = answer.unwrap_or(Value::Null);
    let Some(day) = answer["content"]["day"].as_str().filter(|_| answer["action"] == "accept") else {
        return Ok(tool_error("no trip without a day to leave"));
    };
    server.pause(request, 331.0);
    progress(server, request, 2, 3, &format!("forecast for {to}"));
    server.pause(request, 703.0);
    wire::complain("[plan] 2 forecasts in 702 ms\n");
    // Two pipes have no common order: a moment lets the line on stderr be seen first.
    clock::sleep(Duration::from_millis(2));
    server.pause(request, 5.0);
    progress(server, request, 3, 3, "choosing a route");
    server.pause(request, 330.0);
    Ok(structured(request.revision, route(server, request, day)))
}

fn question(revision: Revision) -> Value {
    let day = json!({"type": "string", "title": "Day", "format": "date"});
    let schema = json!({"type": "object", "properties": {"day": day}, "required": ["day"]});
    let mut question = json!({"message": QUESTION, "requestedSchema": schema});
    if revision >= Revision::November2025 {
        question["mode"] = json!("form");
    }
    question
}

fn ask_later(server: &Server, request: &Request) -> Value {
    let question = json!({"method": "elicitation/create", "params": question(request.revision)});
    json!({
        "resultType": "input_required",
        "inputRequests": {KEY: question},
        "requestState": state_of(server, request),
    })
}

/// Returns the state that goes with these arguments, in this process and no other.
fn state_of(server: &Server, request: &Request) -> String {
    server.values.token(&format!("state:{}", request.params["arguments"]))
}

fn check_state(server: &Server, request: &Request) -> Result<(), RpcError> {
    match request.params["requestState"].as_str() == Some(&state_of(server, request)) {
        true => Ok(()),
        false => Err(RpcError::new(-32602, "requestState is not one of this server, or not of this call")),
    }
}

fn route(server: &Server, request: &Request, day: &str) -> Value {
    let to = request.argument("to").as_str().unwrap_or("");
    let mut route = json!({"route": "RV7", "leave": format!("{day}T08:00:00+01:00")});
    if server.args.build == Build::Recorded {
        route["risk"] = json!("low");
    }
    // The first distance is text although the schema wants a number: a fault to be found by `lint`.
    route["legs"] = json!([
        {"to": "Geilo", "km": "241", "hours": 4.5, "road": "RV7 over Hardangervidda"},
        {"to": "Hønefoss", "km": 168, "hours": 2.5, "road": "RV7 through Hallingdal"},
        {"to": to, "km": 58, "hours": 1, "road": "E16"},
    ]);
    route["plan_id"] = json!(server.values.uuid(&format!("plan:{}", request.id)));
    route["planned"] = json!(server.values.now());
    route
}
