//! A mock of a recording, driven by the recorded client, is that recording again.

use super::session;
use crate::support::{TAP, TestEnv};
use serde_json::Value;

/// Returns the lines of one stream of a session file, by its exact bytes.
fn recorded_lines(env: &TestEnv, name: &str, channel: &str) -> Vec<String> {
    let store = env.path().join("s.db").display().to_string();
    env.tap(&["import", "--store", &store, &session(name)]).ok();
    lines(&TestEnv::stream_of(std::path::Path::new(&store), "to_client", channel))
}

fn lines(stream: &[u8]) -> Vec<String> {
    String::from_utf8(stream.to_vec()).expect("text").split_inclusive('\n').map(str::to_owned).collect()
}

/// Every recording; the calls in it whose answers overtook each other may come in either order on a slow machine.
const ALL: [(&str, &[&str]); 14] = [
    ("batch", &[]),
    ("crash", &[]),
    ("errors", &[]),
    ("modern", &["\"id\":6,", "\"id\":7,"]),
    ("noise", &[]),
    ("progress", &[]),
    ("questions", &[]),
    ("revision-2024-11-05", &[]),
    ("revision-2025-03-26", &[]),
    ("revision-2025-06-18", &[]),
    ("revision-2025-11-25", &[]),
    ("tasks", &[]),
    ("weather", &["\"id\":5,", "\"id\":6,"]),
    ("weather-next", &["\"id\":5,", "\"id\":6,"]),
];

#[test]
fn every_recording_of_the_folder_is_named() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let files = std::fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut all: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
    all.sort_unstable();
    assert_eq!(names, all);
}

#[test]
fn a_replay_against_the_mock_is_the_same_and_carries_the_same_bytes() {
    for (name, overtaking) in ALL {
        let env = TestEnv::new();
        let output = env.tap(&["replay", &session(name), "--strict", "--json", "--", TAP, "mock", &session(name)]);
        let report = output.json();
        assert_eq!((output.code(), output.errors()), (0, String::new()), "{name}: {}", output.text());
        let changes = report["diff"]["changes"].as_array().expect("a list");
        assert_eq!(changes, &Vec::<Value>::new(), "{name}");
        // A server that crashed crashes again, in the same way and at the same place; the others end as they did.
        let exit = env.session()["exit_status"]["code"].clone();
        assert_eq!(exit, if name == "crash" { 1 } else { 0 }, "{name}");
        for channel in ["stdio", "stderr"] {
            let (old, new) = (recorded_lines(&env, name, channel), lines(&env.stream("to_client", channel)));
            let in_order = |all: &[String]| -> Vec<String> {
                let kept = all.iter().filter(|line| !overtaking.iter().any(|id| line.contains(id)));
                kept.cloned().collect()
            };
            // Noise and log lines among them.
            assert_eq!(in_order(&old), in_order(&new), "{name} {channel}");
            let sorted = |mut all: Vec<String>| {
                all.sort();
                all
            };
            assert_eq!(sorted(old), sorted(new), "{name} {channel}");
        }
    }
}

#[test]
fn what_was_recorded_of_a_mock_is_the_recording() {
    let env = TestEnv::new();
    let mut client = env.client(&["record", "--name", "again", "--", TAP, "mock", &session("questions")]);
    client.initialize("2025-11-25");
    client.line(&super::call("1", "ask", "{}"));
    client.expect("roots/list");
    client.line(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
    client.expect("sampling/createMessage");
    client.line(
        r#"{"jsonrpc":"2.0","id":2,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"red"}}}"#,
    );
    client.expect("blue");
    client.line(&super::call("2", "plan_trip", r#"{"from":"Bergen","to":"Oslo","days":2}"#));
    client.expect("elicitation/create");
    client.line(r#"{"jsonrpc":"2.0","id":3,"result":{"action":"decline"}}"#);
    client.expect("RV7");
    let output = client.end().ok();
    assert_eq!(lines(&output.stdout), recorded_lines(&env, "questions", "stdio"));
    assert_eq!(lines(&output.stderr), recorded_lines(&env, "questions", "stderr"));
}
