//! One run without the tap, one with it, and what the store holds of the second.

use super::{Case, peer::Peer};
use crate::support::{Client, TAP, TestEnv, is_alive};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What both peers saw, and what was left behind.
pub(super) struct Run {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// What the client wrote.
    pub(super) sent: Vec<u8>,
    /// What the server read.
    pub(super) read: Vec<u8>,
    /// Exit status or signal.
    pub(super) ending: (Option<i32>, Option<i32>),
    /// The processes that outlived their parent.
    pub(super) left: Vec<String>,
}

/// Runs a case; with the tap its recording is the newest of the store.
pub(super) fn run(env: &TestEnv, case: &Case, args: &[&str], tapped: bool) -> Run {
    let file = |name: &str| env.path().join(format!("{name}-{tapped}")).display().to_string();
    let (tee, pids) = (file("read"), file("pids"));
    let mut words = if tapped { vec!["record", "--", TAP] } else { Vec::new() };
    words.extend(["sample-server", "--case", case.name, "--seed", "7", "--tee-in", &tee, "--pid-file", &pids]);
    words.extend(args);
    let mut peer = Peer::new(Client::start(env.command(&words)), tapped);
    (case.script)(&mut peer);
    peer.close();
    assert!(peer.ends_within(Duration::from_secs(60)), "{}: tapped: {tapped}: it does not end", case.name);
    let left = end_leftovers(Path::new(&pids), tapped);
    let Peer { client, sent, .. } = peer;
    let output = client.wait();
    let read = std::fs::read(&tee).unwrap_or_default();
    let ending = (output.status.code(), output.status.signal());
    Run { stdout: output.stdout, stderr: output.stderr, sent, read, ending, left }
}

/// Returns who is still there; the tap's KILL may take a moment to be obeyed.
fn end_leftovers(pids: &Path, tapped: bool) -> Vec<String> {
    let text = std::fs::read_to_string(pids).unwrap_or_default();
    let alive = || {
        let of = |line: &&str| line.split(' ').nth(1).and_then(|pid| pid.parse().ok()).is_some_and(is_alive);
        text.lines().filter(of).map(str::to_owned).collect::<Vec<String>>()
    };
    let until = Instant::now() + Duration::from_secs(if tapped { 3 } else { 0 });
    while !alive().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = alive();
    for line in &left {
        let pid = line.split(' ').nth(1).and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
    }
    left
}

/// Fails the test where a run of the case through the tap differs from one without it.
pub(super) fn with_and_without_the_tap(case: &Case) {
    let env = TestEnv::new();
    let direct = run(&env, case, case.args, false);
    let tapped = run(&env, case, case.args, true);

    same("stdout", &direct.stdout, &tapped.stdout, case.any_order);
    same("stderr", &direct.stderr, &tapped.stderr, false);
    assert_eq!(direct.ending, tapped.ending, "exit status and signal");
    assert_eq!(tapped.left, Vec::<String>::new(), "left behind");

    same("the client's script", &direct.sent, &tapped.sent, false);
    let to_server = env.stream("to_server", "stdio");
    if direct.read == direct.sent {
        same("stdin", &tapped.sent, &tapped.read, false);
        same("stored stdin", &tapped.sent, &to_server, false);
    } else {
        // The server was gone before it had read everything: how far it came is its own affair.
        assert!(tapped.sent.starts_with(&tapped.read), "the server read something else");
        assert!(to_server.starts_with(&tapped.read), "the server read what is not stored");
        assert!(tapped.sent.starts_with(&to_server), "something else is stored");
    }
    same("stored stdout", &tapped.stdout, &env.stream("to_client", "stdio"), false);
    same("stored stderr", &tapped.stderr, &env.stream("to_client", "stderr"), false);

    let session = env.session();
    let status = match tapped.ending {
        (Some(code), _) => serde_json::json!({ "code": code }),
        (None, signal) => serde_json::json!({ "signal": signal }),
    };
    assert_eq!(session["exit_status"], status);
    assert_eq!((&session["lost_frames"], &session["incomplete"]), (&0.into(), &false.into()));
}

/// Compares two streams and shows the place where they part.
fn same(what: &str, expected: &[u8], got: &[u8], any_order: bool) {
    if expected == got {
        return;
    }
    if any_order {
        let lines = |bytes: &[u8]| {
            let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort();
            lines
        };
        if lines(expected) == lines(got) {
            return;
        }
    }
    let at = expected.iter().zip(got).position(|(one, other)| one != other).unwrap_or(expected.len().min(got.len()));
    let around = |bytes: &[u8]| {
        let shown = bytes.get(at.saturating_sub(60)..(at + 60).min(bytes.len())).unwrap_or_default();
        String::from_utf8_lossy(shown).into_owned()
    };
    panic!(
        "{what}: {} and {} bytes, different at {at}:\n{:?}\n{:?}",
        expected.len(),
        got.len(),
        around(expected),
        around(got)
    );
}
