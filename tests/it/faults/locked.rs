//! The store is held by another process.

use super::{Missing, Player, account, assert_same, assert_whole, bulk, chatter, hello, make_store, pause, straight};
use crate::support::TestEnv;
use rusqlite::Connection;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Tells the helper process which store it is to hold, and how.
const HOLD: &str = "MCP_TAP_TEST_HOLD";

fn hold(store: &Path) -> Connection {
    let holder = Connection::open(store).expect("the store opens");
    holder.busy_timeout(Duration::from_secs(5)).expect("patience");
    holder.execute_batch("BEGIN EXCLUSIVE").expect("the lock");
    holder
}

#[test]
fn held_for_seconds_costs_nothing() {
    let env = TestEnv::new();
    let steps = [hello(), chatter(1, 20), chatter(21, 200), bulk(221, 4, 1 << 20), chatter(225, 20)];
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    let holder = hold(&env.store());
    let begun = Instant::now();
    player.play(&steps[2]);
    player.play(&steps[3]);
    assert!(begun.elapsed() < Duration::from_secs(10), "the traffic waited {:?} for the store", begun.elapsed());
    pause(2500_u64.saturating_sub(u64::try_from(begun.elapsed().as_millis()).expect("short")));
    drop(holder);
    player.play(&steps[4]);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps.concat()));
    assert_eq!(ours, Vec::<String>::new());
    assert_whole(&env, &env.store(), &seen);
}

#[test]
fn held_before_it_is_opened_costs_nothing() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let holder = hold(&env.store());
    let steps = [hello(), chatter(1, 50), chatter(51, 10)];
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    pause(1500);
    drop(holder);
    player.play(&steps[2]);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps.concat()));
    assert_eq!(ours, Vec::<String>::new());
    assert_whole(&env, &env.store(), &seen);
}

#[test]
fn held_while_more_flows_than_fits_is_counted() {
    let env = TestEnv::new();
    let steps = [hello(), chatter(1, 20), bulk(21, 13, 3 << 20), chatter(34, 20), chatter(54, 40)];
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    let holder = hold(&env.store());
    let begun = Instant::now();
    player.play(&steps[2]);
    player.play(&steps[3]);
    assert!(begun.elapsed() < Duration::from_secs(20), "the traffic waited {:?} for the store", begun.elapsed());
    drop(holder);
    pause(1500);
    player.play(&steps[4]);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps.concat()));
    let missing = account(&env.store(), &seen);
    assert!(missing.bytes > 4 << 20, "{missing:?}");
    assert!(missing.bytes < 12 << 20, "32 MiB fit, so no more than the rest is missing: {missing:?}");
    assert_eq!(ours.len(), 1, "{ours:?}");
    let session = env.session();
    assert_eq!((&session["incomplete"], &session["lost_frames"]), (&false.into(), &missing.lines.into()));
    let shown = env.tap(&["sessions", "show", "--json"]).ok().json();
    let gaps = shown["gaps"].as_array().expect("gaps");
    assert_eq!(gaps.iter().map(|gap| gap["bytes"].as_u64().expect("bytes")).sum::<u64>(), missing.bytes as u64);
}

#[test]
fn held_to_the_end_and_beyond_is_said() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let steps = [hello(), chatter(1, 20)].concat();
    let holder = hold(&env.store());
    let mut player = Player::recorded(&env);
    player.play(&steps);
    let begun = Instant::now();
    let (seen, ours) = player.end();
    let took = begun.elapsed();
    drop(holder);
    assert_same(&seen, &straight(&steps));
    assert!(took < Duration::from_secs(4), "the client waited {took:?} for the end");
    assert_eq!(ours.len(), 1, "{ours:?}");
    // The whole session is missing, not only its end.
    assert!(ours[0].contains("the session was not recorded"), "{ours:?}");
    assert!(!ours[0].contains("the end of"), "{ours:?}");
}

#[test]
fn held_at_the_end_of_a_long_session_is_said() {
    let env = TestEnv::new();
    let steps = [hello(), chatter(1, 20), chatter(21, 20)];
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    pause(300);
    let holder = hold(&env.store());
    player.play(&steps[2]);
    let (seen, ours) = player.end();
    drop(holder);
    assert_same(&seen, &straight(&steps.concat()));
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert!(ours[0].contains("not recorded"), "{ours:?}");
    let session = env.session();
    assert_eq!((&session["incomplete"], &session["live"]), (&true.into(), &false.into()));
}

#[test]
fn a_slow_neighbour_costs_nothing() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let steps = [hello(), chatter(1, 300)].concat();
    let mut helper = start_helper(&env.store(), "slow");
    let mut player = Player::recorded(&env);
    player.play(&steps);
    // Longer than one of its turns, so that the end, too, finds the store free now and then.
    let (seen, ours) = player.end();
    helper.kill().expect("killed");
    helper.wait().expect("gone");
    assert_same(&seen, &straight(&steps));
    assert_eq!(ours, Vec::<String>::new());
    assert_whole(&env, &env.store(), &seen);
}

#[test]
fn a_stopped_neighbour_that_holds_the_store_costs_nothing_once_it_is_gone() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let steps = [hello(), chatter(1, 60), chatter(61, 20)];
    let mut helper = start_helper(&env.store(), "exclusive");
    stop(&helper);
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    pause(1000);
    helper.kill().expect("killed");
    helper.wait().expect("gone");
    player.play(&steps[2]);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps.concat()));
    assert_eq!(ours, Vec::<String>::new());
    assert_whole(&env, &env.store(), &seen);
}

#[test]
fn a_stopped_reader_costs_nothing() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let steps = [hello(), chatter(1, 60), bulk(61, 6, 1 << 20), chatter(67, 5)].concat();
    let mut helper = start_helper(&env.store(), "reader");
    stop(&helper);
    let mut player = Player::recorded(&env);
    player.play(&steps);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps));
    assert_eq!(ours, Vec::<String>::new());
    assert_whole(&env, &env.store(), &seen);
    helper.kill().expect("killed");
    helper.wait().expect("gone");
    assert_eq!(account(&env.store(), &seen), Missing::default());
}

fn stop(helper: &Child) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(helper.id()).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("stopped");
}

/// Starts this test program once more, to hold the store as a process of its own.
fn start_helper(store: &Path, how: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["faults::locked::helper_that_holds_a_store", "--exact", "--nocapture"]);
    command
        .env(HOLD, format!("{how} {}", store.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let mut helper = command.spawn().expect("the helper starts");
    let mut lines = BufReader::new(helper.stdout.take().expect("stdout")).lines();
    let ready = lines.by_ref().any(|line| line.is_ok_and(|line| line.contains("holding")));
    assert!(ready, "the helper holds the store");
    helper
}

/// Not a test by itself: what [`start_helper`] runs.
#[test]
fn helper_that_holds_a_store() {
    let Ok(task) = std::env::var(HOLD) else { return };
    let (how, store) = task.split_once(' ').expect("how and which");
    let store = Connection::open(store).expect("the store opens");
    store.busy_timeout(Duration::from_secs(10)).expect("patience");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        match how {
            "reader" => store.execute_batch("BEGIN; SELECT count(*) FROM frames;").expect("a snapshot"),
            _ => store.execute_batch("BEGIN EXCLUSIVE").expect("the lock"),
        }
        println!("holding");
        pause(if how == "slow" { 120 } else { 60_000 });
        store.execute_batch("COMMIT").expect("given back");
        pause(30);
    }
}
