//! What is to be typed next is right: it names the store, it is whole, and it is there where it is needed.

use crate::latency::import_calls;
use crate::support::{Output, TestEnv};

const DAY: i64 = 86_400_000_000_000;

/// An environment whose recordings are in a store that only `--store` names.
fn elsewhere() -> TestEnv {
    let env = TestEnv::new();
    import_calls(&env, "kkkkkkkkkkkkkkkk", "weather", DAY, &[("get_forecast", 40), ("get_alerts", 7)]);
    std::fs::rename(env.store(), env.path().join("other.db")).expect("moved");
    env
}

fn hints(output: &Output) -> Vec<String> {
    output.errors().lines().filter_map(|line| line.strip_prefix("hint: ").map(str::to_owned)).collect()
}

#[test]
fn a_store_named_by_the_flag_is_named_in_what_is_to_be_typed() {
    let env = elsewhere();
    let with = |args: &[&str]| env.tap(&[&["--store", "other.db"], args].concat());
    let slowest = with(&["latency"]).ok().text();
    assert!(slowest.contains("mcp-tap inspect --store ~/other.db weather 0\n"), "{slowest}");
    let grep = with(&["sessions", "--grep", "get_alerts"]).ok().text();
    assert!(grep.contains("mcp-tap inspect --store ~/other.db kkkk --grep get_alerts\n"), "{grep}");
    for (args, hint) in [
        (&["inspect", "weather", "99"][..], "its messages are 0 to 3: mcp-tap inspect --store ~/other.db weather"),
        (&["inspect", "weather", "x"], "mcp-tap inspect --store ~/other.db weather"),
        (&["inspect", "--raw"], "mcp-tap inspect --store ~/other.db weather 0 --raw"),
        (&["inspect", "weather~4"], "mcp-tap inspect --store ~/other.db weather"),
        (
            &["inspect", "get_alerts"],
            "it is a tool in the latest session: mcp-tap inspect --store ~/other.db --tool get_alerts",
        ),
        (&["sessions", "show", "zzzz"], "mcp-tap sessions --store ~/other.db  lists what is there"),
    ] {
        assert_eq!(hints(&with(args)), [hint], "{args:?}");
    }
    // And it is what a shell takes for the file.
    std::fs::rename(env.path().join("other.db"), env.path().join("two words.db")).expect("moved");
    let output = env.tap(&["--store", "two words.db", "inspect", "weather", "x"]);
    let quoted = format!("mcp-tap inspect --store '{}/two words.db' weather", env.path().display());
    assert_eq!(hints(&output), [quoted]);
}

