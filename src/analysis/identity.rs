//! Who spoke, and what was agreed on at the beginning: compared once, and never a reason to fail.

use super::exchanges::{Exchange, Recording};
use crate::protocol::json::Tree;
use crate::session::message::Outcome;

/// What the greeting of a session says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// An object of `protocolVersion`, `serverInfo`, `instructions`, `clientInfo` and `clientCapabilities`.
    pub identity: Vec<u8>,
    /// What the server says it can do, as a JSON object.
    pub capabilities: Vec<u8>,
}

/// Returns what the first answered greeting of a session says; `None` if there is none.
#[must_use]
pub fn greeting(recording: &Recording) -> Option<Greeting> {
    let answered = |exchange: &&Exchange| exchange.is_greeting() && exchange.outcome == Some(Outcome::Ok);
    let exchange = recording.exchanges.iter().find(answered)?;
    let result = Tree::parse(exchange.result.as_deref()?).ok()?;
    let params = exchange.params.as_deref().and_then(|params| Tree::parse(params).ok());
    let said = |pointer: &str| result.root().pointer(pointer).map(|node| node.raw().to_vec());
    let asked = |pointer: &str| params.as_ref()?.root().pointer(pointer).map(|node| node.raw().to_vec());
    let meta = |key: &str| format!("/_meta/io.modelcontextprotocol~1{key}");
    let members = [
        ("protocolVersion", said("/protocolVersion").or_else(|| asked(&meta("protocolVersion")))),
        ("supportedVersions", said("/supportedVersions")),
        ("serverInfo", said("/serverInfo").or_else(|| said(&meta("serverInfo")))),
        ("instructions", said("/instructions")),
        ("clientInfo", asked("/clientInfo").or_else(|| asked(&meta("clientInfo")))),
        ("clientCapabilities", asked("/capabilities").or_else(|| asked(&meta("clientCapabilities")))),
    ];
    let mut identity = b"{".to_vec();
    for (key, value) in members {
        if let Some(value) = value {
            if identity.len() > 1 {
                identity.push(b',');
            }
            identity.extend_from_slice(format!("\"{key}\":").as_bytes());
            identity.extend_from_slice(&value);
        }
    }
    identity.push(b'}');
    Some(Greeting { identity, capabilities: said("/capabilities").unwrap_or_else(|| b"{}".to_vec()) })
}
