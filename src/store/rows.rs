//! What is written to a store, and the numbers that stand for the words of the house.

use crate::session::derive::Derived;
use crate::session::frame::{Channel, Direction, FrameInfo, Gap};
use crate::session::http::HttpExchange;
use crate::session::message::{Kind, Outcome};

/// One thing to be stored, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A part of a long frame that is still coming.
    Part {
        /// The part's number in the session.
        number: u64,
        /// The stream it came on.
        lane: u64,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A frame.
    Frame {
        /// All but the bytes.
        info: FrameInfo,
        /// The number of its first part, if it is stored in parts.
        parts_from: Option<u64>,
        /// The stream it came on.
        lane: u64,
        /// Its bytes; empty if it is stored in parts.
        bytes: Vec<u8>,
    },
    /// What the frame before tells.
    Derived(Derived),
    /// Bytes that are not in the recording.
    Gap(Gap),
    /// An HTTP exchange as far as it has come; a later row of the same number takes its place.
    Http(Box<HttpExchange>),
    /// Something beside the streams.
    Event {
        /// When, ns since the session began.
        at_ns: i64,
        /// What happened.
        what: &'static str,
        /// A number that belongs to it.
        value: Option<i64>,
    },
}

impl Row {
    /// Returns how much memory the row holds, in bytes, roughly.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Part { bytes, .. } | Self::Frame { bytes, .. } => bytes.len() + 160,
            Self::Derived(_) => 400,
            Self::Http(exchange) => http_weight(exchange),
            _ => 128,
        }
    }
}

fn http_weight(exchange: &HttpExchange) -> usize {
    let headers = exchange.request.iter().chain(&exchange.response).chain(&exchange.trailers);
    400 + exchange.path.len() + headers.map(|(name, value)| name.len() + value.len() + 48).sum::<usize>()
}

/// Returns the number of the stream that a frame comes on: 0 stdin, 1 stdout, 2 stderr, then two for each exchange.
#[must_use]
pub fn lane(direction: Direction, channel: Channel, http: Option<u64>) -> u64 {
    let to_client = u64::from(direction == Direction::ToClient);
    match (http, channel) {
        (Some(exchange), _) => 3 + exchange * 2 + to_client,
        (None, Channel::Stderr) => 2,
        (None, _) => to_client,
    }
}

/// Returns the number of a direction.
#[must_use]
pub fn direction_code(direction: Direction) -> i64 {
    match direction {
        Direction::ToServer => 0,
        Direction::ToClient => 1,
    }
}

/// Returns the direction of a number.
#[must_use]
pub fn direction_of(code: i64) -> Direction {
    if code == 0 { Direction::ToServer } else { Direction::ToClient }
}

/// Returns the number of a channel.
#[must_use]
pub fn channel_code(channel: Channel) -> i64 {
    match channel {
        Channel::Stdio => 0,
        Channel::Stderr => 1,
        Channel::HttpBody => 2,
        Channel::Sse => 3,
    }
}

/// Returns the channel of a number.
#[must_use]
pub fn channel_of(code: i64) -> Channel {
    match code {
        0 => Channel::Stdio,
        1 => Channel::Stderr,
        2 => Channel::HttpBody,
        _ => Channel::Sse,
    }
}

/// Returns the number of a kind: its place in [`Kind::ALL`].
#[must_use]
pub fn kind_code(kind: Kind) -> i64 {
    Kind::ALL.iter().position(|k| *k == kind).unwrap_or(6) as i64
}

/// Returns the kind of a number.
#[must_use]
pub fn kind_of(code: i64) -> Kind {
    usize::try_from(code).ok().and_then(|at| Kind::ALL.get(at)).copied().unwrap_or(Kind::Invalid)
}

/// Returns the number of an outcome: its place in [`Outcome::ALL`].
#[must_use]
pub fn outcome_code(outcome: Outcome) -> i64 {
    Outcome::ALL.iter().position(|o| *o == outcome).unwrap_or(0) as i64
}

/// Returns the outcome of a number.
#[must_use]
pub fn outcome_of(code: i64) -> Option<Outcome> {
    usize::try_from(code).ok().and_then(|at| Outcome::ALL.get(at)).copied()
}

/// Returns the key of a numbered row of a session.
#[must_use]
pub fn key(session: i64, number: u64) -> i64 {
    session << 32 | i64::try_from(number & 0xFFFF_FFFF).unwrap_or(0)
}

/// Returns the number in a key.
#[must_use]
pub fn number(key: i64) -> u64 {
    (key & 0xFFFF_FFFF) as u64
}
