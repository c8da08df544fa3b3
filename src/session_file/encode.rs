//! Writes a session file.

use super::sse::Sse;
use crate::protocol::envelope::{Shape, scan};
use crate::session::frame::{Channel, FrameInfo};
use crate::session::http::HttpExchange;
use crate::session::source::{SessionSource, SourceError};
use base64::Engine;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Header<'a> {
    mcp_tap_file: u32,
    session: &'a crate::session::session::Session,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gaps: &'a [crate::session::frame::Gap],
}

/// Writes a whole session; `step` is told how many bytes of frames have been written, for a progress bar.
///
/// # Errors
/// What kept the session from being read, or the file from being written.
pub fn session(source: &dyn SessionSource, out: &mut dyn Write, step: &mut dyn FnMut(u64)) -> Result<(), SourceError> {
    let gaps = source.gaps()?;
    let header = Header { mcp_tap_file: super::FORMAT, session: source.session(), gaps: &gaps };
    let mut line = serde_json::to_vec(&header).map_err(SourceError::of)?;
    line.push(b'\n');
    out.write_all(&line).map_err(SourceError::of)?;
    let default = if source.session().transport == "http" { Channel::HttpBody } else { Channel::Stdio };
    let exchanges = source.exchanges()?;
    let mut next = exchanges.iter().peekable();
    source.frames(0..u64::MAX, u64::MAX, &mut |info, part, bytes| {
        line.clear();
        // An exchange stands before its first frame, and those without frames in the order of their numbers.
        while let Some(exchange) = next.next_if(|exchange| info.http.is_some_and(|number| exchange.n <= number)) {
            http(exchange, &mut line)?;
        }
        frame(info, part, bytes, default, &mut line);
        step(bytes.len() as u64);
        out.write_all(&line).map_err(SourceError::of)
    })?;
    line.clear();
    for exchange in next {
        http(exchange, &mut line)?;
    }
    out.write_all(&line).map_err(SourceError::of)
}

/// Writes an HTTP exchange as a line.
fn http(exchange: &HttpExchange, line: &mut Vec<u8>) -> Result<(), SourceError> {
    line.extend_from_slice(b"{\"http\":");
    serde_json::to_writer(&mut *line, exchange).map_err(SourceError::of)?;
    line.extend_from_slice(b"}\n");
    Ok(())
}

/// Writes one frame, or one part of it, as a line.
pub fn frame(info: &FrameInfo, part: u32, bytes: &[u8], default: Channel, line: &mut Vec<u8>) {
    let mut head = format!("{{\"seq\":{},\"at_ns\":{},\"fwd_ns\":{}", info.seq, info.received_ns, info.forwarded_ns);
    if let Some(started) = info.started_ns {
        head.push_str(&format!(",\"first_ns\":{started}"));
    }
    head.push_str(&format!(",\"dir\":\"{}\"", info.direction.as_str()));
    if info.channel != default {
        head.push_str(&format!(",\"ch\":\"{}\"", info.channel.as_str()));
    }
    if let Some(exchange) = info.http {
        head.push_str(&format!(",\"http\":{exchange}"));
    }
    if info.redacted {
        head.push_str(",\"redacted\":true");
    }
    if info.parts > 0 {
        head.push_str(&format!(",\"part\":{part},\"parts\":{},\"length\":{}", info.parts, info.length));
    }
    line.extend_from_slice(head.as_bytes());
    if let Some((spelling, message)) = exact_event(info, bytes) {
        if spelling != Sse::default() {
            line.extend_from_slice(b",\"sse\":");
            // Writing a structure of strings into a vector cannot fail.
            let _ = serde_json::to_writer(&mut *line, &spelling);
        }
        line.extend_from_slice(b",\"message\":");
        line.extend_from_slice(message);
    } else if let Some(message) = exact_message(info, bytes) {
        line.extend_from_slice(b",\"message\":");
        line.extend_from_slice(message);
    } else if let Ok(text) = std::str::from_utf8(bytes) {
        line.extend_from_slice(b",\"text\":");
        // Writing a string into a vector cannot fail.
        let _ = serde_json::to_writer(&mut *line, text);
    } else {
        line.extend_from_slice(b",\"base64\":\"");
        line.extend_from_slice(base64::engine::general_purpose::STANDARD.encode(bytes).as_bytes());
        line.push(b'"');
    }
    line.extend_from_slice(b"}\n");
}

/// Returns the JSON text of a frame that is exactly this text and its channel's terminator.
fn exact_message<'a>(info: &FrameInfo, bytes: &'a [u8]) -> Option<&'a [u8]> {
    if info.parts > 0 {
        return None;
    }
    let text = match info.channel {
        Channel::Stdio => bytes.strip_suffix(b"\n")?,
        Channel::HttpBody => bytes,
        Channel::Stderr | Channel::Sse => return None,
    };
    is_exact(text).then_some(text)
}

/// Returns the spelling and the message of an event that is exactly these.
fn exact_event<'a>(info: &FrameInfo, bytes: &'a [u8]) -> Option<(Sse, &'a [u8])> {
    if info.parts > 0 || info.channel != Channel::Sse {
        return None;
    }
    Sse::of(bytes).filter(|(_, message)| is_exact(message))
}

/// Returns true if a text is JSON that can stand in a line as it is.
fn is_exact(text: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    if blank(text.first()) || blank(text.last()) || memchr::memchr2(b'\r', b'\n', text).is_some() {
        return false;
    }
    let found = scan(text);
    matches!(found.shape, Shape::Object | Shape::Array | Shape::Scalar)
        && found.not_json_at.is_none()
        && found.not_utf8_at.is_none()
        && !found.byte_order_mark
}
