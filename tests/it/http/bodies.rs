//! Bodies and heads pass as they are; what is recorded of them can be read.

use super::*;
use std::io::Write;

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_body_passes_as_it_is_and_is_recorded_decoded() {
    let env = TestEnv::new();
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
    let wire_body = gzipped(body.as_bytes());
    let sent = wire_body.clone();
    let upstream = Upstream::new(move |_, wire| {
        wire.answer("200 OK", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", &sent);
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let answer = Http::connect(tap.port).post("Accept-Encoding: gzip\r\n", &request(1, "tools/list", "{}"));
    assert_eq!((answer.body.as_slice(), answer.header("content-encoding")), (wire_body.as_slice(), Some("gzip")));
    tap.stop();
    let session = sessions(&env).remove(0);
    assert_eq!(env.tap(&["inspect", session["id"].as_str().unwrap(), "1", "--raw"]).ok().text(), body);
    let exchange = exchanges(&env, &session).remove(0);
    let hash: String =
        sha2::Digest::finalize(sha2::Digest::chain_update(<sha2::Sha256 as sha2::Digest>::new(), &wire_body))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
    assert_eq!(exchange["response_body"]["coding"], "gzip");
    assert_eq!(exchange["response_body"]["length"], wire_body.len());
    assert_eq!(exchange["response_body"]["sha256"], hash);
}

#[test]
fn heads_pass_in_their_order_and_case_but_for_host_and_one_connections_own() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|_, wire| {
        let headers = "MCP-Protocol-Version: 2025-11-25\r\nX-Twice: a\r\nX-Twice: b\r\nConnection: keep-alive\r\n";
        wire.answer("207 Odd", headers, b"");
        true
    });
    let tap = Tap::start(&env, &upstream, &["--header", "X-Added: yes"]);
    let mut client = Http::connect(tap.port);
    client.send("POST", "/mcp?q=1", "X-First: 1\r\nConnection: X-Hop\r\nX-Hop: 1\r\nAccept: */*\r\n", b"{}");
    let answer = client.answer();
    assert_eq!(
        answer.head,
        "HTTP/1.1 207 Odd\r\nMCP-Protocol-Version: 2025-11-25\r\nX-Twice: a\r\nX-Twice: b\r\nContent-Length: 0\r\n\r\n"
    );
    let asked = upstream.asked().remove(0);
    let expected = format!(
        "POST /mcp?q=1 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-First: 1\r\nAccept: */*\r\nContent-Length: 2\r\nx-added: yes",
        upstream.port
    );
    assert_eq!(asked.head, expected);
    tap.stop();
}

#[test]
fn a_body_that_is_announced_first_and_one_in_chunks_arrive() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|asked, wire| {
        wire.json(&format!("{}", asked.body.len()));
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    let host = format!("Host: 127.0.0.1:{}\r\n", tap.port);
    client.write(format!("POST /mcp HTTP/1.1\r\n{host}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n").as_bytes());
    assert_eq!(client.head(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write(b"[1,2]");
    assert_eq!(client.answer().text(), "5");
    client.write(
        format!("POST /mcp HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n3\r\n,2]\r\n").as_bytes(),
    );
    client.write(b"0\r\n\r\n");
    assert_eq!(client.answer().text(), "5");
    tap.stop();
    assert_eq!(env.stream("to_server", "http_body"), b"[1,2][1,2]");
}

#[test]
fn a_recording_is_the_same_after_export_and_import() {
    let env = TestEnv::new();
    let body = gzipped(WELCOME.as_bytes());
    let upstream = Upstream::new(move |asked, wire| {
        match asked.text() {
            text if text.contains("initialize") => {
                wire.answer("200 OK", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", &body);
            }
            text if text.contains("tools/call") => {
                wire.stream("");
                wire.chunk(b": one\n\nevent: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
                wire.chunk(b"data:{\"odd\":1}\r\n\r\ndata: \xff\n\n");
                wire.end();
            }
            _ => wire.answer("202 Accepted", "", b""),
        }
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    client.post("Authorization: Bearer s3cret\r\n", &initialize("a"));
    client.post("", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.post("", &request(1, "tools/call", r#"{"name":"t"}"#));
    tap.stop();
    let file = env.path().join("s.jsonl");
    let file = file.to_str().unwrap();
    let _ = env.tap(&["export", "latest", "-o", file]).ok();
    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.contains("s3cret") && text.contains("Bearer <masked:"), "{text}");
    assert!(
        text.contains(r#""sse":{"event":"message","id":"1"},"message":{"jsonrpc":"2.0","id":1,"result":{}}}"#),
        "{text}"
    );
    let shown = |env: &TestEnv, what: &str| {
        (
            env.tap(&["inspect", what, "--json"]).ok().json()["messages"].clone(),
            env.tap(&["inspect", what, "--http", "--json"]).ok().json()["exchanges"].clone(),
        )
    };
    let before = shown(&env, "latest");
    assert_eq!(shown(&env, file), before);
    let other = TestEnv::new();
    let _ = other.tap(&["import", file]).ok();
    let again = other.path().join("t.jsonl");
    let _ = other.tap(&["export", "-o", again.to_str().unwrap()]).ok();
    assert_eq!(std::fs::read_to_string(again).unwrap(), text);
    assert_eq!(shown(&other, "latest"), before);
}
