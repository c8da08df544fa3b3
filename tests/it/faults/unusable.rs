//! A store that cannot be written: read-only, damaged, not ours, too new, no place for it.

use super::{
    Mount, Player, account, assert_only_said, assert_same, beside, chatter, hello, make_store, settle, straight,
};
use crate::support::{TAP, TestEnv};
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

fn folder(env: &TestEnv) -> PathBuf {
    env.store().parent().expect("a folder").into()
}

fn with_folder() -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    let folder = folder(&env);
    std::fs::create_dir_all(&folder).expect("a folder");
    (env, folder)
}

#[test]
fn a_read_only_folder_without_a_store() {
    let (env, folder) = with_folder();
    let Some(mount) = Mount::new(&folder, &["-t", "tmpfs", "-o", "size=4m", "tmpfs"]) else { return };
    mount.read_only("remount,ro");
    assert_only_said(&env, "not recording: cannot");
}

#[test]
fn a_read_only_disk_with_a_store() {
    let (env, folder) = with_folder();
    let Some(mount) = Mount::new(&folder, &["-t", "tmpfs", "-o", "size=4m", "tmpfs"]) else { return };
    make_store(&env, &env.store());
    mount.read_only("remount,ro");
    assert_only_said(&env, "not recording: cannot");
    // It can still be read.
    assert_eq!(env.tap(&["sessions", "--json"]).ok().json()["total"], 1);
    assert_eq!(env.messages().len(), 22);
}

#[test]
fn a_read_only_file_in_a_folder_that_is_not() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let store = env.store().display().to_string();
    let Some(mount) = Mount::new(&env.store(), &["--bind", &store]) else { return };
    mount.read_only("remount,ro,bind");
    assert_only_said(&env, "not recording: cannot");
}

#[test]
fn a_file_and_a_folder_without_permission_to_write() {
    for (folder_mode, file_mode) in [(0o700, 0o400), (0o500, 0o600), (0o500, 0o400), (0o000, 0o600)] {
        let env = TestEnv::new();
        make_store(&env, &env.store());
        let folder = folder(&env);
        let allow = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("permissions");
        };
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            // Modes mean nothing to root: the tap runs as somebody else, who owns the place.
            let owned = std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(env.path()).status();
            assert!(owned.is_ok_and(|status| status.success()));
        }
        allow(&env.store(), file_mode);
        allow(&folder, folder_mode);
        let steps = [hello(), chatter(1, 20)].concat();
        let mut command = env.command(&["record", "--", TAP]);
        if is_root {
            command.uid(65534).gid(65534);
        }
        let mut player = Player::recorded_by(&env, command);
        player.play(&steps);
        let (seen, ours) = player.end();
        allow(&folder, 0o700);
        assert_same(&seen, &straight(&steps));
        assert_eq!(ours.len(), 1, "{folder_mode:o} {file_mode:o} {ours:?}");
        assert!(ours[0].contains("not recording"), "{ours:?}");
    }
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let garbage: Vec<u8> = (0..65_536_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for bytes in [&garbage[..], b"not a database\n", b"xy"] {
        let (env, _) = with_folder();
        std::fs::write(env.store(), bytes).expect("written");
        assert_only_said(&env, "is not a store of mcp-tap");
        assert!(std::fs::read(env.store()).expect("there") == bytes, "the file was changed");
        assert!(!beside(&env.store(), "-wal").exists());
    }
}

#[test]
fn a_store_cut_in_half_is_left_alone() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let whole = std::fs::read(env.store()).expect("there");
    for length in [whole.len() / 2 / 4096 * 4096, whole.len() / 2 + 100, 4096, 512] {
        std::fs::write(env.store(), &whole[..length]).expect("cut");
        assert_only_said(&env, "not recording");
        assert!(std::fs::read(env.store()).expect("there") == whole[..length], "the file was changed");
    }
}

