//! Derives the messages of a session from its frames, in one pass and in their order.
//!
//! The recorder does it as frames come, the reader of a session file as it loads, and the store again when
//! [`CLASSIFIER_VERSION`] has risen.

use super::classify::{Classified, Classifier};
use super::correlate::{Correlator, IdKey, OpenRequest};
use super::events::SeenEvents;
use super::frame::{Channel, Direction, FrameInfo};
use super::http::{HttpEnding, HttpExchange};
use super::message::{Answer, Kind, Message, Outcome, Place};
use super::session::Peer;
use crate::protocol::envelope::{Envelope, EnvelopeScanner, Scan, scan};
use crate::protocol::interest::Slot;
use crate::protocol::jsonrpc::Flaw;
use crate::protocol::sse::{Event, EventReader};
use crate::protocol::{method, revision};
use std::hash::{DefaultHasher, Hasher};

/// Rises whenever the same frames give other messages; stores derive theirs again then.
pub const CLASSIFIER_VERSION: i64 = 1;

/// What a frame tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Derived {
    /// A message stands in it.
    Message(Box<Message>),
    /// An earlier request was answered.
    Answered {
        /// The request.
        request: Place,
        /// Its answer.
        answer: Answer,
        /// How it ended; `gave_up` stays when the answer came too late.
        outcome: Outcome,
        /// The code of a JSON-RPC error.
        error_code: Option<i64>,
    },
    /// An earlier request was given up.
    GaveUp {
        /// The request.
        request: Place,
        /// When, ns since the session began.
        at_ns: i64,
    },
}

/// What is known of a session as a whole; it grows with its frames.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The client, as it names itself.
    pub client: Option<Peer>,
    /// The server, as it names itself.
    pub server: Option<Peer>,
    /// The revisions seen, in the order of their appearance.
    pub revisions: Vec<String>,
    /// How many JSON-RPC messages there are.
    pub messages: u64,
    /// How many tool calls of the client.
    pub calls: u64,
    /// How many of them ended badly.
    pub bad: u64,
}

/// Turns frames into messages.
#[derive(Debug, Default)]
pub struct Deriver {
    to_server: Classifier,
    to_client: Classifier,
    correlator: Correlator,
    negotiated: Option<String>,
    facts: Facts,
    facts_changed: bool,
    events: SeenEvents,
    redelivered: bool,
}

