//! Frames: one wire unit each, exact bytes.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Which way a frame travelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client; what came on stderr is among it, with its channel.
    ToClient,
}

impl Direction {
    /// Returns the name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToServer => "to_server",
            Self::ToClient => "to_client",
        }
    }

    /// Returns the other way.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}

/// What carried a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A line of stdin or stdout.
    Stdio,
    /// A line of the server's stderr.
    Stderr,
    /// The body of an HTTP message.
    HttpBody,
    /// One event of a server-sent event stream.
    Sse,
}

impl Channel {
    /// Returns the name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Stderr => "stderr",
            Self::HttpBody => "http_body",
            Self::Sse => "sse",
        }
    }
}

/// All about a frame but its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameInfo {
    /// The frame's number in its session, in the order of causes, from 0.
    pub seq: u64,
    /// Which way it travelled.
    pub direction: Direction,
    /// What carried it.
    pub channel: Channel,
    /// The HTTP exchange it travelled in.
    pub http: Option<u64>,
    /// When its first byte was received, if that was in an earlier read; ns since the session began.
    pub started_ns: Option<i64>,
    /// When its last byte was received, ns since the session began.
    pub received_ns: i64,
    /// When its last byte was about to be written on, ns since the session began.
    pub forwarded_ns: i64,
    /// Its length in bytes, terminator included.
    pub length: u64,
    /// In how many parts it is stored; 0 means whole.
    pub parts: u32,
    /// True if something in it was masked before it was stored.
    pub redacted: bool,
}

/// Returns what a frame says: of an event its data, of anything else its bytes.
///
/// Places of messages count in this text.
#[must_use]
pub fn payload(channel: Channel, bytes: &[u8]) -> Cow<'_, [u8]> {
    match channel {
        Channel::Sse => crate::protocol::sse::data_of(bytes),
        Channel::Stdio | Channel::Stderr | Channel::HttpBody => Cow::Borrowed(bytes),
    }
}

/// A frame with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// All but the bytes.
    pub info: FrameInfo,
    /// The exact bytes.
    pub bytes: Vec<u8>,
}

/// A stretch of a stream that is not in the recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Which way the missing bytes travelled.
    pub dir: Direction,
    /// What carried them.
    pub ch: Channel,
    /// The last frame before the gap; absent if nothing stands before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// How many bytes are missing.
    pub bytes: u64,
    /// How many line ends are among them.
    pub lines: u64,
    /// Why.
    pub reason: String,
}
