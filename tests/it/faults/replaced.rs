//! The store is deleted or replaced while it is recorded to.

use super::{Player, account, assert_same, beside, chatter, hello, make_store, pause, settle, straight};
use crate::support::TestEnv;
use std::path::Path;

/// Plays a session in whose middle something happens to the store, long enough for the recorder to notice.
fn play(env: &TestEnv, happens: impl FnOnce(&Path)) {
    let steps = [hello(), chatter(1, 40), chatter(41, 20), chatter(61, 40)];
    let mut player = Player::recorded(env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    pause(300);
    happens(&env.store());
    player.play(&steps[2]);
    player.hears("mcp-tap: ");
    player.play(&steps[3]);
    pause(200);
    let live = env.session();
    assert_eq!((&live["live"], &live["incomplete"]), (&true.into(), &false.into()), "it is being recorded");
    let refused = env.tap(&["sessions", "delete", live["id"].as_str().expect("an id")]);
    assert_ne!(refused.code(), 0, "a live session is not deleted");
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps.concat()));
    assert_eq!(ours.len(), 1, "{ours:?}");
    let missing = account(&env.store(), &seen);
    assert!(missing.lines > 0, "what went to the old file is missing in the new one");
    let session = env.session();
    assert_eq!((&session["incomplete"], &session["lost_frames"]), (&false.into(), &missing.lines.into()), "{session}");
    assert!(session["frames"].as_u64() > Some(100), "what came afterwards is there: {session}");
    // The next one finds nothing odd.
    make_store(env, &env.store());
}

#[test]
fn deleted_with_its_log() {
    play(&TestEnv::new(), |store| {
        for end in ["", "-wal", "-shm"] {
            std::fs::remove_file(beside(store, end)).expect("there");
        }
    });
}

#[test]
fn deleted_without_its_log() {
    play(&TestEnv::new(), |store| std::fs::remove_file(store).expect("there"));
}

#[test]
fn deleted_with_its_folder() {
    play(&TestEnv::new(), |store| std::fs::remove_dir_all(store.parent().expect("a folder")).expect("there"));
}

/// Plays a session whose store is replaced by one that has a session already.
fn replace(leftovers: &[&str]) {
    let other = TestEnv::new();
    make_store(&other, &other.store());
    settle(&other.store());
    let env = TestEnv::new();
    play(&env, |store| {
        for end in leftovers {
            std::fs::remove_file(beside(store, end)).expect("there");
        }
        std::fs::copy(other.store(), store.with_extension("new")).expect("copied");
        std::fs::rename(store.with_extension("new"), store).expect("replaced");
    });
    assert_eq!(env.tap(&["sessions", "--json"]).ok().json()["total"], 3);
}

#[test]
fn replaced_by_another_store() {
    replace(&["-wal", "-shm"]);
}

#[test]
fn replaced_by_another_store_beside_the_old_log() {
    // The old log belongs to the old file: read into the new one, it would write old pages over it.
    replace(&[]);
}

#[test]
fn replaced_by_what_is_no_store() {
    let env = TestEnv::new();
    let steps = [hello(), chatter(1, 40), chatter(41, 20)];
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    pause(300);
    std::fs::write(env.store().with_extension("new"), "no store at all\n").expect("written");
    std::fs::rename(env.store().with_extension("new"), env.store()).expect("replaced");
    player.hears("mcp-tap: ");
    player.play(&steps[2]);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps.concat()));
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert!(ours[0].contains("not recording"), "what is said has to be true: {ours:?}");
    assert!(std::fs::read(env.store()).expect("there") == b"no store at all\n", "the file was overwritten");
}

#[test]
fn replaced_by_a_copy_of_itself() {
    play(&TestEnv::new(), |store| {
        // As a backup that is put back: the session stands in it already.
        let copy = beside(store, "-copy");
        let from = rusqlite::Connection::open(store).expect("the store");
        from.execute("VACUUM INTO ?1", [copy.to_str().expect("a path")]).expect("a copy");
        drop(from);
        std::fs::rename(&copy, store).expect("moved");
    });
}
