//! The tap under a terminal: a person reads stderr, and the keys of the terminal raise signals.

use super::soon;
use crate::support::{TAP, TestEnv, memmem};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A program that runs in the foreground of a terminal.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<Vec<u8>>>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    /// Starts a shell that becomes the tap, so that redirections can be asked for.
    pub(crate) fn start(env: &TestEnv, script: &str, words: &[&str]) -> Self {
        let size = PtySize { rows: 24, cols: 200, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::new("/bin/sh");
        command.args(["-c", script, TAP]);
        command.args(words);
        command.env_clear();
        command.env("HOME", env.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.cwd(env.path());
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, seen) = (pair.master.try_clone_reader().expect("a reader"), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                seen.lock().expect("not poisoned").extend_from_slice(&buffer[..read]);
            }
        });
        let keys = pair.master.take_writer().expect("a keyboard");
        Self { child, keys, screen, _master: pair.master }
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().expect("not poisoned")).into_owned()
    }

    pub(crate) fn shows(&self, text: &str) {
        assert!(soon(|| memmem(self.screen().as_bytes(), text.as_bytes())), "no `{text}` in {}", self.screen());
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("the terminal is there");
    }

    fn process(&self) -> u32 {
        self.child.process_id().expect("a process")
    }

    /// Waits for the end; a number above 128 is a signal's.
    pub(crate) fn ends(&mut self) -> u32 {
        assert!(soon(|| !crate::support::is_alive(self.process() as i32)), "it does not end: {}", self.screen());
        self.child.wait().expect("the child is ours").exit_code()
    }
}

fn lines(file: &PathBuf) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_person_is_told_and_stdout_is_the_protocol() {
    let env = TestEnv::new();
    let out = env.path().join("out");
    let script = r#"exec "$0" record -- "$0" sample-server --extra-tools --speed 1000 >out"#;
    let mut terminal = Terminal::start(&env, script, &[]);
    terminal.shows("mcp-tap: recording ");
    terminal.shows("mcp-tap: or type JSON-RPC here, one message a line; Ctrl-D ends it");
    let process = terminal.process();
    let info = r#""clientInfo":{"name":"t","version":"1"}"#;
    terminal.press(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{{}},{info}}}}}\n"
    ));
    assert!(soon(|| lines(&out).len() == 1));
    terminal.press(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"proc\",\"arguments\":{}}}\n",
    );
    assert!(soon(|| lines(&out).len() == 2));
    terminal.press("\u{4}");
    assert_eq!(terminal.ends(), 0);
    terminal.shows("next: mcp-tap inspect weather");
    terminal.shows("mcp-tap: the server exited with 0");
    terminal.shows("4 messages, 1 call");

    let answers: Vec<Value> = lines(&out).iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.iter().map(|answer| answer["id"].clone()).collect::<Vec<_>>(), [json!(0), json!(1)]);
    // A server that asks for a password must stay in the foreground: in our own group.
    let facts = &answers[1]["result"]["structuredContent"];
    assert_eq!(facts["pgid"], process);
    assert_ne!(facts["pid"], process);
    assert_eq!(facts["isatty"], json!([false, false, false]));
}

/// Notes each signal, and goes on for a second after the first: time for a second one to come.
const NOTING: &str = r#"
trap 'echo INT >>noted' INT
trap 'echo TERM >>noted' TERM
echo ready
until test -s noted; do sleep 0.05; done
sleep 1
exit 4
"#;

#[test]
fn a_key_reaches_the_server_once() {
    let env = TestEnv::new();
    let mut terminal = Terminal::start(&env, r#"exec "$0" record -- sh -c "$1""#, &[NOTING]);
    // Not the word in the command that the greeting shows.
    terminal.shows("\r\nready\r\n");
    terminal.press("\u{3}");
    assert_eq!(terminal.ends(), 4);
    assert_eq!(lines(&env.path().join("noted")), ["INT"]);
    assert_eq!(env.session()["exit_status"], json!({"code": 4}));
}

#[test]
fn a_signal_of_another_process_reaches_the_server_once() {
    let env = TestEnv::new();
    // Less than the grace that a server has after TERM.
    let script = NOTING.replace("sleep 1\n", "sleep 0.3\n");
    let mut terminal = Terminal::start(&env, r#"exec "$0" record -- sh -c "$1""#, &[&script]);
    // Not the word in the command that the greeting shows.
    terminal.shows("\r\nready\r\n");
    let pid = rustix::process::Pid::from_raw(terminal.process() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    assert_eq!(terminal.ends(), 4);
    assert_eq!(lines(&env.path().join("noted")), ["TERM"]);
}

#[test]
fn leftovers_in_the_terminals_group_are_ended() {
    let env = TestEnv::new();
    let pids = env.path().join("pids");
    let script = r#"exec "$0" record -- "$0" sample-server --case spawn-grandchild --pid-file pids"#;
    let mut terminal = Terminal::start(&env, script, &[]);
    assert!(soon(|| super::noted(&pids).len() == 2));
    terminal.shows("Ctrl-D ends it");
    terminal.press("\u{4}");
    assert_eq!(terminal.ends(), 0);
    super::nothing_is_left(&pids, 2);
}

#[test]
fn a_closed_terminal_ends_the_server() {
    let env = TestEnv::new();
    let pids = env.path().join("pids");
    let script = r#"exec "$0" record -- "$0" sample-server --case hang-on-eof --pid-file pids"#;
    let terminal = Terminal::start(&env, script, &[]);
    terminal.shows("Ctrl-D ends it");
    assert!(soon(|| super::noted(&pids).len() == 1));
    let Terminal { mut child, keys, _master, .. } = terminal;
    drop((keys, _master));
    // The reader's copy of the terminal is still open: the session leader is hung up as `login` would do it.
    let pid = rustix::process::Pid::from_raw(child.process_id().expect("a process") as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).expect("it is there");
    child.wait().expect("the child is ours");
    super::nothing_is_left(&pids, 1);
    assert_eq!(env.session()["exit_status"], json!({"signal": 1}));
}
