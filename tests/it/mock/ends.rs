//! The end of a mock is that of the recorded server.

use super::{call, mock, recorded_shell, request, session};
use crate::support::TestEnv;

#[test]
fn a_server_that_crashed_crashes_where_it_did() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("crash")]);
    client.initialize("2025-11-25");
    client.line(&call("1", "get_alerts", r#"{"region":"NO-46"}"#));
    let output = client.wait();
    assert_eq!(output.code(), 1);
    assert_eq!(output.errors(), "Error: socket hang up\n    at Socket.onend (tiles.js:12:9)\n");
    assert_eq!(output.text().lines().count(), 1);
    // Without that call it lives on, and ends as its client does.
    let mut client = mock(&env, &[&session("crash")]);
    client.initialize("2025-11-25");
    client.call(7, "ping", "{}");
    client.end().ok();
}

#[test]
fn statuses_and_signals_are_the_recorded_ones() {
    let answer = r#"echo '{"jsonrpc":"2.0","id":1,"result":{}}'"#;
    let env = TestEnv::new();
    let script = format!("while read -r line; do {answer}; kill -9 $$; done");
    let mut client = env.client(&["record", "--name", "killed", "--", "sh", "-c", &script]);
    client.line(&request("1", "ping", "{}"));
    assert_eq!(client.wait().code(), 137);
    let mut client = mock(&env, &["killed"]);
    client.line(&request("1", "ping", "{}"));
    let output = client.wait();
    assert_eq!((output.code(), output.text()), (137, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".to_owned()));
    let script = format!("while read -r line; do {answer}; done; exit 5");
    let mut client = env.client(&["record", "--name", "five", "--", "sh", "-c", &script]);
    client.call(1, "ping", "{}");
    assert_eq!(client.end().code(), 5);
    let mut client = mock(&env, &["five"]);
    client.call(1, "ping", "{}");
    assert_eq!(client.end().code(), 5);
}

#[test]
fn a_message_over_several_lines_and_an_answer_of_another_type_come_back_as_they_were() {
    let env = TestEnv::new();
    let split = r#"printf '{"jsonrpc":"2.0",\n\n "id": "1",\n"result":{"n":1.0}}\n'"#;
    recorded_shell(&env, "split", split, |client| {
        client.line(&request("1", "acme/custom", "{}"));
        client.expect("1.0");
    });
    let answered = |id: &str| {
        let mut client = mock(&env, &["split"]);
        client.line(&request(id, "acme/custom", "{}"));
        client.expect("1.0}}\n");
        client.end().ok().text()
    };
    let expected = |id: &str| format!("{{\"jsonrpc\":\"2.0\",\n\n \"id\": {id},\n\"result\":{{\"n\":1.0}}}}\n");
    assert_eq!(answered("1"), expected("\"1\""));
    assert_eq!(answered("44"), expected("\"44\""));
}

#[test]
fn a_recording_that_was_cut_off_is_played_as_far_as_it_goes() {
    let env = TestEnv::new();
    let file = env.path().join("cut.jsonl");
    let session = r#"{"mcp_tap_file":1,"session":{"id":"klklklklklklklkl","origin":"record","transport":"stdio","started_at_ns":1796049060000000000,"frames":3,"bytes":0,"messages":0,"calls":0,"bad":0,"tap_version":"0.1.0"}}
{"seq":0,"at_ns":0,"fwd_ns":0,"dir":"to_server","message":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
{"seq":1,"at_ns":9,"fwd_ns":9,"dir":"to_client","message":{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}}
{"seq":2,"at_ns":9,"fwd_ns":9,"dir":"to_server","message":{"jsonrpc":"2.0","id":2,"method":"prompts/list"}}
{"seq":3,"at_ns":9,"fwd_ns":9,"dir":"to_client","text":"{\"jsonrpc\":\"2.0\",\"id\":2,\"res"}
"#;
    std::fs::write(&file, session).expect("the file is written");
    let mut client = mock(&env, &[&file.display().to_string()]);
    // The client's message may come in pieces, too.
    client.line("{\"jsonrpc\":\"2.0\",\n\"id\":7,\n\"method\":\"tools/list\"}");
    client.expect("\n");
    client.line(&request("8", "prompts/list", "{}"));
    client.expect(r#""res"#);
    let output = client.end().ok();
    let expected = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}
{"jsonrpc":"2.0","id":2,"res"#;
    assert_eq!((output.text(), output.errors()), (expected.to_owned(), String::new()));
}
