//! Bytes in and out: the only place of the sample server that writes stdout or stderr.
#![expect(clippy::disallowed_methods, reason = "the sample server's own stdout is the protocol")]

use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json, value::RawValue};

/// Writes to stdout, one whole message at a time.
#[derive(Debug, Default)]
pub(crate) struct Output {
    dribble: AtomicBool,
    closed: AtomicBool,
}

impl Output {
    /// Writes `bytes` and flushes; after the reader has gone nothing more is written.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        // Looked up under the lock: a message must not slip out after `close`.
        if self.closed.load(Ordering::SeqCst) {
            return;
        }
        let piece = if self.dribble.load(Ordering::SeqCst) { 1 } else { bytes.len().max(1) };
        let written = bytes.chunks(piece).try_for_each(|chunk| stdout.write_all(chunk).and_then(|()| stdout.flush()));
        if written.is_err() {
            self.closed.store(true, Ordering::SeqCst);
        }
    }

    /// Writes `bytes` and nothing ever after.
    pub(crate) fn write_last(&self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        if !self.closed.swap(true, Ordering::SeqCst) {
            let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
        }
    }

    /// Writes every byte by itself from now on.
    pub(crate) fn dribble(&self) {
        self.dribble.store(true, Ordering::SeqCst);
    }

    /// Ends stdout for whoever reads it, though the process lives on.
    pub(crate) fn close(&self) {
        let _lock = io::stdout().lock();
        self.closed.store(true, Ordering::SeqCst);
        // Descriptor 1 itself stays taken, so that no later file can become stdout by accident.
        if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(&null);
        }
    }
}

/// Writes `text` to stderr.
pub(crate) fn complain(text: &str) {
    complain_bytes(text.as_bytes());
}

/// Writes `bytes` to stderr; a reader that has gone is no reason to stop.
pub(crate) fn complain_bytes(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Ends stderr for whoever reads it.
pub(crate) fn close_stderr() {
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Holds a JSON-RPC error.
#[derive(Debug, Clone)]
pub(crate) struct RpcError {
    /// The number.
    pub(crate) code: i32,
    /// The sentence.
    pub(crate) message: String,
    /// What else there is to say.
    pub(crate) data: Option<Value>,
}

impl RpcError {
    /// Creates an error without data.
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data.
    pub(crate) fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// One message from the client, with its id exactly as it was spelled.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    /// Wants an answer.
    Request { id: String, method: String, params: Value },
    /// Wants none.
    Notification { method: String, params: Value },
    /// Answers a question of the server; the value is the result, or null for an error.
    Response { id: String, result: Value },
    /// Is JSON, but no message.
    Unusable,
}

/// What one line turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Line {
    /// Nothing but white space.
    Blank,
    /// Not JSON.
    Garbage,
    /// A message.
    One(Incoming),
    /// An array of messages.
    Batch(Vec<Incoming>),
}

/// Reads one line; white space around it and a byte order mark are tolerated.
pub(crate) fn parse(line: &[u8]) -> Line {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.is_empty() {
        return Line::Blank;
    }
    // `RawValue` is skipped over without recursion, so depth cannot hurt, and keeps the id's spelling.
    if let Ok(members) = serde_json::from_slice::<Vec<&RawValue>>(line) {
        return Line::Batch(members.into_iter().map(|member| message(member.get())).collect());
    }
    match serde_json::from_slice::<&RawValue>(line) {
        Ok(raw) => Line::One(message(raw.get())),
        Err(_) => Line::Garbage,
    }
}

fn message(text: &str) -> Incoming {
    let Ok(fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else {
        return Incoming::Unusable;
    };
    // What is too deep for a tree counts as absent: the tool then misses its argument and says so.
    let value =
        |name: &str| fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
    let id = fields.get("id").map(|raw| raw.get().to_owned());
    match (value("method"), id) {
        (Value::String(method), Some(id)) if id != "null" => Incoming::Request { id, method, params: value("params") },
        (Value::String(method), _) => Incoming::Notification { method, params: value("params") },
        (Value::Null, Some(id)) => Incoming::Response { id, result: value("result") },
        _ => Incoming::Unusable,
    }
}

/// Builds the answer to `id` from the JSON text of a result.
pub(crate) fn result(id: &str, result: &[u8]) -> Vec<u8> {
    let mut line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#).into_bytes();
    line.extend_from_slice(result);
    line.push(b'}');
    line
}

/// Builds the answer to `id` that is an error.
pub(crate) fn error(id: &str, error: &RpcError) -> Vec<u8> {
    let mut body = json!({"code": error.code, "message": error.message});
    if let Some(data) = &error.data {
        body["data"] = data.clone();
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{body}}}"#).into_bytes()
}

/// Builds a notification; null parameters are left out.
pub(crate) fn notification(method: &str, params: &Value) -> Vec<u8> {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if !params.is_null() {
        message["params"] = params.clone();
    }
    message.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{Incoming, Line, parse};

    fn id(line: &str) -> String {
        match parse(line.as_bytes()) {
            Line::One(Incoming::Request { id, .. }) => id,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn ids_keep_their_spelling() {
        for spelling in ["-0", "1.0", "1e2", "1180591620717411303424", r#""""#, r#""\u0000😀""#] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{spelling},"method":"ping"}}"#);
            assert_eq!(id(&line), spelling);
        }
    }

    #[test]
    fn odd_lines_are_named_and_never_panic() {
        assert_eq!(parse(b" \t\r"), Line::Blank);
        assert_eq!(parse(b"\xff\xfe"), Line::Garbage);
        assert_eq!(parse(br#"{"id":3,"method":"ping"}{"id":4}"#), Line::Garbage);
        assert_eq!(parse(b"123"), Line::One(Incoming::Unusable));
        assert_eq!(parse(b"[]"), Line::Batch(Vec::new()));
        assert_eq!(parse(b"[1]"), Line::Batch(vec![Incoming::Unusable]));
        assert_eq!(id("\u{feff}{\"id\":1,\"method\":\"ping\",\"params\":{\"t\":\"\\ud83d\"}}\r"), "1");
        assert!(matches!(parse(br#"{"id":null,"method":"ping"}"#), Line::One(Incoming::Notification { .. })));
    }

    #[test]
    fn depth_is_no_danger() {
        let deep =
            format!(r#"{{"id":1,"method":"tools/call","params":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(id(&deep), "1");
        assert_eq!(parse("[".repeat(200_000).as_bytes()), Line::Garbage);
    }
}
