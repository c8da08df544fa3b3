//! Faults that a person asks for: what the client gets, and what is said.

use super::{call, mock, session};
use crate::support::{Output, TestEnv};

const READY: &str = "[weather] 1.4.0 ready on stdio\n";

/// Asks for a forecast twice under a fault, with the list in between, and returns how that ended.
fn asked(fault: &str, expected: &str) -> Output {
    let env = TestEnv::new();
    let mut client = mock(&env, &[&session("revision-2025-11-25"), "--fault", fault, "--seed", "1"]);
    client.initialize("2025-11-25");
    let forecast = call("2", "get_forecast", r#"{"city":"Oslo","days":7}"#);
    client.line(&format!("{forecast}\n{}", super::request("3", "tools/list", "{}")));
    client.expect(expected);
    client.end()
}

#[test]
fn an_error_comes_instead() {
    let output = asked("error:get_forecast", r#""id":3,"#).ok();
    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"a fault that mcp-tap was asked for"}}"#;
    assert_eq!(output.text().lines().find(|line| line.contains("error")), Some(error), "{}", output.text());
    let told = "mcp-tap: fault: tools/call get_forecast: error -32603 instead of the answer\n";
    assert_eq!(output.errors(), format!("{READY}{told}"));
    let output = asked("error=-32001:tools/call", r#""id":3,"#).ok();
    assert!(output.text().contains(r#""code":-32001"#), "{}", output.text());
}

#[test]
fn an_answer_is_dropped_or_is_garbage() {
    let output = asked("drop:get_forecast", r#""id":3,"#).ok();
    assert!(!output.text().contains(r#""id":2,"#), "{}", output.text());
    assert_eq!(output.errors(), format!("{READY}mcp-tap: fault: tools/call get_forecast: answer dropped\n"));
    let output = asked("garbage:get_forecast", r#""id":3,"#).ok();
    assert!(!output.text().contains(r#""id":2,"#), "{}", output.text());
    let garbage: Vec<String> = output.text().lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect();
    assert_eq!(garbage.len(), 1, "{}", output.text());
    assert!(serde_json::from_str::<serde_json::Value>(&garbage[0]).is_err());
    assert_eq!(
        output.errors(),
        format!("{READY}mcp-tap: fault: tools/call get_forecast: garbage instead of the answer\n")
    );
    assert_eq!(asked("garbage:get_forecast", r#""id":3,"#).text(), output.text(), "the same again");
}

#[test]
fn a_stream_is_cut_and_a_server_crashes() {
    let output = asked("cut:get_forecast", r#""id":2,"#);
    assert_eq!(output.code(), 1);
    let text = output.text();
    assert!(!text.ends_with('\n') && text.lines().last().is_some_and(|line| line.contains(r#""id":2,"#)), "{text}");
    assert_eq!(
        output.errors(),
        format!("{READY}mcp-tap: fault: tools/call get_forecast: stream cut inside the answer\n")
    );
    let output = asked("crash=7:get_forecast", r#""id":0,"#);
    assert_eq!(output.code(), 7);
    assert!(!output.text().contains(r#""id":2,"#), "{}", output.text());
    assert_eq!(
        output.errors(),
        format!("{READY}mcp-tap: fault: tools/call get_forecast: crash with 7 instead of the answer\n")
    );
}

#[test]
fn a_delay_holds_up_nothing_else() {
    let output = asked("delay=1500ms:get_forecast", r#""id":2,"#).ok();
    let order: Vec<usize> = ["\"id\":3,", "\"id\":2,"].iter().filter_map(|id| output.text().find(id)).collect();
    assert!(order.len() == 2 && order[0] < order[1], "{}", output.text());
    assert_eq!(output.errors(), format!("{READY}mcp-tap: fault: tools/call get_forecast: delayed by 1500 ms\n"));
}

#[test]
fn the_same_seed_meets_the_same_calls() {
    let met = |seed: &str| {
        let env = TestEnv::new();
        let mut client = mock(&env, &[&session("batch"), "--fault", "error:get_alerts@0.5", "--seed", seed]);
        client.initialize("2025-03-26");
        let mut met = Vec::new();
        for id in 1..=24 {
            client.line(&call(&id.to_string(), "get_alerts", r#"{"region":"NO-46"}"#));
            client.expect(&format!(r#""id":{id},"#));
        }
        let text = client.end().ok().text();
        met.extend(text.lines().skip(1).map(|line| line.contains("error")));
        met
    };
    let first = met("7");
    assert_eq!(first, met("7"));
    assert_ne!(first, met("8"));
    assert_eq!(first.len(), 24);
}
