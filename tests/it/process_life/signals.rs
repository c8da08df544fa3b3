//! Signals to the tap, and servers that do not want to end.

use super::{noted, nothing_is_left, soon};
use crate::support::{Client, PATIENCE, TAP, TestEnv, is_alive};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// Says which signal it got, and ends with 5.
const TELLING: &str = r#"
for s in TERM INT HUP QUIT USR1 USR2; do trap "echo got $s; exit 5" $s; done
echo ready
sleep 60 >/dev/null 2>&1 &
wait
"#;

/// Returns how many messages are in the store by now; it may not even be there yet.
fn stored(env: &TestEnv) -> usize {
    env.tap(&["inspect", "--jsonl"]).text().lines().count()
}

#[test]
fn signals_reach_the_server() {
    let signals = [
        (Signal::TERM, "TERM", 15),
        (Signal::INT, "INT", 2),
        (Signal::HUP, "HUP", 1),
        (Signal::QUIT, "QUIT", 3),
        (Signal::USR1, "USR1", 10),
        (Signal::USR2, "USR2", 12),
    ];
    for (signal, name, number) in signals {
        let env = TestEnv::new();
        let client = env.client(&["record", "--", "sh", "-c", TELLING]);
        client.expect("ready\n");
        client.signal(signal);
        let output = client.wait();
        assert_eq!((output.text(), output.errors(), output.code()), (format!("ready\ngot {name}\n"), String::new(), 5));
        let session = env.session();
        let reason = format!("the server exited with 5 after signal {number}");
        assert_eq!((&session["exit_status"], &session["end_reason"]), (&json!({"code": 5}), &json!(reason)));
    }
}

#[test]
fn a_signal_that_does_not_end_the_server_does_not_end_the_session() {
    let env = TestEnv::new();
    // A shell's `read` may fail when a signal interrupts it.
    let loops = r#"while test "$line" != stop; do read -r line && echo "$line"; done; echo end"#;
    let mut client = env.client(&["record", "--", "sh", "-c", &format!("trap 'echo heard' USR1; echo ready; {loops}")]);
    client.expect("ready\n");
    client.signal(Signal::USR1);
    // Some shells run the trap only once `read` has returned: an empty line lets them. One that overtakes the signal
    // does not, so another follows.
    let heard = |client: &Client| {
        client.stdout.wait(Duration::from_millis(100), |bytes, _| String::from_utf8_lossy(bytes).contains("heard\n"))
    };
    let until = Instant::now() + PATIENCE;
    while !heard(&client) && Instant::now() < until {
        client.line("");
    }
    client.expect("heard\n");
    client.line("second");
    client.expect("second\n");
    client.line("stop");
    client.expect("end\n");
    let output = client.end();
    assert_eq!((output.code(), output.errors()), (0, String::new()));
    let reason = env.session()["end_reason"].clone();
    assert_eq!(reason, "the server exited with 0 after signal 10");
}

#[test]
fn a_server_that_ignores_term_is_killed_before_its_client_loses_patience() {
    let env = TestEnv::new();
    let pids = env.path().join("pids");
    let pid_file = pids.display().to_string();
    let mut client = env.recorded_sample(&[], &["--case", "ignore-sigterm", "--pid-file", &pid_file]);
    client.initialize("2025-11-25");
    let since = Instant::now();
    client.signal(Signal::TERM);
    let output = client.wait();
    let took = since.elapsed();
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(3), "{took:?}");
    assert_eq!((output.status.code(), output.status.signal()), (None, Some(9)));
    nothing_is_left(&pids, 1);
    let session = env.session();
    assert_eq!((&session["exit_status"], &session["incomplete"]), (&json!({"signal": 9}), &json!(false)));
    assert_eq!(session["end_reason"], "the server was ended by signal 9: it did not end by itself");
    assert_eq!(env.stream("to_client", "stdio"), output.stdout);
}

#[test]
fn a_server_that_stays_after_the_end_of_stdin_is_given_five_seconds() {
    let env = TestEnv::new();
    let pids = env.path().join("pids");
    let pid_file = pids.display().to_string();
    let mut client = env.recorded_sample(&[], &["--case", "wrapper", "--pid-file", &pid_file]);
    client.initialize("2025-11-25");
    let since = Instant::now();
    let output = client.end();
    let took = since.elapsed();
    assert!(took >= Duration::from_secs(5) && took < Duration::from_secs(20), "{took:?}");
    assert_eq!(output.status.signal(), Some(15));
    // The wrapper and the real server.
    nothing_is_left(&pids, 2);
    assert_eq!(env.session()["exit_status"], json!({"signal": 15}));
}

