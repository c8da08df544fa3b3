//! Recording, seen from the client and from the shell.

use crate::support::TestEnv;

#[test]
fn four_hundred_calls_in_the_order_of_causes() {
    let env = TestEnv::new();
    let mut client = env.recorded_sample(&["--name", "calls"], &["--extra-tools", "--speed", "1000"]);
    client.initialize("2025-11-25");
    for id in 1..=400 {
        client.call(id, "tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#);
    }
    assert_eq!(client.end().code(), 0);
    let messages = env.messages();
    let mut asked = std::collections::HashMap::new();
    let mut answered = 0;
    for message in &messages {
        match message["kind"].as_str() {
            Some("request") => {
                asked.insert(message["id"].to_string(), message["forwarded_ns"].as_i64().expect("a time"));
                assert!(message["peer_ns"].as_i64().expect("an answer") >= 0);
            }
            Some("result") => {
                let asked = asked.get(&message["id"].to_string()).expect("no answer stands before its question");
                assert!(message["at_ns"].as_i64().expect("a time") >= *asked);
                answered += 1;
            }
            _ => {}
        }
    }
    assert_eq!((asked.len(), answered), (401, 401));
}
