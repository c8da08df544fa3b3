//! The session file: readable, and exact on arbitrary bytes.

use crate::support::{Output, TestEnv};
use mcp_tap::session::frame::{Channel, Direction, FrameInfo};
use mcp_tap::session::source::SessionSource;
use mcp_tap::session_file::{FileSource, decode, encode};
use proptest::prelude::*;
use std::path::Path;

const HEADER: &str = r#"{"mcp_tap_file":1,"session":{"id":"qwvzklmnopqrstux","name":"w","origin":"record","transport":"stdio","launch":{"argv":["srv"]},"revisions":[],"started_at_ns":1796047320000000000,"ended_ns":5,"end_reason":"r","exit_status":{"code":0},"frames":1,"bytes":1,"messages":0,"calls":0,"bad":0,"lost_frames":0,"tap_version":"0.1.0"}}"#;

fn line_of(bytes: &[u8]) -> String {
    let info = FrameInfo {
        seq: 3,
        direction: Direction::ToClient,
        channel: Channel::Stdio,
        http: None,
        started_ns: None,
        received_ns: 10,
        forwarded_ns: 12,
        length: bytes.len() as u64,
        parts: 0,
        redacted: false,
    };
    let mut line = Vec::new();
    encode::frame(&info, 0, bytes, Channel::Stdio, &mut line);
    String::from_utf8(line).unwrap()
}

