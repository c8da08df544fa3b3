//! How the tap is started: commands that cannot be, arguments, streams that are closed, bare environments.

use super::output;
use crate::support::{Output, TAP, TestEnv};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn the_status_is_the_servers() {
    for status in [0, 1, 2, 7, 126, 127, 255] {
        let env = TestEnv::new();
        let output = env.tap(&["record", "--", "sh", "-c", &format!("exit {status}")]);
        assert_eq!((output.code(), output.text(), output.errors()), (status, String::new(), String::new()));
        assert_eq!(env.session()["exit_status"], json!({ "code": status }));
    }
}

#[test]
fn a_command_that_is_not_found_is_127_and_a_session() {
    let env = TestEnv::new();
    let mut command = env.command(&["record", "--", "no-such-server", "--db", "x"]);
    command.env("PATH", "/nowhere:/usr/bin");
    let said = output(command);
    let expected = "mcp-tap: cannot start `no-such-server`: not found in PATH (/nowhere:/usr/bin)\n\
        hint: desktop programs do not read your shell's profile: give the full path\n";
    assert_eq!((said.code(), said.text(), said.errors()), (127, String::new(), expected.into()));
    let session = env.session();
    assert_eq!((&session["exit_status"], &session["frames"]), (&json!({"code": 127}), &json!(0)));
    assert_eq!(session["end_reason"], "the server could not be started: not found");
    assert_eq!(session["launch"]["argv"], json!(["no-such-server", "--db", "x"]));

    let said = env.tap(&["record", "./build/index.js"]);
    let expected = "mcp-tap: cannot start `./build/index.js`: no such file\n";
    assert_eq!((said.code(), said.text(), said.errors()), (127, String::new(), expected.into()));
}

#[test]
fn a_command_that_is_not_executable_is_126_and_a_session() {
    let env = TestEnv::new();
    let file = env.path().join("server.js");
    std::fs::write(&file, "#!/bin/sh\n").expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let said = env.tap(&["record", "--", "./server.js"]);
    let expected = "mcp-tap: cannot start `./server.js`: permission denied\n\
        hint: chmod +x ./server.js, or put its interpreter before it\n";
    assert_eq!((said.code(), said.text(), said.errors()), (126, String::new(), expected.into()));
    let session = env.session();
    assert_eq!(session["exit_status"], json!({"code": 126}));
    assert_eq!(session["end_reason"], "the server could not be started: not executable: permission denied");
}

