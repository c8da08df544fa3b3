//! The bridge's side towards the server: a client of Streamable HTTP.

use super::Say;
use super::message::{Message, error, one_line, retry_of};
use crate::protocol::line::Piece;
use crate::protocol::sse::{Event, SseFramer};
use crate::session::http::is_event_stream;
use crate::transport::http_client::HttpClient;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

/// How long the server may take to accept what nobody waits for, before the next line is sent.
const ACCEPTED: Duration = Duration::from_secs(30);

/// How long the server may take to hear that the session has ended.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long to wait before a stream is asked for again, where the server does not say.
const RETRY: Duration = Duration::from_secs(1);

/// How often in a row a stream that brings nothing is asked for again.
const TRIES: u32 = 5;

#[derive(Default)]
struct State {
    session: Option<HeaderValue>,
    revision: Option<String>,
    open: HashMap<String, (AbortHandle, bool)>,
    listening: Option<AbortHandle>,
}

pub(super) struct Client {
    http: HttpClient,
    upstream: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    out: mpsc::Sender<Vec<u8>>,
    say: Say,
    state: Mutex<State>,
}

/// What is known of a stream that may be asked for again.
#[derive(Default)]
struct Stream {
    last_id: Option<Vec<u8>>,
    retry: Option<Duration>,
    answered: bool,
    events: u64,
}

