//! Faults around the recorder: whatever becomes of the store, client and server see what they see without the tap.
//!
//! Each test plays one script twice, straight and recorded, and compares every byte, the exit status and what is
//! said; then it accounts for each byte of each stream: it is in a frame, or in a gap at that very place.

mod full_disk;
mod liveness;
mod locked;
mod privacy;
mod replaced;
mod shared;
mod surroundings;
mod unusable;

use crate::support::{Client, PATIENCE, TAP, TestEnv};
use rusqlite::Connection;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What every played server is started with: the same answers each time, and an exit status of its own.
const SERVER: [&str; 7] = ["sample-server", "--seed", "7", "--speed", "1000", "--case", "exit-code-7"];

/// One thing the client writes, and what it then waits for.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    write: String,
    await_text: Option<String>,
}

/// Returns a call whose answer is waited for.
pub(crate) fn call(id: u64, name: &str, arguments: &str) -> Step {
    let params = format!(r#"{{"name":"{name}","arguments":{arguments},"_meta":{{"progressToken":"t{id}"}}}}"#);
    Step {
        write: format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n"),
        await_text: Some(format!(r#""id":{id},"result""#)),
    }
}

/// Returns a handshake.
pub(crate) fn hello() -> Vec<Step> {
    let info = r#""clientInfo":{"name":"test","version":"1"}"#;
    let params = format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},{info}}}"#);
    let text = |text: &str| Step { write: text.into(), await_text: None };
    vec![
        Step {
            write: format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{params}}}\n"),
            await_text: Some(r#""id":0,"#.into()),
        },
        text("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"),
        text("\n"),
    ]
}

