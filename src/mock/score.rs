//! What a recorded server said, and after which message of the client. Pure.
//!
//! An answer, and what concerns a request, goes after that request; everything else (log lines, noise, what nobody had
//! asked for) after the message of the client that stood before it.

use super::matcher::{Keys, keys};
use crate::analysis::normalize::Eye;
use crate::analysis::rules::Rules;
use crate::analysis::volatile::Era;
use crate::protocol::json::Tree;
use crate::protocol::method;
use crate::replay::script::Script;
use crate::session::frame::{Channel, Direction};
use crate::session::message::{Kind, Message, Place};
use crate::session::session::{ExitStatus, Session};
use std::collections::{BTreeMap, HashMap};

/// A message in what the server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: Kind,
    /// Its method; of an answer, that of its request.
    pub method: String,
    /// Its id, as JSON text.
    pub id: Option<String>,
    /// Where it stands in the recording.
    pub place: Place,
    /// The request of the client that it answers or concerns.
    pub owner: Option<Place>,
    /// Where it begins in the cue's bytes.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
}

/// Something the server said, or its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cue {
    /// The number of its frame in the recording.
    pub seq: u64,
    /// When it was said, ns since the session began.
    pub at_ns: i64,
    /// Where it was said: stdout or stderr.
    pub channel: Channel,
    /// The exact bytes.
    pub bytes: Vec<u8>,
    /// The messages in it; none if it is no message.
    pub parts: Vec<Part>,
    /// The message of the client after which it goes; absent for what stands before all of them.
    pub cause: Option<Place>,
    /// The server's end, if that is what it stands for.
    pub exit: Option<ExitStatus>,
}

/// A request of the client in the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Where it stands.
    pub place: Place,
    /// Its method.
    pub method: String,
    /// Its name.
    pub name: Option<String>,
    /// Its id, as JSON text.
    pub id: String,
    /// Its parameters, as JSON text; empty if it has none.
    pub params: Vec<u8>,
    /// Its progress token, as JSON text.
    pub token: Option<Vec<u8>>,
    /// What it asks for.
    pub keys: Keys,
    /// When the client took it back.
    pub cancel: Option<Place>,
    /// How long the client had waited when it took the request back, ns.
    pub waited_ns: i64,
}

impl Request {
    /// Returns what a person calls it, as `tools/call get_forecast`.
    #[must_use]
    pub fn what(&self) -> String {
        what(&self.method, self.name.as_deref())
    }
}

/// Returns what a person calls a request.
#[must_use]
pub fn what(method: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{method} {name}"),
        None => method.to_owned(),
    }
}

/// A recorded session, as its server has to know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Score {
    /// The session's id.
    pub session: String,
    /// What a person types for it.
    pub typed: String,
    /// The revision that was agreed on.
    pub revision: Option<String>,
    /// True if the client only asked for the revision there, and talked in another session.
    pub probe: bool,
    /// What the server said, in order.
    pub cues: Vec<Cue>,
    /// What the client asked, in order.
    pub requests: Vec<Request>,
    /// The client's notifications, and its lines that are no message (without a method), in order.
    pub notes: Vec<(Place, String)>,
    /// The questions of the server, with the client's answers.
    pub questions: BTreeMap<Place, Option<Place>>,
    /// When each message of the client was sent, ns since the session began.
    pub times: HashMap<Place, i64>,
    /// The status with which the server ended after the client had left.
    pub exit_code: u8,
    /// When it was.
    pub era: Option<Era>,
}

impl Score {
    /// Returns the request at a place.
    #[must_use]
    pub fn request(&self, place: Place) -> Option<&Request> {
        let found = self.requests.binary_search_by(|request| request.place.cmp(&place)).ok();
        found.and_then(|at| self.requests.get(at))
    }

    /// Takes what rules excuse in requests for volatile, too.
    pub fn mask(&mut self, rules: &Rules) {
        let eye = Eye { era: self.era, ..Eye::default() };
        for request in &mut self.requests {
            request.keys = keys(&request.method, request.name.as_deref(), &request.params, eye, rules);
        }
    }
}

/// Makes the score of a recording.
#[must_use]
pub fn score(script: &Script, session: &Session, typed: &str) -> Score {
    let mut score = Score {
        session: session.id.clone(),
        typed: typed.to_owned(),
        revision: session.revision().map(str::to_owned),
        era: Era::of(session.started_at_ns, script.last_ns),
        ..Score::default()
    };
    let eye = Eye { era: score.era, ..Eye::default() };
    let mut cancels: HashMap<Place, (Place, i64)> = HashMap::new();
    let mut last = None;
    for message in &script.messages {
        match message.direction {
            Direction::ToServer => {
                client_said(&mut score, script, message, eye);
                if method::is_cancellation(message.method.as_deref().unwrap_or_default())
                    && let Some(request) = message.concerns
                {
                    cancels.entry(request).or_insert((message.place, message.received_ns));
                }
                if message.kind != Kind::Blank && (!message.kind.is_answer() || message.answers.is_some()) {
                    last = Some(message.place);
                }
            }
            Direction::ToClient => server_said(&mut score, script, message, last),
        }
    }
    for request in &mut score.requests {
        if let Some((place, at_ns)) = cancels.get(&request.place) {
            request.cancel = Some(*place);
            request.waited_ns = at_ns - score.times.get(&request.place).copied().unwrap_or(0);
        }
    }
    end(&mut score, script, session, last);
    score
}

