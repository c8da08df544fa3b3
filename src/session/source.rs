//! Where a recording is read from: a store and a session file are the same thing to a reader.

use super::frame::{FrameInfo, Gap};
use super::http::HttpExchange;
use super::message::Message;
use super::session::Session;
use std::ops::{ControlFlow, Range};

/// The largest frame that is looked into as a whole, in bytes.
pub const LOOK_LIMIT: u64 = 64 << 20;

/// Why a recording cannot be read, as a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

impl SourceError {
    /// Turns any error into one of reading.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Takes the frames of a session: all about the frame, which of its parts, and the bytes of that part.
pub type EachPiece<'a> = &'a mut dyn FnMut(&FrameInfo, u32, &[u8]) -> Result<(), SourceError>;

/// A recording that can be read.
pub trait SessionSource {
    /// Returns what is known of the session as a whole.
    fn session(&self) -> &Session;

    /// Returns true if it is still being recorded.
    fn is_live(&self) -> bool;

    /// Hands on the messages in the order of the session, from the frames in `frames`, until told to stop.
    ///
    /// # Errors
    /// What kept it from being read.
    fn messages(&self, frames: Range<u64>, each: &mut dyn FnMut(Message) -> ControlFlow<()>)
    -> Result<(), SourceError>;

    /// Hands on the frames in their order, whole or part by part; those above `longest` bytes are passed over, and a
    /// session that was cut off ends with what had come of its open lines.
    ///
    /// # Errors
    /// What kept it from being read, or what `each` said.
    fn frames(&self, frames: Range<u64>, longest: u64, each: EachPiece<'_>) -> Result<(), SourceError>;

    /// Returns what is missing.
    ///
    /// # Errors
    /// What kept it from being read.
    fn gaps(&self) -> Result<Vec<Gap>, SourceError>;

    /// Returns the HTTP exchanges, by their numbers; a session on stdio has none.
    ///
    /// # Errors
    /// What kept them from being read.
    fn exchanges(&self) -> Result<Vec<HttpExchange>, SourceError> {
        Ok(Vec::new())
    }

    /// Returns the bytes of one frame, or `None` if there is no such frame.
    ///
    /// # Errors
    /// A frame above [`LOOK_LIMIT`] is refused, with its size.
    fn bytes(&self, seq: u64) -> Result<Option<Vec<u8>>, SourceError> {
        let mut found: Option<Vec<u8>> = None;
        self.frames(seq..seq + 1, u64::MAX, &mut |info, _, bytes| {
            if info.length > LOOK_LIMIT {
                return Err(SourceError(format!(
                    "frame {seq} has {} bytes, more than the {LOOK_LIMIT} that are looked into at once",
                    info.length
                )));
            }
            found.get_or_insert_default().extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns all messages.
    ///
    /// # Errors
    /// What kept them from being read.
    fn all_messages(&self) -> Result<Vec<Message>, SourceError> {
        let mut all = Vec::new();
        self.messages(0..u64::MAX, &mut |message| {
            all.push(message);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }
}
