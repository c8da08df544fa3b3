//! What is kept: `sessions prune`, the retention, and finding sessions among many.

use crate::latency::import_calls;
use crate::support::{TAP, TestEnv};

/// 2026-11-30T14:31:00Z, the tests' now.
const NOW: i64 = 1_796_049_060_000_000_000;
const DAY: i64 = 86_400_000_000_000;

/// Five sessions, 50, 40, 30, 20 and 10 days old; their ids begin with k, l, m, n, o.
fn five(env: &TestEnv) {
    for (letter, days) in [("k", 50), ("l", 40), ("m", 30), ("n", 20), ("o", 10)] {
        import_calls(env, &letter.repeat(16), "weather", NOW - days * DAY, &[("echo", 1)]);
    }
}

/// The first letters of the ids, newest first.
fn ids(env: &TestEnv, args: &[&str]) -> String {
    let mut words = vec!["sessions", "--json"];
    words.extend(args);
    let report = env.tap(&words).ok().json();
    let sessions = report["sessions"].as_array().expect("a list").clone();
    sessions.iter().map(|session| session["id"].as_str().expect("an id")[..1].to_owned()).collect()
}

#[test]
fn what_is_older_goes_and_the_newest_stay() {
    let env = TestEnv::new();
    five(&env);
    let dry = env.tap(&["sessions", "prune", "--older-than", "25d", "--keep", "3", "--dry-run"]).ok().text();
    assert!(dry.contains("would delete 2 sessions"), "{dry}");
    assert!(dry.starts_with("kkkk  weather  11 Oct 14:31"), "{dry}");
    assert_eq!(ids(&env, &[]), "onmlk");
    let done = env.tap(&["sessions", "prune", "--older-than", "25d", "--keep", "3"]).ok();
    assert!(done.text().starts_with("deleted 2 sessions"), "{}", done.text());
    assert!(done.stderr.is_empty(), "progress is for terminals: {}", done.errors());
    assert_eq!(ids(&env, &[]), "onm");
    let report = env.tap(&["sessions", "prune", "--keep", "1", "--json"]).ok().json();
    assert_eq!((report["deleted"].as_array().map(Vec::len), report["kept"].as_u64()), (Some(2), Some(1)));
    assert_eq!(ids(&env, &[]), "o");
    let nothing = env.tap(&["sessions", "prune", "--older-than", "2026-11-01"]).ok().text();
    assert_eq!(nothing, "nothing to delete; 1 kept\n");
}

