//! The way of a line through the server: messages, batches, workers, answers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    misbehave::is_call,
    revision::Revision,
    server::{Batch, Request, Server, hold},
    weather,
    wire::{self, Incoming, Line, RpcError},
};

impl Server {
    /// Deals with one line from the client.
    pub(crate) fn line(self: &Arc<Self>, line: &[u8]) {
        match wire::parse(line) {
            Line::Blank => {}
            Line::Garbage => self.refuse(-32700, "Parse error"),
            Line::One(message) => self.message(message, &Arc::from(line), None),
            Line::Batch(members) => self.batch(members, line),
        }
    }

    fn refuse(&self, code: i32, message: &str) {
        self.send(wire::error("null", &RpcError::new(code, message)));
    }

    fn batch(self: &Arc<Self>, members: Vec<Incoming>, line: &[u8]) {
        let allowed = self.update(|state| state.revision) == Some(Revision::March2025);
        if members.is_empty() || !allowed {
            return self.refuse(-32600, "Invalid Request");
        }
        let (batch, line) = (Batch::default(), Arc::from(line));
        // On a worker: a member may ask the client, whose answer only the main loop can read.
        self.work(move |server| {
            for member in members {
                server.message(member, &line, Some(&batch));
            }
            let answers = hold(&batch).join(&b","[..]);
            if !answers.is_empty() {
                server.send([b"[", answers.as_slice(), b"]"].concat());
            }
        });
    }

    fn message(self: &Arc<Self>, message: Incoming, line: &Arc<[u8]>, batch: Option<&Batch>) {
        match message {
            Incoming::Unusable => self.refuse(-32600, "Invalid Request"),
            Incoming::Response { id, result } => {
                if let Ok(id) = id.parse() {
                    // An error counts as a refusal, so that nobody waits for it for ever.
                    let result = if result.is_null() { json!({"action": "cancel"}) } else { result };
                    self.update(|state| state.answers.insert(id, result));
                }
            }
            Incoming::Notification { method, params } => self.notification(&method, &params),
            Incoming::Request { id, method, params } => {
                self.update(|state| state.cancelled.remove(&id));
                let (line, batch) = (Arc::clone(line), batch.cloned());
                let revision = Revision::November2025;
                let mut request = Request { id, method, params, line, revision, batch };
                match weather::revision_of(self, &request) {
                    Ok(revision) => {
                        request.revision = revision;
                        self.request(request);
                    }
                    Err(error) => self.send_answer(&request, wire::error(&request.id, &error)),
                }
            }
        }
    }

    fn notification(self: &Arc<Self>, method: &str, params: &Value) {
        if method == "notifications/cancelled" && !params["requestId"].is_null() {
            let id = params["requestId"].to_string();
            self.update(|state| state.cancelled.insert(id.clone()));
            self.end_subscription(&id);
        }
        if let Some(notified) = self.quirk.notification {
            notified(self, method, params);
        }
    }

    fn request(self: &Arc<Self>, request: Request) {
        if self.quirk.request.is_some_and(|deals| deals(self, &request)) {
            return;
        }
        let beside = self.args.case.is_some() && request.method == "tools/call";
        // The members of a batch are answered together, so they are worked on here.
        if request.batch.is_none() && (beside || weather::takes_time(&request)) {
            self.work(move |server| server.answer(&request));
        } else {
            self.answer(&request);
        }
    }

    fn answer(self: &Arc<Self>, request: &Request) {
        let Some(reply) = weather::reply(self, request) else {
            return;
        };
        self.deliver(request, reply);
    }

    /// Sends the answer through the misbehaviour in play.
    pub(crate) fn deliver(self: &Arc<Self>, request: &Request, reply: Result<Value, RpcError>) {
        let result = reply.map(|value| match (self.quirk.body, self.quirk.result) {
            (Some(body), _) if is_call(request) => body(self),
            (_, Some(bend)) => bend(self, request, &value),
            _ => value.to_string().into_bytes(),
        });
        if self.is_cancelled(request) && !weather::answers_late(self, request) {
            return;
        }
        let id = self.quirk.id.map_or_else(|| request.id.clone(), |spell| spell(&request.id));
        match (result, self.quirk.answer) {
            (Ok(result), Some(answer)) => answer(self, request, &id, &result),
            (Ok(result), None) => self.send_answer(request, wire::result(&id, &result)),
            (Err(error), _) => self.send_answer(request, wire::error(&id, &error)),
        }
    }
}