/// Returns calls of every kind: echoes, notifications from the server, stderr.
pub(crate) fn chatter(from: u64, calls: u64) -> Vec<Step> {
    let step = |id: u64| match id % 5 {
        0 => call(id, "log", &format!(r#"{{"text":"call {id}"}}"#)),
        1 => call(id, "progress", r#"{"n":7}"#),
        _ => call(id, "echo", &format!(r#"{{"text":"number {id}"}}"#)),
    };
    (from..from + calls).map(step).collect()
}

/// Returns calls that are answered with so many bytes each.
pub(crate) fn bulk(from: u64, calls: u64, bytes: u64) -> Vec<Step> {
    (from..from + calls).map(|id| call(id, "big", &format!(r#"{{"bytes":{bytes}}}"#))).collect()
}

/// A client that plays scripts, with a server that keeps what it was sent.
pub(crate) struct Player {
    client: Client,
    wrote: Vec<u8>,
    tee: PathBuf,
    looked_at: Cell<usize>,
}

/// All that was seen of a session from outside.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) wrote: Vec<u8>,
    pub(crate) server_read: Vec<u8>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) code: i32,
}

impl Player {
    /// Starts the server without the tap.
    pub(crate) fn direct(env: &TestEnv) -> Self {
        let mut command = Command::new(TAP);
        command.current_dir(env.path()).env_clear();
        Self::recorded_by(env, command)
    }

    /// Starts the server behind the tap.
    pub(crate) fn recorded(env: &TestEnv) -> Self {
        Self::recorded_by(env, env.command(&["record", "--", TAP]))
    }

    /// Starts the server behind a tap that is started in its own way: the command ends before the server's words.
    pub(crate) fn recorded_by(env: &TestEnv, mut command: Command) -> Self {
        static PLAYERS: AtomicUsize = AtomicUsize::new(0);
        let tee = env.path().join(format!("read-by-{}.in", PLAYERS.fetch_add(1, Ordering::Relaxed)));
        command.args(SERVER).arg("--tee-in").arg(&tee);
        Self { client: Client::start(command), wrote: Vec::new(), tee, looked_at: Cell::new(0) }
    }

    /// Plays steps.
    pub(crate) fn play(&mut self, steps: &[Step]) {
        for step in steps {
            self.wrote.extend(step.write.as_bytes());
            self.client.write(step.write.as_bytes());
            if let Some(text) = &step.await_text {
                let found = self.client.stdout.wait(PATIENCE, |bytes, _| {
                    // Only what is new is searched: the answers are megabytes.
                    let from = self.looked_at.get().min(bytes.len());
                    match memchr::memmem::find(&bytes[from..], text.as_bytes()) {
                        Some(at) if bytes.ends_with(b"\n") => {
                            self.looked_at.set(from + at);
                            true
                        }
                        _ => false,
                    }
                });
                assert!(found, "no `{text}`; stderr: {}", String::from_utf8_lossy(&self.client.stderr.bytes()));
            }
        }
    }

    /// Waits until the tap has said something.
    pub(crate) fn hears(&self, text: &str) {
        let heard =
            self.client.stderr.wait(PATIENCE, |bytes, _| memchr::memmem::find(bytes, text.as_bytes()).is_some());
        assert!(heard, "no `{text}` in {}", String::from_utf8_lossy(&self.client.stderr.bytes()));
    }

    /// Closes stdin and returns what was seen, with the lines of the tap set apart.
    pub(crate) fn end(self) -> (Seen, Vec<String>) {
        let Self { client, wrote, tee, .. } = self;
        let output = client.end();
        let code = output.code();
        let mut ours = Vec::new();
        let mut stderr = Vec::new();
        for line in output.stderr.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(b"mcp-tap:") {
                ours.push(String::from_utf8_lossy(line).trim_end().to_owned());
            } else {
                stderr.extend_from_slice(line);
            }
        }
        let server_read = std::fs::read(tee).expect("the server kept what it read");
        (Seen { wrote, server_read, stdout: output.stdout, stderr, code }, ours)
    }
}

/// Returns what is seen of a script without the tap.
pub(crate) fn straight(steps: &[Step]) -> Seen {
    let env = TestEnv::new();
    let mut player = Player::direct(&env);
    player.play(steps);
    let (seen, ours) = player.end();
    assert_eq!((ours.len(), seen.code), (0, 7));
    assert_eq!(seen.server_read, seen.wrote);
    seen
}

/// Compares two sessions without printing megabytes.
pub(crate) fn assert_same(tapped: &Seen, straight: &Seen) {
    assert_eq!(tapped.code, straight.code, "exit status; stderr: {}", String::from_utf8_lossy(&tapped.stderr));
    let pairs = [
        ("wrote", &tapped.wrote, &straight.wrote),
        ("server read", &tapped.server_read, &straight.server_read),
        ("stdout", &tapped.stdout, &straight.stdout),
        ("stderr", &tapped.stderr, &straight.stderr),
    ];
    for (what, a, b) in pairs {
        let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let near = |bytes: &[u8]| {
            String::from_utf8_lossy(&bytes[common.min(bytes.len())..(common + 200).min(bytes.len())]).into_owned()
        };
        assert!(
            a == b,
            "{what}: {} and {} bytes, the same up to {common}: {:?} {:?}",
            a.len(),
            b.len(),
            near(a),
            near(b)
        );
    }
}

/// What gaps say is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) bytes: usize,
    pub(crate) lines: usize,
}

/// Accounts for every byte of the newest session's streams and returns what is missing by its own account.
///
/// Frames and gaps, in their order, have to be the stream: no byte twice, none unaccounted for.
pub(crate) fn account(store: &Path, seen: &Seen) -> Missing {
    let store = Connection::open(store).expect("the store opens");
    let check: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(check, "ok");
    let (session, lost): (i64, i64) = store
        .query_row("SELECT id, lost_frames FROM sessions ORDER BY id DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("a session");
    let mut missing = Missing::default();
    for (lane, stream) in [&seen.wrote, &seen.stdout, &seen.stderr].into_iter().enumerate() {
        let found = account_lane(&store, session, lane, stream);
        missing.bytes += found.bytes;
        missing.lines += found.lines;
    }
    assert_eq!(lost, missing.lines as i64, "the session's own count of lost lines");
    missing
}

fn account_lane(store: &Connection, session: i64, lane: usize, stream: &[u8]) -> Missing {
    let (direction, channel) = [(0, 0), (1, 0), (1, 1)][lane];
    let mut gaps: Vec<(i64, usize, usize)> = store
        .prepare("SELECT coalesce(after_seq, -1), bytes, lines FROM gaps WHERE id >> 32 = ?1 AND direction = ?2 AND channel = ?3 ORDER BY id")
        .expect("gaps")
        .query_map([session, direction, channel], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)? as usize, row.get::<_, i64>(2)? as usize))
        })
        .expect("gaps")
        .collect::<Result<_, _>>()
        .expect("gaps");
    let missing = Missing { bytes: gaps.iter().map(|gap| gap.1).sum(), lines: gaps.iter().map(|gap| gap.2).sum() };
    let mut at = 0;
    let mut statement = store
        .prepare("SELECT id & 4294967295, raw, parts_from, parts FROM frames WHERE id >> 32 = ?1 AND direction = ?2 AND channel = ?3 ORDER BY id")
        .expect("frames");
    let mut rows = statement.query([session, direction, channel]).expect("frames");
    let mut skip = |at: &mut usize, before: i64| {
        while gaps.first().is_some_and(|gap| gap.0 < before) {
            let (_, bytes, lines) = gaps.remove(0);
            assert!(*at + bytes <= stream.len(), "lane {lane}: a gap of {bytes} at {at} is larger than the stream");
            let found = memchr::memchr_iter(b'\n', &stream[*at..*at + bytes]).count();
            assert_eq!(found, lines, "lane {lane}: lines in the gap of {bytes} bytes at {at}");
            *at += bytes;
        }
    };
    while let Some(row) = rows.next().expect("a row") {
        let seq: i64 = row.get(0).expect("a number");
        skip(&mut at, seq);
        let raw = match row.get::<_, Option<Vec<u8>>>(1).expect("bytes") {
            Some(raw) => raw,
            None => parts(store, session, lane, row.get(2).expect("from"), row.get(3).expect("how many")),
        };
        let end = (at + raw.len()).min(stream.len());
        assert!(stream[at..end] == raw[..], "lane {lane}: frame {seq} is not what the stream has at {at}");
        at = end;
    }
    skip(&mut at, i64::MAX);
    assert_eq!(at, stream.len(), "lane {lane}: bytes that are neither in a frame nor in a gap");
    missing
}

fn parts(store: &Connection, session: i64, lane: usize, from: i64, count: i64) -> Vec<u8> {
    store
        .prepare("SELECT raw FROM frame_parts WHERE id >= ?1 AND id >> 32 = ?2 AND lane = ?3 ORDER BY id LIMIT ?4")
        .expect("parts")
        .query_map(rusqlite::params![from, session, lane as i64, count], |row| row.get::<_, Vec<u8>>(0))
        .expect("parts")
        .flat_map(|part| part.expect("a part"))
        .collect()
}

/// Fails unless the newest session is complete and has everything.
pub(crate) fn assert_whole(env: &TestEnv, store: &Path, seen: &Seen) {
    assert_eq!(account(store, seen), Missing::default());
    let session = env.session();
    assert_eq!((&session["incomplete"], &session["live"]), (&false.into(), &false.into()), "{session}");
    assert_eq!(session["exit_status"], serde_json::json!({"code": 7}));
}

/// Records a short session, so that there is a store; its log is moved into it.
pub(crate) fn make_store(env: &TestEnv, store: &Path) {
    let mut player = Player::recorded(env);
    player.play(&hello());
    player.play(&chatter(1, 5));
    let (_, ours) = player.end();
    assert!(ours.is_empty(), "{ours:?}");
    settle(store);
}

/// Moves the log into the store and removes it, as the last one to leave does.
pub(crate) fn settle(store: &Path) {
    let connection = Connection::open(store).expect("the store opens");
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
    connection.close().expect("closed");
    let _ = std::fs::remove_file(beside(store, "-wal"));
    let _ = std::fs::remove_file(beside(store, "-shm"));
}

/// Returns the path of a file that SQLite keeps beside the store.
pub(crate) fn beside(store: &Path, end: &str) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// Plays the script on a store that cannot be used: all passes, one line says so, and which.
pub(crate) fn assert_only_said(env: &TestEnv, said: &str) {
    let steps = [hello(), chatter(1, 30)].concat();
    let mut player = Player::recorded(env);
    player.play(&steps);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps));
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert!(ours[0].contains(said), "no `{said}` in {ours:?}");
}

/// A file system of its own for a test, gone with it.
pub(crate) struct Mount {
    point: PathBuf,
}

impl Mount {
    /// Mounts with these arguments; `None`, with the reason printed, where that is not permitted.
    pub(crate) fn new(point: &Path, args: &[&str]) -> Option<Self> {
        let output = Command::new("mount").args(args).arg(point).output();
        match output {
            Ok(output) if output.status.success() => Some(Self { point: point.into() }),
            Ok(output) => {
                println!("skipped: mount is not permitted: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                println!("skipped: mount cannot be run: {error}");
                None
            }
        }
    }

    /// Forbids writing from now on.
    pub(crate) fn read_only(&self, how: &str) {
        let status = Command::new("mount").args(["-o", how]).arg(&self.point).status().expect("mount runs");
        assert!(status.success(), "mount -o {how}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.point).status();
    }
}

/// Sleeps for so many milliseconds.
pub(crate) fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}