#[test]
fn the_space_goes_back_to_the_disk() {
    let env = TestEnv::new();
    let calls: Vec<(&str, i64)> = (0..6000).map(|_| ("echo", 1)).collect();
    import_calls(&env, &"k".repeat(16), "big", NOW - 50 * DAY, &calls);
    import_calls(&env, &"l".repeat(16), "small", NOW, &[("echo", 1)]);
    let size = || std::fs::metadata(env.store()).expect("the store").len();
    let before = size();
    let _ = env.tap(&["sessions", "prune", "--keep", "1"]).ok();
    let after = size();
    assert!(after * 5 < before, "{before} {after}");
    let store = rusqlite::Connection::open(env.store()).expect("the store opens");
    let left: (i64, i64) = store
        .query_row("SELECT (SELECT count(*) FROM frames), (SELECT count(*) FROM messages)", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("counts");
    assert_eq!(left, (2, 2));
    let free: i64 = store.query_row("PRAGMA freelist_count", [], |row| row.get(0)).expect("a count");
    assert_eq!(free, 0);
}

#[test]
fn what_is_being_recorded_stays() {
    let env = TestEnv::new();
    let mut client = env.recorded_sample(&["--name", "living"], &["--speed", "1000"]);
    client.initialize("2025-11-25");
    let tail = env.client(&["tail", "living"]);
    tail.expect("initialize");
    let done = env.tap(&["sessions", "prune", "--keep", "0"]).ok().text();
    assert_eq!(done, "nothing to delete; 1 kept\n");
    assert_eq!(client.end().code(), 0);
    let _ = tail.wait().ok();
    let done = env.tap(&["sessions", "prune", "--keep", "0"]).ok().text();
    assert!(done.starts_with("deleted 1 session"), "{done}");
}

/// Makes every stored session so many days older, and one of the recorder's, not of a file.
fn age(env: &TestEnv, days: i64) {
    let store = rusqlite::Connection::open(env.store()).expect("the store opens");
    store.execute("UPDATE sessions SET started_at = started_at - ?1, imported = 0", [days * DAY]).expect("aged");
}

fn record(env: &TestEnv, name: Option<&str>) {
    let mut words: Vec<&str> = name.map(|name| vec!["--name", name]).unwrap_or_default();
    words.push("--");
    let mut args = vec!["record"];
    args.extend(words);
    args.extend([TAP, "sample-server", "--speed", "1000"]);
    let mut client = env.client(&args);
    client.initialize("2025-11-25");
    assert_eq!(client.end().code(), 0);
}

#[test]
fn old_recordings_go_when_a_recording_ends_but_for_the_newest_of_a_chosen_name() {
    let env = TestEnv::new();
    record(&env, Some("base"));
    record(&env, Some("base"));
    record(&env, None);
    age(&env, 100);
    record(&env, None);
    let report = env.tap(&["sessions", "--json"]).ok().json();
    let names: Vec<&str> =
        report["sessions"].as_array().expect("a list").iter().map(|s| s["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["weather", "base"]);
    let listed = env.tap(&["sessions"]).ok().text();
    assert!(listed.contains("kept for 90 days or 4.0 GB, the newest of each chosen name for ever"), "{listed}");
    let store = rusqlite::Connection::open(env.store()).expect("the store opens");
    let marked: i64 = store.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).expect("a count");
    assert_eq!(marked, 2);
}

#[test]
fn the_users_file_says_how_long() {
    let env = TestEnv::new();
    let folder = env.path().join(".config/mcp-tap");
    std::fs::create_dir_all(&folder).expect("the folder");
    let config = |text: &str| std::fs::write(folder.join("config.toml"), text).expect("the file");
    config("[retention]\ndays = 0\n");
    record(&env, None);
    age(&env, 1000);
    record(&env, None);
    assert_eq!(ids(&env, &[]).len(), 2);
    let listed = env.tap(&["sessions"]).ok().text();
    assert!(listed.contains("kept for 4.0 GB,"), "{listed}");
    config("[retention]\ndays = 10\ngigabytes = 0\n");
    let dry = env.tap(&["sessions", "prune", "--dry-run"]).ok().text();
    assert!(dry.contains("would delete 1 session"), "{dry}");
    // A file that cannot be read deletes nothing.
    config("[retention\n");
    record(&env, None);
    config("");
    assert_eq!(ids(&env, &[]).len(), 3);
}

#[test]
fn sessions_are_found_by_what_was_said_and_when() {
    let env = TestEnv::new();
    import_calls(&env, &"k".repeat(16), "weather", NOW - 9 * DAY, &[("get_forecast", 1), ("get_alerts", 1)]);
    import_calls(&env, &"l".repeat(16), "github", NOW - 2 * DAY, &[("list_issues", 1)]);
    assert_eq!(ids(&env, &["--since", "7d"]), "l");
    assert_eq!(ids(&env, &["--since", "2026-11-01"]), "lk");
    assert_eq!(ids(&env, &["--grep", "get_alerts"]), "k");
    assert_eq!(ids(&env, &["--grep", "tools/call"]), "lk");
    assert_eq!(ids(&env, &["--grep", "tools/call", "--since", "7d"]), "l");
    assert_eq!(ids(&env, &["--grep", "nowhere"]), "");
    let shown = env.tap(&["sessions", "--grep", "get_alerts"]).ok();
    assert!(
        shown.text().contains("kkkk  1 time, first in 2: mcp-tap inspect kkkk --grep get_alerts"),
        "{}",
        shown.text()
    );
    assert!(shown.stderr.is_empty(), "{}", shown.errors());
    let none = env.tap(&["sessions", "--grep", "nowhere"]).ok().text();
    assert!(none.starts_with("no session matches in "), "{none}");
    assert_eq!(env.tap(&["sessions", "--since", "soon"]).code(), 2);
}

#[test]
fn a_text_over_the_border_of_two_parts_is_found() {
    let env = TestEnv::new();
    let mut client = env.client(&["record", "--name", "long", "--", "cat"]);
    // Parts have 1 MiB: the text lies on their first border.
    let mut line = vec![b'x'; (1 << 20) - 5];
    line.extend(b"needle in it");
    line.resize(3 << 20, b'y');
    line.push(b'\n');
    client.write(&line);
    client.expect("needle in it");
    assert_eq!(client.end().code(), 0);
    let report = env.tap(&["sessions", "--grep", "needle", "--json"]).ok().json();
    assert_eq!(report["sessions"][0]["found_frames"], 2, "{report}");
}
