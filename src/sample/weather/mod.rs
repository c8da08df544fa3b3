//! What the weather server answers, revision by revision.
//!
//! - `legacy`: the handshake and what only the older revisions have; `modern`: the envelope of 2026-07-28
//! - `tools`: the list; `calls`, `trip`, `extra`: the calls; `places`, `picture`: their data
//! - `prompts`: prompts, resources, completion; `pages`: cursors
//! - `tasks`, `subscriptions`: both ways of each

mod calls;
mod extra;
mod legacy;
mod modern;
mod pages;
mod picture;
mod places;
mod prompts;
pub(super) mod subscriptions;
pub(super) mod tasks;
mod tools;
mod trip;

pub(super) use extra::question;

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Build,
    revision::Revision,
    server::{Request, Server},
    wire::RpcError,
};

/// What a request is answered with.
pub(super) type Reply = Result<Value, RpcError>;

/// Finds the revision in force for a request, or says why there is none.
pub(super) fn revision_of(server: &Server, request: &Request) -> Result<Revision, RpcError> {
    if modern::has_envelope(request) {
        return modern::check_envelope(request).map(|()| Revision::July2026);
    }
    if !server.quirk.modern_only {
        if request.method == "initialize" {
            let wanted = request.params["protocolVersion"].as_str().unwrap_or("");
            return Ok(Revision::negotiate(wanted));
        }
        if let Some(revision) = server.update(|state| state.revision) {
            return Ok(revision);
        }
        if request.method == "ping" {
            return Ok(Revision::November2025);
        }
    }
    Err(if modern::is_removed(&request.method) {
        no_method(&request.method)
    } else {
        RpcError::new(-32602, "Missing _meta: this server needs initialize, or metadata in every request")
    })
}

/// Tells whether a request is worth a worker of its own.
pub(super) fn takes_time(request: &Request) -> bool {
    match request.method.as_str() {
        "tools/call" => !extra::is_instant(request.name()),
        "tasks/result" => true,
        _ => false,
    }
}

/// Tells whether a cancelled request is answered all the same: the fault of the recorded build's radar.
pub(super) fn answers_late(server: &Server, request: &Request) -> bool {
    server.quirk.answers_cancelled
        || server.args.build == Build::Recorded && request.method == "tools/call" && request.name() == "get_radar"
}

/// Answers a request; `None` if the answer comes another time or never.
pub(super) fn reply(server: &Arc<Server>, request: &Request) -> Option<Reply> {
    let modern = request.revision.is_modern();
    if request.method == "subscriptions/listen" && modern {
        return subscriptions::listen(server, request).map(Err);
    }
    let reply = if modern && modern::is_removed(&request.method) {
        Err(no_method(&request.method))
    } else {
        route(server, request)
    };
    Some(reply.map(|result| if modern { modern::finish(server, request, result) } else { result }))
}

fn route(server: &Arc<Server>, request: &Request) -> Reply {
    match request.method.as_str() {
        "initialize" => Ok(legacy::initialize(server, request)),
        "ping" => Ok(json!({})),
        "server/discover" if request.revision.is_modern() => Ok(modern::discover(server)),
        "tools/list" => {
            // The four milliseconds of the story.
            server.pause(request, 3.0);
            pages::cut(server, request, "tools", tools::list(server, request.revision))
        }
        "tools/call" => call(server, request),
        "logging/setLevel" => legacy::set_level(server, request),
        "resources/subscribe" => legacy::watch(server, request, true),
        "resources/unsubscribe" => legacy::watch(server, request, false),
        "resources/list" => pages::cut(server, request, "resources", prompts::resources(server, request.revision)),
        "resources/templates/list" => {
            let templates = prompts::templates(request.revision);
            pages::cut(server, request, "resourceTemplates", templates)
        }
        "resources/read" => prompts::read(server, request),
        "prompts/list" => pages::cut(server, request, "prompts", prompts::prompts(request.revision)),
        "prompts/get" => prompts::get(request),
        "completion/complete" => prompts::complete(request),
        method if method.starts_with("tasks/") => tasks::reply(server, request),
        method => Err(no_method(method)),
    }
}

fn call(server: &Arc<Server>, request: &Request) -> Reply {
    if !tools::is_known(server, request.name()) {
        return Err(RpcError::new(-32602, format!("Unknown tool: {}", request.name())));
    }
    match tasks::wanted(server, request) {
        true => Ok(tasks::create(server, request)),
        false => perform(server, request),
    }
}

/// Runs a tool, without regard to tasks.
pub(super) fn perform(server: &Arc<Server>, request: &Request) -> Reply {
    match request.name() {
        "search_locations" => Ok(calls::search_locations(server, request)),
        "get_forecast" => Ok(calls::get_forecast(server, request)),
        "get_alerts" => Ok(calls::get_alerts(server, request)),
        "get_radar" => Ok(calls::get_radar(server, request)),
        "plan_trip" => trip::plan_trip(server, request),
        _ => extra::perform(server, request),
    }
}

fn no_method(method: &str) -> RpcError {
    RpcError::new(-32601, format!("Method not found: {method}"))
}

/// Builds a tool result of one text.
pub(super) fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

/// Builds a tool result that says what went wrong.
pub(super) fn tool_error(message: impl Into<String>) -> Value {
    let mut result = text(message);
    result["isError"] = json!(true);
    result
}

/// Builds a tool result that says the same as text and, where the revision has it, as structure.
pub(super) fn structured(revision: Revision, value: Value) -> Value {
    let mut result = text(value.to_string());
    if revision >= Revision::June2025 {
        result["structuredContent"] = value;
    }
    result
}

/// Sends progress, if the request asked for it; the message where the revision has one.
pub(super) fn progress(server: &Server, request: &Request, done: u64, total: u64, message: &str) {
    let token = request.meta("progressToken");
    if token.is_null() || server.is_cancelled(request) {
        return;
    }
    let mut params = json!({"progressToken": token, "progress": done, "total": total});
    if request.revision >= Revision::March2025 {
        params["message"] = json!(message);
    }
    server.notify("notifications/progress", &params);
}
