//! The vocabulary of the tests: an environment of its own, the program run in it, and a client that can be told what
//! to write.

#![allow(dead_code, reason = "each journey uses its own part of the vocabulary")]

pub(crate) mod pairs;

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The program under test.
pub(crate) const TAP: &str = env!("CARGO_BIN_EXE_mcp-tap");

/// A moment at which tests see the past: 2026-11-30T14:31:00Z.
pub(crate) const NOW: &str = "1796049060000000000";

/// A home, a store and a cleared environment.
pub(crate) struct TestEnv {
    dir: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// What a command printed and how it ended.
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) status: ExitStatus,
}

impl Output {
    #[must_use]
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    #[must_use]
    pub(crate) fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    #[must_use]
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Returns stdout as JSON.
    #[must_use]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", self.text(), self.errors()))
    }

    /// Returns stdout, stderr and the exit status in one text, as snapshots show it.
    #[must_use]
    pub(crate) fn shown(&self) -> String {
        let mut text = self.text();
        if !self.stderr.is_empty() {
            text.push_str("[stderr]\n");
            text.push_str(&self.errors());
        }
        if self.code() != 0 {
            text.push_str(&format!("[exit {}]\n", self.code()));
        }
        text
    }

    /// Fails the test unless the command ended with 0.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code(), 0, "{}{}", self.text(), self.errors());
        self
    }
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl TestEnv {
    #[must_use]
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder for the test");
        Self { dir, variables: Vec::new() }
    }

    /// Sets a variable for every command of this environment.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    #[must_use]
    pub(crate) fn store(&self) -> PathBuf {
        self.dir.path().join(".local/state/mcp-tap/store.db")
    }

    /// Returns the program as a command in this environment: no variable of the caller's but PATH.
    #[must_use]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(TAP);
        command.args(args).current_dir(self.dir.path()).env_clear();
        command.env("HOME", self.dir.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("COLUMNS", "80").env("TZ", "UTC");
        if args.first() != Some(&"record") {
            command.env("MCP_TAP_TEST_NOW", NOW);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    #[must_use]
    pub(crate) fn tap(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().expect("the program runs");
        Output { stdout: output.stdout, stderr: output.stderr, status: output.status }
    }

    /// Runs the program with something on its stdin.
    #[must_use]
    pub(crate) fn tap_with_input(&self, args: &[&str], input: &[u8]) -> Output {
        let mut client = self.client(args);
        client.write(input);
        client.end()
    }

    /// Starts the program with pipes, to be talked to.
    #[must_use]
    pub(crate) fn client(&self, args: &[&str]) -> Client {
        Client::start(self.command(args))
    }

    /// Starts the sample server behind `record`.
    #[must_use]
    pub(crate) fn recorded_sample(&self, record: &[&str], sample: &[&str]) -> Client {
        let mut args = vec!["record"];
        args.extend(record);
        args.extend(["--", TAP, "sample-server"]);
        args.extend(sample);
        self.client(&args)
    }

    /// Returns the newest session's messages, as `inspect --json` has them.
    #[must_use]
    pub(crate) fn messages(&self) -> Vec<serde_json::Value> {
        let report = self.tap(&["inspect", "--json"]).ok().json();
        report["messages"].as_array().expect("a list").clone()
    }

    /// Returns the newest session, as `sessions --json` has it.
    #[must_use]
    pub(crate) fn session(&self) -> serde_json::Value {
        self.tap(&["sessions", "--json"]).ok().json()["sessions"][0].clone()
    }

    /// Returns the exact bytes of the frames of one stream of the newest session, one after the other.
    #[must_use]
    pub(crate) fn stream(&self, direction: &str, channel: &str) -> Vec<u8> {
        Self::stream_of(&self.store(), direction, channel)
    }

    /// Returns the same of the newest session of any store.
    #[must_use]
    pub(crate) fn stream_of(store: &Path, direction: &str, channel: &str) -> Vec<u8> {
        let store = rusqlite::Connection::open(store).expect("the store opens");
        let mut found = Vec::new();
        let session: i64 = store.query_row("SELECT max(id) FROM sessions", [], |row| row.get(0)).expect("a session");
        let (dir, ch) = (i64::from(direction == "to_client"), i64::from(channel == "stderr"));
        let lane = if ch == 1 { 2 } else { dir };
        let mut statement = store
            .prepare("SELECT raw, parts_from, parts FROM frames WHERE id >> 32 = ?1 AND direction = ?2 AND channel = ?3 ORDER BY id")
            .expect("frames");
        let mut rows = statement.query((session, dir, ch)).expect("frames");
        while let Some(row) = rows.next().expect("a row") {
            match row.get::<_, Option<Vec<u8>>>(0).expect("bytes") {
                Some(raw) => found.extend(raw),
                None => {
                    let (from, count): (i64, i64) = (row.get(1).expect("from"), row.get(2).expect("count"));
                    let mut parts = store
                        .prepare("SELECT raw FROM frame_parts WHERE id >= ?1 AND id >> 32 = ?2 AND lane = ?3 ORDER BY id LIMIT ?4")
                        .expect("parts");
                    let parts =
                        parts.query_map((from, session, lane, count), |row| row.get::<_, Vec<u8>>(0)).expect("parts");
                    parts.for_each(|part| found.extend(part.expect("a part")));
                }
            }
        }
        found
    }
}

/// A client of a running command: writes what it is told, keeps what it reads.
pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
}

