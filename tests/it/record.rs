//! Recording, seen from the client and from the shell.

use crate::support::TestEnv;

#[test]
fn four_hundred_calls_in_the_order_of_causes() {
    let env = TestEnv::new();
    let mut client = env.recorded_sample(&["--name", "calls"], &["--extra-tools", "--speed", "1000"]);
    client.initialize("2025-11-25");
    for id in 1..=400 {
        client.call(id, "tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#);
    }
    assert_eq!(client.end().code(), 0);
    let messages = env.messages();
    let mut asked = std::collections::HashMap::new();
    let mut answered = 0;
    for message in &messages {
        match message["kind"].as_str() {
            Some("request") => {
                asked.insert(message["id"].to_string(), message["forwarded_ns"].as_i64().expect("a time"));
                assert!(message["peer_ns"].as_i64().expect("an answer") >= 0);
            }
            Some("result") => {
                let asked = asked.get(&message["id"].to_string()).expect("no answer stands before its question");
                assert!(message["at_ns"].as_i64().expect("a time") >= *asked);
                answered += 1;
            }
            _ => {}
        }
    }
    assert_eq!((asked.len(), answered), (401, 401));
}

#[test]
fn a_name_given_while_it_is_recorded_stays() {
    let env = TestEnv::new();
    let mut client = env.recorded_sample(&["--name", "live"], &["--speed", "1000"]);
    client.initialize("2025-11-25");
    // The session is in the store once it can be found; the name is changed while it goes on.
    let until = std::time::Instant::now() + crate::support::PATIENCE;
    while env.tap(&["sessions", "rename", "live", "other"]).code() != 0 {
        assert!(std::time::Instant::now() < until, "the session does not appear");
    }
    client.call(1, "ping", "{}");
    assert_eq!(client.end().code(), 0);
    assert_eq!(env.session()["name"], "other");
    assert_eq!(env.messages().len(), 5);
}

#[test]
fn numbers_beyond_four_digits_do_not_break_the_table() {
    let env = TestEnv::new();
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n".repeat(10_050);
    let _ = env.tap_with_input(&["record", "--", "sh", "-c", "cat >/dev/null"], lines.as_bytes()).ok();
    let table = env.tap(&["inspect"]).ok().text();
    assert!(table.contains("\n10049  "), "the number stands whole, in a column that is wide enough");
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}");
    assert_eq!(table.lines().filter(|line| line.contains("notifications/x")).count(), 10_050);
}

#[test]
fn json_reports_cannot_act_on_a_terminal() {
    let env = TestEnv::new();
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"t\":\"a\u{202e}b\u{200b}c\u{9b}d\u{e0041}\"}}\n";
    let _ = env.tap_with_input(&["record", "--name", "odd", "--", "sh", "-c", "cat >/dev/null"], line.as_bytes()).ok();
    for args in [&["inspect", "0", "--json"][..], &["inspect", "0", "--jsonl"]] {
        let output = env.tap(args).ok();
        let text = output.text();
        assert!(text.contains("a\\u202eb\\u200bc\\u009bd\\udb40\\udc41"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || (' '..'\u{7f}').contains(&c)), "{text}");
    }
    assert_eq!(env.tap(&["inspect", "0", "--raw"]).ok().text(), line);
}

#[test]
fn what_is_seen_is_found_however_it_was_spelled() {
    let env = TestEnv::new();
    let lines = concat!(
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"city\":\"H\\u00f8nefoss\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"b\",\"params\":{\"text\":\"{\\\"km\\\": \\\"241\\\"}\"}}\n",
    );
    let _ = env.tap_with_input(&["record", "--name", "s", "--", "sh", "-c", "cat >/dev/null"], lines.as_bytes()).ok();
    for (text, seq) in [("H\u{f8}nefoss", 0), ("\"km\": \"241\"", 1)] {
        let found = env.tap(&["inspect", "--grep", text, "--json"]).ok().json();
        assert_eq!(found["messages"].as_array().map(Vec::len), Some(1), "{text}");
        assert_eq!(found["messages"][0]["seq"], seq, "{text}");
        assert_eq!(
            env.tap(&["sessions", "--grep", text, "--json"]).ok().json()["sessions"].as_array().map(Vec::len),
            Some(1)
        );
    }
}
