//! Who may connect, and what the tap says of itself.

use super::*;

#[test]
fn other_hosts_and_origins_are_refused_before_anything_is_passed_on() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|_, wire| {
        wire.json("{}");
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let mut client = Http::connect(tap.port);
    client.write(b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}");
    assert_eq!(client.answer().status(), 403);
    let mut client = Http::connect(tap.port);
    assert_eq!(client.post("Origin: http://evil.example\r\n", "{}").status(), 403);
    assert!(upstream.asked().is_empty());
    assert_eq!(client.post("Origin: http://localhost:3000\r\n", "{}").status(), 200);
    tap.says("Host `evil.example` refused");
    tap.says("Origin `http://evil.example` refused");
    tap.stop();
}

#[test]
fn an_upstream_that_is_not_there_is_said() {
    let env = TestEnv::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let tap = Tap::at(&env, &format!("http://127.0.0.1:{port}/mcp"), &[]);
    let answer = Http::connect(tap.port).post("", &initialize("a"));
    assert_eq!(answer.status(), 502);
    assert!(answer.text().contains("no answer from the upstream: connection refused"), "{}", answer.text());
    tap.says("no answer from the upstream: connection refused");
    tap.stop();
    assert_eq!(exchanges(&env, &sessions(&env)[0])[0]["ending"], "no_answer");
}

#[test]
fn clients_that_are_slow_on_purpose_stop_nobody() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|_, wire| {
        wire.json("{}");
        true
    });
    let tap = Tap::start(&env, &upstream, &[]);
    let slow: Vec<Http> = (0..560)
        .map(|_| {
            let mut client = Http::connect(tap.port);
            client.write(b"POST /mcp HTTP/1.1\r\nHost: ");
            client
        })
        .collect();
    assert_eq!(Http::connect(tap.port).post("", "{}").status(), 200);
    let mut long = Http::connect(tap.port);
    let _ = std::io::Write::write_all(
        &mut long.socket,
        format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(400 << 10)).as_bytes(),
    );
    assert_eq!(Http::connect(tap.port).post("", "{}").status(), 200);
    drop(slow);
    tap.stop();
}

#[test]
fn what_cannot_be_done_is_a_sentence() {
    let env = TestEnv::new();
    let cases: [(&[&str], &str); 8] = [
        (&["--upstream", "host/mcp"], "mcp-tap: `host/mcp` is not a URL\n"),
        (&["--upstream", "ftp://host"], "mcp-tap: `ftp://host` is not a URL that begins with http:// or https://\n"),
        (
            &["--upstream", "http://h/mcp", "--listen", "0.0.0.0:4000"],
            "mcp-tap: `0.0.0.0:4000` can be reached from other machines\n",
        ),
        (&["--upstream", "http://h/mcp", "--listen", "x:y"], "mcp-tap: `x:y` is not an address\n"),
        (&["--upstream", "http://h/mcp", "--header", "X"], "mcp-tap: a header is a name, a colon and a value\n"),
        (&["--upstream", "http://h/mcp", "--header-env", "X=NOT_SET"], "mcp-tap: the variable `NOT_SET` is not set\n"),
        (&["--listen", "4000", "--", "cat"], "mcp-tap: `--listen` needs `--upstream URL`\n"),
        (&["--url", "http://h/mcp"], "mcp-tap: the URL of a server on HTTP follows `--upstream`\n"),
    ];
    for (args, expected) in cases {
        let output = env.tap(&[&["record"], args].concat());
        assert_eq!(output.code(), 2, "{args:?}: {}", output.errors());
        assert!(output.errors().starts_with(expected), "{args:?}: {}", output.errors());
    }
    let missing = env.tap(&["record", "--upstream", "https://h/mcp", "--ca-file", "/none.pem"]);
    assert_eq!(missing.code(), 3);
    assert!(missing.errors().contains("`/none.pem` has no certificate"), "{}", missing.errors());
}

#[test]
fn the_default_port_is_the_same_and_another_one_when_it_is_taken() {
    let env = TestEnv::new();
    let first = env.client(&["record", "--upstream", "http://weather.invalid/mcp"]);
    let port = |client: &Client| {
        assert!(client.stderr.wait(PATIENCE, |bytes, _| crate::support::memmem(bytes, b"credentials")));
        let text = String::from_utf8_lossy(&client.stderr.bytes()).into_owned();
        text.split("http://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().parse::<u16>().unwrap()
    };
    let taken = port(&first);
    assert!((20_000..60_000).contains(&taken));
    let second = env.client(&["record", "--upstream", "http://weather.invalid/mcp"]);
    assert_ne!(port(&second), taken);
    for client in [first, second] {
        client.signal(rustix::process::Signal::TERM);
        assert_eq!(client.wait().code(), 0);
    }
}

#[test]
fn credentials_are_stored_only_where_that_was_asked_for() {
    let env = TestEnv::new();
    let upstream = Upstream::new(|_, wire| {
        wire.json(WELCOME);
        true
    });
    let tap = Tap::start(&env, &upstream, &["--no-redact"]);
    Http::connect(tap.port).post("Authorization: Bearer s3cret\r\n", &initialize("a"));
    tap.says("credentials in headers are stored as they are (--no-redact)");
    tap.stop();
    let exchange = exchanges(&env, &sessions(&env)[0]).remove(0);
    let found = exchange["request"].as_array().unwrap().iter().find(|header| header[0] == "authorization").unwrap();
    assert_eq!(found[1], "Bearer s3cret");
}