impl Client {
    pub(super) fn new(
        http: HttpClient,
        upstream: Uri,
        headers: Vec<(HeaderName, HeaderValue)>,
        out: mpsc::Sender<Vec<u8>>,
        say: Say,
    ) -> Self {
        Self { http, upstream, headers, out, say, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries every line of the client, and then waits so long for the answers that are still to come.
    pub(super) async fn carry(self: &Arc<Self>, lines: &mut mpsc::Receiver<Vec<u8>>, patience: Duration) {
        let mut calls = JoinSet::new();
        while let Some(line) = lines.recv().await {
            while calls.try_join_next().is_some() {}
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let message = Message::read(text);
            if self.has_cancelled(&message).await {
                continue;
            }
            let body = Bytes::copy_from_slice(text);
            if !message.is_request() {
                self.notify(&message, body).await;
            } else if message.method.as_deref() == Some("initialize") {
                // What follows needs the session that its answer gives.
                self.call(&message, body).await;
            } else {
                let id = message.id.clone().unwrap_or_default();
                let is_modern = message.is_modern();
                let this = Arc::clone(self);
                // Held while it starts: it must be in the list before it can take itself out.
                let mut state = self.state();
                let call = calls.spawn(async move { this.call(&message, body).await });
                state.open.insert(id, (call, is_modern));
            }
        }
        let _ = tokio::time::timeout(patience, async { while calls.join_next().await.is_some() {} }).await;
    }

    /// Gives up a call by leaving it, where the revision says so; returns true if that was all.
    async fn has_cancelled(&self, message: &Message) -> bool {
        let Some(id) = &message.cancels else { return false };
        let call = {
            let mut state = self.state();
            if !state.open.get(id).is_some_and(|(_, is_modern)| *is_modern) {
                return false;
            }
            state.open.remove(id)
        };
        if let Some((call, _)) = call {
            call.abort();
        }
        true
    }

    /// Ends the session and what still listens to it.
    pub(super) async fn leave(&self) {
        let (session, listening) = {
            let mut state = self.state();
            (state.session.is_some(), state.listening.take())
        };
        if let Some(listening) = listening {
            listening.abort();
        }
        if session {
            let request = self.request(Method::DELETE, None, Bytes::new());
            let _ = tokio::time::timeout(FAREWELL, self.http.send_whole(request)).await;
        }
    }

    fn request(&self, verb: Method, message: Option<&Message>, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.uri_mut() = self.upstream.clone();
        let posts = verb == Method::POST;
        *request.method_mut() = verb;
        let headers = request.headers_mut();
        if posts {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        } else {
            headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        }
        match message.filter(|message| message.is_modern()) {
            Some(message) => {
                put(headers, "mcp-protocol-version", message.revision.as_deref());
                put(headers, "mcp-method", message.method.as_deref());
                put(headers, "mcp-name", message.name.as_deref());
            }
            None => {
                let state = self.state();
                put(headers, "mcp-protocol-version", state.revision.as_deref());
                if let Some(session) = &state.session {
                    headers.insert("mcp-session-id", session.clone());
                }
            }
        }
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        request
    }

    /// Posts what nobody waits for.
    async fn notify(self: &Arc<Self>, message: &Message, body: Bytes) {
        let request = self.request(Method::POST, Some(message), body);
        match tokio::time::timeout(ACCEPTED, self.http.send_whole(request)).await {
            Ok(Ok(response)) if response.status().is_success() => {
                if message.method.as_deref() == Some("notifications/initialized") {
                    let this = Arc::clone(self);
                    let listening = tokio::spawn(async move { this.listen().await });
                    self.state().listening = Some(listening.abort_handle());
                }
            }
            Ok(Ok(response)) => (self.say)(&format!("a message was not accepted: {}", status(response.status()))),
            Ok(Err(error)) => (self.say)(&format!("a message was not sent: no answer from the server: {error}")),
            Err(_) => (self.say)("a message was not accepted in 30 s"),
        }
    }

    /// Posts a request and writes what belongs to it, an answer in any case.
    async fn call(&self, message: &Message, body: Bytes) {
        let id = message.id.clone().unwrap_or_default();
        let asked = self.ask(&id, message, body).await;
        self.state().open.remove(&id);
        if let Err(why) = asked {
            let _ = self.out.send(one_line(&error(&id, &why))).await;
        }
    }

    async fn ask(&self, id: &str, message: &Message, body: Bytes) -> Result<(), String> {
        let request = self.request(Method::POST, Some(message), body);
        let response =
            self.http.send_whole(request).await.map_err(|error| format!("no answer from the server: {error}"))?;
        if message.method.as_deref() == Some("initialize") {
            self.state().session = response.headers().get("mcp-session-id").cloned();
        }
        let mut stream = Stream::default();
        if !response.status().is_success() || !streams(&response) {
            let head = response.status();
            let body = response.into_body().collect().await.map_err(|_| "the server's answer broke off".to_owned())?;
            let body = body.to_bytes();
            if !Message::read(&body).answers(id) {
                return Err(format!("the server answered with {}", status(head)));
            }
            self.write(&body).await;
            return Ok(());
        }
        self.follow(response, &mut stream, Some(id)).await;
        self.resume(&mut stream, Some(id)).await;
        if stream.answered { Ok(()) } else { Err("the server ended its stream without an answer".to_owned()) }
    }

    /// Follows what the server says by itself, where it has a stream for that.
    async fn listen(&self) {
        let Ok(response) = self.http.send_whole(self.request(Method::GET, None, Bytes::new())).await else { return };
        if !response.status().is_success() || !streams(&response) {
            return;
        }
        let mut stream = Stream::default();
        self.follow(response, &mut stream, None).await;
        self.resume(&mut stream, None).await;
    }

    /// Asks again for a stream that was cut, as long as that brings something.
    async fn resume(&self, stream: &mut Stream, id: Option<&str>) {
        let mut fruitless = 0;
        while !stream.answered && fruitless < TRIES && (stream.last_id.is_some() || id.is_none()) {
            tokio::time::sleep(stream.retry.unwrap_or(RETRY)).await;
            let mut request = self.request(Method::GET, None, Bytes::new());
            if let Some(last) = stream.last_id.as_deref().and_then(|last| HeaderValue::from_bytes(last).ok()) {
                request.headers_mut().insert("last-event-id", last);
            }
            let before = stream.events;
            match self.http.send_whole(request).await {
                Ok(response) if response.status().is_success() => self.follow(response, stream, id).await,
                Ok(_) => return,
                Err(_) => {}
            }
            fruitless = if stream.events > before { 0 } else { fruitless + 1 };
        }
    }

    /// Writes every message of a stream as it comes.
    async fn follow(&self, response: Response<Incoming>, stream: &mut Stream, id: Option<&str>) {
        let mut body = response.into_body();
        let mut framer = SseFramer::new();
        let mut long = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(bytes) = frame.into_data() else { continue };
            let mut events = Vec::new();
            framer.push(&bytes, |piece| match piece {
                Piece::Whole(event) => events.push(event.to_vec()),
                Piece::Part { bytes, last } => {
                    long.extend_from_slice(bytes);
                    if last {
                        events.push(std::mem::take(&mut long));
                    }
                }
            });
            for event in events {
                self.event(&event, stream, id).await;
            }
        }
    }

    async fn event(&self, bytes: &[u8], stream: &mut Stream, id: Option<&str>) {
        let event = Event::parse(bytes);
        stream.events += 1;
        if let Some(id) = event.id {
            stream.last_id = Some(id.to_vec()).filter(|id| !id.is_empty());
        }
        stream.retry = retry_of(bytes).map(Duration::from_millis).or(stream.retry);
        let Some(data) = event.data.filter(|data| !data.is_empty()) else { return };
        stream.answered |= id.is_some_and(|id| Message::read(&data).answers(id));
        self.write(&data).await;
    }

    async fn write(&self, text: &[u8]) {
        if let Some(revision) = Message::read(text).settled {
            self.state().revision = Some(revision);
        }
        let _ = self.out.send(one_line(text)).await;
    }
}

fn put(headers: &mut HeaderMap, name: &'static str, value: Option<&str>) {
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
        headers.insert(name, value);
    }
}

fn streams(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(is_event_stream)
}

fn status(status: StatusCode) -> String {
    format!("HTTP {} {}", status.as_u16(), status.canonical_reason().unwrap_or_default()).trim_end().to_owned()
}
