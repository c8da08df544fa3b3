//! What the recording says of odd lines on stdout.

use super::recording::{flaws, recorded};

#[test]
fn a_banner_is_stray_and_the_calls_are_well() {
    let it = recorded("banner");
    let stray = it.heard("stray");
    let lines: Vec<String> = stray.iter().map(|m| String::from_utf8(it.raw(m)).expect("UTF-8")).collect();
    assert_eq!(lines, ["┌─────────┐\n", "│ weather │\n", "└─────────┘\n", "ready, waiting for a client\n"]);
    for message in stray {
        assert_eq!((flaws(message), &message["channel"]), (vec!["not-json@0"], &"stdio".into()));
    }
    it.answered("1", "ok");
    it.answered("2", "ok");
}

#[test]
fn log_lines_between_messages_are_stray() {
    let it = recorded("banner-mid");
    let (stray, result) = (("stray", vec!["not-json@2"]), ("result", vec![]));
    assert_eq!(it.heard_kinds(), [stray.clone(), result.clone(), stray.clone(), result.clone(), stray, result]);
    it.answered("2", "ok");
}

#[test]
fn coloured_lines_are_stray() {
    let it = recorded("ansi");
    // One at the start, one before each of three messages.
    assert_eq!(it.heard("stray").len(), 4);
    assert_eq!(it.raw(it.heard("stray")[1]), b"\x1b[2K\x1b[36mtrace\x1b[0m writing\n");
    it.answered("1", "ok");
}

#[test]
fn noise_does_not_swallow_the_message_after_it() {
    let it = recorded("noise");
    let stray = |at: &'static str| ("stray", vec![at]);
    let once = [
        stray("not-json@0"),
        stray("not-json@0"),
        stray("not-json@1"),
        ("invalid", vec!["fragment"]),
        stray("not-json@0"),
        ("result", vec![]),
    ];
    assert_eq!(it.heard_kinds(), [once.clone(), once.clone(), once].concat());
    it.answered("0", "ok");
    it.answered("1", "ok");
    it.answered("2", "ok");
}

#[test]
fn carriage_returns_are_kept_and_change_nothing() {
    let it = recorded("crlf");
    assert_eq!(it.messages.iter().filter(|m| !flaws(m).is_empty()).count(), 0);
    for (id, outcome) in [("0", "ok"), ("2", "ok"), ("\"s3\"", "ok"), ("6", "tool_error"), ("7", "rpc_error")] {
        let raw = it.raw(it.answered(id, outcome));
        assert!(raw.starts_with(b"{") && raw.ends_with(b"}\r\n"), "{}", String::from_utf8_lossy(&raw));
    }
}

#[test]
fn a_byte_order_mark_is_said_and_the_answer_finds_its_question() {
    let it = recorded("bom");
    let first = it.answered("0", "ok");
    assert_eq!(flaws(first), ["byte-order-mark"]);
    assert!(it.raw(first).starts_with(b"\xef\xbb\xbf{\"jsonrpc\""));
    assert_eq!(flaws(it.answered("1", "ok")), Vec::<&str>::new());
    assert_eq!(it.env.session()["server"]["name"], "weather");
}

#[test]
fn a_message_over_many_lines_is_one_message() {
    let it = recorded("pretty");
    let answer = it.answered("1", "ok");
    assert_eq!((answer["kind"].as_str(), flaws(answer)), (Some("result"), vec!["split-over-lines"]));
    // A brace, two members, seven lines of result but the last two braces: twelve lines.
    let (first, last) = (answer["first_seq"].as_u64().expect("a number"), answer["seq"].as_u64().expect("a number"));
    assert_eq!(last - first, 11);
    for seq in first..last {
        let line = it.messages.iter().find(|m| m["seq"] == seq).expect("a line");
        assert_eq!((line["kind"].as_str(), flaws(line)), (Some("invalid"), vec!["fragment"]));
    }
    assert_eq!(it.heard("result").len(), 3);
    assert_eq!(it.env.session()["messages"], 7);
}

#[test]
fn blank_lines_are_blank() {
    let it = recorded("blank-lines");
    let kinds: Vec<_> = it.heard_kinds().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "result").count(), 3);
    assert_eq!(kinds.iter().filter(|kind| **kind == "blank").count(), 12);
    assert_eq!(it.env.session()["messages"], 7);
    assert_eq!(it.env.session()["frames"], 7 + 12);
    let mut lines = Vec::new();
    for message in it.messages.iter().filter(|message| message["kind"] == "blank") {
        assert_eq!(flaws(message), Vec::<&str>::new());
        lines.push(String::from_utf8(it.raw(message)).expect("UTF-8"));
    }
    // The table for people leaves them out.
    assert!(!it.env.tap(&["inspect"]).ok().text().contains("blank"));
    assert_eq!(lines, ["\n", "  \n", "\t \r\n", "\n"].repeat(3));
}

#[test]
fn reads_and_messages_have_different_borders() {
    let it = recorded("dribble");
    assert_eq!(it.heard_kinds(), [("result", vec![]), ("result", vec![]), ("result", vec![])]);
    let it = recorded("burst");
    assert_eq!(it.heard("notification").len(), 600);
    it.answered("1", "ok");
    it.answered("2", "ok");
}

#[test]
fn the_time_of_an_answer_is_that_of_its_last_byte() {
    let it = recorded("slow-line");
    assert!(it.request("1")["peer_ns"].as_i64().expect("a time") >= 300_000_000);
    assert_eq!(flaws(it.answered("1", "ok")), Vec::<&str>::new());
}

#[test]
fn a_torn_answer_answers_nothing() {
    let it = recorded("torn");
    it.is_unanswered("1");
    let torn = it.heard("invalid")[0];
    // The newline of the log line stands inside a string: `{"jsonrpc":"2.0","id":1,"result":{"con` and 14 more.
    assert_eq!(flaws(torn), ["not-json@51", "fragment"]);
    assert_eq!(it.heard("stray").len(), 2);
    assert_eq!(it.env.session()["bad"], 0);
}

#[test]
fn an_answer_without_a_newline_is_an_answer() {
    let it = recorded("no-newline-eof");
    let answer = it.answered("1", "ok");
    assert_eq!((answer["kind"].as_str(), flaws(answer)), (Some("result"), vec!["no-newline"]));
    assert!(it.raw(answer).ends_with(b"}"));
}

#[test]
fn half_an_answer_is_none() {
    let it = recorded("half-line-eof");
    let heard = it.to("to_client");
    let last = heard.last().expect("half a line");
    assert_eq!((last["kind"].as_str(), flaws(last)), (Some("invalid"), vec!["truncated"]));
    it.is_unanswered("1");
    assert_eq!(it.env.session()["exit_status"], serde_json::json!({"code": 1}));
}
