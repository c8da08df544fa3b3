//! Many at once on one store.

use super::{Player, Seen, account, assert_same, chatter, hello, straight};
use crate::support::{PATIENCE, TAP, TestEnv};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn eight_recorders_and_readers_on_a_store_that_is_new() {
    let env = TestEnv::new();
    let steps = [hello(), chatter(1, 60)].concat();
    let expected = straight(&steps);
    let done = AtomicBool::new(false);
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let readers: Vec<_> = [&["sessions", "--json"][..], &["inspect", "--json"], &["sessions", "show", "--json"]]
            .into_iter()
            .map(|args| {
                let (env, done) = (&env, &done);
                scope.spawn(move || {
                    let mut reads = 0;
                    while !done.load(Ordering::Relaxed) {
                        let output = env.tap(args);
                        // Until the first session is entered there is none to show.
                        let none_yet = output.code() == 3 && output.errors().contains("no sessions");
                        assert!(output.code() == 0 || none_yet, "{args:?}: {}", output.errors());
                        reads += usize::from(output.code() == 0);
                    }
                    reads
                })
            })
            .collect();
        let recorders: Vec<_> = (0..8)
            .map(|which| {
                let (env, steps) = (&env, &steps);
                scope.spawn(move || {
                    let name = format!("recorder-{which}");
                    let command = env.command(&["record", "--name", &name, "--", TAP]);
                    let mut player = Player::recorded_by(env, command);
                    player.play(steps);
                    player.end()
                })
            })
            .collect();
        let ended: Vec<_> = recorders.into_iter().map(|recorder| recorder.join().expect("recorded")).collect();
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().expect("read") > 0);
        }
        ended
            .into_iter()
            .map(|(seen, ours)| {
                assert_eq!(ours, Vec::<String>::new());
                seen
            })
            .collect()
    });
    for one in &seen {
        assert_same(one, &expected);
    }
    let list = env.tap(&["sessions", "--json"]).ok().json();
    assert_eq!(list["total"], 8);
    for session in list["sessions"].as_array().expect("sessions") {
        assert_eq!(
            (&session["incomplete"], &session["live"], &session["lost_frames"]),
            (&false.into(), &false.into(), &0.into()),
            "{session}"
        );
    }
    // Each has everything: the sessions are alike, so the newest is looked at in turn.
    for _ in 0..8 {
        assert_eq!(account(&env.store(), &seen[0]), super::Missing::default());
        let id = env.session()["id"].as_str().expect("an id").to_owned();
        let _ = env.tap(&["sessions", "delete", &id]).ok();
        let left = env.tap(&["sessions", "--json"]).ok().json();
        assert!(left["sessions"].as_array().expect("sessions").iter().all(|session| session["id"] != id.as_str()));
    }
}

#[test]
fn a_long_log_that_a_session_left_is_folded_in_by_the_next_one() {
    let env = TestEnv::new();
    let log = || std::fs::metadata(env.store().with_extension("db-wal")).map_or(0, |log| log.len());
    // Killed, so that nobody folds anything in: 100,000 lines.
    let lines = "yes '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}}' \
        | head -n 100000; read x";
    let mut first = env.client(&["record", "--", "sh", "-c", lines]);
    let whole = |bytes: &[u8], _| bytes.iter().filter(|byte| **byte == b'\n').count() == 100_000;
    assert!(first.stdout.wait(PATIENCE, whole));
    let until = Instant::now() + PATIENCE;
    while log() < 6 << 20 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    first.child.kill().expect("it runs");
    first.child.wait().expect("it ends");
    let left = log();
    assert!(left > 6 << 20, "{left}");

    // A session in which nothing is said.
    let second = env.client(&["record", "--", "sh", "-c", "echo ready; read x"]);
    second.expect("ready\n");
    let until = Instant::now() + PATIENCE;
    while log() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(log(), 0);
    assert_eq!(second.end().code(), 1);
}
