//! How servers end, and what they said on stderr, as the recording has it.

use super::recording::recorded;
use serde_json::{Value, json};

#[test]
fn the_servers_end_is_kept() {
    let endings = [
        ("ok", json!({"code": 0})),
        ("exit-code-7", json!({"code": 7})),
        ("exit-now-3", json!({"code": 3})),
        ("crash-mid-call", json!({"code": 1})),
        ("die-9", json!({"signal": 9})),
        ("die-11", json!({"signal": 11})),
        ("hang-on-eof", json!({"signal": 15})),
    ];
    for (name, status) in endings {
        let session = recorded(name).env.session();
        assert_eq!(session["exit_status"], status, "{name}");
        assert_eq!((&session["live"], &session["incomplete"]), (&json!(false), &json!(false)), "{name}");
    }
}

#[test]
fn a_session_that_the_client_ended_says_so() {
    for (name, status) in [("ok", 0), ("exit-code-7", 7), ("drop-on-eof", 0), ("drain-on-eof", 0)] {
        let session = recorded(name).env.session();
        assert_eq!(session["end_reason"], format!("ended by the client; the server exited with {status}"), "{name}");
    }
    let reason = recorded("hang-on-eof").env.session()["end_reason"].clone();
    assert_eq!(reason, "the server was ended by signal 15 after signal 15");
}

#[test]
fn a_server_that_ended_by_itself_is_not_ended_by_its_client() {
    // The client closes stdin as soon as it has seen the end of stdout, as clients do.
    for (name, how) in [
        ("exit-now-3", "exited with 3"),
        ("crash-mid-call", "exited with 1"),
        ("half-line-eof", "exited with 1"),
        ("die-9", "was ended by signal 9"),
        ("die-11", "was ended by signal 11"),
    ] {
        assert_eq!(recorded(name).env.session()["end_reason"], format!("the server {how}"), "{name}");
    }
}

#[test]
fn a_server_that_died_leaves_its_call_unanswered_and_its_last_words() {
    let it = recorded("crash-mid-call");
    it.is_unanswered("1");
    let report = it.env.tap(&["inspect", "--json", "--stderr"]).ok().json();
    let words: Vec<&Value> =
        report["messages"].as_array().expect("a list").iter().filter(|m| m["channel"] == "stderr").collect();
    let lines: Vec<Vec<u8>> = words.iter().map(|m| it.raw(m)).collect();
    assert_eq!(
        lines,
        [b"Error: socket hang up\n".as_slice(), b"    at Socket.onend (tiles.js:12:9)\n"].map(<[u8]>::to_vec)
    );
    for line in words {
        assert_eq!((&line["dir"], &line["kind"]), (&json!("to_client"), &json!("stray")));
    }
}

#[test]
fn answers_after_the_end_of_stdin_are_answers() {
    let it = recorded("drain-on-eof");
    it.answered("1", "ok");
    let it = recorded("ok-oneshot");
    for id in ["0", "1", "2"] {
        it.answered(id, "ok");
    }
    let it = recorded("close-stdout");
    it.answered("1", "ok");
}

#[test]
fn floods_on_stderr_hide_no_answer() {
    for name in ["stderr-flood", "stderr-nonewline", "stderr-binary", "stderr-close"] {
        let it = recorded(name);
        it.answered("1", "ok");
        it.answered("2", "ok");
        assert_eq!(it.heard("stray").len(), 0, "{name}");
    }
}
