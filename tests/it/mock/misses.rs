//! What the recording has no answer to, and what was never asked for: with the whole of what is said.

use super::{call, mock, request, session};
use crate::support::TestEnv;

fn forecast(city: &str) -> String {
    format!(r#"{{"city":"{city}","days":7}}"#)
}

#[test]
fn a_miss_is_an_error_that_names_the_nearest_and_what_differs() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("weather")]);
    client.initialize("2025-11-25");
    client.line(&call("7", "get_forecast", &forecast("Rome")));
    client.expect(r#""id":7,"#);
    client.line(&call("8", "get_weather", "{}"));
    client.expect(r#""id":8,"#);
    client.line(&request("9", "prompts/list", "{}"));
    client.expect(r#""id":9,"#);
    client.line(&request("10", "ping", "{}"));
    client.expect(r#"{"jsonrpc":"2.0","id":10,"result":{}}"#);
    let output = client.end().ok();
    let answers = output.text();
    let errors: Vec<&str> = answers.lines().skip(1).collect();
    assert_eq!(
        errors,
        [
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"mcp-tap mock: the nearest is 10 tools/call get_forecast, where /arguments/city is \"Bergen\", not \"Rome\""}}"#,
            r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"mcp-tap mock: no tools/call get_weather is recorded, only `get_alerts`, `get_forecast`, `get_radar`, `plan_trip` and `search_locations`"}}"#,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"mcp-tap mock: no prompts/list is recorded"}}"#,
            r#"{"jsonrpc":"2.0","id":10,"result":{}}"#,
        ]
    );
    assert_eq!(
        output.errors(),
        "\
[weather] 1.4.0 ready on stdio
mcp-tap: tools/call get_forecast: the nearest is 10 tools/call get_forecast, where /arguments/city is \"Bergen\", not \"Rome\"
mcp-tap: tools/call get_weather: no tools/call get_weather is recorded, only `get_alerts`, `get_forecast`, `get_radar`, `plan_trip` and `search_locations`
mcp-tap: prompts/list: no prompts/list is recorded
mcp-tap: 9 recorded requests were never asked: 4 tools/list, 5 resources/list, 8 tools/call search_locations, …
"
    );
}