impl Deriver {
    /// Returns a deriver at the beginning of a session.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what is known of the session so far.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns how many requests of the client wait for an answer, long-lived ones left out.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.correlator.waiting()
    }

    /// Returns true once after something in [`Facts`], other than its counts, has changed.
    pub fn take_facts_changed(&mut self) -> bool {
        std::mem::take(&mut self.facts_changed)
    }

    /// Takes the next frame; `text` are its bytes if they are at hand, `terminated` if its terminator is there.
    pub fn frame(
        &mut self,
        info: &FrameInfo,
        scan: Scan,
        text: Option<&[u8]>,
        terminated: bool,
        mut emit: impl FnMut(Derived),
    ) {
        // Bodies and events are understood alone: no message goes on in the next one.
        let mut alone = Classifier::default();
        let classifier = match (info.direction, info.http) {
            (_, Some(_)) => &mut alone,
            (Direction::ToServer, _) => &mut self.to_server,
            (Direction::ToClient, _) => &mut self.to_client,
        };
        let messages = classifier.classify(info, scan, text, terminated);
        for (index, classified) in messages.into_iter().enumerate() {
            let place = Place { seq: info.seq, index: u32::try_from(index).unwrap_or(u32::MAX) };
            self.message(info, place, classified, &mut emit);
        }
        self.redelivered = false;
    }

    /// Notes the id and the data, as a hash, of the event that the next frame is.
    pub fn event(&mut self, id: Option<&[u8]>, data: u64) {
        self.redelivered = id.is_some_and(|id| !id.is_empty() && !self.events.is_new(id, data));
    }

    /// Notes that an HTTP exchange has ended: what only it could have answered is not answered any more.
    pub fn exchange_ended(&mut self, exchange: &HttpExchange, mut emit: impl FnMut(Derived)) {
        let Some(at_ns) = exchange.ended_ns else { return };
        for request in self.correlator.end_exchange(exchange.n) {
            // Leaving is how a client cancels there (2026-07-28); a subscription is ended by it.
            let left = exchange.ending == Some(HttpEnding::ClientLeft);
            if left && request.gave_up_ns.is_none() && !method::is_long_lived(&request.method) {
                self.facts.bad += u64::from(request.method == "tools/call");
                emit(Derived::GaveUp { request: request.place, at_ns });
            }
        }
    }

    fn message(&mut self, info: &FrameInfo, place: Place, classified: Classified, emit: &mut impl FnMut(Derived)) {
        let Classified { kind, mut flaws, envelope, first_seq } = classified;
        let mut message = Message {
            place,
            direction: info.direction,
            channel: info.channel,
            kind,
            method: envelope.string(Slot::Method),
            name: envelope.string(Slot::Name).or_else(|| envelope.string(Slot::Uri)),
            rpc_id: envelope.text(Slot::Id).map(str::to_owned),
            revision: None,
            received_ns: info.received_ns,
            forwarded_ns: info.forwarded_ns,
            offset: envelope.start,
            length: envelope.end.saturating_sub(envelope.start),
            flaws: String::new(),
            first_seq,
            answers: None,
            concerns: None,
            outcome: None,
            error_code: None,
            gave_up_ns: None,
            answer: None,
        };
        match kind {
            // What an event says a second time was understood the first time.
            _ if self.redelivered => flaws.push(Flaw::Redelivered),
            Kind::Request => self.request(&mut message, info.http, &envelope, &mut flaws),
            Kind::Notification => self.notification(&mut message, info.http, &envelope, emit),
            Kind::Result | Kind::Error => self.answer(&mut message, info.http, &envelope, &mut flaws, emit),
            Kind::Blank | Kind::Stray | Kind::Invalid => {}
        }
        let says = matches!(kind, Kind::Request | Kind::Notification | Kind::Result | Kind::Error);
        if says && !self.redelivered {
            self.facts.messages += 1;
            if let Some(revision) = &message.revision {
                self.saw_revision(revision);
            }
        }
        for flaw in &flaws {
            if !message.flaws.is_empty() {
                message.flaws.push(',');
            }
            message.flaws.push_str(&flaw.to_string());
        }
        emit(Derived::Message(Box::new(message)));
    }

    fn request(&mut self, message: &mut Message, http: Option<u64>, envelope: &Envelope, flaws: &mut Vec<Flaw>) {
        let name = message.method.clone().unwrap_or_default();
        let asked = envelope.string(Slot::AskedRevision);
        message.revision = asked.filter(|text| revision::looks_like_one(text)).or_else(|| self.negotiated.clone());
        if message.direction == Direction::ToServer {
            self.saw_peer(envelope, Slot::ClientInfo);
            if name == "tools/call" {
                self.facts.calls += 1;
            }
        } else {
            message.concerns = self.correlator.only_call(http);
        }
        let bound = http.is_some()
            && message.direction == Direction::ToServer
            && name != "initialize"
            && message.revision.as_deref().is_some_and(revision::is_modern);
        let request = OpenRequest {
            place: message.place,
            method: name,
            name: message.name.clone(),
            revision: message.revision.clone(),
            token: envelope.text(Slot::ProgressToken).map(IdKey::of),
            gave_up_ns: None,
            http,
            bound,
        };
        let id = message.rpc_id.clone().unwrap_or_default();
        if !self.correlator.open(message.direction, &id, request) {
            flaws.push(Flaw::IdInUse);
        }
    }

    fn notification(
        &mut self,
        message: &mut Message,
        http: Option<u64>,
        envelope: &Envelope,
        emit: &mut impl FnMut(Derived),
    ) {
        let name = message.method.as_deref().unwrap_or_default();
        if method::is_cancellation(name) {
            self.cancellation(message, http, envelope, emit);
        } else if let Some(token) = envelope.text(Slot::ProgressOf) {
            message.concerns = self.correlator.progress_of(message.direction, token);
        } else if let Some(id) = envelope.text(Slot::SubscriptionId) {
            let listen = self.correlator.find(message.direction.other(), id, http);
            message.concerns = listen.as_ref().map(|listen| listen.place);
            message.revision = listen.and_then(|listen| listen.revision);
        } else if message.direction == Direction::ToClient && name == "notifications/message" {
            message.concerns = self.correlator.only_call(http);
        }
        if message.revision.is_none() {
            message.revision = self.negotiated.clone().or_else(|| self.facts.revisions.last().cloned());
        }
    }

    fn cancellation(
        &mut self,
        message: &mut Message,
        http: Option<u64>,
        envelope: &Envelope,
        emit: &mut impl FnMut(Derived),
    ) {
        let Some(id) = envelope.text(Slot::CancelledId) else { return };
        let open = self.correlator.find(message.direction, id, http);
        if let Some(listen) = open.filter(|request| method::is_long_lived(&request.method)) {
            // That is how a subscription ends: nobody gave anything up, and its answer still counts.
            message.concerns = Some(listen.place);
            message.revision = listen.revision;
            return;
        }
        let Some(request) = self.correlator.give_up(message.direction, id, message.received_ns) else { return };
        message.concerns = Some(request.place);
        message.revision.clone_from(&request.revision);
        if message.direction == Direction::ToServer && request.method == "tools/call" {
            self.facts.bad += 1;
        }
        emit(Derived::GaveUp { request: request.place, at_ns: message.received_ns });
    }

    fn answer(
        &mut self,
        message: &mut Message,
        http: Option<u64>,
        envelope: &Envelope,
        flaws: &mut Vec<Flaw>,
        emit: &mut impl FnMut(Derived),
    ) {
        let outcome = outcome_of(message.kind, envelope);
        message.outcome = Some(outcome);
        message.error_code = envelope.text(Slot::ErrorCode).and_then(|code| code.parse().ok());
        let id = message.rpc_id.as_deref().filter(|id| *id != "null");
        let Some(found) = id.and_then(|id| self.correlator.answer(message.direction, id, http)) else {
            if id.is_some() {
                flaws.push(Flaw::UnknownAnswer);
            }
            message.revision.clone_from(&self.negotiated);
            return;
        };
        if found.type_changed {
            flaws.push(Flaw::IdTypeChanged);
        }
        let request = found.request;
        message.answers = Some(request.place);
        message.revision.clone_from(&request.revision);
        message.method = Some(request.method.clone());
        message.name.clone_from(&request.name);
        if message.direction == Direction::ToClient {
            self.saw_peer(envelope, Slot::ServerInfo);
            if request.method == "initialize"
                && let Some(given) = envelope.string(Slot::GivenRevision)
            {
                message.revision = Some(given.clone());
                self.negotiated = Some(given);
            }
            if request.method == "tools/call" && request.gave_up_ns.is_none() && outcome.is_bad() {
                self.facts.bad += 1;
            }
        }
        emit(Derived::Answered {
            request: request.place,
            answer: Answer {
                place: message.place,
                received_ns: message.received_ns,
                forwarded_ns: message.forwarded_ns,
            },
            outcome: if request.gave_up_ns.is_some() { Outcome::GaveUp } else { outcome },
            error_code: message.error_code,
        });
    }

    fn saw_revision(&mut self, revision: &str) {
        if !self.facts.revisions.iter().any(|seen| seen == revision) {
            self.facts.revisions.push(revision.to_owned());
            self.facts_changed = true;
        }
    }

    fn saw_peer(&mut self, envelope: &Envelope, slot: Slot) {
        let Some(text) = envelope.text(slot) else { return };
        let peer = if slot == Slot::ClientInfo { &mut self.facts.client } else { &mut self.facts.server };
        // Every request of a stateless revision says it again; the first that can be read stays.
        if peer.is_some() {
            return;
        }
        let Ok(tree) = crate::protocol::json::Tree::parse(text.as_bytes()) else { return };
        let member = |key: &str| {
            tree.root().get(key).and_then(crate::protocol::json::Node::as_text).map(std::borrow::Cow::into_owned)
        };
        if let Some(name) = member("name") {
            *peer = Some(Peer { name, version: member("version") });
            self.facts_changed = true;
        }
    }
}

