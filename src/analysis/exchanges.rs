//! The exchanges of a session with their payloads, read from wherever the session is.

use super::normalize::Eye;
use super::rules::{Hits, Start};
use super::value_hash::Hashes;
use super::volatile::Era;
use crate::protocol::json::Tree;
use crate::session::frame::{Channel, Direction};
use crate::session::message::{Kind, Message, Outcome, Place};
use crate::session::session::Session;
use crate::session::source::{LOOK_LIMIT, SessionSource, SourceError};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

/// A request with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Where the request stands.
    pub place: Place,
    /// Who asked.
    pub direction: Direction,
    /// The method.
    pub method: String,
    /// The name.
    pub name: Option<String>,
    /// How it ended; absent if it was never answered.
    pub outcome: Option<Outcome>,
    /// The code of a JSON-RPC error.
    pub error_code: Option<i64>,
    /// Where the answer stands.
    pub answer: Option<Place>,
    /// The time the other side took, ns.
    pub took_ns: Option<i64>,
    /// How long the caller had waited when it gave up, ns.
    pub gave_up_after_ns: Option<i64>,
    /// The parameters, as JSON text.
    pub params: Option<Box<[u8]>>,
    /// The result, as JSON text.
    pub result: Option<Box<[u8]>>,
    /// The error, as JSON text.
    pub error: Option<Box<[u8]>>,
    /// The results of the later pages of a list.
    pub pages: Vec<Box<[u8]>>,
    /// What it asks for, in a number: equal requests have the same.
    pub asks: u64,
}

impl Exchange {
    /// Returns true if it asks for one of the lists that make up the surface.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.direction == Direction::ToServer && list_member(&self.method).is_some()
    }

    /// Returns true if it opens the session.
    #[must_use]
    pub fn is_greeting(&self) -> bool {
        self.direction == Direction::ToServer && matches!(self.method.as_str(), "initialize" | "server/discover")
    }
}

/// Returns the member of a list's result that holds the items.
#[must_use]
pub fn list_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/list" => Some("tools"),
        "prompts/list" => Some("prompts"),
        "resources/list" => Some("resources"),
        "resources/templates/list" => Some("resourceTemplates"),
        _ => None,
    }
}

/// A session, ready to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// What is known of it as a whole.
    pub session: Session,
    /// Its exchanges, in the order of their requests: pings left out, the pages of a list and the polls of a task
    /// each as one.
    pub exchanges: Vec<Exchange>,
    /// How often the server sent each notification, and (`stdout`) a line that is no message.
    pub notifications: BTreeMap<String, u64>,
    /// When it was.
    pub era: Option<Era>,
    /// How many messages are too long to be compared, or could not be read.
    pub unread: u64,
}

/// Reads the exchanges of a session.
///
/// # Errors
/// What kept the session from being read.
pub fn collect(source: &dyn SessionSource) -> Result<Recording, SourceError> {
    let messages = source.all_messages()?;
    let last_ns = messages.last().map_or(0, |message| message.received_ns);
    let mut recording = Recording {
        session: source.session().clone(),
        exchanges: Vec::new(),
        notifications: BTreeMap::new(),
        era: Era::of(source.session().started_at_ns, last_ns),
        unread: 0,
    };
    let mut reader = Reader { recording: &mut recording, at: HashMap::new() };
    reader.requests(&messages);
    reader.payloads(source, &messages)?;
    Ok(join(recording))
}

struct Reader<'r> {
    recording: &'r mut Recording,
    at: HashMap<Place, usize>,
}

