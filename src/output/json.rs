//! Reports for machines: one versioned object each, or one object a line.
//!
//! These types are the interface; what is inside the program may change without them.

pub mod latency;

use super::humanize::rfc3339;
use crate::error::CommandError;
use crate::session::message::{Message, Place};
use crate::session::session::{ExitStatus, Session};
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::Write;

/// The version of the reports.
pub const REPORT: u32 = 1;

/// A report.
#[derive(Serialize)]
struct Report<'a, T> {
    mcp_tap_report: u32,
    report: &'a str,
    #[serde(flatten)]
    body: T,
}

/// Returns an object as JSON in which nothing can act on a terminal: what could is escaped, the value is the same.
///
/// # Errors
/// The object cannot be written as JSON.
pub fn text<T: Serialize>(object: &T) -> Result<String, CommandError> {
    Ok(escape(serde_json::to_string(object)?))
}

/// Writes a report as one object.
///
/// # Errors
/// The reader went away, or the disk is full.
pub fn report<T: Serialize>(out: &mut dyn Write, name: &str, body: T) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(&Report { mcp_tap_report: REPORT, report: name, body })?;
    out.write_all(escape(text).as_bytes())?;
    Ok(out.write_all(b"\n")?)
}

/// Writes one object as a line.
///
/// # Errors
/// The reader went away, or the disk is full.
pub fn line<T: Serialize>(out: &mut dyn Write, object: &T) -> Result<(), CommandError> {
    out.write_all(text(object)?.as_bytes())?;
    Ok(out.write_all(b"\n")?)
}

/// Escapes what stands inside strings: nothing hostile beyond ASCII can stand elsewhere in JSON.
fn escape(text: String) -> String {
    let hostile = |c: char| c as u32 >= 0x7f && super::sanitize::is_hostile(c);
    if !text.contains(hostile) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        if hostile(character) {
            character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// A session in a report.
#[derive(Debug, Serialize)]
pub struct SessionObject<'a> {
    /// The id.
    pub id: &'a str,
    /// The name.
    pub name: Option<&'a str>,
    /// What made it; `import` if it was read from a file.
    pub origin: &'a str,
    /// The session it replays, or probes for.
    pub parent: Option<&'a str>,
    /// True if it only asked `server/discover` before another start.
    pub probe: bool,
    /// The transport.
    pub transport: &'a str,
    /// How the server was launched.
    pub launch: &'a crate::session::session::Launch,
    /// The revisions, in the order of their appearance.
    pub revisions: &'a [String],
    /// The client.
    pub client: Option<&'a crate::session::session::Peer>,
    /// The server.
    pub server: Option<&'a crate::session::session::Peer>,
    /// When it began, RFC 3339 UTC.
    pub started_at: String,
    /// When it ended, ns since it began.
    pub ended_ns: Option<i64>,
    /// Why it ended.
    pub end_reason: Option<&'a str>,
    /// How the server ended.
    pub exit_status: Option<ExitStatus>,
    /// True if it is being recorded.
    pub live: bool,
    /// True if it was cut off.
    pub incomplete: bool,
    /// Frames stored.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// JSON-RPC messages among them.
    pub messages: u64,
    /// Tool calls.
    pub calls: u64,
    /// Those that ended badly.
    pub bad: u64,
    /// Lines that are missing.
    pub lost_frames: u64,
}

impl<'a> SessionObject<'a> {
    /// Returns a session as it stands in reports.
    #[must_use]
    pub fn of(session: &'a Session, live: bool, probe: bool, imported: bool) -> Self {
        Self {
            id: &session.id,
            name: session.name.as_deref(),
            origin: if imported { "import" } else { session.origin.as_str() },
            parent: session.parent.as_deref(),
            probe,
            transport: &session.transport,
            launch: &session.launch,
            revisions: &session.revisions,
            client: session.client.as_ref(),
            server: session.server.as_ref(),
            started_at: rfc3339(session.started_at_ns),
            ended_ns: session.ended_ns,
            end_reason: session.end_reason.as_deref(),
            exit_status: session.exit_status,
            live,
            incomplete: session.is_incomplete() && !live,
            frames: session.frames,
            bytes: session.bytes,
            messages: session.messages,
            calls: session.calls,
            bad: session.bad,
            lost_frames: session.lost_frames,
        }
    }
}

/// Where a message stands, in a report.
#[derive(Debug, Serialize)]
pub struct PlaceObject {
    /// The frame.
    pub seq: u64,
    /// The place in the batch.
    pub index: u32,
}

impl From<Place> for PlaceObject {
    fn from(place: Place) -> Self {
        Self { seq: place.seq, index: place.index }
    }
}

/// A message in a report.
#[derive(Debug, Serialize)]
pub struct MessageObject<'a> {
    /// The frame it stands in.
    pub seq: u64,
    /// Its place in the batch.
    pub index: u32,
    /// Which way it travelled.
    pub dir: &'static str,
    /// What carried it.
    pub channel: &'static str,
    /// What it is.
    pub kind: &'static str,
    /// The method.
    pub method: Option<&'a str>,
    /// The name.
    pub name: Option<&'a str>,
    /// The id, as the raw JSON value.
    pub id: Option<Box<RawValue>>,
    /// When it was received, ns since the session began.
    pub at_ns: i64,
    /// When it was about to be written on, ns since the session began.
    pub forwarded_ns: i64,
    /// Its length.
    pub bytes: u64,
    /// How it ended, or what the answer says.
    pub outcome: Option<&'static str>,
    /// The code of a JSON-RPC error.
    pub error_code: Option<i64>,
    /// The revision in force.
    pub revision: Option<&'a str>,
    /// The request that it answers.
    pub answers: Option<PlaceObject>,
    /// The request that it belongs to.
    pub concerns: Option<PlaceObject>,
    /// The answer of a request.
    pub answer: Option<PlaceObject>,
    /// The time the other side took.
    pub peer_ns: Option<i64>,
    /// The time the caller saw.
    pub total_ns: Option<i64>,
    /// When the caller gave up, ns since the session began.
    pub gave_up_ns: Option<i64>,
    /// The first line of a message that was split over lines.
    pub first_seq: Option<u64>,
    /// What is odd about it.
    pub flaws: Vec<&'a str>,
}

impl<'a> MessageObject<'a> {
    /// Returns a message as it stands in reports.
    #[must_use]
    pub fn of(message: &'a Message) -> Self {
        Self {
            seq: message.place.seq,
            index: message.place.index,
            dir: message.direction.as_str(),
            channel: message.channel.as_str(),
            kind: message.kind.as_str(),
            method: message.method.as_deref(),
            name: message.name.as_deref(),
            id: message.rpc_id.as_ref().and_then(|id| RawValue::from_string(id.clone()).ok()),
            at_ns: message.received_ns,
            forwarded_ns: message.forwarded_ns,
            bytes: message.length,
            outcome: message.outcome.map(crate::session::message::Outcome::as_str),
            error_code: message.error_code,
            revision: message.revision.as_deref(),
            answers: message.answers.map(PlaceObject::from),
            concerns: message.concerns.map(PlaceObject::from),
            answer: message.answer.map(|answer| answer.place.into()),
            peer_ns: message.peer_ns(),
            total_ns: message.total_ns(),
            gave_up_ns: message.gave_up_ns,
            first_seq: message.first_seq,
            flaws: message.flaws.split(',').filter(|flaw| !flaw.is_empty()).collect(),
        }
    }
}
