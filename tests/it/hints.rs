//! What is to be typed next is right: it names the store, it is whole, and it is there where it is needed.

use crate::latency::import_calls;
use crate::support::{Output, TestEnv};

const DAY: i64 = 86_400_000_000_000;

fn hints(output: &Output) -> Vec<String> {
    output.errors().lines().filter_map(|line| line.strip_prefix("hint: ").map(str::to_owned)).collect()
}

#[test]
fn what_the_system_says_is_put_into_words() {
    let env = TestEnv::new();
    import_calls(&env, "kkkkkkkkkkkkkkkk", "weather", DAY, &[("get_forecast", 40)]);
    let folder = env.store().parent().expect("a folder").display().to_string();
    let output = env.tap(&["--store", &folder, "sessions"]);
    assert_eq!(output.code(), 3);
    assert_eq!(
        output.errors().lines().next(),
        Some(format!("error: `{folder}` is a folder, and a store is a file").as_str())
    );
    assert_eq!(hints(&output), [format!("--store {folder}/store.db")]);
    let output = env.tap(&["man", "/etc/passwd"]);
    assert_eq!((output.code(), output.errors().as_str()), (3, "error: cannot write `/etc/passwd`: file exists\n"));
    let output = env.tap(&["record", "--store", "/proc/x/y.db", "--", "true"]);
    assert_eq!(output.code(), 0);
    let said = output.errors();
    assert!(said.starts_with("mcp-tap: not recording: cannot use the folder `/proc/x`: "), "{said}");
    assert!(!said.contains("os error"), "{said}");
    let mut file = env.tap(&["export", "weather"]).ok().text();
    let third = file.match_indices('\n').nth(1).expect("lines").0 + 1;
    file.insert_str(third, "{]\n");
    std::fs::write(env.path().join("bad.jsonl"), &file).expect("written");
    let said = env.tap(&["inspect", "bad.jsonl"]).errors();
    assert_eq!(said, "error: `bad.jsonl`: line 3: key must be a string at column 2\n");
}

#[test]
fn flaws_are_told_in_words() {
    let env = TestEnv::new();
    let mut client = env.client(&["record", "--name", "odd", "--", "cat"]);
    client.line(r#"{"id":1}"#);
    client.expect(r#"{"id":1}"#);
    assert_eq!(client.end().code(), 0);
    let text = env.tap(&["inspect", "odd"]).ok().text();
    assert!(text.contains(r#"no message: {"id":1}"#), "{text}");
    assert!(!text.contains("no-method") && !text.contains("jsonrpc-version"), "{text}");
    assert!(text.contains("not a message: "), "{text}");
}