#[test]
fn the_nearest_answers_with_a_warning_and_the_report_has_it_all() {
    let env = TestEnv::new();
    let report = env.path().join("report.json").display().to_string();
    let mut client = mock(&env, &[&session("revision-2025-11-25"), "--on-miss", "nearest", "--report", &report]);
    client.initialize("2025-11-25");
    client.line(&call("7", "get_forecast", &forecast("Rome")));
    client.expect(r#""id":7,"#);
    let output = client.end().ok();
    assert!(output.text().contains(r#"{\"city\":\"Oslo\""#), "{}", output.text());
    assert_eq!(
        output.errors(),
        "\
[weather] 1.4.0 ready on stdio
mcp-tap: tools/call get_forecast: the nearest is 6 tools/call get_forecast, where /arguments/city is \"Oslo\", not \"Rome\"; answered with that
mcp-tap: 2 recorded requests were never asked: 4 tools/list, 8 resources/read weather://stations
"
    );
    assert_eq!(
        std::fs::read_to_string(report).expect("a report"),
        r#"{
  "mcp_tap_report": 1,
  "report": "mock",
  "sessions": [
    "revision-2025-11-25.jsonl"
  ],
  "requests": 2,
  "misses": [
    {
      "method": "tools/call",
      "name": "get_forecast",
      "why": "the nearest is 6 tools/call get_forecast, where /arguments/city is \"Oslo\", not \"Rome\"",
      "nearest": "6 tools/call get_forecast",
      "pointer": "/arguments/city",
      "recorded": "\"Oslo\"",
      "asked": "\"Rome\""
    }
  ],
  "unused": [
    "4 tools/list",
    "8 resources/read weather://stations"
  ],
  "given_up": [],
  "faults": []
}
"#
    );
}

#[test]
fn a_sequence_takes_nothing_out_of_turn() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("revision-2025-11-25"), "--match", "sequence"]);
    client.initialize("2025-11-25");
    client.line(&call("5", "get_forecast", &forecast("Oslo")));
    client.expect(r#""id":5,"#);
    client.line(&request("6", "tools/list", "{}"));
    client.expect(r#""tools":["#);
    client.line(&call("7", "get_forecast", &forecast("Oslo")));
    client.expect(r#"{\"city\":\"Oslo\""#);
    let output = client.end().ok();
    assert!(output.text().contains("the turn is 4 tools/list's"), "{}", output.text());
    assert_eq!(
        output.errors(),
        "\
[weather] 1.4.0 ready on stdio
mcp-tap: tools/call get_forecast: the turn is 4 tools/list's
mcp-tap: 1 recorded request was never asked: 8 resources/read weather://stations
"
    );
}

#[test]
fn what_was_never_asked_is_told_to_those_who_want_to_know() {
    let env = TestEnv::new();
    let said = |words: &[&str]| {
        let mut client = mock(&env, words);
        client.initialize("2025-11-25");
        client.end().ok().errors()
    };
    let file = session("tasks");
    assert_eq!(said(&[&file]), "[weather] 1.4.0 ready on stdio\n");
    assert_eq!(
        said(&[&file, "--verbose"]),
        "[weather] 1.4.0 ready on stdio\nmcp-tap: 2 recorded requests were never asked: 4 tools/call get_radar, 7 tasks/list\n"
    );
}

#[test]
fn several_recordings_are_one_pool() {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("revision-2025-06-18"), &session("weather"), "--verbose"]);
    client.initialize("2025-11-25");
    client.expect(r#""protocolVersion":"2025-11-25""#);
    client.line(&call("1", "search_locations", r#"{"query":"Ber"}"#));
    client.expect("Bergerac");
    client.line(&request("2", "resources/read", r#"{"uri":"weather://stations"}"#));
    client.expect(r#""id":2,"result""#);
    let said = client.end().ok().errors();
    assert!(said.contains("4 tools/list of revision-2025-06-18.jsonl"), "{said}");
    assert!(!said.contains("initialize"), "{said}");
}

#[test]
fn what_cannot_be_played_is_said() {
    let env = TestEnv::new();
    let output = env.tap(&["mock", "nowhere.jsonl"]);
    assert_eq!((output.code(), output.text()), (3, String::new()));
    assert_eq!(
        output.errors(),
        "mcp-tap: cannot read `nowhere.jsonl`: no such file or directory\nhint: a text with `/` or `.jsonl` means a session file\n"
    );
    let output = env.tap(&["mock"]);
    assert_eq!(output.code(), 3);
    assert!(output.errors().starts_with("mcp-tap: no sessions in "), "{}", output.errors());
    let output = env.tap(&["mock", &session("weather"), "--on-miss", "forward"]);
    assert_eq!(output.code(), 2);
    assert_eq!(
        output.errors(),
        "mcp-tap: --on-miss forward needs the command of a server\nhint: mcp-tap mock SESSION --on-miss forward -- SERVER…\n"
    );
    let output = env.tap(&["mock", &session("weather"), "--fault", "burn"]);
    assert_eq!(output.code(), 2);
    assert!(output.errors().contains("`burn` is none of delay, error, drop, garbage, cut and crash"));
    let output = env.tap(&["serve"]);
    assert_eq!(output.code(), 2);
    assert!(output.errors().contains("mcp-tap mock SESSION"), "{}", output.errors());
}

#[test]
fn what_a_mask_excuses_in_a_request_is_no_miss() {
    let env = TestEnv::new();
    let mask = "[[mask]]\ntool = \"get_forecast\"\nat = \"/params/arguments/city\"\nas = \"random\"\n";
    std::fs::write(env.path().join("mcp-tap.toml"), mask).unwrap();
    let mut client = mock(&env, &[&session("revision-2025-11-25")]);
    client.initialize("2025-11-25");
    // Another text is excused, another type is not.
    client.line(&call("7", "get_forecast", &forecast("Rome")));
    client.expect(r#""id":7,"#);
    client.line(&call("8", "get_forecast", r#"{"city":null,"days":7}"#));
    client.expect(r#""id":8,"#);
    let output = client.end().ok();
    let answers: Vec<bool> = output.text().lines().skip(1).map(|line| line.contains(r#"{\"city\":\"Oslo\""#)).collect();
    assert_eq!(answers, [true, false], "{}", output.text());
    assert!(output.errors().contains("get_forecast: the nearest is"), "{}", output.errors());
}
