//! The tap is killed at a random moment of a burst: what is stored is exact, and what is missing is only the last.
//!
//! `MCP_TAP_KILL_ROUNDS` sets how many rounds are played; ten without it.

use crate::support::{TAP, TestEnv, is_alive};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is older than this when the tap dies is in the store.
const OLDEST_MISSING: Duration = Duration::from_millis(500);

/// What passed in the last moment is reported on.
const LAST: Duration = Duration::from_millis(50);

/// Bytes with the moment at which each line was whole.
#[derive(Default)]
struct Log {
    bytes: Vec<u8>,
    lines: Vec<Instant>,
}

/// A client that writes a burst and reads what comes back.
struct Burst {
    tap: std::process::Child,
    begun: Instant,
    halt: Arc<AtomicBool>,
    writer: std::thread::JoinHandle<Log>,
    reader: std::thread::JoinHandle<Log>,
    tee: PathBuf,
    pids: PathBuf,
}

fn start(env: &TestEnv, round: u64, pace: Duration) -> Burst {
    let (tee, pids) = (env.path().join(format!("{round}.in")), env.path().join(format!("{round}.pids")));
    let mut command = env.command(&["record", "--", TAP, "sample-server", "--extra-tools"]);
    command.arg("--tee-in").arg(&tee).arg("--pid-file").arg(&pids);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut tap = command.spawn().expect("the tap starts");
    let (stdin, stdout) = (tap.stdin.take().expect("stdin"), tap.stdout.take().expect("stdout"));
    let halt = Arc::new(AtomicBool::new(false));
    let in_writer = Arc::clone(&halt);
    let writer = std::thread::spawn(move || write(stdin, &in_writer, pace));
    let reader = std::thread::spawn(move || read(stdout));
    Burst { tap, begun: Instant::now(), halt, writer, reader, tee, pids }
}

/// How long the client rests after twenty notifications; `MCP_TAP_KILL_PACE_US` sets it, 0 is flat out.
fn pace() -> Duration {
    let set = std::env::var("MCP_TAP_KILL_PACE_US").ok().and_then(|text| text.parse().ok());
    Duration::from_micros(set.unwrap_or(5000))
}

/// Within how many microseconds the tap is killed; `MCP_TAP_KILL_WITHIN_US` sets it.
fn kill_within() -> u64 {
    std::env::var("MCP_TAP_KILL_WITHIN_US").ok().and_then(|text| text.parse().ok()).unwrap_or(500_000)
}

/// Writes notifications of 120 bytes and a call now and then, each with its number, some thousands a second.
fn write(mut to: ChildStdin, halt: &AtomicBool, pace: Duration) -> Log {
    let mut log = Log::default();
    let info = r#""clientInfo":{"name":"burst","version":"1"}"#;
    let hello = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{{}},{info}}}}}\n"
    );
    let mut batch = hello.into_bytes();
    let mut number = 0_u64;
    while !halt.load(Ordering::Relaxed) {
        for _ in 0..20 {
            number += 1;
            batch.extend(numbered(number));
        }
        if number.is_multiple_of(60) {
            let params =
                format!(r#"{{"name":"progress","arguments":{{"n":40}},"_meta":{{"progressToken":"call-{number}"}}}}"#);
            let call =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"tools/call\",\"params\":{params}}}\n");
            batch.extend(call.into_bytes());
        }
        if to.write_all(&batch).is_err() {
            break;
        }
        let lines = memchr::memchr_iter(b'\n', &batch).count();
        log.bytes.append(&mut batch);
        log.lines.extend(std::iter::repeat_n(Instant::now(), lines));
        std::thread::sleep(pace);
    }
    log
}

/// Returns a notification of 120 bytes with its line end.
fn numbered(number: u64) -> Vec<u8> {
    let mut line =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/burst","params":{{"number":"{number:09}","pad":""#)
            .into_bytes();
    line.resize(120 - 4, b'.');
    line.extend(b"\"}}\n");
    line
}

fn read(mut from: ChildStdout) -> Log {
    let mut log = Log::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer).unwrap_or(0);
        if count == 0 {
            return log;
        }
        let lines = memchr::memchr_iter(b'\n', &buffer[..count]).count();
        log.bytes.extend_from_slice(&buffer[..count]);
        log.lines.extend(std::iter::repeat_n(Instant::now(), lines));
    }
}

fn signal(tap: &std::process::Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(tap.id()).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("the tap is there");
}

fn stored(store: &Path, direction: i64) -> Vec<u8> {
    let store = Connection::open(store).expect("the store opens");
    let mut statement = store
        .prepare("SELECT raw FROM frames WHERE id >> 32 = (SELECT max(id) FROM sessions) AND direction = ?1 AND channel = 0 ORDER BY id")
        .expect("frames");
    let rows = statement.query_map([direction], |row| row.get::<_, Vec<u8>>(0)).expect("frames");
    rows.flat_map(|raw| raw.expect("bytes")).collect()
}

fn check(store: &Path) {
    let store = Connection::open(store).expect("the store opens");
    let check: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(check, "ok");
    let gaps: i64 = store
        .query_row("SELECT count(*) FROM gaps WHERE id >> 32 = (SELECT max(id) FROM sessions)", [], |row| row.get(0))
        .expect("gaps");
    assert_eq!(gaps, 0);
}

/// Fails unless both are the same as far as the shorter one goes.
fn assert_prefix(what: &str, a: &[u8], b: &[u8]) {
    let length = a.len().min(b.len());
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    assert!(a[..length] == b[..length], "{what}: {} and {} bytes differ at {at:?}", a.len(), b.len());
}

