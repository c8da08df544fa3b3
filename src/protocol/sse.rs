//! Cuts an event stream into events, wherever the reads happened to end.
//!
//! A blank line ends an event; lines end with LF, CR LF or CR (HTML, server-sent events). Everything up to the end of
//! the blank line is the event's, comments and all, so that the events, concatenated, are the stream. An event above
//! [`WHOLE_LIMIT`] is handed on in parts and never held whole.

mod event;

pub use event::{Event, EventReader, data_of};

use super::line::{Piece, WHOLE_LIMIT};
use super::pieces::Pieces;

/// Collects the chunks of one stream into events.
#[derive(Debug)]
pub struct SseFramer {
    pieces: Pieces,
    skipping: bool,
    line_is_empty: bool,
    after_cr: bool,
    // A CR has ended the blank line: an LF that follows still belongs to it.
    ending: bool,
}

impl Default for SseFramer {
    fn default() -> Self {
        Self::new()
    }
}

impl SseFramer {
    /// Returns a framer at the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self { pieces: Pieces::default(), skipping: false, line_is_empty: true, after_cr: false, ending: false }
    }

    /// Returns how many bytes wait for the end of their event.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pieces.pending()
    }

    /// Takes the next chunk and hands on every event, or part, that it completes.
    ///
    /// Returns the number of bytes passed over because the stream was being picked up again after [`Self::lost`].
    pub fn push(&mut self, chunk: &[u8], mut emit: impl FnMut(Piece<'_>)) -> usize {
        let mut from = 0;
        let mut at = 0;
        let mut skipped = 0;
        while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
            let first_is_lf = rest.first() == Some(&b'\n');
            if std::mem::take(&mut self.ending) {
                at += usize::from(first_is_lf);
                skipped += self.end_event(chunk.get(from..at).unwrap_or_default(), &mut emit);
                from = at;
                continue;
            }
            if std::mem::take(&mut self.after_cr) && first_is_lf {
                at += 1;
                continue;
            }
            let Some(length) = memchr::memchr2(b'\r', b'\n', rest) else {
                self.line_is_empty = false;
                break;
            };
            let is_blank = self.line_is_empty && length == 0;
            let by_cr = rest.get(length) == Some(&b'\r');
            at += length + 1;
            self.line_is_empty = true;
            match (is_blank, by_cr) {
                (true, true) => self.ending = true,
                (true, false) => {
                    skipped += self.end_event(chunk.get(from..at).unwrap_or_default(), &mut emit);
                    from = at;
                }
                (false, by_cr) => self.after_cr = by_cr,
            }
        }
        let rest = chunk.get(from..).unwrap_or_default();
        if self.skipping {
            return skipped + rest.len();
        }
        self.pieces.keep(rest, &mut emit);
        skipped
    }

    /// Hands on what is there at the end of the stream: an event without its blank line.
    pub fn finish(&mut self, mut emit: impl FnMut(Piece<'_>)) {
        if !self.pieces.is_empty() {
            self.pieces.end(&mut emit);
        }
        *self = Self::new();
    }

    /// Notes that bytes of the stream are missing from here on.
    ///
    /// What had come of the open event is handed on, and everything up to the next blank line is passed over.
    pub fn lost(&mut self, emit: impl FnMut(Piece<'_>)) {
        self.finish(emit);
        self.skipping = true;
        // In the middle of a line, for all that is known.
        self.line_is_empty = false;
    }

    /// Ends the event whose last bytes these are; returns how many were passed over.
    fn end_event(&mut self, bytes: &[u8], emit: &mut impl FnMut(Piece<'_>)) -> usize {
        if std::mem::take(&mut self.skipping) {
            return bytes.len();
        }
        if self.pieces.is_empty() && bytes.len() <= WHOLE_LIMIT {
            emit(Piece::Whole(bytes));
            return 0;
        }
        self.pieces.keep(bytes, emit);
        self.pieces.end(emit);
        0
    }
}

#[cfg(test)]
mod tests;
