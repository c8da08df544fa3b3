//! Which session an exchange belongs to, and how sessions end.

use super::*;

/// A server of 2025-11-25 that gives each client a session of its own.
fn with_sessions() -> Upstream {
    let given = std::sync::atomic::AtomicU64::new(0);
    Upstream::new(move |asked, wire| {
        let session = asked.header("mcp-session-id").map(str::to_owned);
        match (asked.verb(), asked.text()) {
            ("DELETE", _) => wire.answer("200 OK", "", b""),
            (_, text) if text.contains("\"initialize\"") => {
                let number = given.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s-{number}\r\n");
                wire.answer("200 OK", &headers, WELCOME.as_bytes());
            }
            (_, text) if text.contains("expire") => wire.answer("404 Not Found", "", b""),
            _ => wire.json(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
                session.unwrap_or_default()
            )),
        }
        true
    })
}

#[test]
fn two_clients_with_equal_ids_at_once_are_two_sessions() {
    let env = TestEnv::new();
    let upstream = with_sessions();
    let tap = Tap::start(&env, &upstream, &[]);
    let mut clients: Vec<Http> = (0..2).map(|_| Http::connect(tap.port)).collect();
    for client in &mut clients {
        client.post("", &initialize("twin"));
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let answer =
            client.post(&format!("Mcp-Session-Id: s-{number}\r\n"), &request(1, "tools/call", r#"{"name":"t"}"#));
        assert!(answer.text().contains(&format!("s-{number}")));
    }
    tap.stop();
    let sessions = sessions(&env);
    assert_eq!(sessions.len(), 2);
    for session in &sessions {
        assert_eq!(
            (session["messages"].as_u64(), session["end_reason"].as_str()),
            (Some(4), Some("the recording was stopped"))
        );
        let tags: std::collections::HashSet<String> =
            exchanges(&env, session).iter().map(|e| e["mcp_session_id"].to_string()).collect();
        assert_eq!(tags.len(), 1, "equal ids have equal tags: {tags:?}");
        assert!(tags.iter().all(|tag| tag.contains("<masked:")));
    }
}

#[test]
fn two_clients_of_2026_with_equal_ids_at_once_are_two_sessions() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|asked, wire| {
        let id = asked.text().split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap().to_owned();
        let name = if asked.text().contains("\"first\"") { "first" } else { "second" };
        wire.json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","for":"{name}"}}}}"#));
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut clients = [("first", Http::connect(tap.port)), ("second", Http::connect(tap.port))];
    for id in 0..3 {
        for (name, client) in &mut clients {
            let answer = client.post("", &modern(id, "tools/call", name));
            assert!(answer.text().contains(*name));
        }
    }
    // A new connection of the first client goes on with its session.
    Http::connect(tap.port).post("", &modern(3, "tools/call", "first"));
    tap.stop();
    let mut counts: Vec<(String, u64)> = sessions(&env)
        .iter()
        .map(|s| (s["client"]["name"].as_str().unwrap().to_owned(), s["messages"].as_u64().unwrap()))
        .collect();
    counts.sort();
    assert_eq!(counts, [("first".to_owned(), 8), ("second".to_owned(), 6)]);
}

#[test]
fn a_session_ends_with_delete_and_when_the_server_forgot_it() {
    let env = TestEnv::new();
    let upstream = with_sessions();
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    client.post("", &initialize("a"));
    client.send("DELETE", "/mcp", "Mcp-Session-Id: s-0\r\n", b"");
    assert_eq!(client.answer().status(), 200);
    tap.says("ended by the client: 2 messages, 0 calls");
    client.post("", &initialize("a"));
    assert_eq!(client.post("Mcp-Session-Id: s-1\r\n", &request(1, "expire", "{}")).status(), 404);
    tap.says("the server does not know the session any more (404)");
    client.post("", &initialize("a"));
    let said = tap.stop();
    assert_eq!(said.matches("a 1 began a session, 2025-11-25").count(), 3, "{said}");
    assert_eq!(sessions(&env).len(), 3);
}

#[test]
fn a_challenge_is_passed_on_told_and_leads_through_the_tap() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|asked, wire| {
        let own = asked.header("host").unwrap().to_owned();
        if asked.path().starts_with("/.well-known/") {
            let body = format!(r#"{{"resource":"http://{own}/mcp","authorization_servers":["https://as.example"]}}"#);
            wire.json(&body);
        } else if asked.header("authorization") == Some("Bearer t0ken") {
            wire.json(WELCOME);
        } else {
            let url = format!("http://{own}/.well-known/oauth-protected-resource/mcp");
            let challenge = format!("WWW-Authenticate: Bearer resource_metadata=\"{url}\", scope=\"a b\"\r\n");
            wire.answer("401 Unauthorized", &challenge, b"");
        }
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    let refused = client.post("", &initialize("a"));
    let here = format!("http://127.0.0.1:{}", tap.port);
    assert_eq!(refused.status(), 401);
    let expected =
        format!("Bearer resource_metadata=\"{here}/.well-known/oauth-protected-resource/mcp\", scope=\"a b\"");
    assert_eq!(refused.header("www-authenticate"), Some(expected.as_str()));
    client.send("GET", "/.well-known/oauth-protected-resource/mcp", "", b"");
    let metadata = client.answer().text();
    assert_eq!(metadata, format!(r#"{{"resource":"{here}/mcp","authorization_servers":["https://as.example"]}}"#));
    assert_eq!(client.post("Authorization: Bearer t0ken\r\n", &initialize("a")).status(), 200);
    tap.says("401 from upstream, scope a b wanted; passed on");
    tap.stop();
    let sessions = sessions(&env);
    assert_eq!(sessions.len(), 1, "the client that came back is the same: {sessions:?}");
    let exchanges = exchanges(&env, &sessions[0]);
    assert_eq!(exchanges[0]["rewritten"][0], "`resource_metadata` of WWW-Authenticate leads through the tap");
    assert_eq!(exchanges[1]["rewritten"][0], "`resource` of the protected-resource metadata names the tap");
    assert!(!std::fs::read(env.store()).unwrap().windows(6).any(|bytes| bytes == b"t0ken\""));
}

#[test]
fn tokens_of_an_authorization_server_are_not_stored() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|_, wire| {
        wire.json(r#"{"access_token":"very-secret","expires_in":60}"#);
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    client.send("POST", "/token", "Content-Type: application/x-www-form-urlencoded\r\n", b"grant_type=x&code=the-code");
    assert!(client.answer().text().contains("very-secret"));
    tap.stop();
    let bodies = [env.stream("to_server", "http_body"), env.stream("to_client", "http_body")].concat();
    let text = String::from_utf8_lossy(&bodies);
    assert!(!text.contains("very-secret") && !text.contains("the-code"), "{text}");
    assert!(text.contains("\"access_token\":\"<masked:") && text.contains("grant_type=x&code=<masked:"), "{text}");
}
