//! `--add` and `--learn`: from a recording to a test, without secrets, with masks for what differs by itself.

use super::{SAMPLE, call, content, file, recorded, tested, with};
use crate::support::TestEnv;

const EXTRA: [&str; 3] = ["--extra-tools", "--speed", "20"];

/// Returns an environment with a recording of one forecast.
fn forecast() -> TestEnv {
    let env = TestEnv::new();
    recorded(&env, "weather", &SAMPLE, |client| {
        client.initialize("2025-11-25");
        call(client, 1, "get_forecast", r#"{"city":"Oslo","days":7}"#);
    });
    env
}

#[test]
fn a_recording_becomes_a_test() {
    let env = forecast();
    let output = tested(&env, &["--add", "weather"], &SAMPLE);
    assert_eq!(output.code(), 0, "{}{}", output.text(), output.errors());
    assert_eq!(output.text(), "ready  sessions/weather.jsonl  2 exchanges, 2 values masked\n");
    let header: serde_json::Value =
        serde_json::from_str(content(&env, "weather").lines().next().expect("a line")).expect("JSON");
    let launch = header["session"]["launch"].as_object().expect("an object");
    assert_eq!(launch.keys().collect::<Vec<_>>(), ["argv"], "nothing tells of this machine");
    tested(&env, &[], &SAMPLE).ok();
    let again = tested(&env, &["--add", "weather"], &SAMPLE);
    assert_eq!(again.code(), 3);
    assert!(again.errors().starts_with("error: `sessions/weather.jsonl` is there already\nhint: -o FILE"));
    tested(&env, &["--add", "weather", "-o", "other.jsonl"], &SAMPLE).ok();
    assert!(env.path().join("other.jsonl").exists());
    assert_eq!(tested(&env, &["--add", "nothing"], &SAMPLE).code(), 3);
    assert_eq!(env.tap(&["test", "--add", "weather", "-o", "third.jsonl"]).code(), 2, "it needs a server");
    assert!(!env.path().join("third.jsonl").exists());
}

#[test]
fn what_is_not_as_it_was_recorded_is_not_ready() {
    let env = forecast();
    let output = tested(&env, &["--add", "weather"], &super::NEXT);
    assert_eq!(output.code(), 1, "{}{}", output.text(), output.errors());
    assert!(output.text().starts_with("not ready  sessions/weather.jsonl"), "{}", output.text());
    assert!(output.text().contains("/structuredContent/days/0/high  7.5 → 8.1"), "{}", output.text());
    assert!(!content(&env, "weather").contains("\"masks\""), "what has changed is no chance");
}

#[test]
fn what_could_not_be_tried_is_not_there() {
    let env = forecast();
    let output = env.tap(&["test", "--add", "weather", "--", "no-such-program-here"]);
    assert_eq!(output.code(), 3);
    let said = "error: `sessions/weather.jsonl` was not added: cannot start `no-such-program-here`: not found\n";
    assert!(output.errors().starts_with(said), "{}", output.errors());
    assert!(!file(&env, "weather").exists());
    let hangs = ["--speed", "20", "--case", "no-response"];
    let output = tested(&env, &["--add", "weather", "--timeout", "2s"], &hangs);
    assert_eq!(output.code(), 1, "{}{}", output.text(), output.errors());
    assert!(output.text().starts_with("not ready  sessions/weather.jsonl"), "{}", output.text());
    assert!(output.text().contains("outcome  ok → no answer"), "{}", output.text());
    let output = tested(&env, &["--learn", "--timeout", "2s"], &hangs);
    assert_eq!(output.code(), 1, "{}", output.text());
    assert!(output.errors().contains("a replay did not run to its end, so nothing was learned"), "{}", output.errors());
}

#[test]
fn a_secret_is_not_added() {
    let env = TestEnv::new();
    let secret = format!("gh{}7gK2pQ9xZ4mB8vN1cR6tY3wL5jH0dF7gK2pQ9", "p_");
    recorded(&env, "keys", &EXTRA, |client| {
        client.initialize("2025-11-25");
        call(client, 1, "echo", &format!(r#"{{"text":"use {secret} for it"}}"#));
    });
    let output = tested(&env, &["--add", "keys"], &EXTRA);
    assert_eq!(output.code(), 1, "{}{}", output.text(), output.errors());
    let text = output.text();
    assert!(text.starts_with("not added: 2 values of `keys` with the look of a secret\n"), "{text}");
    assert!(text.contains("/params/arguments/text  a GitHub token\n"), "{text}");
    assert!(text.contains("/result/content/0/text  a GitHub token\n"), "{text}");
    assert!(!text.contains(&secret) && !output.errors().contains(&secret));
    assert_eq!(output.errors(), "hint: --allow-secret adds it all the same\n");
    assert!(!file(&env, "keys").exists());
    tested(&env, &["--add", "keys", "--allow-secret"], &EXTRA).ok();
    assert!(content(&env, "keys").contains(&secret));
}

/// A server whose answers differ from run to run in what no shape tells.
const CHANCE: &str = r#"
n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n >count
while read -r line; do
  case "$line" in
    *initialize\"*) echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"chance","version":"1"}}}' ;;
    *tools/call*) echo '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"run '$n' took '$((n * 7))' ms, limit 50"}]}}' ;;
  esac
done
"#;

fn chance() -> TestEnv {
    let env = with(&[]);
    std::fs::write(env.path().join("chance.sh"), CHANCE).expect("written");
    let mut client = env.client(&["record", "--name", "chance", "--", "sh", "chance.sh"]);
    client.initialize("2025-11-25");
    call(&mut client, 1, "when", "{}");
    assert_eq!(client.end().code(), 0);
    env
}

#[test]
fn what_differs_by_itself_is_learned_and_a_change_beside_it_is_still_found() {
    let env = chance();
    let server = ["--", "sh", "chance.sh"];
    let output = env.tap(&[&["test", "--add", "chance"][..], &server].concat());
    assert_eq!(output.code(), 0, "{}{}", output.text(), output.errors());
    assert!(output.text().starts_with("learned  sessions/chance.jsonl  "), "{}", output.text());
    assert!(output.text().contains("\nready  sessions/chance.jsonl  2 exchanges"), "{}", output.text());
    for _ in 0..3 {
        env.tap(&[&["test"][..], &server].concat()).ok();
    }
    assert_eq!(env.tap(&[&["test", "--strict"][..], &server].concat()).code(), 1);
    let changed = CHANCE.replace("limit 50", "limit 60");
    std::fs::write(env.path().join("chance.sh"), changed).expect("written");
    let output = env.tap(&[&["test"][..], &server].concat());
    assert_eq!(output.code(), 1, "{}", output.text());
    assert!(output.text().contains("60"), "{}", output.text());
}

#[test]
fn files_that_are_there_learn_too() {
    let env = chance();
    let server = ["--", "sh", "chance.sh"];
    env.tap(&["export", "chance", "-o", "sessions/chance.jsonl"]).ok();
    assert_eq!(env.tap(&[&["test"][..], &server].concat()).code(), 1);
    let before = content(&env, "chance");
    let output = env.tap(&[&["test", "--learn", "--runs", "4"][..], &server].concat()).ok();
    assert!(output.text().starts_with("learned  sessions/chance.jsonl  "), "{}", output.text());
    let after = content(&env, "chance");
    assert!(before.lines().skip(1).eq(after.lines().skip(1)), "only the first line is another");
    env.tap(&[&["test"][..], &server].concat()).ok();
    let output = env.tap(&[&["test", "--learn"][..], &server].concat()).ok();
    assert_eq!(output.text(), "nothing differs  sessions/chance.jsonl\n");
    assert_eq!(env.tap(&["test", "--learn", "--", "no-such-program-here"]).code(), 3);
}

#[test]
fn what_the_sample_makes_up_is_learned() {
    let env = TestEnv::new();
    recorded(&env, "chances", &EXTRA, |client| {
        client.initialize("2025-11-25");
        for (id, tool) in [(1, "now"), (2, "uuid"), (3, "counter")] {
            call(client, id, tool, "{}");
        }
        call(client, 4, "echo", r#"{"text":"a constant"}"#);
    });
    let output = tested(&env, &["--add", "chances", "--runs", "3"], &EXTRA);
    assert_eq!(output.code(), 0, "{}{}", output.text(), output.errors());
    for _ in 0..10 {
        tested(&env, &[], &EXTRA).ok();
    }
    let output = tested(&env, &[], &["--extra-tools", "--speed", "20", "--mutate", "change-value"]);
    assert_eq!(output.code(), 1);
    assert!(output.text().contains("tools/call echo"), "{}", output.text());
}
