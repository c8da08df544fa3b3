//! How long calls took, from recordings.

use crate::support::TestEnv;
use std::fmt::Write as _;

/// 2026-11-28T14:31:00Z, two days before the tests' now.
const TWO_DAYS_AGO: i64 = 1_795_876_260_000_000_000;
const DAY: i64 = 86_400_000_000_000;
const MS: i64 = 1_000_000;

/// Imports a recording of calls, one after the other, each a tool and what it took in ms.
pub(crate) fn import_calls(env: &TestEnv, id: &str, name: &str, started_at: i64, calls: &[(&str, i64)]) {
    let count = calls.len();
    let mut text = format!(
        r#"{{"mcp_tap_file":1,"session":{{"id":"{id}","name":"{name}","named":true,"origin":"record","transport":"stdio","started_at_ns":{started_at},"ended_ns":9,"frames":{},"bytes":0,"messages":{},"calls":{count},"bad":0,"tap_version":"0.1.0"}}}}"#,
        2 * count,
        2 * count
    );
    text.push('\n');
    let mut at = 0;
    for (number, (tool, took)) in calls.iter().enumerate() {
        let (ask, answer) = (2 * number, 2 * number + 1);
        let done = at + took * MS;
        writeln!(text, r#"{{"seq":{ask},"at_ns":{at},"fwd_ns":{at},"dir":"to_server","message":{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}}}"#).expect("text");
        writeln!(text, r#"{{"seq":{answer},"at_ns":{done},"fwd_ns":{},"dir":"to_client","message":{{"jsonrpc":"2.0","id":{number},"result":{{"content":[]}}}}}}"#, done + 20_000).expect("text");
        at = done + MS;
    }
    let file = env.path().join(format!("{id}.jsonl"));
    std::fs::write(&file, text).expect("the file is written");
    let _ = env.tap(&["import", file.to_str().expect("a path")]).ok();
}

#[test]
fn percentiles_of_a_recording_are_those_of_another_program() {
    let env = TestEnv::new();
    // The values and the percentiles of 1..=1000 in `statistics`, made by SQLite; here the first 250, in ms.
    let calls: Vec<(&str, i64)> = (1..=250).map(|k| ("echo", k * 7919 % 10_007)).collect();
    import_calls(&env, "kkkkkkkkkkkkkkkk", "load", TWO_DAYS_AGO, &calls);
    let report = env.tap(&["latency", "load", "--json"]).ok().json();
    assert_eq!(report["mcp_tap_report"], 1);
    assert_eq!(report["report"], "latency");
    let group = &report["groups"][0];
    assert_eq!((group["method"].as_str(), group["name"].as_str()), (Some("tools/call"), Some("echo")));
    assert_eq!((group["count"].as_u64(), group["errors"].as_u64()), (Some(250), Some(0)));
    let expected = [("p50_ns", 5013), ("p90_ns", 8987), ("p95_ns", 9497), ("p99_ns", 9901)];
    for (field, ms) in expected {
        assert_eq!(group[field].as_i64(), Some(ms * MS), "{field}");
    }
    let binned: u64 = group["histogram"].as_array().expect("bins").iter().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(binned, 250);
    assert_eq!(report["tap"]["p50_ns"], 0);
    assert_eq!(report["tap"]["p99_ns"], 20_000);
    assert_eq!(report["slowest"]["session"], "kkkkkkkkkkkkkkkk");
}

#[test]
fn the_table_says_what_it_is_about_and_what_it_left_out() {
    let env = TestEnv::new();
    let calls = [("get_forecast", 288), ("get_forecast", 1310), ("get_alerts", 61), ("get_alerts", 95)];
    import_calls(&env, "kkkkkkkkkkkkkkkk", "weather", TWO_DAYS_AGO, &calls);
    let shown = env.tap(&["latency", "weather"]).ok().text();
    let expected = "\
weather  kkkk, 28 Nov 14:31: 4 calls of 2 tools

tool          calls  bad      p50  p95  p99      max  10 ms … 10 s
get_forecast      2    –   288 ms    –    –   1.31 s  ·····█··█···
get_alerts        2    –  61.0 ms    –    –  95.0 ms  ···█········

the tap      0 ns p50 a message, not in these figures
slowest      get_forecast, 1.31 s: mcp-tap inspect weather 2
–            p95 below 20 calls; p99 below 100 calls
";
    assert_eq!(shown, expected);
    let ascii = env.command(&["latency", "weather"]).env("LC_ALL", "C").output().expect("it runs");
    assert!(ascii.stdout.is_ascii());
    let one = env.tap(&["latency", "weather", "--tool", "get_alerts", "--json"]).ok().json();
    assert_eq!(one["groups"].as_array().map(Vec::len), Some(1));
}

#[test]
fn since_takes_every_recording_of_a_name() {
    let env = TestEnv::new();
    import_calls(&env, "kkkkkkkkkkkkkkkk", "weather", TWO_DAYS_AGO - 20 * DAY, &[("a", 1)]);
    import_calls(&env, "llllllllllllllll", "weather", TWO_DAYS_AGO - DAY, &[("a", 2)]);
    import_calls(&env, "mmmmmmmmmmmmmmmm", "weather", TWO_DAYS_AGO, &[("a", 3)]);
    import_calls(&env, "nnnnnnnnnnnnnnnn", "other", TWO_DAYS_AGO, &[("a", 4)]);
    let ids = |args: &[&str]| {
        let report = env.tap(args).ok().json();
        let sessions = report["sessions"].as_array().expect("a list").clone();
        sessions.iter().map(|s| s["id"].as_str().expect("an id")[..1].to_owned()).collect::<String>()
    };
    assert_eq!(ids(&["latency", "weather", "--since", "7d", "--json"]), "lm");
    assert_eq!(ids(&["latency", "weather", "--since", "2026-11-01", "--json"]), "klm");
    assert_eq!(ids(&["latency", "weather", "--json"]), "m");
    assert_eq!(ids(&["latency", "weather", "weather~1", "--json"]), "ml");
    assert_eq!(ids(&["latency", "./kkkkkkkkkkkkkkkk.jsonl", "--json"]), "k");
    assert_eq!(env.tap(&["latency", "weather", "--since", "1h"]).code(), 3);
    assert_eq!(env.tap(&["latency", "--since", "soon"]).code(), 2);
    let first = env.tap(&["latency", "weather", "--since", "7d"]).ok().text();
    assert!(first.starts_with("2 sessions of weather, 27 Nov to 28 Nov: 2 calls of 1 tool\n"), "{first}");
}

#[test]
fn a_real_recording_with_a_person_a_failure_and_a_call_given_up() {
    let env = TestEnv::new();
    let _ = env.tap(&["--store", env.store().to_str().expect("a path"), "demo", "--speed", "400"]).ok();
    let report = env.tap(&["latency", "--json"]).ok().json();
    let group = |name: &str| {
        let groups = report["groups"].as_array().expect("groups");
        groups.iter().find(|group| group["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!(report["groups"][0]["name"], "get_radar");
    let radar = group("get_radar");
    assert_eq!(
        (radar["count"].as_u64(), radar["gave_up"].as_u64(), radar["measured"].as_u64()),
        (Some(1), Some(1), Some(0))
    );
    assert!(radar["p50_ns"].is_null());
    assert_eq!((group("get_forecast")["count"].as_u64(), group("get_forecast")["errors"].as_u64()), (Some(3), Some(1)));
    let plan = group("plan_trip");
    assert_eq!(plan["waiting"][0]["for"], "person");
    let text = env.tap(&["latency"]).ok().text();
    for part in ["gave up      1 get_radar after", "taken out    plan_trip: waiting for a person, median", "the tap"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn nothing_to_measure() {
    let env = TestEnv::new();
    assert_eq!(env.tap(&["latency"]).code(), 3);
    import_calls(&env, "kkkkkkkkkkkkkkkk", "empty", TWO_DAYS_AGO, &[]);
    assert_eq!(env.tap(&["latency", "empty"]).ok().text(), "empty  kkkk, 28 Nov 14:31: nothing was answered\n");
}
