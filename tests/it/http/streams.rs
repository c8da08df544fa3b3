//! What streams must do: pass at once, pass exactly, and end as they were ended.

use super::*;

#[test]
fn an_event_reaches_the_client_before_the_next_one_exists() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|_, wire| {
        wire.stream("");
        for event in 0..3 {
            wire.chunk(format!("data: {{\"n\":{event}}}\n\n").as_bytes());
            if !wire.wait(&format!("client has {event}")) {
                return false;
            }
        }
        wire.end();
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    client.send("POST", "/mcp", "", request(1, "tools/call", "{}").as_bytes());
    client.head();
    for event in 0..3 {
        client.until(format!("data: {{\"n\":{event}}}\n\n").as_bytes());
        upstream.tell(&format!("client has {event}"));
    }
    client.until(b"0\r\n\r\n");
    tap.stop();
}

#[test]
fn a_stream_is_recorded_to_the_byte_and_each_event_is_a_frame() {
    const STREAM: &[&[u8]] = &[
        b"\xef\xbb\xbf: hello\r\n\r\n",
        b"id: p-0\ndata:\n\n",
        b"event: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\ndata: \"params\":{\"progressToken\":7}}\n\n",
        b"retry: 5\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\r",
        b": tail",
    ];
    let env = TestEnv::new();
    let upstream = Upstream::new(|_, wire| {
        wire.stream("");
        // Cut elsewhere than the events are.
        for piece in STREAM.concat().chunks(7) {
            wire.chunk(piece);
        }
        wire.end();
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    let call = request(1, "tools/call", r#"{"name":"t","_meta":{"progressToken":7}}"#);
    let answer = client.post("", &call);
    assert_eq!(answer.body, STREAM.concat());
    tap.stop();
    let session = sessions(&env).remove(0);
    let store = rusqlite::Connection::open(env.store()).unwrap();
    let mut statement = store.prepare("SELECT raw FROM frames WHERE channel = 3 ORDER BY id").unwrap();
    let frames: Vec<Vec<u8>> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(frames, STREAM);
    let messages = messages(&env, &session);
    let kinds: Vec<&str> = messages.iter().map(|message| message["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["request", "blank", "blank", "notification", "blank", "result", "blank"]);
    assert_eq!((messages[3]["concerns"]["seq"].as_u64(), messages[5]["answers"]["seq"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn a_client_that_leaves_is_known_upstream_and_in_2026_it_has_given_up() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|asked, wire| {
        if asked.text().contains("streamed") {
            wire.stream("");
            wire.chunk(b": working\n\n");
        }
        wire.tell("asked");
        wire.wait_for_disconnect();
        false
    });
    let tap = Tap::start(&env, &upstream, &[]);
    for method in ["tools/call", "streamed"] {
        let mut client = Http::connect(tap.port);
        client.send("POST", "/mcp", "", modern(1, method, "a").as_bytes());
        if method == "streamed" {
            client.until(b": working\n\n");
        }
        upstream.wait("asked");
        drop(client);
        upstream.wait("disconnected");
    }
    tap.stop();
    for session in sessions(&env) {
        let messages = messages(&env, &session);
        assert_eq!(messages[0]["outcome"], "gave_up", "{messages:?}");
        assert_eq!(exchanges(&env, &session)[0]["ending"], "client_left");
    }
}

#[test]
fn a_request_that_breaks_off_is_the_clients_doing() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|_, _| false);
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    client.write(
        format!("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 100\r\n\r\n{{\"half\"", tap.port)
            .as_bytes(),
    );
    client.socket.shutdown(std::net::Shutdown::Both).unwrap();
    let begun = std::time::Instant::now();
    while !env.store().exists() {
        assert!(begun.elapsed() < PATIENCE, "nothing was recorded");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    tap.stop();
    let exchange = exchanges(&env, &sessions(&env)[0]).remove(0);
    assert_eq!((exchange["ending"].as_str(), exchange["status"].as_u64()), (Some("client_left"), None));
}

#[test]
fn an_answer_that_breaks_off_upstream_breaks_off_at_the_client() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|asked, wire| {
        if asked.text().contains("chunked") {
            wire.stream("");
            wire.chunk(b"data: half");
        } else {
            wire.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"half\"");
        }
        wire.tell("sent");
        false
    });
    let tap = Tap::start(&env, &upstream, &[]);
    for method in ["chunked", "counted"] {
        let mut client = Http::connect(tap.port);
        client.send("POST", "/mcp", "", request(1, method, "{}").as_bytes());
        client.head();
        let rest = client.rest();
        let text = String::from_utf8_lossy(&rest);
        assert!(text.contains("half") && !text.ends_with("0\r\n\r\n"), "{text}");
    }
    tap.stop();
    let endings: Vec<_> =
        sessions(&env).iter().flat_map(|session| exchanges(&env, session)).map(|e| e["ending"].clone()).collect();
    assert_eq!(endings, ["upstream_broke", "upstream_broke"]);
}

#[test]
fn a_redelivered_event_is_kept_and_counted_once() {
    const EVENT: &[u8] = b"id: s1-1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n";
    let env = TestEnv::new();
    let upstream = Upstream::new(|asked, wire| {
        match (asked.verb(), asked.text().contains("initialize")) {
            (_, true) => {
                wire.answer("200 OK", "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", WELCOME.as_bytes());
            }
            ("GET", _) => {
                wire.stream("");
                wire.chunk(EVENT);
                wire.end();
            }
            _ => {
                wire.stream("");
                wire.chunk(b"id: s1-0\nretry: 10\ndata: \n\n");
                wire.end();
            }
        }
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    assert_eq!(client.post("", &initialize("a")).header("mcp-session-id"), Some("s-1"));
    client.post("Mcp-Session-Id: s-1\r\n", &request(1, "tools/call", r#"{"name":"t"}"#));
    for _ in 0..2 {
        let headers = "Mcp-Session-Id: s-1\r\nAccept: text/event-stream\r\nLast-Event-ID: s1-0\r\n";
        client.send("GET", "/mcp", headers, b"");
        assert_eq!(client.answer().body, EVENT);
    }
    tap.stop();
    let sessions = sessions(&env);
    assert_eq!(sessions.len(), 1);
    let messages = messages(&env, &sessions[0]);
    let results: Vec<&serde_json::Value> = messages.iter().filter(|m| m["kind"] == "result" && m["id"] == 1).collect();
    assert_eq!(results.len(), 2, "{messages:?}");
    assert_eq!(results[0]["answers"]["seq"], 2);
    assert_eq!(results[1]["flaws"][0], "redelivered");
    assert_eq!((sessions[0]["messages"].as_u64(), sessions[0]["calls"].as_u64()), (Some(4), Some(1)));
}

#[test]
fn an_old_stream_is_one_session_and_an_absolute_endpoint_leads_through_the_tap() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|asked, wire| {
        if asked.verb() == "GET" {
            let own = asked.header("host").unwrap().to_owned();
            wire.stream("");
            wire.chunk(format!("event: endpoint\ndata: http://{own}/messages?sessionId=x1\n\n").as_bytes());
            assert!(wire.wait("posted"));
            wire.chunk(format!("event: message\ndata: {WELCOME}\n\n").as_bytes());
            wire.end();
        } else {
            assert_eq!(asked.path(), "/messages?sessionId=x1");
            wire.answer("202 Accepted", "", b"Accepted");
            wire.tell("posted");
        }
        true
    });
    let tap = Tap::at(&env, &upstream.url("/sse"), &[]);
    let mut events = Http::connect(tap.port);
    events.send("GET", "/sse", "Accept: text/event-stream\r\n", b"");
    let expected = format!("event: endpoint\ndata: http://127.0.0.1:{}/messages?sessionId=x1\n\n", tap.port);
    events.until(expected.as_bytes());
    let mut client = Http::connect(tap.port);
    client.send("POST", "/messages?sessionId=x1", "", initialize("old").as_bytes());
    assert_eq!(client.answer().status(), 202);
    events.until(b"0\r\n\r\n");
    tap.says("its stream has ended");
    tap.stop();
    let sessions = sessions(&env);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(sessions[0]["client"]["name"], "old");
    let stream = String::from_utf8(env.stream("to_client", "sse")).unwrap();
    assert!(stream.contains("/messages?sessionId=<masked:") && !stream.contains("x1"), "{stream}");
    let exchanges = exchanges(&env, &sessions[0]);
    let rewritten = exchanges[0]["rewritten"][0].as_str().unwrap();
    assert!(rewritten.starts_with("endpoint event: http://127.0.0.1:"), "{rewritten}");
    assert!(!exchanges.iter().any(|e| e["path"].as_str().unwrap().contains("x1")), "the session is a secret");
    let answers: Vec<_> = messages(&env, &sessions[0])
        .iter()
        .filter(|m| m["kind"] == "result")
        .map(|m| m["answers"]["seq"].clone())
        .collect();
    assert_eq!(answers, [1]);
}

#[test]
fn long_bodies_and_long_streams_are_never_held_whole() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|asked, wire| {
        wire.stream("");
        if asked.text().contains("events") {
            for event in 0..10_000 {
                wire.chunk(
                    format!("id: {event}\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}}\n\n").as_bytes(),
                );
            }
        } else {
            wire.chunk(b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"");
            (0..100).for_each(|_| wire.chunk(&vec![b'x'; 1 << 20]));
            wire.chunk(b"\"}}\n\n");
        }
        wire.end();
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    for (id, method) in [(1, "bytes"), (2, "events")] {
        client.send("POST", "/mcp", "", request(id, method, "{}").as_bytes());
        client.pass_over();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", tap.process.child.id())).unwrap_or_default();
    tap.stop();
    let session = sessions(&env).remove(0);
    // A disk that stands still costs copies, never traffic.
    if session["lost_frames"] == 0 {
        assert_eq!((session["frames"].as_u64(), session["messages"].as_u64()), (Some(10_003), Some(10_003)));
    }
    // Where the system tells it: what waits for the disk is 32 MiB at most.
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib < 110 << 10, "{kib} KiB");
    }
}
