//! Bad input: a sentence, a hint, the documented exit code.

use crate::support::{Output, TestEnv};
use snapbox::{assert_data_eq, str};

/// Returns what was shown, with the paths and the search path of this machine taken out.
fn shown(env: &TestEnv, output: &Output) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    output.shown().replace(env.path().to_str().unwrap(), "[HOME]").replace(&path, "[PATH]")
}

/// Returns an environment with one recording of the weather server.
fn recorded() -> TestEnv {
    let env = TestEnv::new().with("MCP_TAP_TEST_ID", "1234567890123456789");
    let mut client = env.recorded_sample(&["--name", "weather"], &["--speed", "1000", "--seed", "1"]);
    client.initialize("2025-11-25");
    client.call(1, "tools/call", r#"{"name":"get_forecast","arguments":{"city":"Oslo","days":7}}"#);
    assert_eq!(client.end().code(), 0);
    env
}

#[test]
fn an_empty_store() {
    let env = TestEnv::new();
    assert_data_eq!(
        shown(&env, &env.tap(&[])),
        str![[r#"
no sessions in ~/.local/state/mcp-tap/store.db
[stderr]
hint: mcp-tap demo                    a tour that needs nothing else
hint: mcp-tap record -- SERVER…       in place of the command in your client

mcp-tap --help    all commands

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions"])),
        str![[r#"
no sessions in ~/.local/state/mcp-tap/store.db
[stderr]
hint: mcp-tap demo                    a tour that needs nothing else
hint: mcp-tap record -- SERVER…       in place of the command in your client

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect"])),
        str![[r#"
[stderr]
error: no sessions in ~/.local/state/mcp-tap/store.db
hint: mcp-tap demo                    a tour that needs nothing else
hint: mcp-tap record -- SERVER…       in place of the command in your client
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "weather"])),
        str![[r#"
[stderr]
error: no sessions in ~/.local/state/mcp-tap/store.db
hint: mcp-tap demo                    a tour that needs nothing else
hint: mcp-tap record -- SERVER…       in place of the command in your client
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["export"])),
        str![[r#"
[stderr]
error: no sessions in ~/.local/state/mcp-tap/store.db
hint: mcp-tap demo                    a tour that needs nothing else
hint: mcp-tap record -- SERVER…       in place of the command in your client
[exit 3]

"#]]
    );
}

#[test]
fn an_empty_store_named_by_a_variable_that_clients_do_not_pass_on() {
    let env = recorded().with("MCP_TAP_STORE", "/tmp/mcp-tap-test-of-a-variable.db");
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions"])),
        str![[r#"
no sessions in /tmp/mcp-tap-test-of-a-variable.db (MCP_TAP_STORE)
[stderr]
hint: the default store has 1: most clients do not pass MCP_TAP_STORE on

"#]]
    );
}

#[test]
fn sessions_that_are_not_there() {
    let env = recorded();
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "wether"])),
        str![[r#"
[stderr]
error: no session `wether`
hint: did you mean `weather`?
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "something-else"])),
        str![[r#"
[stderr]
error: no session `something-else`
hint: mcp-tap sessions                lists what is there
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "get_forecast"])),
        str![[r#"
[stderr]
error: no session `get_forecast`
hint: it is a tool in the latest session: mcp-tap inspect --tool get_forecast
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "weather~3"])),
        str![[r#"
[stderr]
error: no session `weather~3`: there is only 1 recording of that name
hint: mcp-tap inspect weather
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions", "show", "zzzz"])),
        str![[r#"
[stderr]
error: no session `zzzz`
hint: mcp-tap sessions                lists what is there
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "no/such/file.jsonl"])),
        str![[r#"
[stderr]
error: cannot read `no/such/file.jsonl`: no such file or directory
hint: a text with `/` or `.jsonl` means a session file
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "weather", "999"])),
        str![[r#"
[stderr]
error: no message 999 in this session
hint: its messages are 0 to 5: mcp-tap inspect weather
[exit 3]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "weather", "nine"])),
        str![[r#"
[stderr]
error: `nine` is not a message number
hint: mcp-tap inspect weather
[exit 2]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "weather", "--raw"])),
        str![[r#"
[stderr]
error: `--raw` prints one message and needs its number
hint: mcp-tap inspect weather 0 --raw
[exit 2]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "--slow", "soon"])),
        str![[r#"
[stderr]
error: invalid value `soon` for `--slow <TIME>`: a time is a number with ns, us, ms, s or m
[exit 2]

"#]]
    );
}

