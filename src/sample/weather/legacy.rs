//! What only the revisions with a handshake have.

use std::time::Duration;

use serde_json::{Value, json};

use super::Reply;
use crate::sample::{
    clock,
    revision::Revision,
    server::{Request, Server},
    wire::{self, RpcError},
};

/// The log levels, least severe first.
pub(super) const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Agrees on a revision and introduces the server.
pub(super) fn initialize(server: &Server, request: &Request) -> Value {
    // A case is no story: nothing is said or waited for that does not belong to it.
    if server.args.case.is_none() {
        let version = server.args.build.version();
        wire::complain(&format!("[weather] {version} ready on stdio\n"));
        // Two pipes have no common order: a moment lets the line on stderr be seen first.
        clock::sleep(Duration::from_millis(2));
        server.pause(request, 310.0);
    }
    server.update(|state| {
        state.revision = Some(request.revision);
        state.capabilities = request.params["capabilities"].clone();
        state.log_level = 0;
    });
    json!({
        "protocolVersion": request.revision.date(),
        "capabilities": capabilities(server, request.revision),
        "serverInfo": info(server, request.revision),
        "instructions": "Look a place up with search_locations before asking for its forecast.",
    })
}

/// Returns what the server calls itself.
pub(super) fn info(server: &Server, revision: Revision) -> Value {
    let mut info = json!({"name": "weather", "version": server.args.build.version()});
    if revision >= Revision::June2025 {
        info["title"] = json!("Weather");
    }
    if revision >= Revision::November2025 {
        info["description"] = json!("Forecasts, alerts and trips for an imaginary weather office");
    }
    info
}

/// Returns what the server can do, by the rules of `revision`.
pub(super) fn capabilities(server: &Server, revision: Revision) -> Value {
    let extras = server.has_extras();
    let mut capabilities = json!({
        "tools": {"listChanged": extras},
        "resources": {"subscribe": true, "listChanged": extras},
    });
    if extras {
        capabilities["prompts"] = json!({"listChanged": true});
        capabilities["logging"] = json!({});
        if revision >= Revision::March2025 {
            capabilities["completions"] = json!({});
        }
        if revision == Revision::November2025 {
            let requests = json!({"tools": {"call": {}}});
            capabilities["tasks"] = json!({"list": {}, "cancel": {}, "requests": requests});
        }
    }
    if revision.is_modern() {
        capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
    }
    capabilities
}

/// Tells whether the client said, when it had to, that it can do `name`.
pub(super) fn client_can(server: &Server, request: &Request, name: &str) -> bool {
    if request.revision.is_modern() {
        return request.meta("io.modelcontextprotocol/clientCapabilities")[name].is_object();
    }
    server.update(|state| state.capabilities[name].is_object())
}

/// Sets the least severe level that is logged.
pub(super) fn set_level(server: &Server, request: &Request) -> Reply {
    let level = request.params["level"].as_str().and_then(rank);
    let level = level.ok_or_else(|| RpcError::new(-32602, "Unknown log level"))?;
    server.update(|state| state.log_level = level);
    Ok(json!({}))
}

fn rank(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}

/// Logs to the client, if the level is wanted; by request in the newest revision, else by session.
pub(super) fn log(server: &Server, request: &Request, level: &str, data: &Value) {
    let least = if request.revision.is_modern() {
        request.meta("io.modelcontextprotocol/logLevel").as_str().and_then(rank)
    } else {
        Some(server.update(|state| state.log_level))
    };
    if least.is_some_and(|least| rank(level) >= Some(least)) {
        let params = json!({"level": level, "logger": "weather", "data": data});
        server.notify("notifications/message", &params);
    }
}

/// Begins or ends the watch over a resource.
pub(super) fn watch(server: &Server, request: &Request, begin: bool) -> Reply {
    let uri = request.params["uri"].as_str().unwrap_or("").to_owned();
    if begin && !super::prompts::exists(&uri) {
        return Err(super::prompts::not_found(request, &uri));
    }
    server.update(|state| match begin {
        true => state.subscriptions.watched.insert(uri),
        false => state.subscriptions.watched.remove(&uri),
    });
    Ok(json!({}))
}
