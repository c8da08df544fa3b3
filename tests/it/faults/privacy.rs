//! What is recorded is for its owner alone, and secrets of the launch are not recorded at all.

use super::{Player, chatter, hello};
use crate::support::{TAP, TestEnv, memmem};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

const MARKER: &str = "marker-4f1c9d0e7b";

fn modes(folder: &Path, found: &mut Vec<(String, u32, bool)>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let data = entry.metadata().expect("there");
        found.push((entry.path().display().to_string(), data.mode() & 0o7777, data.is_dir()));
        if data.is_dir() {
            modes(&entry.path(), found);
        }
    }
}

/// Returns every byte that is kept below a folder.
fn bytes_below(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.metadata().expect("there").is_dir() {
            true => all.extend(bytes_below(&entry.path())),
            false => all.extend(std::fs::read(entry.path()).expect("readable")),
        }
    }
    all
}

#[test]
fn files_are_for_their_owner_alone_whatever_the_umask() {
    for umask in ["022", "0"] {
        let env = TestEnv::new();
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("umask {umask}; exec \"$0\" \"$@\"")).args([TAP, "record", "--", TAP]);
        command.current_dir(env.path()).env_clear().env("HOME", env.path());
        let mut player = Player::recorded_by(&env, command);
        player.play(&[hello(), chatter(1, 20)].concat());
        super::pause(300);
        let mut found = Vec::new();
        modes(&env.path().join(".local"), &mut found);
        let (_, ours) = player.end();
        assert!(ours.is_empty(), "{ours:?}");
        modes(&env.path().join(".local"), &mut found);
        for end in ["store.db", "store.db-wal", "store.db-shm", ".lock"] {
            assert!(found.iter().any(|(path, ..)| path.ends_with(end)), "no {end} in {found:?}");
        }
        for (path, mode, is_folder) in found {
            assert_eq!(mode, if is_folder { 0o700 } else { 0o600 }, "{path} is {mode:o} under umask {umask}");
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("umask {umask}; exec \"$0\" \"$@\""));
        command.args([TAP, "export", "latest", "-o", "out.jsonl"]);
        command.current_dir(env.path()).env_clear().env("HOME", env.path());
        assert!(command.status().expect("runs").success());
        let exported = std::fs::metadata(env.path().join("out.jsonl")).expect("there");
        assert_eq!(exported.mode() & 0o7777, 0o600, "umask {umask}");
    }
}

#[test]
fn an_export_over_a_file_that_others_may_read_is_private_too() {
    let env = TestEnv::new();
    super::make_store(&env, &env.store());
    for name in ["out.jsonl", ".out.jsonl.part"] {
        std::fs::write(env.path().join(name), "old").expect("written");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(env.path().join(name), open).expect("permissions");
    }
    let _ = env.tap(&["export", "latest", "-o", "out.jsonl"]).ok();
    assert_eq!(std::fs::metadata(env.path().join("out.jsonl")).expect("there").mode() & 0o7777, 0o600);
}

#[test]
fn a_store_in_a_folder_of_ones_own_is_private_too() {
    let env = TestEnv::new();
    let store = env.path().join("a/b/mine.db");
    let env = env.with("MCP_TAP_STORE", &store.display().to_string());
    super::make_store(&env, &store);
    let mut found = Vec::new();
    modes(&env.path().join("a"), &mut found);
    assert!(found.len() >= 2, "{found:?}");
    for (path, mode, is_folder) in found {
        assert_eq!(mode, if is_folder { 0o700 } else { 0o600 }, "{path} is {mode:o}");
    }
}

