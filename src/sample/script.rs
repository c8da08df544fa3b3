//! The client of the demo: plays the story of the documentation over any pair of streams.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::clock;

/// How much longer than the story an answer may take before the client gives the demo up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Plays the client of 2025-11-25: handshake, five tools, one question, one cancellation.
///
/// `speed` divides every pause; the end of `output` is the end of the session.
///
/// # Errors
/// Returns an error if a stream breaks or the server stays silent.
pub fn story(input: impl Read + Send + 'static, output: impl Write, speed: f64) -> io::Result<()> {
    let mut client = Client::new(input, output, speed, json!(null));
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "claude-ai", "version": "0.1.0"},
    });
    let hello = client.request("initialize", hello)?;
    client.answer(&hello)?;
    client.notify("notifications/initialized", Value::Null)?;
    client.look_around()?;

    let trip = json!({"from": "Bergen", "to": "Oslo", "days": 2});
    let trip = json!({"name": "plan_trip", "arguments": trip, "_meta": {"progressToken": "plan-1"}});
    let trip = client.request("tools/call", trip)?;
    client.answer(&trip)?;

    client.pause(6160);
    let radar = client.request("tools/call", radar())?;
    if client.answer_within(&radar, Duration::from_secs_f64(60.001 / client.speed))?.is_none() {
        let reason = json!({"requestId": radar, "reason": "Request timed out"});
        client.notify("notifications/cancelled", reason)?;
        client.answer(&radar)?;
    }
    Ok(())
}

/// Plays the client of 2026-07-28: the same calls without a handshake, the radar as a task.
///
/// `speed` divides every pause; the end of `output` is the end of the session.
///
/// # Errors
/// Returns an error if a stream breaks or the server stays silent.
pub fn story_modern(input: impl Read + Send + 'static, output: impl Write, speed: f64) -> io::Result<()> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {"form": {}},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        },
        "io.modelcontextprotocol/clientInfo": {"name": "claude-ai", "version": "0.1.0"},
    });
    let mut client = Client::new(input, output, speed, meta);
    let discovery = client.request("server/discover", json!({}))?;
    client.answer(&discovery)?;
    let wanted = json!({"resourceSubscriptions": ["weather://stations"]});
    let listening = client.request("subscriptions/listen", json!({"notifications": wanted}))?;
    client.look_around()?;

    let trip = json!({"from": "Bergen", "to": "Oslo", "days": 2});
    let mut trip = json!({"name": "plan_trip", "arguments": trip, "_meta": {"progressToken": "plan-1"}});
    let first = client.request("tools/call", trip.clone())?;
    let asked = client.answer(&first)?;
    if asked["result"]["resultType"] == "input_required" {
        client.pause(8210);
        let keys = asked["result"]["inputRequests"].as_object().into_iter().flatten();
        trip["inputResponses"] = keys.map(|(key, _)| (key.clone(), departure())).collect();
        trip["requestState"] = asked["result"]["requestState"].clone();
        trip["_meta"]["progressToken"] = json!("plan-2");
        let second = client.request("tools/call", trip)?;
        client.answer(&second)?;
    }

    client.pause(6160);
    let radar = client.request("tools/call", radar())?;
    let task = client.answer(&radar)?["result"].take();
    if task["resultType"] == "task" {
        client.follow(&task)?;
    }
    client.notify("notifications/cancelled", json!({"requestId": listening}))?;
    client.answer(&listening)?;
    Ok(())
}

fn radar() -> Value {
    json!({"name": "get_radar", "arguments": {"area": "NO-46", "frames": 24}})
}

fn departure() -> Value {
    json!({"action": "accept", "content": {"day": "2026-12-04"}})
}

struct Client<W> {
    output: W,
    inbox: Receiver<Value>,
    early: Vec<Value>,
    speed: f64,
    meta: Value,
    next_id: u64,
}

