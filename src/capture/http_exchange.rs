//! One HTTP exchange as it is recorded: it finds its session, and hands every copy to the session's tap.

use super::http_rewrite::{EndpointFinder, Origins};
use super::http_router::{Ask, Peek};
use super::http_sessions::{HttpNotice, Live, Sessions};
use super::redact_http::is_token_path;
use super::tap::{Item, Lane};
use crate::protocol::envelope::{EnvelopeScanner, Shape};
use crate::protocol::interest::Slot;
use crate::session::correlate::IdKey;
use crate::session::frame::{Channel, Direction};
use crate::session::http::{Headers, HttpEnding, HttpExchange};
use crate::transport::http_body::{BodyEnd, Observer};
use crate::transport::http_heads;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much of a body is looked at to find its session, in bytes.
const PEEK: usize = 64 << 10;

/// An exchange that is going on.
pub(super) struct Exchange {
    sessions: Arc<Sessions>,
    state: Mutex<State>,
}

struct State {
    ask: Ask,
    known: HttpExchange,
    live: Option<Arc<Live>>,
    // Copies that came before the session was known.
    held: Vec<(i64, i64, Bytes)>,
    held_bytes: usize,
    scanner: Option<EnvelopeScanner>,
    revision: Option<String>,
    open: Vec<Lane>,
    request_broke: bool,
    is_ended: bool,
}

impl Exchange {
    /// Begins an exchange when its head has come.
    pub(super) fn begin(sessions: &Arc<Sessions>, head: &hyper::http::request::Parts, connection: u64) -> Arc<Self> {
        let started_ns = sessions.clock().elapsed_ns();
        let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let masker = sessions.masker();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let ask = Ask {
            mcp_session_id: text("mcp-session-id"),
            verb: head.method.as_str().to_owned(),
            wants_events: text("accept").is_some_and(|accept| accept.contains("text/event-stream")),
            path: path.clone(),
            connection,
            agent: text("user-agent"),
            peek: Peek::default(),
        };
        let known = HttpExchange {
            n: 0,
            connection,
            verb: ask.verb.clone(),
            path: masker.path(&path),
            request: masked(sessions, &head.headers),
            status: None,
            response: Headers::new(),
            trailers: Headers::new(),
            mcp_session_id: ask.mcp_session_id.as_deref().map(|id| masker.tag(id)),
            started_ns,
            answered_ns: None,
            ended_ns: None,
            ending: None,
            request_body: None,
            response_body: None,
            rewritten: Vec::new(),
        };
        let is_coded = head.headers.contains_key("content-encoding");
        let must_look = ask.verb == "POST" && ask.mcp_session_id.is_none() && !is_coded;
        let exchange = Arc::new(Self {
            sessions: Arc::clone(sessions),
            state: Mutex::new(State {
                ask,
                known,
                live: None,
                held: Vec::new(),
                held_bytes: 0,
                scanner: Some(EnvelopeScanner::new()),
                revision: text("mcp-protocol-version"),
                open: Vec::new(),
                request_broke: false,
                is_ended: false,
            }),
        });
        if !must_look {
            exchange.find_session(&mut exchange.lock());
        }
        exchange
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.sessions.clock().elapsed_ns()
    }

    /// Finds the session by what has come, and hands over what was held back of copies.
    fn find_session(&self, state: &mut State) -> Arc<Live> {
        if let Some(live) = &state.live {
            return Arc::clone(live);
        }
        if let Some(scanner) = state.scanner.take() {
            let scan = scanner.finish();
            if let Some(envelope) = scan.envelopes.first() {
                state.ask.peek = Peek {
                    method: envelope.string(Slot::Method),
                    id: envelope.text(Slot::Method).and(envelope.text(Slot::Id)).map(IdKey::of),
                    client: envelope.text(Slot::ClientInfo).map(str::to_owned),
                };
                state.revision = envelope.string(Slot::AskedRevision).or(state.revision.take());
            }
        }
        let live = self.sessions.of(&state.ask, state.known.started_ns);
        state.known.n = live.next_exchange();
        live.tell(&state.known, self.sessions.masker());
        let lane = Lane::Http { exchange: state.known.n, direction: Direction::ToServer, channel: Channel::HttpBody };
        for (received_ns, forwarded_ns, bytes) in std::mem::take(&mut state.held) {
            state.open = vec![lane];
            live.tap.chunk_now(lane, live.since_begin(received_ns), live.since_begin(forwarded_ns), &bytes);
        }
        state.live = Some(Arc::clone(&live));
        live
    }

    /// Takes a chunk of the request's body.
    fn request_data(&self, received_ns: i64, bytes: &Bytes) {
        let mut state = self.lock();
        let forwarded_ns = self.now();
        if let Some(live) = state.live.clone() {
            let lane =
                Lane::Http { exchange: state.known.n, direction: Direction::ToServer, channel: Channel::HttpBody };
            hand_over(&mut state, &live, lane, received_ns, forwarded_ns, bytes);
            return;
        }
        state.held_bytes += bytes.len();
        state.held.push((received_ns, forwarded_ns, bytes.clone()));
        let is_whole = state.scanner.as_mut().is_none_or(|scanner| {
            scanner.push(bytes);
            !matches!(scanner.so_far(), Shape::Unfinished | Shape::Blank)
        });
        if is_whole || state.held_bytes > PEEK {
            self.find_session(&mut state);
        }
    }

