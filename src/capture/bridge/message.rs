//! What a bridge must know of a line of its client. Pure.

use crate::protocol::json::{Node, Tree};
use crate::protocol::method::is_cancellation;
use crate::protocol::revision::is_modern;

/// What a line says, as far as HTTP has to be told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// The id of a request, as it is written.
    pub(super) id: Option<String>,
    /// The method.
    pub(super) method: Option<String>,
    /// What the method is about: a tool, a prompt or a resource.
    pub(super) name: Option<String>,
    /// The revision that a request says by itself.
    pub(super) revision: Option<String>,
    /// The request that a cancellation gives up, as its id is written.
    pub(super) cancels: Option<String>,
    /// The revision that an answer to `initialize` has settled.
    pub(super) settled: Option<String>,
}

impl Message {
    /// Reads a line; one that is not JSON says nothing.
    pub(super) fn read(line: &[u8]) -> Self {
        let Ok(tree) = Tree::parse(line) else { return Self::default() };
        let root = tree.root();
        let text = |node: Option<Node<'_, '_>>| node.and_then(Node::as_text).map(std::borrow::Cow::into_owned);
        let raw = |node: Option<Node<'_, '_>>| node.map(|node| String::from_utf8_lossy(node.raw()).into_owned());
        let params = root.get("params");
        let of_params = |key: &str| params.and_then(|params| params.get(key));
        let method = text(root.get("method"));
        let meta = of_params("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"));
        Self {
            id: raw(root.get("id")),
            name: text(of_params("name")).or_else(|| text(of_params("uri"))),
            revision: text(meta),
            cancels: method.as_deref().filter(|m| is_cancellation(m)).and_then(|_| raw(of_params("requestId"))),
            settled: text(root.get("result").and_then(|result| result.get("protocolVersion"))),
            method,
        }
    }

    /// Returns true if somebody waits for an answer.
    pub(super) fn is_request(&self) -> bool {
        self.id.is_some() && self.method.is_some()
    }

    /// Returns true if this answers the request of that id.
    pub(super) fn answers(&self, id: &str) -> bool {
        self.method.is_none() && self.id.as_deref() == Some(id)
    }

    /// Returns true if the message belongs to a revision without sessions.
    pub(super) fn is_modern(&self) -> bool {
        self.revision.as_deref().is_some_and(is_modern)
    }
}

/// Returns the answer to a request that the server has not answered.
pub(super) fn error(id: &str, why: &str) -> Vec<u8> {
    let text = serde_json::Value::from(why);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":{text}}}}}"#).into_bytes()
}

/// Returns a message as one line: a line end between its members says nothing.
pub(super) fn one_line(text: &[u8]) -> Vec<u8> {
    let mut line: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    line.push(b'\n');
    line
}

/// Returns the time, in ms, that an event asks to wait before its stream is asked for again.
pub(super) fn retry_of(event: &[u8]) -> Option<u64> {
    let lines = event.split(|byte| matches!(byte, b'\n' | b'\r'));
    let value = lines.filter_map(|line| line.strip_prefix(b"retry:")).next_back()?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_http_must_be_told() {
        let call = Message::read(
            br#"{"id":"a","method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        );
        assert_eq!((call.id.as_deref(), call.name.as_deref()), (Some("\"a\""), Some("t")));
        assert!(call.is_request() && call.is_modern());
        let cancel = Message::read(br#"{"method":"notifications/cancelled","params":{"requestId":7}}"#);
        assert_eq!(cancel.cancels.as_deref(), Some("7"));
        assert!(Message::read(br#"{"id":7,"result":{}}"#).answers("7"));
    }

    #[test]
    fn lines_and_waits() {
        assert_eq!(one_line(b"{\r\n \"a\":1\n}"), b"{ \"a\":1}\n");
        assert_eq!((retry_of(b"id: 1\nretry: 20\n\n"), retry_of(b"data: x\n\n")), (Some(20), None));
        assert_eq!(error("7", "no \"x\""), br#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"no \"x\""}}"#);
    }
}