impl<W: Write> Client<W> {
    fn new(input: impl Read + Send + 'static, output: W, speed: f64, meta: Value) -> Self {
        let (sender, inbox) = mpsc::channel();
        thread::spawn(move || {
            let mut input = BufReader::new(input);
            let mut line = Vec::new();
            while input.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                // A tolerant client: what is not JSON is passed over.
                if let Ok(message) = serde_json::from_slice(&line)
                    && sender.send(message).is_err()
                {
                    break;
                }
                line.clear();
            }
        });
        let speed = if speed > 0.0 { speed } else { 1.0 };
        Self { output, inbox, early: Vec::new(), speed, meta, next_id: 0 }
    }

    /// Plays what both stories have in common, from the lists to the place that does not exist.
    fn look_around(&mut self) -> io::Result<()> {
        self.overlapping([("tools/list", Value::Null), ("resources/list", Value::Null)])?;
        self.pause(9087);
        let search = self.call("search_locations", &json!({"query": "Ber"}))?;
        self.answer(&search)?;
        self.pause(458);
        let bergen = self.call("get_forecast", &json!({"city": "Bergen", "days": 7}))?;
        self.answer(&bergen)?;
        self.pause(7);
        let oslo = json!({"name": "get_forecast", "arguments": {"city": "Oslo", "days": 7}});
        let alerts = json!({"name": "get_alerts", "arguments": {"region": "NO-46"}});
        self.overlapping([("tools/call", oslo), ("tools/call", alerts)])?;
        self.pause(8557);
        let atlantis = self.call("get_forecast", &json!({"city": "Atlantis", "days": "7"}))?;
        self.answer(&atlantis)?;
        self.pause(4283);
        Ok(())
    }

    fn pause(&self, ms: u64) {
        clock::sleep(Duration::from_millis(ms).div_f64(self.speed));
    }

    /// Builds a request and returns it with its id.
    fn build(&mut self, method: &str, mut params: Value) -> (Value, String) {
        let id = json!(self.next_id);
        self.next_id += 1;
        if let Some(meta) = self.meta.as_object() {
            for (name, value) in meta {
                params["_meta"][name] = value.clone();
            }
        }
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        (id, format!("{message}\n"))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.output.write_all(text.as_bytes())?;
        self.output.flush()
    }

    fn request(&mut self, method: &str, params: Value) -> io::Result<Value> {
        let (id, line) = self.build(method, params);
        self.write(&line)?;
        Ok(id)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<Value> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Sends two requests in one write, so that neither can be answered before both are sent.
    fn overlapping(&mut self, requests: [(&str, Value); 2]) -> io::Result<()> {
        let built = requests.map(|(method, params)| self.build(method, params));
        self.write(&format!("{}{}", built[0].1, built[1].1))?;
        built.iter().try_for_each(|(id, _)| self.answer(id).map(|_| ()))
    }

    fn notify(&mut self, method: &str, params: Value) -> io::Result<()> {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.write(&format!("{message}\n"))
    }

    /// Waits for the answer to a request; answers the server's questions meanwhile.
    fn answer(&mut self, id: &Value) -> io::Result<Value> {
        let limit = PATIENCE + Duration::from_secs(90).div_f64(self.speed);
        let silent = || io::Error::new(ErrorKind::TimedOut, format!("no answer to request {id}"));
        self.answer_within(id, limit)?.ok_or_else(silent)
    }

    /// Waits for the answer to a request, `limit` at most from one message to the next.
    fn answer_within(&mut self, id: &Value, limit: Duration) -> io::Result<Option<Value>> {
        let answers = |message: &Value| message["method"].is_null() && message["id"] == *id;
        if let Some(place) = self.early.iter().position(answers) {
            return Ok(Some(self.early.remove(place)));
        }
        loop {
            let message = match self.inbox.recv_timeout(limit) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server has gone"));
                }
            };
            if answers(&message) {
                return Ok(Some(message));
            }
            if message["method"] == "elicitation/create" && !message["id"].is_null() {
                // The time a person takes.
                self.pause(8210);
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": departure()});
                self.write(&format!("{answer}\n"))?;
            } else if message["method"].is_null() {
                self.early.push(message);
            }
        }
    }

    /// Polls a task until it has ended, as often as the server asks for.
    fn follow(&mut self, task: &Value) -> io::Result<()> {
        let interval = task["pollIntervalMs"].as_u64().unwrap_or(1000).min(60_000);
        loop {
            // The server has divided this by its own speed already.
            clock::sleep(Duration::from_millis(interval));
            let poll = self.request("tasks/get", json!({"taskId": task["taskId"]}))?;
            if self.answer(&poll)?["result"]["status"] != "working" {
                return Ok(());
            }
        }
    }
}
