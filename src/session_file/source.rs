//! A session file as a recording: no database, no runtime.

use super::decode::{self, DecodeError, Header};
use crate::session::derive::{PieceDeriver, apply};
use crate::session::frame::{Channel, FrameInfo, Gap};
use crate::session::http::HttpExchange;
use crate::session::message::Message;
use crate::session::session::Session;
use crate::session::source::{EachPiece, SessionSource, SourceError};
use std::collections::{BTreeMap, HashMap};
use std::ops::{ControlFlow, Range};

/// A session file that was read.
#[derive(Debug)]
pub struct FileSource {
    header: Header,
    data: Vec<u8>,
    // One entry a line: the frame, which part, and where the line stands.
    lines: Vec<(FrameInfo, u32, Range<usize>, usize)>,
    messages: Vec<Message>,
    exchanges: Vec<HttpExchange>,
    default: Channel,
}

impl FileSource {
    /// Reads a file's content.
    ///
    /// # Errors
    /// Says which line cannot be read, and why.
    pub fn read(data: Vec<u8>) -> Result<Self, DecodeError> {
        let end = memchr::memchr(b'\n', &data).unwrap_or(data.len());
        let header = decode::header(data.get(..end).unwrap_or_default())?;
        let default = if header.session.transport == "http" { Channel::HttpBody } else { Channel::Stdio };
        let mut lines: Vec<(FrameInfo, u32, Range<usize>, usize)> = Vec::new();
        let mut messages = Vec::new();
        let mut exchanges: Vec<HttpExchange> = Vec::new();
        let mut at = HashMap::new();
        let mut deriver = PieceDeriver::default();
        let mut from = end + 1;
        let mut number = 1;
        while from < data.len() {
            number += 1;
            let rest = data.get(from..).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default();
            let span = from..from + length;
            from += length + 1;
            if line.is_empty() {
                continue;
            }
            if line.starts_with(b"{\"http\":") {
                let exchange = decode::http(line, number)?;
                if let Some(before) = exchanges.last().filter(|before: &&HttpExchange| before.n >= exchange.n) {
                    let what = format!("exchange {} does not follow {}", exchange.n, before.n);
                    return Err(DecodeError::Line { line: number, what });
                }
                exchanges.push(exchange);
                continue;
            }
            let (info, part, bytes) = decode::frame(line, number, default)?;
            if let Some((before, before_part, ..)) = lines.last() {
                let next_part = before.seq == info.seq && part == before_part + 1;
                if !(next_part || info.seq > before.seq && part == 0) {
                    return Err(DecodeError::Line {
                        line: number,
                        what: format!("frame {} does not follow {}", info.seq, before.seq),
                    });
                }
            }
            deriver.piece(&info, part, &bytes, |derived| apply(derived, &mut messages, &mut at));
            lines.push((info, part, span, number));
        }
        deriver.exchanges(&exchanges, |derived| apply(derived, &mut messages, &mut at));
        Ok(Self { header, data, lines, messages, exchanges, default })
    }

    /// Returns the line of a frame, from 1; of one in parts the first.
    #[must_use]
    pub fn line_of(&self, seq: u64) -> Option<usize> {
        let at = self.lines.partition_point(|(info, ..)| info.seq < seq);
        self.lines.get(at).filter(|(info, ..)| info.seq == seq).map(|(.., number)| *number)
    }

    /// Returns the file's content with these frames in the place of the old ones, every other line as it is; `None` if
    /// one of them stands in parts.
    ///
    /// # Errors
    /// A line cannot be read any more.
    pub fn with_frames(&self, frames: &BTreeMap<u64, Vec<u8>>) -> Result<Option<Vec<u8>>, SourceError> {
        let mut data = Vec::with_capacity(self.data.len());
        let mut from = 0;
        for (info, _, span, _) in &self.lines {
            let Some(bytes) = frames.get(&info.seq) else { continue };
            if info.parts > 0 {
                return Ok(None);
            }
            data.extend_from_slice(self.data.get(from..span.start).unwrap_or_default());
            let info = FrameInfo { length: bytes.len() as u64, ..info.clone() };
            super::encode::frame(&info, 0, bytes, self.default, &mut data);
            // The line's own end stays: the last one may have none.
            data.pop();
            from = span.end;
        }
        data.extend_from_slice(self.data.get(from..).unwrap_or_default());
        Ok(Some(data))
    }

    /// Returns what the frames tell of the session as a whole.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.data
    }
}

impl SessionSource for FileSource {
    fn session(&self) -> &Session {
        &self.header.session
    }

    fn is_live(&self) -> bool {
        false
    }

    fn messages(
        &self,
        frames: Range<u64>,
        each: &mut dyn FnMut(Message) -> ControlFlow<()>,
    ) -> Result<(), SourceError> {
        let from = self.messages.partition_point(|message| message.place.seq < frames.start);
        for message in self.messages.iter().skip(from).take_while(|message| message.place.seq < frames.end) {
            if each(message.clone()).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn frames(&self, frames: Range<u64>, longest: u64, each: EachPiece<'_>) -> Result<(), SourceError> {
        let from = self.lines.partition_point(|(info, ..)| info.seq < frames.start);
        for (info, part, span, number) in self.lines.iter().skip(from).take_while(|(info, ..)| info.seq < frames.end) {
            if info.length > longest {
                continue;
            }
            let line = self.data.get(span.clone()).unwrap_or_default();
            let (_, _, bytes) = decode::frame(line, *number, self.default).map_err(SourceError::of)?;
            each(info, *part, &bytes)?;
        }
        Ok(())
    }

    fn gaps(&self) -> Result<Vec<Gap>, SourceError> {
        Ok(self.header.gaps.clone())
    }

    fn exchanges(&self) -> Result<Vec<HttpExchange>, SourceError> {
        Ok(self.exchanges.clone())
    }
}
