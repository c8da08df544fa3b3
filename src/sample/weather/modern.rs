//! Revision 2026-07-28: metadata in every request, marks on every result.

use serde_json::{Value, json};

use super::legacy;
use crate::sample::{
    revision::Revision,
    server::{Request, Server},
    wire::RpcError,
};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Tells whether a request carries metadata of its own, complete or not.
pub(super) fn has_envelope(request: &Request) -> bool {
    !request.meta(VERSION).is_null() || !request.meta(CAPABILITIES).is_null() || request.method == "server/discover"
}

/// Says what is wrong with the metadata of a request.
pub(super) fn check_envelope(request: &Request) -> Result<(), RpcError> {
    let missing = |key: &str| RpcError::new(-32602, format!("Missing or invalid _meta member: {key}"));
    let version = request.meta(VERSION).as_str().ok_or_else(|| missing(VERSION))?;
    if version != Revision::July2026.date() {
        let data = json!({"supported": [Revision::July2026.date()], "requested": version});
        return Err(RpcError::new(-32022, "Unsupported protocol version").with(data));
    }
    match request.meta(CAPABILITIES).is_object() {
        true => Ok(()),
        false => Err(missing(CAPABILITIES)),
    }
}

/// Tells whether a method of older revisions is gone.
pub(super) fn is_removed(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "tasks/list"
            | "tasks/result"
    )
}

/// Introduces the server to a client that did not shake hands.
pub(super) fn discover(server: &Server) -> Value {
    json!({
        "supportedVersions": [Revision::July2026.date()],
        "capabilities": legacy::capabilities(server, Revision::July2026),
        "instructions": "Look a place up with search_locations before asking for its forecast.",
    })
}

/// Adds the kind of result, how long it keeps, and who made it.
pub(super) fn finish(server: &Server, request: &Request, mut result: Value) -> Value {
    let fresh = [("resultType", json!("complete"))];
    let keeps = matches!(
        request.method.as_str(),
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    );
    let hints = [("ttlMs", json!(60_000)), ("cacheScope", json!("public"))];
    let Some(fields) = result.as_object_mut() else {
        return result;
    };
    for (name, value) in fresh.into_iter().chain(hints.into_iter().filter(|_| keeps)) {
        fields.entry(name).or_insert(value);
    }
    if !fields.get("_meta").is_some_and(Value::is_object) {
        fields.insert("_meta".to_owned(), json!({}));
    }
    result["_meta"]["io.modelcontextprotocol/serverInfo"] = legacy::info(server, Revision::July2026);
    result
}

/// Builds the refusal to do what needs a capability the client did not declare.
pub(super) fn needs(capability: &str) -> RpcError {
    RpcError::new(-32021, format!("Missing required client capability: {capability}"))
        .with(json!({"requiredCapabilities": {capability: {}}}))
}
