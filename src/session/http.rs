//! HTTP exchanges: the envelopes that bodies and events travelled in.

use serde::{Deserialize, Serialize};

/// Names, in lower case, and values of headers, in the order of the wire; credentials are masked.
pub type Headers = Vec<(String, String)>;

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpEnding {
    /// The answer was passed on to its end.
    Complete,
    /// The client went away first.
    ClientLeft,
    /// The upstream broke its answer off.
    UpstreamBroke,
    /// The upstream could not be reached, or did not answer.
    NoAnswer,
    /// The recording ended first.
    CutOff,
}

impl HttpEnding {
    /// Every ending.
    pub const ALL: [Self; 5] = [Self::Complete, Self::ClientLeft, Self::UpstreamBroke, Self::NoAnswer, Self::CutOff];

    /// Returns the name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientLeft => "client_left",
            Self::UpstreamBroke => "upstream_broke",
            Self::NoAnswer => "no_answer",
            Self::CutOff => "cut_off",
        }
    }

    /// Returns the ending of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == name)
    }
}

/// What a compressed body was on the wire; its frames are what it says once it is decoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireBody {
    /// The content coding, such as `gzip`.
    pub coding: String,
    /// Its length in bytes.
    pub length: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// True if it could not be decoded: its frames are the bytes of the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
}

/// A request over HTTP with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpExchange {
    /// Its number in the session, from 0.
    pub n: u64,
    /// Which connection of a client it came on, from 0.
    pub connection: u64,
    /// The verb.
    pub verb: String,
    /// The path with its query.
    pub path: String,
    /// The headers of the request.
    pub request: Headers,
    /// The status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The headers of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response: Headers,
    /// The trailers of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Headers,
    /// The masked protocol session (`Mcp-Session-Id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_session_id: Option<String>,
    /// When its head was received, ns since the session began.
    pub started_ns: i64,
    /// When the head of the answer was received, ns since the session began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_ns: Option<i64>,
    /// When it ended, ns since the session began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<i64>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<HttpEnding>,
    /// The body of the request on the wire, if it was compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_body: Option<WireBody>,
    /// The body of the answer on the wire, if it was compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_body: Option<WireBody>,
    /// What was changed on the way, as sentences: everything else passed as it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
}

impl HttpExchange {
    /// Returns a header of the request, by its name in any case.
    #[must_use]
    pub fn request_header(&self, name: &str) -> Option<&str> {
        find(&self.request, name)
    }

    /// Returns a header of the answer, by its name in any case.
    #[must_use]
    pub fn response_header(&self, name: &str) -> Option<&str> {
        find(&self.response, name)
    }

    /// Returns true if the answer is an event stream.
    #[must_use]
    pub fn is_event_stream(&self) -> bool {
        self.response_header("content-type").is_some_and(is_event_stream)
    }
}

/// Returns true if a content type is that of event streams.
#[must_use]
pub fn is_event_stream(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

fn find<'h>(headers: &'h Headers, name: &str) -> Option<&'h str> {
    headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