    /// Notes the end of the request's body.
    fn request_ended(&self, how: BodyEnd) {
        let mut state = self.lock();
        state.request_broke = how == BodyEnd::Broken;
        if state.is_ended {
            return;
        }
        let live = self.find_session(&mut state);
        end_lanes(&mut state, &live, |lane| lane.direction() == Direction::ToServer);
    }

    /// Takes the head of the answer.
    pub(super) fn answered(&self, status: u16, headers: &HeaderMap, rewritten: Vec<String>, is_events: bool) {
        let mut state = self.lock();
        let live = self.find_session(&mut state);
        state.known.answered_ns = Some(self.now());
        state.known.status = Some(status);
        state.known.response = masked(&self.sessions, headers);
        state.known.rewritten.extend(rewritten);
        let given = headers.get("mcp-session-id").and_then(|value| value.to_str().ok());
        if let Some(id) = given {
            state.known.mcp_session_id = Some(self.sessions.masker().tag(id));
        }
        live.tell(&state.known, self.sessions.masker());
        // Metadata of an authorization server say nothing of the server itself.
        let speaks = state.ask.verb == "POST" || is_events;
        let success = (200..300).contains(&status) && speaks && !is_token_path(&state.ask.path);
        // Only the answer to `initialize` gives a session its id.
        let begins = state.ask.peek.method.as_deref() == Some("initialize");
        let is_said = success && (begins || state.ask.peek.client.is_some());
        let id = given.filter(|_| success && begins);
        if is_said || !success {
            self.sessions.answered(&live, success, id, &state.ask, state.revision.as_deref());
        } else {
            self.sessions.established(&live);
        }
        if state.ask.mcp_session_id.is_some() {
            match (state.ask.verb.as_str(), status) {
                ("DELETE", 200..300) => live.end_soon("ended by the client"),
                (_, 404) => live.end_soon("the server does not know the session any more (404)"),
                _ => {}
            }
        }
        if status == 401 || status == 403 {
            let challenge = headers.get("www-authenticate").and_then(|value| value.to_str().ok());
            if status == 401 || challenge.is_some() {
                let scope = challenge
                    .and_then(|value| value.split_once("scope=\""))
                    .and_then(|(_, rest)| rest.split('"').next());
                self.sessions.tell(HttpNotice::Challenged { status, scope: scope.map(str::to_owned) });
            }
        }
    }

    /// Takes a chunk of the answer's body.
    fn response_data(&self, channel: Channel, received_ns: i64, bytes: &[u8]) {
        let mut state = self.lock();
        let live = self.find_session(&mut state);
        let lane = Lane::Http { exchange: state.known.n, direction: Direction::ToClient, channel };
        let forwarded_ns = self.now();
        hand_over(&mut state, &live, lane, received_ns, forwarded_ns, bytes);
    }

    /// Notes that the stream said where messages are to be sent (2024-11-05).
    fn endpoint(&self, endpoint: &str, changed_to: Option<&str>) {
        let mut state = self.lock();
        let live = self.find_session(&mut state);
        let path = match endpoint.split_once("://") {
            Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/").to_owned(),
            None => resolved(&state.ask.path, endpoint),
        };
        self.sessions.endpoint(&live, &path);
        live.end_soon("its stream has ended");
        if let Some(new) = changed_to {
            let masker = self.sessions.masker();
            let note = format!("endpoint event: {} became {}", masker.path(endpoint), masker.path(new));
            state.known.rewritten.push(note);
            live.tell(&state.known, masker);
        }
    }

    /// Notes that something was changed after all of the answer had come.
    pub(super) fn rewrote(&self, what: &str) {
        let mut state = self.lock();
        state.known.rewritten.push(what.to_owned());
        if let Some(live) = state.live.clone() {
            live.tell(&state.known, self.sessions.masker());
        }
    }

    /// Ends the exchange, once.
    pub(super) fn finish(&self, ending: HttpEnding, trailers: Headers) {
        let mut state = self.lock();
        if state.is_ended {
            return;
        }
        let live = self.find_session(&mut state);
        end_lanes(&mut state, &live, |_| true);
        state.is_ended = true;
        state.known.ended_ns = Some(self.now());
        state.known.ending = Some(ending);
        state.known.trailers = trailers;
        live.tell(&state.known, self.sessions.masker());
        drop(state);
        self.sessions.exchange_ended(&live);
    }

    /// Returns true if the client broke its request off.
    pub(super) fn request_broke(&self) -> bool {
        self.lock().request_broke
    }

