//! The scripted client: it keeps what it sent, and waits for what it reads.

use crate::support::{Client, PATIENCE};
use memchr::memmem;
use rustix::process::Signal;

/// A client at work, in front of a server or of the tap.
pub(super) struct Peer {
    pub(super) client: Client,
    /// Every byte that was written, or would have been if the server had lived.
    pub(super) sent: Vec<u8>,
    /// True if the tap stands between.
    pub(super) tapped: bool,
}

impl Peer {
    pub(super) fn new(client: Client, tapped: bool) -> Self {
        Self { client, sent: Vec::new(), tapped }
    }

    /// Writes bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.sent.extend_from_slice(bytes);
        self.client.write(bytes);
    }

    /// Writes a line.
    pub(super) fn send(&mut self, line: &str) {
        self.raw(format!("{line}\n").as_bytes());
    }

    /// Sends a request; the id is JSON.
    pub(super) fn request(&mut self, id: &str, method: &str, params: &str) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
    }

    /// Sends a notification.
    pub(super) fn notify(&mut self, method: &str, params: &str) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
    }

    /// Answers a question of the server.
    pub(super) fn reply(&mut self, id: &str, result: &str) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }

    /// Calls a tool.
    pub(super) fn call(&mut self, id: &str, tool: &str, arguments: &str) {
        self.request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
    }

    /// Calls `echo` with a text of that many bytes.
    pub(super) fn big(&mut self, id: &str, tool: &str, bytes: usize) {
        self.call(id, tool, &format!(r#"{{"text":"{}"}}"#, "x".repeat(bytes)));
    }

    /// Begins the handshake.
    pub(super) fn greet(&mut self, id: &str, revision: &str) {
        let client = r#""clientInfo":{"name":"probe","version":"1"}"#;
        let params = format!(r#"{{"protocolVersion":"{revision}","capabilities":{{}},{client}}}"#);
        self.request(id, "initialize", &params);
    }

    /// Shakes hands.
    pub(super) fn handshake(&mut self, revision: &str) {
        self.greet("0", revision);
        self.answer("0");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Waits for the whole line of an answer with that id, however it is spaced.
    pub(super) fn answer(&mut self, id: &str) {
        let spellings = [r#""id":ID,"result":"#, r#""id":ID,"error":"#, "\"id\": ID,\n"];
        let spellings = spellings.map(|spelling| spelling.replace("ID", id));
        self.wait(&format!("an answer to {id}"), |bytes| {
            spellings.iter().any(|spelling| {
                let at = memmem::find(bytes, spelling.as_bytes());
                at.is_some_and(|at| memchr::memchr(b'\n', bytes.get(at + 1..).unwrap_or_default()).is_some())
            })
        });
    }

    /// Waits until a text was read that often.
    pub(super) fn times(&mut self, count: usize, text: &str) {
        self.wait(text, |bytes| memmem::find_iter(bytes, text.as_bytes()).count() >= count);
    }

    /// Waits until a text was read.
    pub(super) fn until(&mut self, text: &str) {
        self.times(1, text);
    }

    fn wait(&self, what: &str, done: impl Fn(&[u8]) -> bool) {
        // A test machine may be slow; megabytes through a debug build are slower still.
        let found = self.client.stdout.wait(3 * PATIENCE, |bytes, ended| done(bytes) || ended);
        let read = self.client.stdout.bytes();
        let errors = String::from_utf8_lossy(&self.client.stderr.bytes()).into_owned();
        let shown = String::from_utf8_lossy(read.get(..2000).unwrap_or(&read)).into_owned();
        assert!(found && done(&read), "tapped: {}: no {what} in {shown}\n{errors}", self.tapped);
    }

    /// Waits until the server's stdout has ended.
    pub(super) fn stdout_ends(&mut self) {
        assert!(self.client.stdout.wait(PATIENCE, |_, ended| ended), "stdout is still open");
    }

    /// Closes the server's stdin.
    pub(super) fn close(&mut self) {
        self.client.close();
    }

    /// Sends a signal to the server, or to the tap in its place.
    pub(super) fn signal(&mut self, signal: Signal) {
        self.client.signal(signal);
    }

    /// Waits until the process has ended; false if it did not in that time.
    pub(super) fn ends_within(&mut self, limit: std::time::Duration) -> bool {
        let until = std::time::Instant::now() + limit;
        while std::time::Instant::now() < until {
            if self.client.child.try_wait().expect("the child is ours").is_some() {
                return true;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        false
    }
}