fn outcome_of(kind: Kind, envelope: &Envelope) -> Outcome {
    if kind == Kind::Error {
        return Outcome::RpcError;
    }
    if envelope.text(Slot::IsError) == Some("true") {
        return Outcome::ToolError;
    }
    if envelope.text(Slot::ResultType) == Some("\"input_required\"") { Outcome::InputRequired } else { Outcome::Ok }
}

/// Returns true if a frame of a line channel ends with its terminator.
#[must_use]
pub fn is_terminated(channel: Channel, bytes: &[u8]) -> bool {
    match channel {
        Channel::Stdio | Channel::Stderr => bytes.ends_with(b"\n"),
        Channel::HttpBody | Channel::Sse => true,
    }
}

/// Reads the content of frames: whole, or part by part as it comes.
#[derive(Debug, Default)]
pub struct Content {
    scanner: EnvelopeScanner,
    event: EventReader,
    data: DefaultHasher,
    last: Option<u8>,
}

impl Content {
    /// Takes the next part of a long frame.
    pub fn part(&mut self, channel: Channel, bytes: &[u8]) {
        self.last = bytes.last().copied().or(self.last);
        if channel != Channel::Sse {
            self.scanner.push(bytes);
            return;
        }
        let Self { scanner, event, data, .. } = self;
        event.push(bytes, |piece| {
            scanner.push(piece);
            data.write(piece);
        });
    }

