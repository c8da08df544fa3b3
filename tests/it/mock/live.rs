//! Live clients are not the recorded one: other ids, tokens and order, slower, faster, and less patient.

use super::{call, mock, recorded, request, session};
use crate::support::TestEnv;

#[test]
fn ids_and_tokens_are_the_live_ones() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("progress")]);
    client.line(&request(r#""start""#, "initialize", r#"{"protocolVersion":"2024-11-05","clientInfo":{}}"#));
    client.expect(r#""id":"start""#);
    let arguments = r#"{"name":"progress","arguments":{"steps":3},"_meta":{"progressToken":77}}"#;
    client.line(&request(r#""a-1""#, "tools/call", arguments));
    client.expect("done 3");
    // Without a token there is no progress, and the last answer comes again.
    client.line(&request("9", "tools/call", r#"{"name":"progress","arguments":{"steps":3}}"#));
    client.expect(r#""id":9,"#);
    let text = client.end().ok().text();
    let progress = |n: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":77,"progress":{n},"total":3,"message":"step {n}"}}}}"#
        )
    };
    let answer = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"done 3"}}]}}}}"#)
    };
    let expected = [progress(1), progress(2), progress(3), answer(r#""a-1""#), answer("9")];
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected);
}

#[test]
fn the_same_question_gets_the_recorded_answers_in_order_and_then_the_last() {
    let env = TestEnv::new();
    recorded(&env, "counted", &["--extra-tools"], |client| {
        client.initialize("2025-11-25");
        for id in 1..=3 {
            client.call(id, "tools/call", r#"{"name":"counter","arguments":{}}"#);
        }
    });
    let recorded = String::from_utf8(env.stream("to_client", "stdio")).expect("text");
    let counts: Vec<String> = recorded.lines().skip(1).map(|line| line.replace("\"id\":", "")).collect();
    let mut client = mock(&env, &["counted"]);
    client.initialize("2025-11-25");
    for id in 1..=5 {
        client.call(id, "tools/call", r#"{"name":"counter","arguments":{}}"#);
    }
    let text = client.end().ok().text();
    let results: Vec<String> =
        text.lines().skip(1).map(|line| line.split("\"result\"").nth(1).unwrap().to_owned()).collect();
    let expected: Vec<String> = counts.iter().map(|line| line.split("\"result\"").nth(1).unwrap().to_owned()).collect();
    assert_ne!(expected[0], expected[1], "the server counts");
    assert_eq!(results[..3], expected[..]);
    assert_eq!(results[3..], [expected[2].clone(), expected[2].clone()]);
}

#[test]
fn a_call_that_is_given_up_has_no_answer_unless_one_came_too_late() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("weather")]);
    client.initialize("2025-11-25");
    client.line(&call("5", "get_radar", r#"{"area":"NO-46","frames":24}"#));
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#);
    client.expect(r#""id":5,"result""#);
    client.end().ok();
    let mut client = mock(&env, &[&session("progress")]);
    client.initialize("2025-11-25");
    client.line(&request("2", "tools/call", r#"{"name":"sleep","arguments":{"ms":800}}"#));
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    client.call(3, "ping", "{}");
    let text = client.end().ok().text();
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_client_that_does_not_answer_is_not_waited_for_for_ever() {
    let env = TestEnv::new();
    let report = env.path().join("r.json").display().to_string();
    let mut client = mock(&env, &[&session("questions"), "--timeout", "200ms", "--report", &report]);
    client.initialize("2025-11-25");
    client.line(&call("1", "ask", "{}"));
    client.expect("blue");
    client.line(&call("2", "plan_trip", r#"{"from":"Bergen","to":"Oslo","days":2}"#));
    client.expect("RV7");
    let output = client.end().ok();
    assert_eq!(
        output.errors(),
        "\
[weather] 1.4.0 ready on stdio
mcp-tap: 5 roots/list: no answer of the client in 200 ms, going on without it
mcp-tap: 7 sampling/createMessage: no answer of the client in 200 ms, going on without it
mcp-tap: 11 elicitation/create: no answer of the client in 200 ms, going on without it
[plan] 2 forecasts in 702 ms
"
    );
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    assert_eq!(report["given_up"].as_array().map(Vec::len), Some(3));
    let mut client = mock(&env, &[&session("weather"), "--timeout", "200ms"]);
    client.initialize("2025-11-25");
    client.line(&call("9", "get_radar", r#"{"area":"NO-46","frames":24}"#));
    client.expect(r#""id":9,"result""#);
    assert_eq!(
        client.end().ok().errors(),
        "\
[weather] 1.4.0 ready on stdio
mcp-tap: 27 tools/call get_radar: not given up by the client in 200 ms, answering it
"
    );
}

#[test]
fn a_client_that_leaves_at_once_gets_its_answers() {
    let env = TestEnv::new();
    let lines = [
        request("0", "initialize", r#"{"protocolVersion":"2025-11-25"}"#),
        call("1", "get_forecast", r#"{"city":"Oslo","days":7}"#),
        call("2", "get_radar", r#"{"area":"NO-46","frames":24}"#),
        call("3", "plan_trip", r#"{"from":"Bergen","to":"Oslo","days":2}"#),
    ];
    let output = env.tap_with_input(&["mock", &session("weather")], (lines.join("\n") + "\n").as_bytes()).ok();
    for text in [r#""id":1,"result""#, r#""id":2,"result""#, "elicitation/create"] {
        assert!(output.text().contains(text), "{text}");
    }
    // Nobody is left who could answer the question.
    assert!(!output.text().contains("RV7"));
}

#[test]
fn a_batch_is_answered_as_one_and_its_members_alone_are_too() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("batch")]);
    client.initialize("2025-03-26");
    let alerts = call("8", "get_alerts", r#"{"region":"NO-46"}"#);
    client.line(&format!("[{},{alerts}]", request("7", "ping", "{}")));
    client.expect(r#"[{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc":"2.0","id":8,"result":{"content""#);
    client.end().ok();
    let mut client = mock(&env, &[&session("batch")]);
    client.initialize("2025-03-26");
    client.line(&alerts);
    client.expect("\n{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"content\"");
    client.end().ok();
}

#[test]
fn a_subscription_has_the_live_id_and_ends_when_the_client_ends_it() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("modern")]);
    client.line(&request("70", "server/discover", "{}"));
    client.expect(r#""id":70,"#);
    let listen = r#"{"notifications":{"resourceSubscriptions":["weather://stations"]},"_meta":{}}"#;
    client.line(&request(r#""sub""#, "subscriptions/listen", listen));
    client.expect(r#""io.modelcontextprotocol/subscriptionId":"sub"}"#);
    client.call(72, "ping", "{}");
    assert!(!String::from_utf8_lossy(&client.stdout.bytes()).contains(r#""id":"sub""#));
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}"#);
    client.expect(r#""id":"sub","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub""#);
    client.end().ok();
}

#[test]
fn what_a_person_says_to_a_round_of_input_may_differ() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("modern")]);
    let arguments = r#""name":"plan_trip","arguments":{"from":"Bergen","to":"Oslo","days":2}"#;
    client.line(&request("1", "tools/call", &format!("{{{arguments}}}")));
    client.expect("input_required");
    let said = String::from_utf8(client.stdout.bytes()).expect("text");
    let state = said.split("\"requestState\":\"").nth(1).map(|rest| rest.split('"').next().expect("an end").to_owned());
    let state = state.map(|state| format!(r#","requestState":"{state}""#)).unwrap_or_default();
    let responses = r#""inputResponses":{"departure":{"action":"accept","content":{"day":"2027-01-01"}}}"#;
    client.line(&request("2", "tools/call", &format!("{{{arguments},{responses}{state}}}")));
    client.expect("RV7");
    client.end().ok();
}

#[test]
fn the_recorded_pace_is_kept() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("weather"), "--pace", "50x"]);
    client.initialize("2025-11-25");
    // An answer that took 288 ms was overtaken by one that took 62 ms.
    let forecast = call("1", "get_forecast", r#"{"city":"Oslo","days":7}"#);
    client.line(&format!("{forecast}\n{}", call("2", "get_alerts", r#"{"region":"NO-46"}"#)));
    client.expect(r#""id":1,"result""#);
    let text = client.end().ok().text();
    assert!(text.find(r#""id":2,"result""#) < text.find(r#""id":1,"result""#), "{text}");
}

#[test]
fn what_a_client_asked_in_a_process_of_its_own_is_known_too() {
    let env = TestEnv::new();
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
    recorded(&env, "probed", &[], |client| client.call(0, "server/discover", meta));
    recorded(&env, "probed", &[], |client| client.call(0, "tools/list", meta));
    let probes = env.tap(&["sessions", "--all", "--json"]).ok().json();
    assert_eq!(probes["sessions"][1]["probe"], true, "{probes}");
    for how in ["params", "sequence"] {
        let mut client = mock(&env, &["probed", "--match", how]);
        client.call(5, "server/discover", meta);
        client.expect("supportedVersions");
        client.call(6, "tools/list", meta);
        client.expect("get_forecast");
        assert_eq!(client.end().ok().errors(), "", "{how}");
    }
}
