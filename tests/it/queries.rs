//! What SQLite plans for every statement of the store.

use crate::support::TestEnv;
use mcp_tap::store::Reader;

/// Tables that grow with the traffic: none of them is ever read from end to end.
const LARGE: [&str; 4] = ["frames", "frame_parts", "messages", "m"];

#[test]
fn no_statement_scans_a_large_table() {
    let env = TestEnv::new();
    assert_eq!(env.recorded_sample(&[], &[]).end().code(), 0);
    let store = rusqlite::Connection::open(env.store()).unwrap();
    for (name, sql) in mcp_tap::store::queries::ALL {
        let mut statement =
            store.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let values = vec![rusqlite::types::Value::Null; statement.parameter_count()];
        let plan: Vec<String> = statement
            .query_map(rusqlite::params_from_iter(values), |row| row.get(3))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for step in &plan {
            let scans = step.strip_prefix("SCAN ").and_then(|rest| rest.split_whitespace().next());
            assert!(!scans.is_some_and(|table| LARGE.contains(&table)), "{name} scans: {plan:?}");
            assert!(!step.contains("TEMP B-TREE"), "{name} sorts: {plan:?}");
        }
    }
}

#[test]
fn every_statement_is_in_the_list() {
    let text = include_str!("../../src/store/queries.rs");
    let consts = text.lines().filter(|line| line.starts_with("pub(super) const ")).count();
    assert_eq!(consts, mcp_tap::store::queries::ALL.len());
}

#[test]
fn a_new_store_has_what_cannot_be_changed_later() {
    let env = TestEnv::new();
    assert_eq!(env.recorded_sample(&[], &[]).end().code(), 0);
    let store = rusqlite::Connection::open(env.store()).unwrap();
    let pragma = |name: &str| store.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(pragma("application_id"), 0x4d43_5054);
    assert_eq!(pragma("user_version"), 2);
    assert_eq!(pragma("auto_vacuum"), 2);
    assert_eq!(pragma("page_size"), 4096);
    let mode: String = store.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn an_older_store_is_read_and_brought_up_to_date() {
    let env = TestEnv::new();
    assert_eq!(env.recorded_sample(&["--name", "old"], &[]).end().code(), 0);
    let store = rusqlite::Connection::open(env.store()).unwrap();
    store.execute_batch("ALTER TABLE sessions DROP COLUMN masks; PRAGMA user_version = 1").unwrap();
    drop(store);
    // Looking writes nothing; reading brings it up to date, and so does recording.
    let mut seen = Vec::new();
    let look = Reader::look(&env.store()).unwrap();
    look.sessions(|stored| {
        seen.push(stored.session.name);
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    drop(look);
    assert_eq!(seen, [Some("old".to_owned())]);
    let store = rusqlite::Connection::open(env.store()).unwrap();
    assert_eq!(store.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    drop(store);
    assert_eq!(env.tap(&["sessions", "--json"]).ok().json()["sessions"][0]["name"], "old");
    assert_eq!(env.recorded_sample(&["--name", "new"], &[]).end().code(), 0);
    let store = rusqlite::Connection::open(env.store()).unwrap();
    assert_eq!(store.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap(), 2);
    let names = env.tap(&["sessions", "--json"]).ok().json();
    assert_eq!((&names["sessions"][0]["name"], &names["sessions"][1]["name"]), (&"new".into(), &"old".into()));
}

#[test]
fn frames_are_evidence() {
    let env = TestEnv::new();
    let mut client = env.recorded_sample(&[], &[]);
    client.initialize("2025-11-25");
    assert_eq!(client.end().code(), 0);
    let store = rusqlite::Connection::open(env.store()).unwrap();
    for statement in ["UPDATE frames SET raw = x'00'", "UPDATE frames SET received = 0", "DELETE FROM frames"] {
        let error = store.execute(statement, []).unwrap_err().to_string();
        assert!(error.contains("evidence") || error.contains("with their session"), "{statement}: {error}");
    }
    // A lossless re-encoding is allowed, and so is deletion with the session.
    assert!(store.execute("UPDATE frames SET raw = x'00', encoding = 1", []).unwrap() > 0);
    assert_eq!(store.execute("UPDATE sessions SET deleting = 1", []).unwrap(), 1);
    assert!(store.execute("DELETE FROM frames", []).unwrap() > 0);
}