    /// Tells a deriver of the frame whose parts these were.
    pub fn finish(self, info: &FrameInfo, deriver: &mut Deriver, emit: impl FnMut(Derived)) {
        if info.channel == Channel::Sse {
            deriver.event(self.event.id(), self.data.finish());
        }
        let terminated = self.last.is_some_and(|last| is_terminated(info.channel, &[last]));
        deriver.frame(info, self.scanner.finish(), None, terminated, emit);
    }
}

/// Tells a deriver of a frame that is at hand as a whole.
pub fn whole(info: &FrameInfo, bytes: &[u8], deriver: &mut Deriver, emit: impl FnMut(Derived)) {
    if info.channel == Channel::Sse {
        let event = Event::parse(bytes);
        let data = event.data.unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        hasher.write(&data);
        deriver.event(event.id, hasher.finish());
        deriver.frame(info, scan(&data), Some(&data), true, emit);
        return;
    }
    let terminated = is_terminated(info.channel, bytes);
    // What comes on stderr is text: nobody asks whether it is JSON.
    let found = if info.channel == Channel::Stderr { blank_or_text(bytes) } else { scan(bytes) };
    deriver.frame(info, found, Some(bytes), terminated, emit);
}

fn blank_or_text(bytes: &[u8]) -> Scan {
    if bytes.iter().all(u8::is_ascii_whitespace) { scan(b"") } else { scan(b"x") }
}

/// Derives messages from frames that are read back, whole or part by part.
#[derive(Debug, Default)]
pub struct PieceDeriver {
    deriver: Deriver,
    content: Content,
}

impl PieceDeriver {
    /// Returns what is known of the session so far.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.deriver.facts()
    }

    /// Takes the next piece: a whole frame (`info.parts` is 0), or the part `part` of one.
    pub fn piece(&mut self, info: &FrameInfo, part: u32, bytes: &[u8], emit: impl FnMut(Derived)) {
        if info.parts == 0 {
            whole(info, bytes, &mut self.deriver, emit);
            return;
        }
        self.content.part(info.channel, bytes);
        if part + 1 == info.parts {
            std::mem::take(&mut self.content).finish(info, &mut self.deriver, emit);
        }
    }

    /// Takes the HTTP exchanges of a session whose frames were all taken.
    pub fn exchanges(&mut self, exchanges: &[HttpExchange], mut emit: impl FnMut(Derived)) {
        for exchange in exchanges {
            self.deriver.exchange_ended(exchange, &mut emit);
        }
    }
}

/// Brings a list of messages up to date with what a frame told; `at` finds a message by its place.
pub fn apply(derived: Derived, messages: &mut Vec<Message>, at: &mut std::collections::HashMap<Place, usize>) {
    match derived {
        Derived::Message(message) => {
            if message.kind == Kind::Request {
                at.insert(message.place, messages.len());
            }
            messages.push(*message);
        }
        Derived::Answered { request, answer, outcome, error_code } => {
            if let Some(message) = at.get(&request).and_then(|at| messages.get_mut(*at)) {
                message.answer = Some(answer);
                message.outcome = Some(outcome);
                message.error_code = error_code;
            }
        }
        Derived::GaveUp { request, at_ns } => {
            if let Some(message) = at.get(&request).and_then(|at| messages.get_mut(*at)) {
                message.outcome = Some(Outcome::GaveUp);
                message.gave_up_ns = Some(at_ns);
            }
        }
    }
}
