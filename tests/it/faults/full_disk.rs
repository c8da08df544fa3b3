//! The disk is full, or becomes so.

use super::{Mount, Player, account, assert_only_said, assert_same, assert_whole, bulk, chatter, hello, straight};
use crate::support::TestEnv;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A disk of 2 MiB, with the store on it.
fn small_disk(env: TestEnv) -> Option<(TestEnv, Mount, PathBuf)> {
    let point = env.path().join("disk");
    std::fs::create_dir(&point).expect("a folder");
    let mount = Mount::new(&point, &["-t", "tmpfs", "-o", "size=2m", "tmpfs"])?;
    let store = point.join("store.db");
    let env = env.with("MCP_TAP_STORE", &store.display().to_string());
    Some((env, mount, store))
}

/// Fills a disk, down to the last bytes.
fn fill(folder: &Path) {
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join("filler")).expect("a file");
    while file.write(&[b'.'; 4096]).is_ok_and(|written| written > 0) {}
}

#[test]
fn what_does_not_fit_is_counted() {
    let Some((env, _mount, store)) = small_disk(TestEnv::new()) else { return };
    let steps = [hello(), chatter(1, 20), bulk(21, 60, 64 << 10), chatter(81, 20)].concat();
    let mut player = Player::recorded(&env);
    player.play(&steps);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps));
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert!(ours[0].contains("disk is full"), "{ours:?}");
    let missing = account(&store, &seen);
    assert!(missing.lines > 30, "{missing:?}");
    let session = env.session();
    assert_eq!((&session["incomplete"], &session["lost_frames"]), (&false.into(), &missing.lines.into()));
}

#[test]
fn what_does_not_fit_is_counted_even_if_the_channel_overflows_too() {
    let Some((env, _mount, store)) = small_disk(TestEnv::new()) else { return };
    let steps = [hello(), chatter(1, 20), bulk(21, 12, 3 << 20), chatter(33, 20)].concat();
    let mut player = Player::recorded(&env);
    player.play(&steps);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps));
    assert_eq!(ours.len(), 1, "{ours:?}");
    let missing = account(&store, &seen);
    assert!(missing.bytes > 32 << 20, "{missing:?}");
    assert_eq!(env.session()["incomplete"], false);
}

#[test]
fn room_that_is_made_in_time_loses_nothing() {
    let Some((env, mount, store)) = small_disk(TestEnv::new()) else { return };
    let steps = [hello(), chatter(1, 20), bulk(21, 8, 64 << 10), chatter(29, 40)];
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    super::pause(300);
    fill(&mount.point);
    player.play(&steps[2]);
    player.hears("disk is full");
    std::fs::remove_file(mount.point.join("filler")).expect("there");
    player.play(&steps[3]);
    super::pause(500);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps.concat()));
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert_whole(&env, &store, &seen);
}

#[test]
fn full_from_the_start_is_said() {
    let Some((env, mount, _store)) = small_disk(TestEnv::new()) else { return };
    fill(&mount.point);
    assert_only_said(&env, "full");
}

#[test]
fn full_before_the_store_is_opened_and_room_made_later_is_recorded() {
    let Some((env, mount, store)) = small_disk(TestEnv::new()) else { return };
    super::make_store(&env, &store);
    fill(&mount.point);
    let steps = [hello(), chatter(1, 20), chatter(21, 20)];
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    player.hears("full");
    std::fs::remove_file(mount.point.join("filler")).expect("there");
    player.play(&steps[2]);
    super::pause(500);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps.concat()));
    assert_eq!(ours.len(), 1, "{ours:?}");
    // The channel held it all: the line promises that recording goes on as soon as there is room.
    assert_whole(&env, &store, &seen);
}