#[test]
fn values_of_the_environment_are_not_kept() {
    let env = TestEnv::new().with("API_TOKEN", MARKER).with("HARMLESS", "other-marker-77aa01");
    let mut player = Player::recorded(&env);
    player.play(&hello());
    player.play(&[super::call(1, "proc", "{}")]);
    player.play(&chatter(2, 10));
    let (_, ours) = player.end();
    assert!(ours.is_empty(), "{ours:?}");
    let bytes = bytes_below(&env.path().join(".local"));
    assert!(memmem(&bytes, b"API_TOKEN"), "the names are kept");
    for value in [MARKER, "other-marker-77aa01"] {
        assert!(!memmem(&bytes, value.as_bytes()), "`{value}` is in the store");
    }
}

#[test]
fn secrets_of_the_command_line_are_not_kept() {
    let cases: [&[&str]; 9] = [
        &["--token", MARKER],
        &["--token", "-marker-4f1c9d0e7b"],
        &["--api-key=marker-4f1c9d0e7b"],
        &["https://ana:marker-4f1c9d0e7b@example.org/mcp"],
        &["--url=https://marker-4f1c9d0e7b@example.org/mcp"],
        &["https://example.org/mcp?api_key=marker-4f1c9d0e7b&x=1"],
        &["--header", "Authorization: Bearer marker-4f1c9d0e7b"],
        &["SERVICE_PASSWORD=marker-4f1c9d0e7b"],
        &["-H", "X-Api-Key: marker-4f1c9d0e7b"],
    ];
    for secret in cases {
        let env = TestEnv::new();
        let mut args = vec!["record", "--", TAP, "sample-server", "--seed", "7", "--"];
        args.extend(secret);
        let output = env.tap_with_input(&args, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        assert_eq!(output.code(), 0, "{secret:?}: {}", output.errors());
        let bytes = bytes_below(&env.path().join(".local"));
        assert!(memmem(&bytes, b"sample-server"), "the command is kept");
        assert!(!memmem(&bytes, b"4f1c9d0e7b"), "{secret:?} is in the store");
        let shown = env.tap(&["sessions", "--json"]).ok().text();
        assert!(shown.contains("<masked>"), "{secret:?}: {shown}");
    }
}

#[test]
fn names_that_would_leave_a_folder_are_refused() {
    let env = TestEnv::new();
    super::make_store(&env, &env.store());
    let id = env.session()["id"].as_str().expect("an id").to_owned();
    for name in ["../x", "..", ".", "a/b", "/etc/x", "a\\b", "~", "~root", "-x", "", "a\nb", "a\0b"] {
        if !name.contains('\0') {
            let recorded = env.tap(&["record", &format!("--name={name}"), "--", TAP, "sample-server"]);
            assert_eq!(recorded.code(), 2, "record --name={name:?}: {}", recorded.errors());
            let renamed = env.tap(&["sessions", "rename", "--", &id, name]);
            assert_ne!(renamed.code(), 0, "rename to {name:?}: {}", renamed.errors());
        }
    }
    assert_eq!(env.tap(&["sessions", "--json"]).ok().json()["total"], 1);
    assert_eq!(env.session()["name"], "weather");
}

#[test]
fn names_that_would_leave_a_folder_do_not_come_in_with_a_file() {
    for name in ["../../x", "..", "a/b", "/etc/x"] {
        let env = TestEnv::new();
        super::make_store(&env, &env.store());
        let _ = env.tap(&["export", "latest", "-o", "out.jsonl"]).ok();
        let file = std::fs::read_to_string(env.path().join("out.jsonl")).expect("text");
        let (header, frames) = file.split_once('\n').expect("a header");
        let changed = header.replacen(r#""name":"weather""#, &format!(r#""name":"{name}""#), 1);
        assert_ne!(header, changed, "{header}");
        std::fs::write(env.path().join("evil.jsonl"), format!("{changed}\n{frames}")).expect("written");
        let other = TestEnv::new();
        let _ = other.tap(&["import", &env.path().join("evil.jsonl").display().to_string()]);
        let list = other.tap(&["sessions", "--json"]).ok().json();
        let kept = list["sessions"][0]["name"].as_str().unwrap_or_default();
        assert!(!kept.contains('/') && kept != "..", "`{kept}` came in");
    }
}