#[test]
fn a_command_to_type_is_never_cut() {
    let env = TestEnv::new();
    let name = "a-name-that-is-long-enough-to-leave-no-room-for-anything-else";
    import_calls(&env, "kkkkkkkkkkkkkkkk", name, DAY, &[("get_forecast", 40)]);
    let text = env.tap(&["latency"]).ok().text();
    let expected = format!("slowest      get_forecast, 40.0 ms:\n             mcp-tap inspect {name} 0\n");
    assert!(text.contains(&expected), "{text}");
    let needle = "get_forecast\",\"arguments\":{},\"and a text\" that is not there";
    assert_eq!(env.tap(&["sessions", "--grep", needle]).ok().text().lines().count(), 1);
    let needle = r#""method":"tools/call","params":{"name":"get_forecast""#;
    let text = env.tap(&["sessions", "--grep", needle]).ok().text();
    let expected = format!("kkkk  1 time, first in 0:\n        mcp-tap inspect kkkk --grep '{needle}'\n");
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn a_word_is_guessed_only_where_most_of_it_was_typed() {
    let env = TestEnv::new();
    import_calls(&env, "kkkkkkkkkkkkkkkk", "load", DAY, &[("a", 1)]);
    let list = "mcp-tap sessions                lists what is there";
    assert_eq!(hints(&env.tap(&["inspect", "x"])), [list]);
    assert_eq!(hints(&env.tap(&["inspect", "db"])), [list]);
    assert_eq!(hints(&env.tap(&["inspect", "laod"])), [list], "half of it is wrong");
    assert_eq!(hints(&env.tap(&["inspect", "loat"])), ["did you mean `load`?"]);
    for args in [&["sessions", "show", "27"][..], &["export", "27"], &["diff", "27", "load"]] {
        assert_eq!(hints(&env.tap(args)), ["a bare number is a message: mcp-tap inspect 27"], "{args:?}");
    }
}

#[test]
fn a_tool_that_nobody_called_is_answered_with_those_that_were() {
    let env = TestEnv::new();
    import_calls(&env, "kkkkkkkkkkkkkkkk", "weather", DAY, &[("get_forecast", 40), ("get_alerts", 7)]);
    let output = env.tap(&["inspect", "--tool", "nope"]).ok();
    assert_eq!(hints(&output), ["this session has get_forecast, get_alerts"]);
    let text = output.text();
    assert!(text.ends_with("\n\nnothing matches\n") && !text.contains("seq"), "{text}");
    let output = env.tap(&["latency", "--tool", "nope"]).ok();
    assert_eq!(hints(&output), ["this session has get_forecast, get_alerts"]);
    assert_eq!(output.text(), "weather  kkkk, 2 Jan 00:00, nope only: nothing was answered\n");
    // Where the tool is there and nothing else fits, no tool is wrong.
    let output = env.tap(&["inspect", "--tool", "get_alerts", "--slow", "5s"]).ok();
    assert!(output.text().ends_with("nothing matches\n") && output.stderr.is_empty());
}

#[test]
fn a_filter_beside_a_message_number_is_not_passed_over() {
    let env = TestEnv::new();
    import_calls(&env, "kkkkkkkkkkkkkkkk", "weather", DAY, &[("get_forecast", 40)]);
    for filter in [&["--tool", "get_forecast"][..], &["--errors"], &["--slow", "1s"], &["--grep", "x"]] {
        let output = env.tap(&[&["inspect", "weather", "1"], filter].concat());
        assert_eq!(output.code(), 2);
        let error = format!("error: `{}` chooses among the messages of a session, and 1 is one of them", filter[0]);
        assert_eq!(output.errors().lines().next(), Some(error.as_str()));
        assert_eq!(
            hints(&output),
            ["mcp-tap inspect weather 1", &format!("mcp-tap inspect weather {}", filter.join(" "))]
        );
    }
}

#[test]
fn a_dash_is_stdout_and_stdin() {
    let env = TestEnv::new();
    import_calls(&env, "kkkkkkkkkkkkkkkk", "weather", DAY, &[("get_forecast", 40)]);
    let file = env.tap(&["export", "weather", "-o", "-"]).ok();
    assert_eq!(file.stdout, env.tap(&["export", "weather"]).ok().stdout);
    assert!(!env.path().join("-").exists());
    let other = TestEnv::new();
    let output = other.tap_with_input(&["import", "-"], &file.stdout).ok();
    assert_eq!(output.errors(), "kkkk imported from stdin\n");
    assert_eq!(other.tap(&["export", "weather"]).ok().stdout, file.stdout);
    let output = other.tap_with_input(&["import", "-"], b"no session\n");
    assert_eq!(output.errors(), "error: `stdin`: this is not a session file: its first line has no `mcp_tap_file`\n");
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
fn words_that_others_use_are_answered() {
    let env = TestEnv::new();
    for (args, expected) in [
        (&["sessions", "weather"][..], "mcp-tap sessions show weather"),
        (&["sessions", "list", "weather"], "mcp-tap sessions show weather"),
        (&["ls", "weather"], "mcp-tap sessions show weather"),
        (&["--store", "x.db", "sessions", "weather"], "mcp-tap sessions --store ~/x.db show weather"),
        (&["check"], "mcp-tap test -- SERVER…         replays session files and tells which answers differ"),
        (&["verify", "x"], "mcp-tap test -- SERVER…         replays session files and tells which answers differ"),
        (&["record", "--url", "https://weather.example/mcp"], "mcp-tap record --upstream https://weather.example/mcp"),
        (&["record", "--url=https://weather.example/mcp"], "mcp-tap record --upstream https://weather.example/mcp"),
    ] {
        let output = env.tap(args);
        assert_eq!((output.code(), hints(&output)), (2, vec![expected.to_owned()]), "{args:?} {}", output.errors());
    }
    let serve = hints(&env.tap(&["serve", "--port", "1"]));
    assert_eq!(
        serve,
        [
            "mcp-tap mock SESSION            is a recorded server, on stdio",
            "mcp-tap record -- SERVER…       runs a server on stdio, and records it",
        ]
    );
    let said = env.tap(&["record", "--url", "https://weather.example/mcp"]).errors();
    assert!(said.starts_with("mcp-tap: the URL of a server on HTTP follows `--upstream`\n"), "{said}");
    // A mistyped word is still a mistyped word.
    assert!(hints(&env.tap(&["sessions", "prun"]))[0].contains("prune"));
}

#[test]
fn all_that_is_known_of_a_recording_fits_the_width() {
    let env = TestEnv::new();
    let long = "n".repeat(90);
    let path = ["/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/sbin", "/home/ana/.cargo/bin", "/snap/bin", "/x"]
        .join(":");
    let deep = format!("/{}", "d".repeat(100));
    let session = format!(
        r#"{{"mcp_tap_file":1,"session":{{"id":"kkkkkkkkkkkkkkkk","name":"w","named":true,"origin":"record","transport":"stdio","server":{{"name":"{long}","version":"1"}},"client":{{"name":"c","version":"2"}},"started_at_ns":1,"ended_ns":9,"frames":0,"bytes":0,"messages":0,"calls":0,"bad":0,"tap_version":"0.1.0","launch":{{"argv":["x"],"path":"{path}:{deep}","variables":["HOME","PATH"]}}}}}}
"#
    );
    std::fs::write(env.path().join("w.jsonl"), session).expect("written");
    let _ = env.tap(&["import", "w.jsonl"]).ok();
    let text = env.tap(&["sessions", "show", "w"]).ok().text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains(&format!("server     {}…\n", "n".repeat(68))), "{text}");
    let expected = format!(
        "path       /usr/local/bin:/usr/bin:/bin:/opt/homebrew/sbin:/home/ana/.cargo/bin:\n           /snap/bin:/x:\n           /{}\n           {}\nvariables  HOME PATH\n",
        "d".repeat(68),
        "d".repeat(32)
    );
    assert!(text.contains(&expected), "{text}");
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
