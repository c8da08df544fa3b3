//! Mock: a recording stands in for its server, and says what that said.

mod ends;
mod faults;
mod forward;
mod live;
mod misses;
mod properties;
mod same;

use crate::support::{Client, TAP, TestEnv};
use std::path::Path;

/// Returns the path of a recording of the folder.
pub(crate) fn session(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions").join(format!("{name}.jsonl")).display().to_string()
}

/// Starts a mock, to be talked to.
fn mock(env: &TestEnv, words: &[&str]) -> Client {
    let mut args = vec!["mock"];
    args.extend(words);
    env.client(&args)
}

/// Records what `say` says to the sample server.
fn recorded(env: &TestEnv, name: &str, sample: &[&str], say: impl FnOnce(&mut Client)) {
    let mut client = env.recorded_sample(&["--name", name], sample);
    say(&mut client);
    assert_eq!(client.end().code(), 0);
}

/// Records a server that is a few lines of shell: `says` is what it does with each line of the client (`$line`).
fn recorded_shell(env: &TestEnv, name: &str, says: &str, say: impl FnOnce(&mut Client)) {
    let script = format!("while read -r line; do {says}\ndone");
    let mut client = env.client(&["record", "--name", name, "--", "sh", "-c", &script]);
    say(&mut client);
    let _ = client.end();
}

/// Returns a request as a line.
fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// Returns a call of a tool as a line.
fn call(id: &str, tool: &str, arguments: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
}

/// Returns the program as a shell types it.
fn tap() -> &'static str {
    TAP
}
