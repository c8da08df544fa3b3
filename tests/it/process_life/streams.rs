//! Whatever stdin, stdout and stderr are: files, slow readers, readers that leave, pipes that do not block.

use super::output;
use crate::support::{PATIENCE, TAP, TestEnv};
use rustix::fs::{OFlags, fcntl_setfl};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Returns a shell in the environment; `$0` is the tap.
fn shell(env: &TestEnv, script: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, TAP]).current_dir(env.path()).env_clear().env("HOME", env.path());
    shell.env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null());
    shell
}

#[test]
fn files_do_as_well_as_pipes() {
    let env = TestEnv::new();
    let lines: String = (0..5000).map(|number| format!("{{\"line\":{number}}}\n")).collect();
    std::fs::write(env.path().join("in"), &lines).expect("a file");
    let script = r#"exec "$0" record -- sh -c 'cat; echo done >&2' <in >out 2>err"#;
    assert_eq!(output(shell(&env, script)).code(), 0);
    assert_eq!(std::fs::read_to_string(env.path().join("out")).ok(), Some(lines.clone()));
    assert_eq!(std::fs::read_to_string(env.path().join("err")).ok(), Some("done\n".into()));
    assert_eq!(env.stream("to_server", "stdio"), lines.as_bytes());
    assert_eq!(env.stream("to_client", "stdio"), lines.as_bytes());
}

#[test]
fn stdout_and_stderr_may_be_one_stream() {
    let env = TestEnv::new();
    let said = output(shell(
        &env,
        r#"exec "$0" record -- sh -c 'echo out; sleep 0.2; echo err >&2; sleep 0.2; echo out' 2>&1"#,
    ));
    assert_eq!((said.text().as_str(), said.code()), ("out\nerr\nout\n", 0));
    assert_eq!(env.stream("to_client", "stderr"), b"err\n");
}

#[test]
fn the_server_has_its_parents_descriptors_and_none_of_ours() {
    let env = TestEnv::new();
    std::fs::write(env.path().join("three"), "third\n").expect("a file");
    let server = r#"cat <&3; echo $(ls /proc/self/fd)"#;
    let direct = output(shell(&env, &format!("exec sh -c '{server}' 3<three"))).ok();
    let tapped = output(shell(&env, &format!("exec \"$0\" record -- sh -c '{server}' 3<three"))).ok();
    assert_eq!(direct.text(), tapped.text());
    assert!(tapped.text().starts_with("third\n"));
}

#[test]
fn the_server_has_its_parents_ignored_signals_limits_and_mask() {
    let env = TestEnv::new();
    let set = r#"trap "" HUP USR2; umask 027; ulimit -n 200;"#;
    // All but the identity of the process and what the scheduler did with it.
    let server = r#"umask; ulimit -n; ulimit -c; grep -E "^(SigBlk|SigIgn|SigCgt|NoNewPrivs)" /proc/self/status"#;
    let direct = output(shell(&env, &format!("{set} exec sh -c '{server}'"))).ok();
    let tapped = output(shell(&env, &format!("{set} exec \"$0\" record -- sh -c '{server}'"))).ok();
    assert_eq!(direct.text(), tapped.text());
}

#[test]
fn a_reader_that_leaves_is_noticed_by_the_server() {
    let env = TestEnv::new();
    // It dies of its broken pipe, as it would without the tap.
    let mut command = env.command(&["record", "--", "sh", "-c", "while echo y; do sleep 0.02; done"]);
    let mut child = command.spawn().expect("the program starts");
    let mut first = [0; 4];
    child.stdout.take().expect("stdout").read_exact(&mut first).expect("lines");
    assert_eq!(&first, b"y\ny\n");
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), status.signal()), (None, Some(13)));
    assert_eq!(env.session()["exit_status"], serde_json::json!({"signal": 13}));
}

