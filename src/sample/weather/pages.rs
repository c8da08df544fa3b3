//! Lists in pages, with cursors that only their maker understands.

use serde_json::{Value, json};

use super::Reply;
use crate::sample::{
    server::{Request, Server},
    values::base64,
    wire::RpcError,
};

/// Cuts the page that the request asks for out of a list.
pub(super) fn cut(server: &Server, request: &Request, key: &str, all: Vec<Value>) -> Reply {
    let size = server.args.page_size.unwrap_or(usize::MAX).max(1);
    // No cursor is ever decoded: the one that was sent is looked for among those that exist.
    let cursor = |place: usize| base64(server.values.token(&format!("{key}:{place}")).as_bytes());
    let start = match &request.params["cursor"] {
        Value::Null => 0,
        // A misbehaviour that hands out pages of its own judges their cursors, too.
        _ if server.args.case.is_some() && server.args.page_size.is_none() => 0,
        sent => (size..all.len())
            .step_by(size)
            .find(|&place| sent.as_str() == Some(&cursor(place)))
            .ok_or_else(|| RpcError::new(-32602, "Invalid cursor"))?,
    };
    let end = start.saturating_add(size);
    let more = end < all.len();
    let mut result = json!({});
    result[key] = all.into_iter().skip(start).take(size).collect();
    if more {
        result["nextCursor"] = json!(cursor(end));
    }
    Ok(result)
}
