//! The same scripted session over HTTP and on stdio: what is compared are messages, not transports.

use super::*;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

/// What was said of each request.
type Said = (Mutex<HashMap<String, Vec<String>>>, Condvar);

/// The sample server, and what it has said.
struct Behind {
    child: Child,
    stdin: Mutex<ChildStdin>,
    said: Arc<Said>,
}

impl Behind {
    fn start(args: &[&str]) -> Arc<Self> {
        let mut command = Command::new(crate::support::TAP);
        command.arg("sample-server").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let said: Arc<Said> = Arc::default();
        let (lines, heard) = (BufReader::new(child.stdout.take().unwrap()), Arc::clone(&said));
        std::thread::spawn(move || {
            let mut before = Vec::new();
            for line in lines.lines().map_while(Result::ok) {
                let id = serde_json::from_str::<serde_json::Value>(&line).ok().and_then(|m| m.get("id").cloned());
                before.push(line);
                // What was said without an id belongs to the answer that follows: one call at a time is made here.
                if let Some(id) = id {
                    heard.0.lock().unwrap().insert(id.to_string(), std::mem::take(&mut before));
                    heard.1.notify_all();
                }
            }
        });
        let stdin = Mutex::new(child.stdin.take().unwrap());
        Arc::new(Self { child, stdin, said })
    }

    /// Says a line to the server; returns what it says up to the answer, if it is a request.
    fn ask(&self, line: &str) -> Vec<String> {
        writeln!(self.stdin.lock().unwrap(), "{line}").unwrap();
        let id = serde_json::from_str::<serde_json::Value>(line).unwrap().get("id").map(ToString::to_string);
        let Some(id) = id else { return Vec::new() };
        let said = self.said.0.lock().unwrap();
        let (mut said, late) = self.said.1.wait_timeout_while(said, PATIENCE, |said| !said.contains_key(&id)).unwrap();
        assert!(!late.timed_out(), "no answer to {line}");
        said.remove(&id).unwrap()
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the client says: a handshake, a list, calls that end well and badly.
fn script() -> Vec<String> {
    let call = |id, name: &str, arguments: &str| {
        request(
            id,
            "tools/call",
            &format!(r#"{{"name":"{name}","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}"#),
        )
    };
    vec![
        initialize("both"),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        request(1, "tools/list", "{}"),
        call(2, "search_locations", r#"{"query":"Ber"}"#),
        call(3, "get_forecast", r#"{"city":"Bergen","days":3}"#),
        call(4, "get_forecast", r#"{"city":"Atlantis","days":3}"#),
        request(5, "resources/list", "{}"),
        request(6, "no/such/method", "{}"),
    ]
}

#[test]
fn the_same_session_over_http_and_on_stdio_has_no_difference() {
    let env = TestEnv::new();
    let args = ["--speed", "50"];
    let mut client = env.recorded_sample(&["--name", "stdio"], &args);
    for line in script() {
        client.line(&line);
        if let Some(id) = line.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()) {
            client.expect(&format!("\"id\":{id}"));
        }
    }
    let _ = client.end();
    for form in ["json", "events"] {
        let behind = Behind::start(&args);
        let upstream = Upstream::new(move |asked, wire| {
            let said = behind.ask(&asked.text());
            match (said.as_slice(), form) {
                ([], _) => wire.answer("202 Accepted", "", b""),
                ([answer], "json") => wire.json(answer),
                (said, _) => {
                    wire.stream("");
                    said.iter().for_each(|line| wire.chunk(format!("event: message\ndata: {line}\n\n").as_bytes()));
                    wire.end();
                }
            }
            true
        });
        let tap = Tap::start(&env, &upstream, &["--name", form]);
        let mut client = Http::connect(tap.port);
        for line in script() {
            client.post("", &line);
        }
        tap.stop();
        for (a, b) in [("stdio", form), (form, "stdio")] {
            let output = env.tap(&["diff", a, b]);
            assert_eq!(output.code(), 0, "{a} {b}: {}{}", output.text(), output.errors());
            assert!(output.text().contains("no difference"), "{a} {b}: {}", output.text());
        }
    }
}