#[test]
fn a_server_that_closes_its_stdin_is_noticed_by_the_client() {
    let env = TestEnv::new();
    let mut command = env.command(&["record", "--", "sh", "-c", "exec <&-; echo closed; sleep 60"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the program starts");
    let (mut stdin, mut stdout) = (child.stdin.take().expect("stdin"), child.stdout.take().expect("stdout"));
    let mut closed = [0; 7];
    stdout.read_exact(&mut closed).expect("a line");
    let refused = super::soon(|| stdin.write_all(b"{}\n").is_err());
    child.kill().expect("it is there");
    child.wait().expect("it ends");
    assert!(refused, "the client writes into nothing");
}

#[test]
fn a_slow_reader_gets_everything() {
    let env = TestEnv::new();
    let mut command = env.command(&["record", "--", "sh", "-c", "head -c 3000000 /dev/zero; echo end; exit 8"]);
    let mut child = command.spawn().expect("the program starts");
    let mut stdout = child.stdout.take().expect("stdout");
    // Longer than a pipe is waited for after its server has ended.
    std::thread::sleep(Duration::from_millis(700));
    let mut read = vec![0; 2_900_000];
    stdout.read_exact(&mut read).expect("bytes");
    std::thread::sleep(Duration::from_millis(700));
    stdout.read_to_end(&mut read).expect("the rest");
    assert_eq!((read.len(), read.ends_with(b"\0end\n")), (3_000_004, true));
    assert_eq!(child.wait().expect("it ends").code(), Some(8));
    assert_eq!(env.stream("to_client", "stdio").len(), 3_000_004);
}

#[test]
fn pipes_that_do_not_block_are_waited_for() {
    let env = TestEnv::new();
    let (their_in, mut our_in) = std::io::pipe().expect("a pipe");
    let (mut our_out, their_out) = std::io::pipe().expect("a pipe");
    fcntl_setfl(&their_in, OFlags::NONBLOCK).expect("a flag");
    fcntl_setfl(&their_out, OFlags::NONBLOCK).expect("a flag");
    let mut command = env.command(&["record", "--", "sh", "-c", "read -r line; head -c 1000000 /dev/zero; echo $line"]);
    command.stdin(their_in).stdout(their_out);
    let mut child = command.spawn().expect("the program starts");
    drop(command);
    std::thread::sleep(Duration::from_millis(100));
    our_in.write_all(b"hello\n").expect("a line");
    std::thread::sleep(Duration::from_millis(300));
    let mut read = Vec::new();
    our_out.read_to_end(&mut read).expect("bytes");
    assert_eq!((read.len(), read.ends_with(b"\0hello\n")), (1_000_006, true));
    drop(our_in);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_helper_that_is_deaf_is_ended_too() {
    let env = TestEnv::new();
    let script = r#"(trap "" TERM HUP INT; exec sleep 300) >/dev/null 2>&1 & echo $!; read -r line; exit 0"#;
    let mut client = env.client(&["record", "--", "sh", "-c", script]);
    assert!(client.stdout.wait(PATIENCE, |bytes, _| bytes.ends_with(b"\n")));
    let pid: i32 = String::from_utf8(client.stdout.bytes()).expect("UTF-8").trim().parse().expect("a process");
    assert!(crate::support::is_alive(pid));
    client.line("go");
    assert_eq!(client.end().code(), 0);
    assert!(super::soon(|| !crate::support::is_alive(pid)), "left behind");
}

#[test]
fn a_server_that_ends_on_a_flood_is_recorded_to_its_end() {
    let env = TestEnv::new();
    // Short lines are the dearest to store. Nobody is in a hurry: the client waits for us, and the store is our own.
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n".repeat(300_000);
    std::fs::write(env.path().join("lines"), &lines).expect("a file");
    let said = env.tap(&["record", "--", "cat", "lines"]);
    assert_eq!((said.code(), said.errors()), (0, String::new()));
    assert!(said.stdout == lines.as_bytes());
    let session = env.session();
    assert_eq!((&session["frames"], &session["incomplete"]), (&serde_json::json!(300_000), &serde_json::json!(false)));
    assert_eq!(session["exit_status"], serde_json::json!({"code": 0}));
    assert!(env.stream("to_client", "stdio") == lines.as_bytes());
}
