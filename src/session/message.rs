//! Messages: what the frames say, one row for each JSON-RPC message and for each line that is none.

pub use crate::protocol::jsonrpc::Kind;

use super::frame::{Channel, Direction};
use serde::{Deserialize, Serialize};

/// Where a message stands: its frame, and its place in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The frame's number.
    pub seq: u64,
    /// The place in the batch, from 0; 0 when there is no batch.
    pub index: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.index == 0 { write!(f, "{}", self.seq) } else { write!(f, "{}.{}", self.seq, self.index) }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A result.
    Ok,
    /// A result that says `isError`.
    ToolError,
    /// A result that asks for input first (2026-07-28).
    InputRequired,
    /// A JSON-RPC error.
    RpcError,
    /// The caller cancelled, or left.
    GaveUp,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 5] = [Self::Ok, Self::ToolError, Self::InputRequired, Self::RpcError, Self::GaveUp];

    /// Returns the name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::InputRequired => "input_required",
            Self::RpcError => "rpc_error",
            Self::GaveUp => "gave_up",
        }
    }

    /// Returns true if the caller did not get what it asked for.
    #[must_use]
    pub fn is_bad(self) -> bool {
        matches!(self, Self::ToolError | Self::RpcError | Self::GaveUp)
    }
}

/// The answer of a request, as it stands on the request's own row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Where the answer stands.
    pub place: Place,
    /// When its last byte was received, ns since the session began.
    pub received_ns: i64,
    /// When it was about to be written on, ns since the session began.
    pub forwarded_ns: i64,
}

/// One message of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Where it stands.
    pub place: Place,
    /// Which way it travelled.
    pub direction: Direction,
    /// What carried it.
    pub channel: Channel,
    /// What it is.
    pub kind: Kind,
    /// The method of a request or notification; of an answer, that of its request.
    pub method: Option<String>,
    /// `params.name` or `params.uri` of a request; of an answer, that of its request.
    pub name: Option<String>,
    /// The id as JSON text, in its own spelling.
    pub rpc_id: Option<String>,
    /// The revision in force.
    pub revision: Option<String>,
    /// When its last byte was received, ns since the session began.
    pub received_ns: i64,
    /// When it was about to be written on, ns since the session began.
    pub forwarded_ns: i64,
    /// Where the message begins in its frame, in bytes.
    pub offset: u64,
    /// Its length in bytes: that of the frame, or of the member of a batch.
    pub length: u64,
    /// The names of the rules it breaks, some with `@offset`, separated by commas; empty for none.
    pub flaws: String,
    /// The first line of a message that was split over lines.
    pub first_seq: Option<u64>,
    /// The request that this answers.
    pub answers: Option<Place>,
    /// The request that this belongs to without answering it.
    pub concerns: Option<Place>,
    /// How the request ended, or what the answer says.
    pub outcome: Option<Outcome>,
    /// The code of a JSON-RPC error.
    pub error_code: Option<i64>,
    /// When the caller gave the request up, ns since the session began.
    pub gave_up_ns: Option<i64>,
    /// The answer of a request; with `gave_up`, one that came too late.
    pub answer: Option<Answer>,
}

impl Message {
    /// Returns the time that the other side took: answer received − request forwarded, in ns.
    #[must_use]
    pub fn peer_ns(&self) -> Option<i64> {
        self.answer.map(|answer| answer.received_ns - self.forwarded_ns)
    }

    /// Returns the time that the caller saw: answer forwarded − request received, in ns.
    #[must_use]
    pub fn total_ns(&self) -> Option<i64> {
        self.answer.map(|answer| answer.forwarded_ns - self.received_ns)
    }

    /// Returns true if the message breaks the rule of that name.
    #[must_use]
    pub fn has_flaw(&self, name: &str) -> bool {
        self.flaws.split(',').any(|flaw| flaw.split('@').next() == Some(name))
    }
}