#[test]
fn arguments_are_handed_on_to_the_letter() {
    let words: [&[u8]; 9] = [b"", b"--", b"-y", b"a b", b"--store", b"x", b"\xff\xfe", "é'\"$".as_bytes(), b"--"];
    let shell: [&[u8]; 4] = [b"sh", b"-c", br#"printf '%s\0' "$@""#, b"sh"];
    // Several clients take the first `--` out.
    for record in [["record", "--"].as_slice(), &["record"]] {
        let env = TestEnv::new();
        let mut command = env.command(record);
        command.args(shell.iter().chain(&words).map(|word| OsString::from_vec(word.to_vec())));
        let said = output(command).ok();
        let got: Vec<&[u8]> =
            said.stdout.split_inclusive(|byte| *byte == 0).map(|word| &word[..word.len() - 1]).collect();
        assert_eq!(got, words, "{record:?}");
        assert_eq!(said.errors(), "");
    }
}

fn facts(env: &TestEnv, record: &[&str]) -> Value {
    let mut args = vec!["record"];
    args.extend(record);
    args.extend([TAP, "sample-server", "--extra-tools", "--", "rest"]);
    let mut client = env.client(&args);
    client.initialize("2025-11-25");
    client.call(1, "tools/call", r#"{"name":"proc","arguments":{}}"#);
    let said = client.end().ok().text();
    let answer: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("JSON");
    answer["result"]["structuredContent"].clone()
}

#[test]
fn environment_and_folder_are_the_servers_own() {
    for record in [["--"].as_slice(), &[], &["--name", "n"], &["--name=n", "--"]] {
        let env = TestEnv::new().with("MCP_TAP_STORE", "stored.db");
        let facts = facts(&env, record);
        assert_eq!(facts["env"], json!(["COLUMNS", "HOME", "MCP_TAP_STORE", "PATH", "TZ"]));
        assert_eq!(facts["argv"], json!([TAP, "sample-server", "--extra-tools", "--", "rest"]));
        let folder = env.path().canonicalize().expect("a folder");
        assert_eq!(facts["cwd"], json!(folder));
        // Away from a terminal the server leads a group of its own.
        assert_eq!(facts["pid"], facts["pgid"]);
        assert!(env.path().join("stored.db").exists());
    }
}

#[test]
fn a_mistyped_flag_of_ours_is_no_command() {
    let cases: [(&[&str], &str); 4] = [
        (&["record", "--nmae", "x", "--", "true"], "--nmae"),
        (&["record", "--nmae", "true"], "--nmae"),
        (&["record"], "record needs the command of a server"),
        (&["record", "--name", "27", "--", "true"], "`27` cannot be a name"),
    ];
    for (words, told) in cases {
        let env = TestEnv::new();
        let said = env.tap(words);
        assert_eq!((said.code(), said.text()), (2, String::new()), "{words:?}");
        assert!(said.errors().contains(told), "{words:?}: {}", said.errors());
        assert!(!env.store().exists());
    }
}

/// Runs the tap from a shell that closes one of its streams first.
fn with_closed(env: &TestEnv, redirection: &str, server: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!(r#"exec "$0" record -- sh -c "$1" {redirection}"#)).arg(TAP).arg(server);
    shell.current_dir(env.path()).env_clear().env("HOME", env.path());
    shell.env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(std::process::Stdio::null());
    output(shell)
}

#[test]
fn a_stream_that_is_closed_from_the_start_is_no_harm() {
    let server = "cat; echo out; echo err >&2; exit 3";
    for (redirection, out, err) in
        [("<&-", "out\n", "err\n"), (">&-", "", "err\n"), ("2>&-", "out\n", ""), ("<&- >&- 2>&-", "", "")]
    {
        let env = TestEnv::new();
        let said = with_closed(&env, redirection, server);
        assert_eq!((said.text().as_str(), said.errors().as_str(), said.code()), (out, err, 3), "{redirection}");
        assert_eq!(env.stream("to_client", "stdio"), b"out\n", "{redirection}");
        assert_eq!(env.stream("to_client", "stderr"), b"err\n", "{redirection}");
        assert_eq!(env.session()["exit_status"], json!({"code": 3}), "{redirection}");
    }
}

#[test]
fn two_variables_and_the_root_folder_are_enough() {
    let env = TestEnv::new();
    let mut command = env.command(&["record", "--", "sh", "-c", "pwd; exit 4"]);
    command.env_clear().current_dir("/").env("HOME", env.path()).env("PATH", "/usr/bin:/bin");
    let said = output(command);
    assert_eq!((said.text(), said.errors(), said.code()), ("/\n".into(), String::new(), 4));
    assert_eq!(env.session()["launch"]["cwd"], "/");
    assert_eq!(env.session()["launch"]["variables"], json!(["HOME", "PATH"]));
}

#[test]
fn no_home_is_no_harm() {
    // Named, or the test would write into the home of whoever runs it.
    let env = TestEnv::new().with("MCP_TAP_STORE", "named.db");
    for server in ["echo ${HOME-none}", "echo ${HOME-none}; exit 0"] {
        let mut command = env.command(&["record", "--", "sh", "-c", server]);
        command.env_remove("HOME");
        let said = output(command);
        assert_eq!((said.text(), said.errors(), said.code()), ("none\n".into(), String::new(), 0));
    }
    let sessions = env.tap(&["sessions", "--json"]).ok().json();
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_folder_that_is_gone_is_no_harm() {
    let env = TestEnv::new();
    let folder = env.path().join("gone");
    std::fs::create_dir(&folder).expect("a folder");
    let script = format!(r#"rmdir "$PWD"; exec {TAP} record -- /bin/echo out"#);
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).current_dir(&folder).env_clear().env("HOME", env.path());
    let said = output(command);
    assert_eq!((said.text(), said.errors(), said.code()), ("out\n".into(), String::new(), 0));
    assert_eq!(env.session()["launch"]["cwd"], Value::Null);
}

#[test]
fn the_tap_can_be_switched_off() {
    let env = TestEnv::new().with("MCP_TAP_OFF", "1");
    let client = env.client(&["record", "--", "sh", "-c", "echo $$; exit 9"]);
    let pid = client.child.id();
    let said = client.end();
    // The server is the very process that the client has started.
    assert_eq!((said.text(), said.code()), (format!("{pid}\n"), 9));
    assert!(!env.store().exists());
    let said = env.tap(&["record", "--", "no-such-server"]);
    assert_eq!((said.code(), said.text()), (127, String::new()));
    assert!(
        said.errors().starts_with("mcp-tap: cannot start `no-such-server`: not found in PATH"),
        "{}",
        said.errors()
    );
    let on = TestEnv::new().with("MCP_TAP_OFF", "0");
    assert_eq!(on.tap(&["record", "--", "true"]).code(), 0);
    assert!(on.store().exists());
}