#[test]
fn patience_counts_from_the_last_answer() {
    let env = TestEnv::new();
    let pids = env.path().join("pids");
    let pid_file = pids.display().to_string();
    let mut client = env.recorded_sample(&[], &["--case", "hang-on-eof", "--pid-file", &pid_file]);
    client.initialize("2025-11-25");
    client.line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":2000}}}"#);
    // The end of stdin comes while the call is known to be open.
    assert!(soon(|| stored(&env) == 4));
    client.close();
    client.expect(r#""id":1,"result""#);
    let since = Instant::now();
    let output = client.wait();
    let took = since.elapsed();
    // A call that was answered is waited for no longer.
    assert!(took > Duration::from_millis(4800) && took < Duration::from_secs(20), "{took:?}");
    assert_eq!(output.status.signal(), Some(15));
    nothing_is_left(&pids, 1);
}

#[test]
fn a_helper_that_outlives_its_server_is_ended() {
    let env = TestEnv::new();
    let pids = env.path().join("pids");
    let pid_file = pids.display().to_string();
    let mut client = env.recorded_sample(&[], &["--case", "spawn-grandchild", "--pid-file", &pid_file]);
    client.initialize("2025-11-25");
    assert!(noted(&pids).into_iter().all(is_alive));
    assert_eq!(client.end().code(), 0);
    nothing_is_left(&pids, 2);
}

#[test]
fn a_grandchild_that_holds_stdout_does_not_hold_the_session() {
    let env = TestEnv::new();
    let since = Instant::now();
    let output = env.tap(&["record", "--", "sh", "-c", "echo out; sleep 60 & exit 6"]);
    assert_eq!((output.text(), output.code()), ("out\n".into(), 6));
    assert!(since.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_killed_tap_leaves_no_server() {
    let env = TestEnv::new();
    let pids = env.path().join("pids");
    let pid_file = pids.display().to_string();
    let mut client = env.recorded_sample(&[], &["--case", "hang-on-eof", "--pid-file", &pid_file]);
    client.initialize("2025-11-25");
    // What was answered half a second ago is in the store.
    assert!(soon(|| stored(&env) == 3));
    client.signal(Signal::KILL);
    assert_eq!(client.wait().status.signal(), Some(9));
    nothing_is_left(&pids, 1);
    let session = env.session();
    assert_eq!((&session["live"], &session["incomplete"]), (&json!(false), &json!(true)));
    assert_eq!((&session["exit_status"], &session["ended_ns"]), (&json!(null), &json!(null)));
    assert_eq!(env.messages().len(), 3);
}

#[test]
fn the_parent_sees_the_death_that_the_server_died() {
    for signal in [9, 11, 15, 6, 2] {
        let env = TestEnv::new();
        let output = env.tap(&["record", "--", "sh", "-c", &format!("echo out; kill -{signal} $$; sleep 60")]);
        assert_eq!((output.status.code(), output.status.signal()), (None, Some(signal)));
        assert_eq!((output.text(), output.errors()), ("out\n".into(), String::new()));
        let session = env.session();
        assert_eq!(session["exit_status"], json!({ "signal": signal }));
        assert_eq!(env.stream("to_client", "stdio"), b"out\n");
    }
}

#[test]
fn a_stopped_server_gets_one_sentence() {
    let env = TestEnv::new();
    let mut client = env.client(&["record", "--", "sh", "-c", "echo $$; read -r line; echo \"$line\""]);
    assert!(client.stdout.wait(crate::support::PATIENCE, |bytes, _| bytes.ends_with(b"\n")));
    let pid = String::from_utf8(client.stdout.bytes()).expect("UTF-8").trim().parse().ok().and_then(Pid::from_raw);
    let pid = pid.expect("a process");
    kill_process(pid, Signal::STOP).expect("it is there");
    let sentence = "mcp-tap: the server was stopped by a signal; SIGCONT lets it go on\n";
    assert!(client.stderr.wait(crate::support::PATIENCE, |bytes, _| bytes == sentence.as_bytes()));
    kill_process(pid, Signal::CONT).expect("it is there");
    client.line("on");
    client.expect("\non\n");
    let output = client.end();
    assert_eq!((output.errors().as_str(), output.code()), (sentence, 0));
}

#[test]
fn answers_in_flight_are_delivered_after_the_end_of_stdin() {
    let env = TestEnv::new();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":500}}}"#;
    let input = format!("{hello}\n{call}\n");
    let args = ["record", "--", TAP, "sample-server", "--extra-tools", "--speed", "1000"];
    let slow = ["record", "--", TAP, "sample-server", "--extra-tools"];
    for args in [args.as_slice(), &slow] {
        let output = env.tap_with_input(args, input.as_bytes()).ok();
        assert!(output.text().contains(r#""id":1,"result""#), "{}", output.text());
    }
}