#[test]
fn an_ambiguous_beginning_of_an_id() {
    let env = TestEnv::new();
    for id in ["0", "1"] {
        let mut command = env.command(&["record", "--name", "w", "--", "true"]);
        command.env("MCP_TAP_TEST_ID", id).env("MCP_TAP_TEST_NOW", crate::support::NOW);
        assert!(command.status().unwrap().success());
    }
    assert_data_eq!(
        shown(&env, &env.tap(&["inspect", "kkk"])),
        str![[r#"
[stderr]
error: `kkk` begins several ids
hint: kkkkkkkkkkkkkkkk  w, 30 Nov 14:31
hint: kkkkkkkkkkkkkkkl  w, 30 Nov 14:31
[exit 3]

"#]]
    );
}

#[test]
fn names_that_would_mean_something_else() {
    let env = recorded();
    assert_data_eq!(
        shown(&env, &env.tap(&["record", "--name", "42", "--", "true"])),
        str![[r#"
[stderr]
mcp-tap: `42` cannot be a name: a number is always a message
[exit 2]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["record", "--name", "../x", "--", "true"])),
        str![[r#"
[stderr]
mcp-tap: `../x` cannot be a name: `/`, `/`, `~` and `.jsonl` mean a file or an earlier recording
[exit 2]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions", "rename", "weather", "latest"])),
        str![[r#"
[stderr]
error: `latest` cannot be a name: `latest` means the newest session
[exit 2]

"#]]
    );
}

#[test]
fn commands_that_cannot_be_run() {
    let env = TestEnv::new().with("MCP_TAP_TEST_NOW", crate::support::NOW);
    assert_data_eq!(
        shown(&env, &env.tap(&["record"])),
        str![[r#"
[stderr]
mcp-tap: record needs the command of a server
hint: mcp-tap record -- node build/index.js
[exit 2]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["record", "--"])),
        str![[r#"
[stderr]
mcp-tap: record needs the command of a server
hint: mcp-tap record -- node build/index.js
[exit 2]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["record", "--nmae", "x", "true"])),
        str![[r#"
[stderr]
error: unexpected argument `--nmae` found
hint: a similar argument exists: `--name`
hint: to pass `--nmae` as a value, use `-- --nmae`
hint: mcp-tap record --name <NAME> [-- <CMD>...]
[exit 2]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["record", "no-such-server"])),
        str![[r#"
[stderr]
mcp-tap: cannot start `no-such-server`: not found in PATH ([PATH])
hint: desktop programs do not read your shell's profile: give the full path
[exit 127]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["record", "--", "./no-such-server"])),
        str![[r#"
[stderr]
mcp-tap: cannot start `./no-such-server`: no such file
[exit 127]

"#]]
    );
    let plain = env.path().join("plain.txt");
    std::fs::write(&plain, "no program").unwrap();
    assert_data_eq!(
        shown(&env, &env.tap(&["record", "--", plain.to_str().unwrap()])),
        str![[r#"
[stderr]
mcp-tap: cannot start `[HOME]/plain.txt`: permission denied
hint: chmod +x [HOME]/plain.txt, or put its interpreter before it
[exit 126]

"#]]
    );
    // A failed start is a session too.
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions"])),
        str![[r#"
id    name              server  client  started  calls  bad
[..]  plain.txt         –       –       14:31        –    !
[..]  no-such-server    –       –       14:31        –    !
[..]  no-such-server~1  –       –       14:31        –    !

! [..]  the server could not be started: not executable: permission denied
! [..]  the server could not be started: not found
! [..]  the server could not be started: not found

3 sessions; [..] in the store
kept for 90 days or 4.0 GB, the newest of each chosen name for ever

"#]]
    );
}

#[test]
fn stores_that_cannot_be_read() {
    let env = recorded();
    let garbage = env.path().join("garbage.db");
    std::fs::write(&garbage, "this is no database, but it is long enough to be looked at".repeat(40)).unwrap();
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions", "--store", garbage.to_str().unwrap()])),
        str![[r#"
[stderr]
error: `[HOME]/garbage.db` is not a store of mcp-tap: it is no SQLite database
hint: name a store of mcp-tap with --store FILE
[exit 3]

"#]]
    );

    let other = env.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions", "--store", other.to_str().unwrap()])),
        str![[r#"
[stderr]
error: `[HOME]/other.db` is not a store of mcp-tap: it is a database of another program
hint: name a store of mcp-tap with --store FILE
[exit 3]

"#]]
    );

    rusqlite::Connection::open(env.store()).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions"])),
        str![[r#"
[stderr]
error: the store `[HOME]/.local/state/mcp-tap/store.db` has layout 99, and this mcp-tap knows 2 at most
hint: update mcp-tap, or name another store with --store FILE
[exit 3]

"#]]
    );
}

#[test]
fn a_configuration_that_cannot_be_read() {
    let env = recorded();
    let folder = env.path().join(".config/mcp-tap");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "store = [").unwrap();
    assert_data_eq!(
        shown(&env, &env.tap(&["sessions"])),
        str![[r#"
[stderr]
error: `[HOME]/.config/mcp-tap/config.toml`, line 1: unclosed array, expected `]`
hint: mend the file, or name the store with --store FILE
[exit 3]

"#]]
    );
    // A recording goes on with the default store.
    let env = env.with("MCP_TAP_TEST_ID", "77");
    let output = env.tap(&["record", "--", "true"]);
    assert_eq!(output.code(), 0);
    assert_data_eq!(
        shown(&env, &output),
        str![[r#"
[stderr]
mcp-tap: `[HOME]/.config/mcp-tap/config.toml`, line 1: unclosed array, expected `]`; the default store is used

"#]]
    );
}

#[test]
fn words_that_are_no_commands() {
    let env = TestEnv::new();
    assert_data_eq!(
        shown(&env, &env.tap(&["show", "weather"])),
        str![[r#"
[stderr]
error: no command `show`
hint: mcp-tap inspect                 the messages of a session
hint: mcp-tap sessions show           all that is known of a recording
[exit 2]

"#]]
    );
    assert_data_eq!(
        shown(&env, &env.tap(&["inspekt"])),
        str![[r#"
[stderr]
error: unrecognized subcommand `inspekt`
hint: a similar subcommand exists: `inspect`
hint: mcp-tap [OPTIONS] [COMMAND]
[exit 2]

"#]]
    );
}

#[test]
fn whoever_reads_may_go_away() {
    let env = recorded();
    let mut command = env.command(&["inspect"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdout(writer);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}