/// What was read, and whether the stream has ended.
type Shared = (Mutex<(Vec<u8>, bool)>, Condvar);

/// What was read of a pipe so far.
#[derive(Clone, Default)]
pub(crate) struct Stream {
    shared: Arc<Shared>,
}

impl Stream {
    fn follow(mut from: impl Read + Send + 'static) -> Self {
        let stream = Self::default();
        let shared = Arc::clone(&stream.shared);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let read = from.read(&mut buffer).unwrap_or(0);
                let mut state = shared.0.lock().expect("not poisoned");
                state.0.extend_from_slice(&buffer[..read]);
                state.1 = read == 0;
                shared.1.notify_all();
                if read == 0 {
                    break;
                }
            }
        });
        stream
    }

    /// Returns what was read so far.
    #[must_use]
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.shared.0.lock().expect("not poisoned").0.clone()
    }

    /// Waits until `done` says so of what was read; returns false if the time ran out.
    pub(crate) fn wait(&self, limit: Duration, done: impl Fn(&[u8], bool) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.shared.0.lock().expect("not poisoned");
        loop {
            if done(&state.0, state.1) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.1.wait_timeout(state, left).expect("not poisoned").0;
        }
    }
}

/// How long a test waits for something that should be there at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

impl Client {
    /// Starts a command with pipes on all three streams.
    #[must_use]
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = Stream::follow(child.stdout.take().expect("stdout"));
        let stderr = Stream::follow(child.stderr.take().expect("stderr"));
        Self { child, stdin, stdout, stderr }
    }

    /// Writes bytes; a server that does not read any more is no failure of the client.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
        }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.write(text.as_bytes());
        self.write(b"\n");
    }

    /// Waits until stdout has this text.
    pub(crate) fn expect(&self, text: &str) {
        let found = self.stdout.wait(PATIENCE, |bytes, _| memmem(bytes, text.as_bytes()));
        assert!(found, "no `{text}` in {}", String::from_utf8_lossy(&self.stdout.bytes()));
    }

    /// Calls a method and waits for the answer's id.
    pub(crate) fn call(&mut self, id: u64, method: &str, params: &str) {
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
        self.expect(&format!(r#""id":{id},"#));
    }

    /// Shakes hands.
    pub(crate) fn initialize(&mut self, revision: &str) {
        let info = r#""clientInfo":{"name":"test","version":"1"}"#;
        self.call(0, "initialize", &format!(r#"{{"protocolVersion":"{revision}","capabilities":{{}},{info}}}"#));
        self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Closes stdin.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Sends a signal to the command.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        rustix::process::kill_process(pid, signal).expect("the process is there");
    }

    /// Closes stdin and waits for the end of everything.
    #[must_use]
    pub(crate) fn end(mut self) -> Output {
        self.close();
        self.wait()
    }

    /// Waits for the end of everything.
    #[must_use]
    pub(crate) fn wait(mut self) -> Output {
        let until = Instant::now() + Duration::from_secs(120);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child is ours") {
                break status;
            }
            assert!(Instant::now() < until, "the program did not end");
            std::thread::sleep(Duration::from_millis(2));
        };
        for stream in [&self.stdout, &self.stderr] {
            stream.wait(PATIENCE, |_, ended| ended);
        }
        Output { stdout: self.stdout.bytes(), stderr: self.stderr.bytes(), status }
    }
}

/// Returns true if the bytes have this text.
#[must_use]
pub(crate) fn memmem(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window == text)
}

/// Returns true if a process is alive and no zombie.
#[must_use]
pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
}
