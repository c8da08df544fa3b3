//! Little room to breathe: few descriptors, no home.

use super::{Mount, Player, account, assert_same, assert_whole, bulk, chatter, hello, straight};
use crate::support::{TAP, TestEnv};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

/// Returns the tap, started by a shell that does something first.
fn after(env: &TestEnv, first: &str) -> Command {
    let mut command = env.command(&[]);
    let program = command.get_program().to_owned();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{first}; exec \"$0\" \"$@\"")).arg(program).args(["record", "--", TAP]);
    shell.current_dir(env.path()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value.filter(|_| name != "MCP_TAP_TEST_NOW") {
            shell.env(name, value);
        }
    }
    command.stdin(Stdio::null());
    shell
}

#[test]
fn sixteen_descriptors_are_enough() {
    let env = TestEnv::new();
    let steps = [hello(), chatter(1, 60), bulk(61, 3, 2 << 20)].concat();
    let mut player = Player::recorded_by(&env, after(&env, "ulimit -n 16"));
    player.play(&steps);
    let (seen, ours) = player.end();
    assert_same(&seen, &straight(&steps));
    assert_eq!(ours, Vec::<String>::new());
    assert_whole(&env, &env.store(), &seen);
}

#[test]
fn fewer_descriptors_than_a_store_needs_are_said() {
    let steps = [hello(), chatter(1, 30)].concat();
    let expected = straight(&steps);
    for limit in [14, 15] {
        let env = TestEnv::new();
        let mut player = Player::recorded_by(&env, after(&env, &format!("ulimit -n {limit}")));
        player.play(&steps);
        let (seen, ours) = player.end();
        assert_same(&seen, &expected);
        if ours.is_empty() {
            assert_whole(&env, &env.store(), &seen);
        }
        assert!(ours.len() <= 1, "{limit}: {ours:?}");
    }
}

#[test]
fn without_home_the_password_database_says_where() {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let uid = rustix::process::geteuid().as_raw().to_string();
    let home =
        passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields.get(2) == Some(&&*uid));
    let Some(home) = home.and_then(|fields| fields.get(5).map(std::path::PathBuf::from)) else {
        println!("skipped: no entry in /etc/passwd");
        return;
    };
    for first in ["unset HOME", "HOME="] {
        let env = TestEnv::new();
        let stand_in = env.path().join("home");
        std::fs::create_dir(&stand_in).expect("a folder");
        // In a mount namespace of its own, so that the real home is not touched.
        let script = format!(
            "mount --bind '{}' '{}' && cd / && {first}; exec \"$0\" \"$@\"",
            stand_in.display(),
            home.display()
        );
        let tap = env.path().join("mcp-tap");
        std::fs::copy(TAP, &tap).expect("copied");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c"]).arg(script).arg(&tap).args(["record", "--"]).arg(&tap);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nonexistent");
        let allowed = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
        if !allowed || !home.exists() {
            println!("skipped: no mount namespace, or no home");
            return;
        }
        let steps = [hello(), chatter(1, 20)].concat();
        let mut player = Player::recorded_by(&env, command);
        player.play(&steps);
        let (seen, ours) = player.end();
        assert_same(&seen, &straight(&steps));
        assert_eq!(ours, Vec::<String>::new(), "{first}");
        let store = stand_in.join(".local/state/mcp-tap/store.db");
        assert_eq!(account(&store, &seen), super::Missing::default(), "{first}");
        assert_eq!(std::fs::metadata(&store).expect("there").mode() & 0o777, 0o600);
    }
}

#[test]
fn a_home_that_is_not_there_or_cannot_be_written() {
    let env = TestEnv::new().with("HOME", "/proc/nonexistent");
    super::assert_only_said(&env, "not recording: cannot");
    let env = TestEnv::new();
    let home = env.path().join("home");
    std::fs::create_dir(&home).expect("a folder");
    let Some(mount) = Mount::new(&home, &["-t", "tmpfs", "-o", "size=1m", "tmpfs"]) else { return };
    mount.read_only("remount,ro");
    let env = env.with("HOME", &home.display().to_string());
    super::assert_only_said(&env, "not recording: cannot");
}
