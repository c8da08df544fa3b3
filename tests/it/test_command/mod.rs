//! `test` and `review`: recordings as regression tests, and accepting what changed.

mod accepting;
mod adding;
mod reports;
mod reviewing;
mod servers;
mod terminal;
mod verdicts;

use crate::support::{Client, Output, TAP, TestEnv};
use std::path::{Path, PathBuf};

/// What the recordings of the folder were made with, but for the time.
const SAMPLE: [&str; 2] = ["--speed", "20"];

/// The build that answers differently.
const NEXT: [&str; 4] = ["--speed", "20", "--build", "1.5.0"];

/// Returns an environment whose folder `sessions` has these recordings.
fn with(names: &[&str]) -> TestEnv {
    // Wide enough for every row, however long its time is.
    let env = TestEnv::new().with("COLUMNS", "120");
    std::fs::create_dir(env.path().join("sessions")).expect("a folder");
    for name in names {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions").join(format!("{name}.jsonl"));
        std::fs::copy(from, file(&env, name)).expect("copied");
    }
    env
}

fn file(env: &TestEnv, name: &str) -> PathBuf {
    env.path().join("sessions").join(format!("{name}.jsonl"))
}

fn content(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(file(env, name)).expect("the file")
}

/// Tests against the sample server.
fn tested(env: &TestEnv, words: &[&str], sample: &[&str]) -> Output {
    env.tap(&[&["test"], words, &["--", TAP, "sample-server"], sample].concat())
}

/// Returns a text without the times, which are others each time.
fn timeless(text: &str) -> String {
    let words = |line: &str| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        while let Some(at) = words.iter().position(|word| ["µs", "ms", "s"].contains(word)) {
            words.drain(at.saturating_sub(1)..=at);
        }
        words.join(" ")
    };
    text.lines().map(|line| words(line) + "\n").collect()
}

/// Records what `say` says to the sample server.
fn recorded(env: &TestEnv, name: &str, sample: &[&str], say: impl FnOnce(&mut Client)) {
    let mut client = env.recorded_sample(&["--name", name], sample);
    say(&mut client);
    assert_eq!(client.end().code(), 0);
}

/// Calls a tool.
fn call(client: &mut Client, id: u64, name: &str, arguments: &str) {
    client.call(id, "tools/call", &format!(r#"{{"name":"{name}","arguments":{arguments}}}"#));
}
