//! Following a session while it is recorded.

use crate::support::{Client, PATIENCE, TestEnv, memmem};
use std::time::Duration;

fn record(env: &TestEnv, name: &str) -> Client {
    env.recorded_sample(&["--name", name], &["--extra-tools", "--speed", "1000"])
}

fn wait_for_words(tail: &Client, text: &str) {
    assert!(tail.stderr.wait(PATIENCE, |bytes, _| memmem(bytes, text.as_bytes())), "no `{text}`");
}

fn say(client: &mut Client, id: u64) {
    client.call(id, "tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#);
}

/// Returns the rows of a table of messages: what stands below its header, up to what wants attention.
fn rows(shown: &str) -> Vec<String> {
    let below = shown.lines().skip_while(|line| !line.trim_start().starts_with("seq "));
    below.skip(1).take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_name_is_waited_for_and_its_rows_are_those_of_inspect() {
    let env = TestEnv::new();
    let tail = env.client(&["tail", "calls"]);
    wait_for_words(&tail, "waiting for a recording of calls");
    let mut client = record(&env, "calls");
    client.initialize("2025-11-25");
    for id in 1..=20 {
        say(&mut client, id);
    }
    tail.expect("echo");
    assert_eq!(client.end().code(), 0);
    let shown = tail.wait().ok();
    assert!(shown.errors().contains("has ended"), "{}", shown.errors());
    let inspected = env.tap(&["inspect", "calls"]).ok().text();
    assert_eq!(rows(&shown.text()), rows(&inspected));
    assert!(rows(&inspected).len() > 40);
}

#[test]
fn an_answer_has_its_outcome_though_its_request_was_printed_before() {
    let env = TestEnv::new();
    let mut client = record(&env, "calls");
    client.initialize("2025-11-25");
    let tail = env.client(&["tail", "calls", "--jsonl"]);
    tail.expect(r#""method":"notifications/initialized""#);
    say(&mut client, 1);
    tail.expect(r#""name":"echo","id":1,"#);
    assert_eq!(client.end().code(), 0);
    let shown = tail.wait().ok().text();
    let lines: Vec<serde_json::Value> =
        shown.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let answer = lines.iter().find(|line| line["kind"] == "result" && line["id"] == 1).expect("the answer");
    assert_eq!((answer["outcome"].as_str(), answer["name"].as_str()), (Some("ok"), Some("echo")));
    assert_eq!(answer["session"], env.session()["id"]);
}

#[test]
fn without_an_argument_the_live_session_is_followed_and_with_f_the_next_ones_too() {
    let env = TestEnv::new();
    let mut client = record(&env, "first");
    client.initialize("2025-11-25");
    let tail = env.client(&["tail", "-f"]);
    tail.expect("initialize");
    assert_eq!(client.end().code(), 0);
    wait_for_words(&tail, "waiting for the next recording");
    // Over before the next look: it is shown all the same.
    let mut again = record(&env, "second");
    again.initialize("2025-11-25");
    assert_eq!(again.end().code(), 0);
    tail.expect("second");
    tail.signal(rustix::process::Signal::INT);
    let ended = tail.wait();
    assert_eq!(ended.code(), 128 + 2);
    assert!(!ended.errors().contains("error"), "{}", ended.errors());
}

#[test]
fn a_restart_is_followed_without_f_when_it_came_before_the_end() {
    let env = TestEnv::new();
    let mut old = record(&env, "calls");
    old.initialize("2025-11-25");
    let tail = env.client(&["tail", "calls"]);
    tail.expect("initialize");
    let mut new = record(&env, "calls");
    new.initialize("2025-11-25");
    say(&mut new, 7);
    assert_eq!(old.end().code(), 0);
    tail.expect("echo");
    assert_eq!(new.end().code(), 0);
    let shown = tail.wait().ok().text();
    assert_eq!(shown.matches("→  initialize").count(), 2, "{shown}");
}

#[test]
fn a_call_that_is_given_up_later_is_told() {
    let env = TestEnv::new();
    let mut client = record(&env, "calls");
    client.initialize("2025-11-25");
    let tail = env.client(&["tail"]);
    tail.expect("notifications/initialized");
    client.line(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":3000}}}"#);
    tail.expect("sleep {");
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"enough"}}"#);
    tail.expect("cancelled");
    assert_eq!(client.end().code(), 0);
    let shown = tail.wait().ok().text();
    assert!(shown.contains("gave up after"), "{shown}");
}

#[test]
fn only_the_last_lines_of_what_is_there() {
    let env = TestEnv::new();
    let mut client = record(&env, "calls");
    client.initialize("2025-11-25");
    for id in 1..=10 {
        say(&mut client, id);
    }
    assert_eq!(client.end().code(), 0);
    let id = env.session()["id"].as_str().expect("an id").to_owned();
    // A session that has ended is shown to its end.
    let shown = env.tap(&["tail", &id, "-n", "4"]).ok().text();
    assert_eq!(rows(&shown).len(), 4, "{shown}");
    let took = rows(&shown).iter().filter(|row| row.contains("└")).count();
    assert_eq!(took, 2);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let env = TestEnv::new();
    let mut child = env.command(&["tail", "nothing"]).spawn().expect("it starts");
    drop(child.stdout.take());
    let mut waited = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        assert!(waited < PATIENCE, "it did not end");
        std::thread::sleep(Duration::from_millis(10));
        waited += Duration::from_millis(10);
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_file_is_not_followed() {
    let env = TestEnv::new();
    let refused = env.tap(&["tail", "a.jsonl"]);
    assert_eq!(refused.code(), 2);
    assert!(refused.errors().contains("hint: mcp-tap inspect a.jsonl"), "{}", refused.errors());
}