fn lines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// Fails unless the numbers in the stored notifications have no hole.
fn assert_no_hole(stored: &[u8]) {
    let mut expected = 0_u64;
    for line in stored.split(|byte| *byte == b'\n') {
        if let Some(at) = memchr::memmem::find(line, br#""number":""#) {
            expected += 1;
            let number =
                std::str::from_utf8(&line[at + 10..at + 19]).expect("digits").parse::<u64>().expect("a number");
            assert_eq!(number, expected);
        }
    }
}

fn server_pid(pids: &Path) -> i32 {
    let text = std::fs::read_to_string(pids).expect("the server started");
    text.split_whitespace().nth(1).and_then(|pid| pid.parse().ok()).expect("a pid")
}

fn assert_gone(pid: i32) {
    let until = Instant::now() + Duration::from_secs(2);
    while is_alive(pid) {
        assert!(Instant::now() < until, "the server {pid} was left behind");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn killed_at_a_random_moment() {
    let rounds: u64 = std::env::var("MCP_TAP_KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let env = TestEnv::new();
    let (mut last, mut last_missing) = (0, 0);
    let (mut oldest, mut passed, mut entered) = (Duration::ZERO, 0, 0);
    for round in 0..rounds {
        // The first rounds find the store new, or the recorder about to open it.
        let after = Duration::from_micros(20_000 + fastrand::u64(0..kill_within()));
        let mut burst = start(&env, round, pace());
        std::thread::sleep(after.saturating_sub(burst.begun.elapsed()));
        let killed = Instant::now();
        signal(&burst.tap, Signal::KILL);
        burst.tap.wait().expect("the tap is ours");
        burst.halt.store(true, Ordering::Relaxed);
        let (wrote, read) = (burst.writer.join().expect("wrote"), burst.reader.join().expect("read"));
        if let Ok(text) = std::fs::read_to_string(&burst.pids)
            && !text.is_empty()
        {
            assert_gone(server_pid(&burst.pids));
        }
        let server_read = std::fs::read(&burst.tee).unwrap_or_default();
        let _ = std::fs::remove_file(&burst.tee);
        passed += read.lines.len() + lines(&server_read);

        // Killed before even the session was entered, all that passed is missing, and is judged as what is missing.
        let list = env.tap(&["sessions", "--json"]);
        let total = if list.code() == 0 { list.json()["total"].as_u64().expect("a number") } else { 0 };
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        if total > entered {
            entered += 1;
            let session = &list.json()["sessions"][0];
            assert_eq!((&session["incomplete"], &session["live"]), (&true.into(), &false.into()), "{session}");
            check(&env.store());
            (to_server, to_client) = (stored(&env.store(), 0), stored(&env.store(), 1));
        }
        assert_eq!(total, entered, "round {round}: {}", list.errors());

        assert_prefix("to the server, as written", &to_server, &wrote.bytes);
        assert_prefix("to the server, as read", &to_server, &server_read);
        assert_prefix("to the client", &to_client, &read.bytes);
        assert_no_hole(&to_server);
        // Each lane: how many lines are stored, and when those that passed had passed.
        let reached = lines(&server_read).min(wrote.lines.len());
        for (kept, when) in [(lines(&to_server), &wrote.lines[..reached]), (lines(&to_client), &read.lines[..])] {
            let missing = &when[kept.min(when.len())..];
            if let Some(first) = missing.first() {
                let age = killed.saturating_duration_since(*first);
                oldest = oldest.max(age);
                assert!(
                    age <= OLDEST_MISSING,
                    "round {round}: {} lines are missing, the oldest of {age:?}",
                    missing.len()
                );
            }
            let is_last = |at: &&Instant| killed.saturating_duration_since(**at) <= LAST;
            last += when.iter().filter(is_last).count();
            last_missing += missing.iter().filter(is_last).count();
        }
    }
    println!(
        "{rounds} rounds, {passed} lines: of {last} lines of the last {LAST:?} {last_missing} are missing; the oldest was {oldest:?} old"
    );
    let after = env.recorded_sample(&[], &["--seed", "7"]).end();
    assert_eq!(after.code(), 0, "{}", after.errors());
    assert_eq!(env.session()["incomplete"], false);
}

#[test]
fn terminated_at_a_random_moment_nothing_is_missing() {
    let env = TestEnv::new();
    for round in 0..4 {
        let mut burst = start(&env, round, pace());
        std::thread::sleep(Duration::from_millis(100 + fastrand::u64(0..400)));
        let begun = Instant::now();
        signal(&burst.tap, Signal::TERM);
        let status = burst.tap.wait().expect("the tap is ours");
        let took = begun.elapsed();
        burst.halt.store(true, Ordering::Relaxed);
        let (wrote, read) = (burst.writer.join().expect("wrote"), burst.reader.join().expect("read"));
        assert_eq!(status.signal(), Some(15), "the tap ends as the server did");
        assert!(took < Duration::from_secs(2), "clients send KILL after two seconds; it took {took:?}");
        assert_gone(server_pid(&burst.pids));
        let server_read = std::fs::read(&burst.tee).expect("the server kept what it read");
        check(&env.store());
        let session = env.session();
        assert_eq!(
            (&session["incomplete"], &session["exit_status"], &session["lost_frames"]),
            (&false.into(), &serde_json::json!({"signal": 15}), &0.into()),
            "{session}"
        );
        let (to_server, to_client) = (stored(&env.store(), 0), stored(&env.store(), 1));
        assert!(to_client == read.bytes, "{} bytes stored, {} read", to_client.len(), read.bytes.len());
        assert_prefix("to the server, as written", &to_server, &wrote.bytes);
        assert_prefix("to the server, as read", &to_server, &server_read);
        assert!(to_server.len() >= server_read.len(), "{} and {}", to_server.len(), server_read.len());
        assert_no_hole(&to_server);
    }
}