#[test]
fn a_store_with_any_page_overwritten_never_ends_the_session() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let whole = std::fs::read(env.store()).expect("there");
    let steps = [hello(), chatter(1, 12)].concat();
    let expected = straight(&steps);
    let mut said = 0;
    for page in 0..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..][..4096].fill(0xa5);
        let _ = std::fs::remove_file(beside(&env.store(), "-wal"));
        let _ = std::fs::remove_file(beside(&env.store(), "-shm"));
        std::fs::write(env.store(), &damaged).expect("damaged");
        let mut player = Player::recorded_by(&env, env.command(&["record", "--", TAP]));
        player.play(&steps);
        let (seen, ours) = player.end();
        assert_same(&seen, &expected);
        assert!(ours.len() <= 1, "page {page}: {ours:?}");
        said += ours.len();
        if ours.is_empty() {
            // The page was not needed: then all is there.
            assert_eq!(env.session()["lost_frames"], 0, "page {page}");
            let lines =
                [&seen.wrote, &seen.stdout, &seen.stderr].map(|bytes| memchr::memchr_iter(b'\n', bytes).count());
            assert_eq!(env.session()["frames"], lines.iter().sum::<usize>(), "page {page}");
        }
    }
    assert!(said > 0);
}

#[test]
fn a_store_damaged_meanwhile_never_ends_the_session() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let steps = [hello(), chatter(1, 20), chatter(21, 40)];
    let mut player = Player::recorded(&env);
    player.play(&steps[0]);
    player.play(&steps[1]);
    super::pause(200);
    let length = std::fs::metadata(env.store()).expect("there").len();
    std::fs::OpenOptions::new().write(true).open(env.store()).expect("there").set_len(0).expect("cut");
    std::fs::write(beside(&env.store(), "-wal"), vec![0xa5; 9000]).expect("damaged");
    player.play(&steps[2]);
    super::pause(1500);
    let (seen, ours) = player.end();
    assert!(length > 0);
    assert_same(&seen, &straight(&steps.concat()));
    assert!(ours.len() <= 1, "{ours:?}");
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let tables = "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://example.org');";
    for setup in [
        tables.to_owned(),
        format!("PRAGMA application_id = 7; {tables}"),
        format!("PRAGMA user_version = 9; {tables}"),
        format!("PRAGMA journal_mode = WAL; {tables}"),
        "PRAGMA application_id = 7;".into(),
    ] {
        let (env, _) = with_folder();
        let other = Connection::open(env.store()).expect("made");
        other.execute_batch(&setup).expect("filled");
        other.close().expect("closed");
        let before = std::fs::read(env.store()).expect("there");
        assert_only_said(&env, "a database of another program");
        assert!(std::fs::read(env.store()).expect("there") == before, "{setup}: the file was changed");
    }
}

#[test]
fn a_store_of_a_newer_layout_is_left_alone() {
    let env = TestEnv::new();
    make_store(&env, &env.store());
    let store = Connection::open(env.store()).expect("opens");
    let version: i64 = store.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a version");
    store.execute_batch(&format!("PRAGMA user_version = {}", version + 1)).expect("newer");
    store.close().expect("closed");
    settle(&env.store());
    let before = std::fs::read(env.store()).expect("there");
    assert_only_said(&env, &format!("has layout {}", version + 1));
    assert!(std::fs::read(env.store()).expect("there") == before, "the file was changed");
}

#[test]
fn a_folder_that_cannot_be_made() {
    let env = TestEnv::new();
    std::fs::write(env.path().join(".local"), "in the way").expect("written");
    assert_only_said(&env, "cannot use the folder");
    let env = TestEnv::new();
    std::fs::create_dir_all(env.store()).expect("a folder in the way");
    assert_only_said(&env, "not recording: cannot open the store");
}

#[test]
fn locks_that_cannot_be_kept_do_not_keep_the_store_from_being_written() {
    let (env, folder) = with_folder();
    std::fs::write(folder.join("store.d"), "in the way").expect("written");
    let steps = [hello(), chatter(1, 20)].concat();
    let mut player = Player::recorded(&env);
    player.play(&steps);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps));
    assert!(ours.is_empty(), "{ours:?}");
    assert_eq!(account(&env.store(), &seen), super::Missing::default());
}
