//! Session files for the tests: from captures in a simpler format, and from conversations written down.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A moment for sessions that have none: 2026-11-30T14:31:00Z.
const STARTED_NS: i64 = 1_796_049_060_000_000_000;

fn header(name: &str) -> String {
    let session = json!({
        "id": "klmnopqrstuvwxyz", "name": name, "origin": "record", "transport": "stdio",
        "started_at_ns": STARTED_NS, "ended_ns": 1, "frames": 0, "bytes": 0, "messages": 0, "calls": 0, "bad": 0,
        "tap_version": "0.1.0",
    });
    json!({"mcp_tap_file": 1, "session": session}).to_string()
}

/// Writes a conversation, `>` before what the client says and `<` before what the server says, as a session file.
pub(crate) fn conversation(folder: &Path, name: &str, lines: &[String]) -> PathBuf {
    let mut text = header(name);
    for (seq, line) in lines.iter().enumerate() {
        let dir = if line.starts_with('>') { "to_server" } else { "to_client" };
        let said = format!("{}\n", &line[1..]);
        let frame = json!({"seq": seq, "at_ns": seq, "fwd_ns": seq, "dir": dir, "text": said});
        text.push_str(&format!("\n{frame}"));
    }
    let path = folder.join(format!("{name}.jsonl"));
    std::fs::write(&path, text + "\n").expect("the file can be written");
    path
}

/// Turns a capture of `tests/fixtures/pairs` into a session file.
pub(crate) fn capture(folder: &Path, name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/pairs/{name}.jsonl"));
    let text = std::fs::read_to_string(from).expect("the capture is there");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let said = lines.iter().filter(|line| line["dir"] != "stderr" && line["dir"] != "meta").map(|line| {
        let sign = if line["dir"] == "c2s" { '>' } else { '<' };
        format!("{sign}{}", line["raw"].as_str().expect("text"))
    });
    conversation(folder, name, &said.collect::<Vec<_>>())
}

/// Returns the lines of calls of one tool and their results, each a JSON text.
pub(crate) fn calls(results: &[(&str, &str)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (id, (arguments, result)) in results.iter().enumerate() {
        lines.push(format!(
            r#">{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        ));
        lines.push(format!(r#"<{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }
    lines
}