impl Reader<'_> {
    /// Makes an exchange of each request, still without its payloads.
    fn requests(&mut self, messages: &[Message]) {
        for message in messages {
            match message.kind {
                Kind::Request if message.method.as_deref() == Some("ping") => {}
                Kind::Request => {
                    self.at.insert(message.place, self.recording.exchanges.len());
                    self.recording.exchanges.push(Exchange {
                        place: message.place,
                        direction: message.direction,
                        method: message.method.clone().unwrap_or_default(),
                        name: message.name.clone(),
                        outcome: message.outcome,
                        error_code: message.error_code,
                        answer: message.answer.map(|answer| answer.place),
                        took_ns: message.peer_ns(),
                        gave_up_after_ns: message.gave_up_ns.map(|at| at - message.received_ns),
                        params: None,
                        result: None,
                        error: None,
                        pages: Vec::new(),
                        asks: 0,
                    });
                }
                Kind::Notification if message.direction == Direction::ToClient => {
                    let name = message.method.clone().unwrap_or_default();
                    *self.recording.notifications.entry(name).or_default() += 1;
                }
                Kind::Stray if message.channel == Channel::Stdio => {
                    *self.recording.notifications.entry("stdout".into()).or_default() += 1;
                }
                _ => {}
            }
        }
    }

    /// Reads the payloads of requests and answers in one pass over the frames.
    fn payloads(&mut self, source: &dyn SessionSource, messages: &[Message]) -> Result<(), SourceError> {
        let wanted = |message: &&Message| {
            self.at.contains_key(&message.place)
                || message.answers.is_some_and(|request| self.at.contains_key(&request))
        };
        let wanted: Vec<&Message> = messages.iter().filter(wanted).collect();
        let mut next = 0;
        let mut parts = Vec::new();
        let mut held: Vec<(usize, Vec<u8>)> = Vec::new();
        source.frames(0..u64::MAX, LOOK_LIMIT, &mut |info, part, bytes| {
            while wanted.get(next).is_some_and(|message| message.place.seq < info.seq) {
                next += 1;
            }
            if info.parts > 0 {
                if part == 0 {
                    parts.clear();
                }
                parts.extend_from_slice(bytes);
                if part + 1 < info.parts {
                    return Ok(());
                }
            }
            let whole = if info.parts > 0 { &parts } else { bytes };
            let mut at = next;
            while let Some(message) = wanted.get(at).filter(|message| message.place.seq == info.seq) {
                let from = usize::try_from(message.offset).unwrap_or(usize::MAX);
                let to = from.saturating_add(usize::try_from(message.length).unwrap_or(usize::MAX));
                match message.first_seq {
                    None => self.payload(message, whole.get(from..to.min(whole.len())).unwrap_or_default()),
                    Some(_) => held.push((at, Vec::new())),
                }
                at += 1;
            }
            Ok(())
        })?;
        for (at, mut bytes) in held {
            let Some(message) = wanted.get(at) else { continue };
            let first = message.first_seq.unwrap_or(message.place.seq);
            source.frames(first..message.place.seq + 1, LOOK_LIMIT, &mut |info, _, piece| {
                if info.direction == message.direction && info.channel == message.channel {
                    bytes.extend_from_slice(piece);
                }
                Ok(())
            })?;
            self.payload(message, &bytes);
        }
        let missing = |exchange: &&Exchange| {
            let answered = matches!(exchange.outcome, Some(outcome) if outcome != Outcome::GaveUp);
            answered && exchange.result.is_none() && exchange.error.is_none()
        };
        self.recording.unread += self.recording.exchanges.iter().filter(missing).count() as u64;
        Ok(())
    }

    fn payload(&mut self, message: &Message, text: &[u8]) {
        let Ok(tree) = Tree::parse(text) else { return };
        let member = |key: &str| tree.root().get(key).map(|node| Box::from(node.raw()));
        if message.kind == Kind::Request {
            let era = self.recording.era;
            if let Some(exchange) = self.at.get(&message.place).and_then(|at| self.recording.exchanges.get_mut(*at)) {
                exchange.params = member("params");
                exchange.asks = asks(exchange, era, &Start::default());
            }
            return;
        }
        let request = message.answers.and_then(|request| self.at.get(&request));
        if let Some(exchange) = request.and_then(|at| self.recording.exchanges.get_mut(*at)) {
            match message.kind {
                Kind::Error => exchange.error = member("error"),
                _ => exchange.result = member("result"),
            }
        }
    }
}

/// Returns what a request asks for, in a number.
///
/// What the other side made up (cursors, states, task ids), metadata and what rules excuse do not count.
pub(super) fn asks(exchange: &Exchange, era: Option<Era>, rules: &Start<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (exchange.direction, &exchange.method, &exchange.name).hash(&mut hasher);
    let Some(params) = &exchange.params else { return hasher.finish() };
    let Ok(tree) = Tree::parse(params) else { return hasher.finish() };
    let hashes = Hashes::masked(&tree, Eye { era, ..Eye::default() }, &Hits::of(&tree, rules));
    let mut sum = 0_u64;
    for (key, member) in tree.root().members() {
        if matches!(key.as_ref(), "_meta" | "cursor" | "requestState" | "taskId" | "elicitationId") {
            continue;
        }
        // Absent arguments and no arguments are the same to every server.
        if key == "arguments" && member.is_empty() && member.is_container() {
            continue;
        }
        let mut one = DefaultHasher::new();
        (key.as_ref(), hashes.value(member.id())).hash(&mut one);
        sum = sum.wrapping_add(one.finish());
    }
    sum.hash(&mut hasher);
    hasher.finish()
}

/// Joins the pages of each list, and the polls of each task, to one exchange.
fn join(mut recording: Recording) -> Recording {
    let mut joined: Vec<Exchange> = Vec::with_capacity(recording.exchanges.len());
    let mut lists: HashMap<String, usize> = HashMap::new();
    let mut polls: HashMap<(Direction, String), usize> = HashMap::new();
    for exchange in recording.exchanges {
        let param = |key: &str| {
            let tree = exchange.params.as_deref().and_then(|params| Tree::parse(params).ok())?;
            let text = tree.root().get(key)?.as_text()?.into_owned();
            Some(text)
        };
        if exchange.is_list() {
            let first = param("cursor").and_then(|_| lists.get(&exchange.method));
            if let Some(whole) = first.and_then(|at| joined.get_mut(*at)) {
                whole.pages.extend(exchange.result);
                if exchange.outcome != Some(Outcome::Ok) {
                    (whole.outcome, whole.error_code, whole.error) =
                        (exchange.outcome, exchange.error_code, exchange.error);
                }
                continue;
            }
            lists.insert(exchange.method.clone(), joined.len());
        } else if exchange.method == "tasks/get" {
            let task = (exchange.direction, param("taskId").unwrap_or_default());
            if let Some(earlier) = polls.get(&task).and_then(|at| joined.get_mut(*at)) {
                // How often it was asked says nothing; what the last answer was does.
                *earlier = exchange;
                continue;
            }
            polls.insert(task, joined.len());
        }
        joined.push(exchange);
    }
    recording.exchanges = joined;
    recording
}

/// Returns the items of a list, all pages together, as one JSON array; `None` if it was not answered.
#[must_use]
pub fn items(exchange: &Exchange) -> Option<Vec<u8>> {
    let member = list_member(&exchange.method)?;
    let mut array = b"[".to_vec();
    for page in exchange.result.iter().chain(&exchange.pages) {
        let tree = Tree::parse(page).ok()?;
        for item in tree.root().get(member)?.children() {
            if array.len() > 1 {
                array.push(b',');
            }
            array.extend_from_slice(item.raw());
        }
    }
    exchange.result.as_ref()?;
    array.push(b']');
    Some(array)
}
