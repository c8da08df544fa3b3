//! The server of the project's file.

use super::{SAMPLE, tested, with};
use crate::support::{TAP, TestEnv};

fn configure(env: &TestEnv, text: &str) {
    std::fs::write(env.path().join("mcp-tap.toml"), text).expect("written");
}

fn command(more: &[&str]) -> String {
    let words = [&[TAP, "sample-server"], more].concat();
    format!("command = {words:?}\n")
}

#[test]
fn the_only_server_needs_no_name() {
    let env = with(&["batch"]);
    let output = env.tap(&["test"]);
    assert_eq!(output.code(), 2);
    assert!(output.errors().contains("test plays the clients and needs a server to talk to"), "{}", output.errors());
    configure(&env, &format!("[servers.weather]\n{}", command(&SAMPLE)));
    assert!(env.tap(&["test"]).ok().text().ends_with("1 ok\n"));
    // From a folder below, and what was typed comes first.
    let below = env.path().join("below");
    std::fs::create_dir(&below).expect("a folder");
    for args in [&["test", "../sessions"][..], &["test"]] {
        let output = env.command(args).current_dir(&below).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{args:?} {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(env.tap(&["test", "--", "no-such-program-here"]).code(), 3);
}

#[test]
fn one_of_several_is_named() {
    let env = with(&["batch"]);
    let old = format!("[servers.old]\n{}", command(&SAMPLE));
    configure(&env, &format!("{old}[servers.new]\n{}", command(&super::NEXT)));
    let output = env.tap(&["test"]);
    assert_eq!(output.code(), 2);
    assert!(output.errors().contains("hint: or one of mcp-tap.toml: --server new, old"), "{}", output.errors());
    env.tap(&["test", "--server", "old"]).ok();
    assert_eq!(env.tap(&["test", "--server", "new"]).code(), 1);
    let output = env.tap(&["test", "--server", "odl"]);
    assert_eq!(output.code(), 2);
    assert!(output.errors().contains("no server `odl` in mcp-tap.toml\nhint: it has new, old"), "{}", output.errors());
}

#[test]
fn it_is_brought_back_before_each_file_and_runs_as_it_is_told() {
    let env = with(&["batch"]);
    std::fs::copy(super::file(&env, "batch"), super::file(&env, "second")).expect("copied");
    std::fs::write(env.path().join("server.sh"), "echo \"$COLOUR\" >> seen; exec \"$@\"\n").expect("written");
    let words = ["sh", "server.sh", TAP, "sample-server", "--speed", "20"];
    configure(
        &env,
        &format!(
            "[servers.x]\ncommand = {words:?}\nenv = {{ COLOUR = \"blue\" }}\nbefore = [\"sh\", \"-c\", \"echo reset >> seen\"]\n"
        ),
    );
    env.tap(&["test", "--jobs", "2"]).ok();
    let seen = std::fs::read_to_string(env.path().join("seen")).expect("it ran");
    assert_eq!(seen, "reset\nblue\nreset\nblue\n");
    let failed = tested(&env, &["--before", "exit 4"], &SAMPLE);
    assert_eq!(failed.code(), 3);
    assert!(failed.text().contains("--before `exit 4` failed"), "{}", failed.text());
}

#[test]
fn calls_that_destroy_are_sent_where_they_may() {
    let env = with(&["weather"]);
    let text = super::content(&env, "weather");
    let hint = r#""title":"Search locations","readOnlyHint":true,"#;
    assert!(text.contains(hint));
    std::fs::write(super::file(&env, "weather"), text.replace(hint, r#""destructiveHint":true,"#)).expect("written");
    let more = ["--speed", "40", "--noise", "--frame-bytes", "300"];
    let output = tested(&env, &[], &more);
    assert!(output.text().contains("not sent: search_locations (destructive (--destructive))"), "{}", output.text());
    configure(&env, &format!("[servers.x]\n{}destructive = true\n", command(&more)));
    let output = env.tap(&["test"]);
    assert!(!output.text().contains("not sent"), "{}", output.text());
    let output = tested(&env, &["--before", "true"], &more);
    assert!(!output.text().contains("not sent"), "{}", output.text());
}
