//! What the recording says of odd bytes, numbers, depth and size.

use super::recording::{flaws, recorded, recorded_with};
use crate::support::TestEnv;

#[test]
fn bytes_that_are_not_utf8_are_named_by_their_place() {
    let it = recorded("invalid-utf8");
    let stray = it.heard("stray")[0];
    assert_eq!(flaws(stray), ["not-utf8@0", "not-json@0"]);
    assert_eq!(it.raw(stray), b"\xff\xfe\n");
    // `{"jsonrpc":"2.0","id":1,"result":` 33, `{"content":[{"type":"text","text":"` 35, `Troms` 5.
    let answer = it.answered("1", "ok");
    assert_eq!((answer["kind"].as_str(), flaws(answer)), (Some("result"), vec!["not-utf8@73"]));
}

#[test]
fn nul_bytes_end_nothing() {
    let it = recorded("nul");
    let stray = it.heard("stray")[0];
    assert_eq!((flaws(stray), it.raw(stray)), (vec!["not-json@0"], b"\0\n".to_vec()));
    assert_eq!(flaws(it.answered("1", "ok")), Vec::<&str>::new());
}

#[test]
fn what_is_json_to_everybody_has_no_flaw() {
    for name in ["u2028", "surrogates", "controls", "bigint", "floats", "dup-keys", "output-mismatch"] {
        let it = recorded(name);
        let odd: Vec<_> = it.messages.iter().filter(|m| !flaws(m).is_empty()).collect();
        assert!(odd.is_empty(), "{name}: {odd:#?}");
        assert_eq!(it.heard("stray").len() + it.heard("invalid").len(), 0, "{name}");
        it.answered("2", "ok");
    }
}

#[test]
fn nan_is_not_json_and_still_an_answer() {
    let it = recorded("nan");
    // 33 as above, then `{"content":[{"type":"text","text":"see structuredContent"}]` 59,
    // `,"structuredContent":` 21, `{"x":` 5.
    let answer = it.answered("1", "ok");
    assert_eq!((answer["kind"].as_str(), flaws(answer)), (Some("result"), vec!["not-json@118"]));
    it.answered("2", "ok");
}

#[test]
fn no_depth_is_too_deep() {
    for n in ["100000", "1000000"] {
        let it = recorded_with("deep", &["--n", n]);
        let answer = it.answered("1", "ok");
        assert_eq!((answer["kind"].as_str(), flaws(answer)), (Some("result"), vec![]), "{n}");
        let depth: usize = n.parse().expect("a number");
        let bytes = answer["bytes"].as_u64().expect("a length");
        // 33 and 59 and 21 as above, `{"d":` 5, the brackets, `}}}` and a newline.
        assert_eq!(bytes, 2 * depth as u64 + 122, "{n}");
        let seq = answer["seq"].to_string();
        let shown = it.env.tap(&["inspect", &seq]).ok().text();
        assert!(shown.len() < 100_000, "{n}: {} bytes are shown", shown.len());
        let report = it.env.tap(&["inspect", &seq, "--json"]).ok();
        assert!(report.text().contains(r#""kind": "result""#), "{n}");
    }
}

#[test]
fn a_line_of_megabytes_is_a_message() {
    let it = recorded("bigline");
    let answer = it.answered("1", "ok");
    // 33 and 35 as above, `"}]}}` and a newline.
    assert_eq!((answer["bytes"].as_u64(), flaws(answer)), (Some(4_300_000 + 33 + 35 + 6), vec![]));
    assert_eq!(it.raw(answer).len(), 4_300_074);
    let it = recorded("ok-big-args");
    it.answered("1", "ok");
    // What the server made of the line that it got: its length without the newline.
    let told = String::from_utf8(it.raw(it.answered("2", "ok"))).expect("UTF-8");
    let length =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rawline","arguments":{"text":""}}}"#;
    assert!(told.contains(&format!("{} bytes, ", length.len() + 70_000)), "{told}");
}

#[test]
fn json_that_is_no_message_is_invalid_by_its_rule() {
    let it = recorded("odd-envelopes");
    let invalid = |rules: &[&'static str]| ("invalid", rules.to_vec());
    let once = [
        invalid(&["no-method", "jsonrpc-version"]),
        invalid(&["not-an-object"]),
        invalid(&["not-an-object"]),
        invalid(&["not-an-object"]),
        invalid(&["not-an-object"]),
        invalid(&["empty-batch"]),
        invalid(&["no-method", "jsonrpc-version"]),
        invalid(&["no-method", "jsonrpc-version"]),
        invalid(&["jsonrpc-version"]),
        invalid(&["jsonrpc-version"]),
        invalid(&["result-and-error"]),
        invalid(&["no-method"]),
        invalid(&["method-and-answer"]),
        invalid(&["method-type"]),
        invalid(&["id-type"]),
        ("result", vec![]),
    ];
    let hello = [("result", vec![])];
    assert_eq!(it.heard_kinds(), [hello.as_slice(), &once, &once].concat());
    it.answered("1", "ok");
    it.answered("2", "ok");
}

#[test]
fn rubbish_from_the_client_is_kept_and_named() {
    let it = recorded("ok-garbage-in");
    let said: Vec<_> =
        it.to("to_server").into_iter().map(|m| (m["kind"].as_str().expect("a kind"), flaws(m))).collect();
    let expected: [(&str, &[&str]); 11] = [
        ("request", &[]),
        ("notification", &[]),
        ("stray", &["not-json@0"]),
        ("stray", &["not-utf8@0", "not-json@0"]),
        ("blank", &[]),
        ("request", &["byte-order-mark"]),
        ("invalid", &["fragment"]),
        // A second message on the same line.
        ("invalid", &["not-json@40"]),
        ("request", &[]),
        ("request", &[]),
        ("request", &["no-newline"]),
    ];
    let expected: Vec<_> = expected.iter().map(|(kind, flaws)| (*kind, flaws.to_vec())).collect();
    assert_eq!(said, expected);
    for id in ["1", "5", "6", "9"] {
        it.answered(id, "ok");
    }
}

#[test]
fn exports_and_payloads_keep_what_a_terminal_would_obey() {
    let env = TestEnv::new();
    // A DEL, a C1 control sequence and a bidi override are legal inside a JSON string.
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"t\":\"a\u{7f}b\u{9b}31mc\u{202e}d\"}}\n";
    std::fs::write(env.path().join("line"), line).expect("a file");
    let name = ["record", "--name", "odd", "--", "cat", "line"];
    assert_eq!(env.tap(&name).ok().stdout, line.as_bytes());
    assert_eq!(env.stream("to_client", "stdio"), line.as_bytes());
    assert_eq!(env.tap(&["inspect", "0", "--raw"]).ok().text(), line);
    let payload = &env.tap(&["inspect", "0", "--json"]).ok().json()["messages"][0]["payload"];
    assert_eq!(payload["params"]["t"], "a\u{7f}b\u{9b}31mc\u{202e}d");
    env.tap(&["export", "odd", "-o", "file.jsonl"]).ok();
    let file = std::fs::read_to_string(env.path().join("file.jsonl")).expect("a file");
    assert_eq!(env.tap(&["export", "odd"]).ok().text(), file);
    assert!(file.contains(line.trim_end()), "{file}");
}
