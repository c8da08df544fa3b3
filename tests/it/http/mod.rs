//! Recording over HTTP: real sockets on both sides, byte by byte.

mod bodies;
mod both;
mod bridge;
mod client;
mod listener;
mod secure;
mod sessions;
mod streams;
mod upstream;

use crate::support::{Client, PATIENCE, TestEnv};
pub(crate) use client::Http;
pub(crate) use upstream::Upstream;

/// A tap in front of an upstream.
pub(crate) struct Tap {
    pub(crate) process: Client,
    pub(crate) port: u16,
}

impl Tap {
    /// Starts `record --upstream` and waits until it listens.
    pub(crate) fn start(env: &TestEnv, upstream: &Upstream, args: &[&str]) -> Self {
        Self::at(env, &upstream.url("/mcp"), args)
    }

    pub(crate) fn at(env: &TestEnv, url: &str, args: &[&str]) -> Self {
        let mut words = vec!["record", "--upstream", url, "--listen", "127.0.0.1:0"];
        words.extend(args);
        let process = env.client(&words);
        let said = process.stderr.wait(PATIENCE, |bytes, ended| ended || crate::support::memmem(bytes, b"credentials"));
        let text = String::from_utf8_lossy(&process.stderr.bytes()).into_owned();
        assert!(said && text.contains("url for the client"), "{text}");
        let port = text.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()?.parse().ok());
        Self { process, port: port.unwrap_or_else(|| panic!("no port in {text}")) }
    }

    /// Waits until it has said this.
    pub(crate) fn says(&self, text: &str) {
        let said = self.process.stderr.wait(PATIENCE, |bytes, _| crate::support::memmem(bytes, text.as_bytes()));
        assert!(said, "no `{text}` in {}", String::from_utf8_lossy(&self.process.stderr.bytes()));
    }

    /// Ends it as a person does.
    pub(crate) fn stop(self) -> String {
        self.process.signal(rustix::process::Signal::INT);
        let output = self.process.wait();
        assert_eq!(output.code(), 0, "{}", output.errors());
        output.errors()
    }
}

/// A JSON-RPC request of revision 2025-11-25.
pub(crate) fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// An `initialize` of a client of that name.
pub(crate) fn initialize(name: &str) -> String {
    let params = format!(
        r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"{name}","version":"1"}}}}"#
    );
    request(0, "initialize", &params)
}

/// An answer to it.
pub(crate) const WELCOME: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"weather","version":"1"}}}"#;

/// A request of revision 2026-07-28.
pub(crate) fn modern(id: u64, method: &str, client: &str) -> String {
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"{client}","version":"1"}}}}"#
    );
    request(id, method, &format!(r#"{{"name":"t","arguments":{{}},"_meta":{meta}}}"#))
}

/// The sessions of the store, newest first.
pub(crate) fn sessions(env: &TestEnv) -> Vec<serde_json::Value> {
    env.tap(&["sessions", "--all", "--json"]).ok().json()["sessions"].as_array().unwrap().clone()
}

/// The messages of a session.
pub(crate) fn messages(env: &TestEnv, session: &serde_json::Value) -> Vec<serde_json::Value> {
    let id = session["id"].as_str().unwrap();
    env.tap(&["inspect", id, "--json"]).ok().json()["messages"].as_array().unwrap().clone()
}

/// The HTTP exchanges of a session.
pub(crate) fn exchanges(env: &TestEnv, session: &serde_json::Value) -> Vec<serde_json::Value> {
    let id = session["id"].as_str().unwrap();
    env.tap(&["inspect", id, "--http", "--json"]).ok().json()["exchanges"].as_array().unwrap().clone()
}
