//! Reads a session file, line by line.

use super::FORMAT;
use super::sse::Sse;
use crate::session::frame::{Channel, Direction, FrameInfo, Gap};
use crate::session::http::HttpExchange;
use crate::session::session::{Session, is_id};
use base64::Engine;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Why a file cannot be read, and where.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The first line is not that of a session file.
    #[error("this is not a session file: its first line has no `mcp_tap_file`")]
    NotASessionFile,
    /// A newer version wrote it.
    #[error("this session file has format {found}, and this mcp-tap reads {FORMAT} at most")]
    Newer {
        /// The format found.
        found: u32,
    },
    /// A line cannot be read.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The session.
    pub session: Session,
    /// What is missing of it.
    pub gaps: Vec<Gap>,
}

#[derive(Deserialize)]
struct Mark {
    mcp_tap_file: Option<u32>,
}

#[derive(Deserialize)]
struct HeaderLine {
    session: Session,
    #[serde(default)]
    gaps: Vec<Gap>,
}

/// Reads the first line.
///
/// # Errors
/// It is not that of a session file, or that of a newer one.
pub fn header(line: &[u8]) -> Result<Header, DecodeError> {
    let mark: Mark = serde_json::from_slice(line).map_err(|_| DecodeError::NotASessionFile)?;
    match mark.mcp_tap_file {
        None => return Err(DecodeError::NotASessionFile),
        Some(found) if found > FORMAT => return Err(DecodeError::Newer { found }),
        Some(_) => {}
    }
    let header: HeaderLine = serde_json::from_slice(line).map_err(|e| DecodeError::Line { line: 1, what: said(&e) })?;
    if !is_id(&header.session.id) {
        return Err(DecodeError::Line { line: 1, what: "the session has no id of 16 letters from k to z".into() });
    }
    Ok(Header { session: header.session, gaps: header.gaps })
}

/// Returns what is wrong with a line; its number is told beside it, and inside it is always 1.
fn said(error: &serde_json::Error) -> String {
    error.to_string().replacen(" at line 1 column ", " at column ", 1)
}

#[derive(Deserialize)]
struct FrameLine<'a> {
    seq: u64,
    at_ns: i64,
    fwd_ns: i64,
    first_ns: Option<i64>,
    dir: Direction,
    ch: Option<Channel>,
    http: Option<u64>,
    sse: Option<Sse>,
    #[serde(default)]
    redacted: bool,
    #[serde(default)]
    part: u32,
    #[serde(default)]
    parts: u32,
    length: Option<u64>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    text: Option<String>,
    base64: Option<String>,
}

#[derive(Deserialize)]
struct HttpLine {
    http: HttpExchange,
}

/// Reads the line of an HTTP exchange.
///
/// # Errors
/// Says what is wrong with the line; `number` is its number in the file, from 1.
pub fn http(line: &[u8], number: usize) -> Result<HttpExchange, DecodeError> {
    let read: HttpLine =
        serde_json::from_slice(line).map_err(|e| DecodeError::Line { line: number, what: said(&e) })?;
    if read.http.n > u64::from(u32::MAX) {
        let what = format!("exchange {} has too large a number", read.http.n);
        return Err(DecodeError::Line { line: number, what });
    }
    Ok(read.http)
}

/// Reads the line of a frame: all about it, which of its parts this is, and its bytes.
///
/// # Errors
/// Says what is wrong with the line; `number` is its number in the file, from 1.
pub fn frame(line: &[u8], number: usize, default: Channel) -> Result<(FrameInfo, u32, Vec<u8>), DecodeError> {
    let wrong = |what: String| DecodeError::Line { line: number, what };
    let read: FrameLine<'_> = serde_json::from_slice(line).map_err(|e| wrong(said(&e)))?;
    let channel = read.ch.unwrap_or(default);
    let bytes = match (read.message, read.text, read.base64) {
        (Some(message), None, None) => {
            let message = message.get().as_bytes();
            match channel {
                Channel::Stdio => [message, b"\n"].concat(),
                Channel::Sse => read.sse.unwrap_or_default().spell(message),
                Channel::HttpBody | Channel::Stderr => message.to_vec(),
            }
        }
        (None, Some(text), None) => text.into_bytes(),
        (None, None, Some(text)) => base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|e| wrong(format!("`base64` cannot be read: {e}")))?,
        _ => return Err(wrong("a frame has exactly one of `message`, `text`, `base64`".into())),
    };
    if read.seq > u64::from(u32::MAX) {
        return Err(wrong(format!("frame {} has too large a number", read.seq)));
    }
    if read.http.is_some_and(|exchange| exchange > u64::from(u32::MAX)) {
        return Err(wrong("the number of its exchange is too large".into()));
    }
    if read.part > 0 && read.part >= read.parts {
        return Err(wrong(format!("part {} of {} parts", read.part, read.parts)));
    }
    let info = FrameInfo {
        seq: read.seq,
        direction: read.dir,
        channel,
        http: read.http,
        started_ns: read.first_ns,
        received_ns: read.at_ns,
        forwarded_ns: read.fwd_ns,
        length: read.length.unwrap_or(bytes.len() as u64),
        parts: read.parts,
        redacted: read.redacted,
    };
    Ok((info, read.part, bytes))
}
