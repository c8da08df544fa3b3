//! What the recording has no answer to is asked of a live server, and recorded.

use super::{call, mock, session, tap};
use crate::support::TestEnv;

#[test]
fn a_live_server_is_asked_and_what_it_says_is_recorded() {
    let env = TestEnv::new();
    env.tap(&["import", &session("revision-2025-11-25")]).ok();
    let words = [
        "revision-2025-11-25",
        "--on-miss",
        "forward",
        "--",
        tap(),
        "sample-server",
        "--speed",
        "100",
        "--extra-tools",
    ];
    let mut client = mock(&env, &words);
    let asks =
        r#"{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}"#;
    client.call(0, "initialize", asks);
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.line(&call("2", "get_forecast", r#"{"city":"Oslo","days":7}"#));
    client.expect(r#""id":2,"#);
    assert_eq!(env.tap(&["sessions", "--json"]).ok().json()["sessions"].as_array().map(Vec::len), Some(1));
    client.line(&call("3", "add", r#"{"a":20,"b":22}"#));
    client.expect(r#""sum":42"#);
    // It asks, and the answer finds its way.
    client.line(&call("4", "plan_trip", r#"{"from":"Bergen","to":"Oslo","days":2}"#));
    client.expect("elicitation/create");
    client
        .line(r#"{"jsonrpc":"2.0","id":"mcp-tap-live-1","result":{"action":"accept","content":{"day":"2026-12-04"}}}"#);
    client.expect("RV7");
    let output = client.end().ok();
    let ids: Vec<serde_json::Value> = output
        .text()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["id"].clone())
        .filter(|id| !id.is_null())
        .collect();
    assert_eq!(ids, [0.into(), 2.into(), 3.into(), serde_json::Value::from("mcp-tap-live-1"), 4.into()]);
    assert_eq!(
        output.errors(),
        "\
[weather] 1.4.0 ready on stdio
mcp-tap: tools/call add: no tools/call add is recorded, only `get_forecast`; the live server is asked
mcp-tap: tools/call plan_trip: no tools/call plan_trip is recorded, only `get_forecast`; the live server is asked
mcp-tap: 2 recorded requests were never asked: 4 tools/list, 8 resources/read weather://stations
"
    );
    let made = env.tap(&["sessions", "--json"]).ok().json()["sessions"][0].clone();
    assert_eq!(made["origin"], "mock", "{made}");
    assert_eq!(made["parent"], "uqovsuoowvsyzlno", "{made}");
    assert_eq!(made["calls"], 2, "{made}");
    let asked: Vec<String> = env.messages().iter().filter_map(|m| Some(m["method"].as_str()?.to_owned())).collect();
    assert!(asked.starts_with(&["initialize".to_owned()]), "{asked:?}");
}

#[test]
fn a_mock_that_is_ended_ends_the_live_server_too() {
    let env = TestEnv::new();
    let words = [&session("tasks"), "--on-miss", "forward", "--", tap(), "sample-server", "--extra-tools"];
    let mut client = mock(&env, &words);
    client.initialize("2025-11-25");
    client.line(&call("3", "add", r#"{"a":20,"b":22}"#));
    client.expect(r#""sum":42"#);
    client.signal(rustix::process::Signal::TERM);
    assert_eq!(client.wait().code(), 143);
    assert_eq!(env.session()["origin"], "mock");
}

#[test]
fn a_live_server_that_is_not_there_is_an_error() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("tasks"), "--on-miss", "forward", "--", "/nowhere/server"]);
    client.initialize("2025-11-25");
    client.line(&call("3", "add", "{}"));
    client.expect("cannot start `/nowhere/server`");
    client.end().ok();
    // One that dies answers for nothing.
    let mut client = mock(&env, &[&session("tasks"), "--on-miss", "forward", "--", "sh", "-c", "exit 3"]);
    client.initialize("2025-11-25");
    client.line(&call("3", "add", "{}"));
    client.expect(r#""id":3,"error""#);
    client.end().ok();
    let words =
        [&session("tasks"), "--on-miss", "forward", "--", "sh", "-c", "echo no licence >&2; sleep 1; read x; exit 3"];
    let mut client = mock(&env, &words);
    client.initialize("2025-11-25");
    client.line(&call("3", "add", "{}"));
    client.expect(r#""message":"the live server did not answer the greeting; its last words: no licence""#);
    client.end().ok();
}
