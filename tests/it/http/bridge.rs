//! A client on stdio in front of a server on HTTP.

use super::*;

fn bridge(env: &TestEnv, upstream: &Upstream) -> Client {
    env.client(&["record", "--upstream", &upstream.url("/mcp"), "--stdio", "--header", "X-Tenant: 7"])
}

#[test]
fn a_session_is_kept_its_cut_stream_resumed_and_its_end_told() {
    let upstream = Upstream::new(|asked, wire| {
        let text = asked.text();
        match asked.verb() {
            "POST" if text.contains("\"initialize\"") => {
                let headers = "Content-Type: application/json\r\nMcp-Session-Id: s1\r\n";
                wire.answer("200 OK", headers, WELCOME.as_bytes());
            }
            "POST" if text.contains("tools/call") => {
                wire.stream("");
                wire.chunk(b"id: 7\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
                // Cut in the middle of the stream.
                return false;
            }
            "POST" if text.contains("tools/list") => wire.answer("503 Service Unavailable", "", b"later"),
            "GET" if asked.header("last-event-id") == Some("7") => {
                wire.stream("");
                wire.chunk(b"id: 8\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n");
                wire.end();
            }
            "GET" => wire.answer("405 Method Not Allowed", "", b""),
            "DELETE" => {
                wire.tell("deleted");
                wire.answer("200 OK", "", b"");
            }
            _ => wire.answer("202 Accepted", "", b""),
        }
        true
    });
    let env = TestEnv::new();
    let mut client = bridge(&env, &upstream);
    client.line(&initialize("old"));
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.line(&request(1, "tools/call", r#"{"name":"t"}"#));
    client.expect(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    client.line(&request(2, "tools/list", "{}"));
    client.expect("the server answered with HTTP 503 Service Unavailable");
    let output = client.end().ok();
    upstream.wait("deleted");
    assert_eq!(output.text().lines().count(), 4, "{}", output.text());
    for asked in upstream.asked().iter().skip(1) {
        assert_eq!(asked.header("mcp-session-id"), Some("s1"), "{}", asked.head);
        assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"), "{}", asked.head);
        assert_eq!(asked.header("x-tenant"), Some("7"));
    }
    assert_eq!(env.stream("to_client", "stdio"), output.stdout);
    let session = env.session();
    assert_eq!((session["transport"].as_str(), session["calls"].as_u64()), (Some("stdio"), Some(1)), "{session}");
}

#[test]
fn in_2026_07_28_headers_say_what_the_body_does_and_leaving_cancels() {
    let upstream = Upstream::new(|_, wire| {
        wire.stream("");
        wire.chunk(b": here\n\n");
        wire.tell("called");
        wire.wait_for_disconnect();
        false
    });
    let env = TestEnv::new();
    let mut client = bridge(&env, &upstream);
    client.line(&modern(5, "tools/call", "new"));
    upstream.wait("called");
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#);
    upstream.wait("disconnected");
    let output = client.end().ok();
    assert_eq!(output.text(), "");
    let asked = upstream.asked();
    let header = |name| asked[0].header(name);
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (header("mcp-protocol-version"), header("mcp-method"), header("mcp-name"), header("mcp-session-id")),
        (Some("2026-07-28"), Some("tools/call"), Some("t"), None)
    );
}

#[test]
fn a_server_that_is_not_there_is_an_error_for_each_request() {
    let env = TestEnv::new();
    let input = format!("{}\n", initialize("old"));
    // Nobody listens at port 1.
    let output = env.tap_with_input(&["record", "--upstream", "http://127.0.0.1:1/mcp", "--stdio"], input.as_bytes());
    let output = output.ok();
    assert!(output.text().contains(r#""id":0,"error":{"code":-32603,"message":"no answer from the server: "#));
}