#[test]
fn a_frame_stands_in_its_most_readable_form() {
    let head = r#"{"seq":3,"at_ns":10,"fwd_ns":12,"dir":"to_client","#;
    let cases: [(&[u8], &str); 9] = [
        (b"{\"id\":1.0, \"a\":[]}\n", r#""message":{"id":1.0, "a":[]}}"#),
        (b"{\"id\":1}\r\n", r#""text":"{\"id\":1}\r\n"}"#),
        (b"{\"id\":1}", r#""text":"{\"id\":1}"}"#),
        (b" {}\n", r#""text":" {}\n"}"#),
        (b"{\"a\":NaN}\n", r#""text":"{\"a\":NaN}\n"}"#),
        (b"hello\n", r#""text":"hello\n"}"#),
        (b"\n", r#""text":"\n"}"#),
        (b"\xff\n", r#""base64":"/wo="}"#),
        (b"\"\\ud800\"\n", r#""message":"\ud800"}"#),
    ];
    for (bytes, rest) in cases {
        assert_eq!(line_of(bytes), format!("{head}{rest}\n"));
    }
}

proptest! {
    #[test]
    fn any_bytes_come_back(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[ \t\r\n]{0,2}(\\{\"a\":[0-9]{1,3}\\}|\\[\\]|x|\"[a-z\\\\]{0,3}\")[\r\n ]{0,2}".prop_map(String::into_bytes),
    ]) {
        let line = line_of(&bytes);
        prop_assert_eq!(line.matches('\n').count(), 1);
        let (info, part, back) = decode::frame(line.trim_end_matches('\n').as_bytes(), 2, Channel::Stdio).unwrap();
        prop_assert_eq!((info.seq, part, &back), (3, 0, &bytes));
    }

    #[test]
    fn any_file_is_read_or_refused_in_a_sentence(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut file = HEADER.as_bytes().to_vec();
        file.push(b'\n');
        file.extend(&bytes);
        if let Err(error) = FileSource::read(file) {
            prop_assert!(!error.to_string().is_empty());
        }
        let _ = FileSource::read(bytes);
    }

    #[test]
    fn frames_of_any_bytes_survive_import_and_export(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..12)) {
        let mut file = format!("{HEADER}\n");
        for (seq, bytes) in frames.iter().enumerate() {
            let info = FrameInfo {
                seq: seq as u64, direction: Direction::ToServer, channel: Channel::Stdio, http: None, started_ns: None,
                received_ns: seq as i64, forwarded_ns: seq as i64 + 1, length: bytes.len() as u64, parts: 0, redacted: false,
            };
            let mut line = Vec::new();
            encode::frame(&info, 0, bytes, Channel::Stdio, &mut line);
            file.push_str(std::str::from_utf8(&line).unwrap());
        }
        let source = FileSource::read(file.clone().into_bytes()).unwrap();
        let mut again = Vec::new();
        encode::session(&source, &mut again, &mut |_| {}).unwrap();
        prop_assert_eq!(String::from_utf8(again).unwrap(), file);
    }
}

fn export(env: &TestEnv, session: &str) -> Vec<u8> {
    env.tap(&["export", session]).ok().stdout
}

/// Records whatever bytes a client sends and a server answers, through the real program.
fn record_bytes(env: &TestEnv, input: &[u8]) -> Output {
    env.tap_with_input(&["record", "--name", "bytes", "--", "sh", "-c", "cat; printf 'no end' >&2"], input).ok()
}

#[test]
fn export_then_import_and_import_then_export_are_identities() {
    let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\xff\xfe\n\n{\"a\":\r\n\x00tail";
    let env = TestEnv::new();
    assert_eq!(record_bytes(&env, input).stdout, input);
    let exported = export(&env, "bytes");
    let file = env.path().join("a.jsonl");
    std::fs::write(&file, &exported).unwrap();
    let file = file.to_str().unwrap();

    let other = TestEnv::new();
    let _ = other.tap(&["import", file]).ok();
    assert_eq!(export(&other, "bytes"), exported, "import, then export");
    let again = other.tap(&["import", file]).ok();
    assert!(again.errors().contains("in the store already, byte for byte"));

    // The same file read where it is tells the same as the store.
    let from_file = env.tap(&["inspect", file, "--json"]).ok().json();
    let from_store = other.tap(&["inspect", "bytes", "--json"]).ok().json();
    assert_eq!(from_file["messages"], from_store["messages"]);
    assert_eq!(from_store["messages"].as_array().unwrap().len(), 10);
}

#[test]
fn a_long_line_survives_the_file_in_parts() {
    let env = TestEnv::new();
    let mut input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"big\",\"params\":{\"x\":\"".to_vec();
    input.extend(std::iter::repeat_n(b'y', 3 << 20));
    input.extend_from_slice(b"\"}}\n");
    assert_eq!(record_bytes(&env, &input).stdout, input);
    assert_eq!(env.stream("to_server", "stdio"), input);
    let exported = export(&env, "bytes");
    let other = TestEnv::new();
    let file = other.path().join("a.jsonl");
    std::fs::write(&file, &exported).unwrap();
    let _ = other.tap(&["import", file.to_str().unwrap()]).ok();
    assert_eq!(export(&other, "bytes"), exported);
    assert_eq!(other.tap(&["inspect", "bytes", "0", "--raw"]).ok().stdout, input);
    assert_eq!(other.messages()[0]["kind"], "request");
}

#[test]
fn another_session_with_the_same_id_is_refused() {
    let env = TestEnv::new();
    let _ = record_bytes(&env, b"one\n");
    let exported = String::from_utf8(export(&env, "bytes")).unwrap();
    let file = env.path().join("a.jsonl");
    std::fs::write(&file, exported.replace("one", "two")).unwrap();
    let refused = env.tap(&["import", file.to_str().unwrap()]);
    assert_eq!(refused.code(), 3);
    assert!(refused.errors().contains("differs from"), "{}", refused.errors());
    assert!(refused.errors().contains("hint: delete it first"), "{}", refused.errors());
}

#[test]
fn broken_files_are_named_with_their_line() {
    let env = TestEnv::new();
    let cases: [(&str, &str); 5] = [
        ("", "this is not a session file"),
        ("{\"a\":1}\n", "this is not a session file"),
        ("{\"mcp_tap_file\":2}\n", "has format 2, and this mcp-tap reads 1 at most"),
        ("HEADER\n{\"seq\":0}\n", "line 2: missing field"),
        (
            "HEADER\n{\"seq\":1,\"at_ns\":0,\"fwd_ns\":0,\"dir\":\"to_server\",\"text\":\"\"}\n{\"seq\":0,\"at_ns\":0,\"fwd_ns\":0,\"dir\":\"to_server\",\"text\":\"\"}\n",
            "line 3: frame 0 does not follow 1",
        ),
    ];
    for (content, sentence) in cases {
        let file = env.path().join("x.jsonl");
        std::fs::write(&file, content.replace("HEADER", HEADER)).unwrap();
        for command in ["import", "inspect"] {
            let refused = env.tap(&[command, file.to_str().unwrap()]);
            assert_eq!(refused.code(), 3, "{content}");
            assert!(refused.errors().contains(sentence), "{content}: {}", refused.errors());
        }
    }
}

#[test]
fn a_file_is_a_source_like_any_other() {
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).is_absolute());
    let file = format!(
        "{HEADER}\n{}\n{}\n",
        r#"{"seq":0,"at_ns":10,"fwd_ns":20,"dir":"to_server","message":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
        r#"{"seq":1,"at_ns":50,"fwd_ns":60,"dir":"to_client","message":{"jsonrpc":"2.0","id":1,"result":{}}}"#
    );
    let source = FileSource::read(file.into_bytes()).unwrap();
    let messages = source.all_messages().unwrap();
    assert_eq!(messages[0].peer_ns(), Some(30));
    assert_eq!(messages[0].total_ns(), Some(50));
    assert_eq!(source.bytes(1).unwrap().unwrap(), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

/// Returns the header with another id.
fn header_with_id(id: &str) -> String {
    HEADER.replace("qwvzklmnopqrstux", id)
}

#[test]
fn what_cannot_be_an_id_or_a_number_is_refused() {
    let env = TestEnv::new();
    let frame =
        |seq: &str| format!("{{\"seq\":{seq},\"at_ns\":1,\"fwd_ns\":1,\"dir\":\"to_server\",\"text\":\"x\"}}\n");
    let cases = [
        (format!("{}\n", header_with_id("../../x")), "no id of 16 letters"),
        (format!("{}\n", header_with_id("27")), "no id of 16 letters"),
        (format!("{HEADER}\n{}", frame("4294967296")), "line 2: frame 4294967296 has too large a number"),
    ];
    for (content, sentence) in cases {
        let file = env.path().join("x.jsonl");
        std::fs::write(&file, content).unwrap();
        let refused = env.tap(&["import", file.to_str().unwrap()]);
        assert_eq!(refused.code(), 3);
        assert!(refused.errors().contains(sentence), "{}", refused.errors());
    }
    assert_eq!(env.tap(&["sessions", "--json"]).ok().json()["total"], 0);
}

#[test]
fn nobody_sees_half_an_import() {
    let env = TestEnv::new();
    let _ = record_bytes(&env, b"one\n");
    let exported = export(&env, "bytes");
    let other = TestEnv::new();
    let file = other.path().join("a.jsonl");
    std::fs::write(&file, &exported).unwrap();
    let file = file.to_str().unwrap();
    let _ = other.tap(&["import", file]).ok();
    let _ = other.tap(&["sessions", "delete", "bytes"]).ok();
    // An import that was cut off: the session is entered and marked, nobody holds its lock.
    let store = rusqlite::Connection::open(other.store()).unwrap();
    let _ = other.tap(&["import", file]).ok();
    assert_eq!(store.execute("UPDATE sessions SET deleting = 1", []).unwrap(), 1);
    assert_eq!(other.tap(&["sessions", "--json"]).ok().json()["total"], 0);
    assert_eq!(other.tap(&["inspect", "bytes"]).code(), 3);
    let _ = other.tap(&["import", file]).ok();
    assert_eq!(export(&other, "bytes"), exported);
}