    fn has_room(&self, received_ns: i64, length: usize) -> bool {
        let live = self.lock().live.clone();
        live.is_none_or(|live| {
            let since = Duration::from_nanos(live.since_begin(received_ns).unsigned_abs());
            !live.tap.must_wait(live.since_begin(self.now()), length, since)
        })
    }
}

fn hand_over(state: &mut State, live: &Live, lane: Lane, received_ns: i64, forwarded_ns: i64, bytes: &[u8]) {
    if !state.open.contains(&lane) {
        state.open.push(lane);
    }
    live.tap.chunk_now(lane, live.since_begin(received_ns), live.since_begin(forwarded_ns), bytes);
}

fn end_lanes(state: &mut State, live: &Live, which: impl Fn(&Lane) -> bool) {
    for lane in state.open.extract_if(.., |lane| which(lane)) {
        live.tap.tell(Item::End(lane));
    }
}

fn masked(sessions: &Sessions, headers: &HeaderMap) -> Headers {
    let masker = sessions.masker();
    http_heads::listed(headers)
        .into_iter()
        .map(|(name, value)| {
            let value = masker.header(&name, &value);
            (name, value)
        })
        .collect()
}

/// Returns a relative endpoint as the path that its client asks for.
fn resolved(base: &str, endpoint: &str) -> String {
    if endpoint.starts_with('/') {
        return endpoint.to_owned();
    }
    let path = base.split('?').next().unwrap_or("/");
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{folder}/{endpoint}")
}

/// Ends an exchange whose client leaves before it is answered.
pub(super) struct Ongoing(pub(super) Option<Arc<Exchange>>);

impl Ongoing {
    /// Leaves the exchange to whoever carries the answer's body.
    pub(super) fn hand_on(mut self) {
        self.0 = None;
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        if let Some(exchange) = self.0.take() {
            exchange.finish(HttpEnding::ClientLeft, Headers::new());
        }
    }
}

/// Sees the body of a request pass.
pub(super) struct RequestBody {
    exchange: Arc<Exchange>,
    received_ns: Option<i64>,
}

impl RequestBody {
    pub(super) fn new(exchange: &Arc<Exchange>) -> Box<Self> {
        Box::new(Self { exchange: Arc::clone(exchange), received_ns: None })
    }
}

impl Observer for RequestBody {
    fn has_room(&mut self, length: usize) -> bool {
        let received_ns = *self.received_ns.get_or_insert_with(|| self.exchange.now());
        self.exchange.has_room(received_ns, length)
    }

    fn data(&mut self, bytes: Bytes) -> Bytes {
        let received_ns = self.received_ns.take().unwrap_or_else(|| self.exchange.now());
        self.exchange.request_data(received_ns, &bytes);
        bytes
    }

    fn end(&mut self, how: BodyEnd) {
        self.exchange.request_ended(how);
    }
}

/// Sees the body of an answer pass, and ends the exchange with it.
pub(super) struct ResponseBody {
    exchange: Arc<Exchange>,
    channel: Channel,
    received_ns: Option<i64>,
    finder: Option<(EndpointFinder, Origins)>,
    trailers: Headers,
}

impl ResponseBody {
    pub(super) fn new(exchange: &Arc<Exchange>, channel: Channel, endpoint: Option<Origins>) -> Box<Self> {
        Box::new(Self {
            exchange: Arc::clone(exchange),
            channel,
            received_ns: None,
            finder: endpoint.map(|origins| (EndpointFinder::default(), origins)),
            trailers: Headers::new(),
        })
    }
}

impl Observer for ResponseBody {
    fn has_room(&mut self, length: usize) -> bool {
        let received_ns = *self.received_ns.get_or_insert_with(|| self.exchange.now());
        self.exchange.has_room(received_ns, length)
    }

    fn data(&mut self, bytes: Bytes) -> Bytes {
        let received_ns = self.received_ns.take().unwrap_or_else(|| self.exchange.now());
        self.exchange.response_data(self.channel, received_ns, &bytes);
        let Some((finder, origins)) = self.finder.as_mut().filter(|(finder, _)| !finder.is_done()) else {
            return bytes;
        };
        let found = finder.push(&bytes, origins);
        if let Some(endpoint) = found.endpoint {
            self.exchange.endpoint(&endpoint, found.changed_to.as_deref());
        }
        found.bytes.into()
    }

    fn rest(&mut self) -> Option<Bytes> {
        let (finder, _) = self.finder.as_mut()?;
        Some(finder.rest().into()).filter(|rest: &Bytes| !rest.is_empty())
    }

    fn rewrites(&self) -> bool {
        self.finder.is_some()
    }

    fn trailers(&mut self, trailers: &HeaderMap) {
        self.trailers = masked(&self.exchange.sessions, trailers);
    }

    fn end(&mut self, how: BodyEnd) {
        let ending = match how {
            BodyEnd::Complete => HttpEnding::Complete,
            BodyEnd::Broken => HttpEnding::UpstreamBroke,
            BodyEnd::Dropped => HttpEnding::ClientLeft,
        };
        self.exchange.finish(ending, std::mem::take(&mut self.trailers));
    }
}