fn client_said(score: &mut Score, script: &Script, message: &Message, eye: Eye<'_>) {
    score.times.insert(message.place, message.received_ns);
    let method = message.method.clone().unwrap_or_default();
    match message.kind {
        Kind::Request => {
            let tree = Tree::parse(script.text(message.place)).ok();
            let at = |pointer: &str| Some(tree.as_ref()?.root().pointer(pointer)?.raw().to_vec());
            let params = at("/params").unwrap_or_default();
            score.requests.push(Request {
                place: message.place,
                keys: keys(&method, message.name.as_deref(), &params, eye, &Rules::default()),
                name: message.name.clone(),
                id: message.rpc_id.clone().unwrap_or_default(),
                token: at("/params/_meta/progressToken"),
                method,
                params,
                cancel: None,
                waited_ns: 0,
            });
        }
        Kind::Notification => score.notes.push((message.place, method)),
        Kind::Stray | Kind::Invalid => score.notes.push((message.place, String::new())),
        Kind::Result | Kind::Error => {
            if let Some(answer) = message.answers.and_then(|question| score.questions.get_mut(&question)) {
                *answer = Some(message.place);
            }
        }
        Kind::Blank => {}
    }
}

fn server_said(score: &mut Score, script: &Script, message: &Message, last: Option<Place>) {
    if message.channel != Channel::Stderr && message.kind == Kind::Request {
        score.questions.insert(message.place, None);
    }
    let owner = message.answers.or(message.concerns).filter(|owner| score.request(*owner).is_some());
    let known = score.cues.last().is_some_and(|cue| cue.seq == message.place.seq);
    if !known {
        score.cues.push(Cue {
            seq: message.place.seq,
            at_ns: message.received_ns,
            channel: message.channel,
            bytes: script.answers.get(&message.place.seq).cloned().unwrap_or_default(),
            parts: Vec::new(),
            cause: last,
            exit: None,
        });
    }
    if matches!(message.kind, Kind::Blank | Kind::Stray | Kind::Invalid) {
        return;
    }
    let begun = message.first_seq.map(|first| together(score, first, message.place.seq));
    let Some(cue) = score.cues.last_mut() else { return };
    // A message over several lines is one cue, and all of it is its text.
    let (offset, length) = match begun {
        Some(()) => (0, cue.bytes.len()),
        None => (number(message.offset), number(message.length)),
    };
    cue.parts.push(Part {
        kind: message.kind,
        method: message.method.clone().unwrap_or_default(),
        id: message.rpc_id.clone(),
        place: message.place,
        owner,
        offset,
        length,
    });
    let owners = cue.parts.iter().filter_map(|part| part.owner);
    cue.cause = owners.max().or(cue.cause);
}

/// Puts the lines of a message that was split over lines together, in the place of the last.
fn together(score: &mut Score, first: u64, last: u64) {
    let mut bytes = Vec::new();
    score.cues.retain(|cue| {
        let fragment = (first..=last).contains(&cue.seq) && cue.channel != Channel::Stderr;
        if fragment {
            bytes.extend_from_slice(&cue.bytes);
        }
        !fragment || cue.seq == last
    });
    if let Some(cue) = score.cues.last_mut() {
        cue.bytes = bytes;
    }
}

fn number(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A server that ended by itself ends where it did; one that its client left ends after that, with 0 if it had to be
/// ended by a signal.
fn end(score: &mut Score, script: &Script, session: &Session, last: Option<Place>) {
    let by_itself = session.end_reason.as_deref().is_some_and(|reason| reason.starts_with("the server "));
    let signalled = session.end_reason.as_deref().is_some_and(|reason| reason.contains(" after signal "));
    match session.exit_status {
        Some(status) if by_itself && !signalled => {
            let seq = script.messages.last().map_or(0, |message| message.place.seq + 1);
            let at_ns = session.ended_ns.unwrap_or(script.last_ns);
            let (bytes, parts, channel) = (Vec::new(), Vec::new(), Channel::Stdio);
            score.cues.push(Cue { seq, at_ns, channel, bytes, parts, cause: last, exit: Some(status) });
        }
        Some(ExitStatus::Code(code)) => score.exit_code = u8::try_from(code).unwrap_or(1),
        _ => {}
    }
}
