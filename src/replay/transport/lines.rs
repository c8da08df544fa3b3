//! A stream of a server: a copy for the recording first, then its lines.

use crate::capture::tap::{Item, Lane, Tap};
use crate::protocol::line::{LineFramer, Piece};
use crate::transport::streams;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The longest line that is looked into, in bytes; of a longer one the beginning.
const LINE_LIMIT: usize = 64 << 20;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// The lines of a stream.
pub(super) struct Lines {
    lane: Lane,
    tap: Arc<Tap>,
    from: Option<OwnedFd>,
    buffer: Vec<u8>,
    framer: LineFramer,
    long: Vec<u8>,
    waiting: VecDeque<Vec<u8>>,
}

impl Lines {
    /// Returns the lines of a stream from its beginning.
    pub(super) fn of(lane: Lane, from: OwnedFd, tap: &Arc<Tap>) -> Self {
        Self {
            lane,
            tap: Arc::clone(tap),
            from: Some(from),
            buffer: vec![0; CHUNK],
            framer: LineFramer::new(),
            long: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Returns the next line that is there already.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.waiting.pop_front()
    }

    /// Returns what is to be read; `None` once it has ended.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    /// Reads once, waiting for it; false if the stream has ended.
    pub(super) fn read(&mut self) -> bool {
        let Some(from) = &self.from else { return false };
        let read = streams::read(from.as_fd(), &mut self.buffer).unwrap_or(0);
        let bytes = self.buffer.get(..read).unwrap_or_default();
        let (long, waiting) = (&mut self.long, &mut self.waiting);
        let each = |piece: Piece<'_>| match piece {
            Piece::Whole(line) => waiting.push_back(line.to_vec()),
            Piece::Part { bytes, last } => {
                if long.len() + bytes.len() <= LINE_LIMIT {
                    long.extend_from_slice(bytes);
                }
                if last {
                    waiting.push_back(std::mem::take(long));
                }
            }
        };
        if read == 0 {
            self.framer.finish(each);
            self.from = None;
            self.tap.tell(Item::End(self.lane));
            return false;
        }
        let now = self.tap.clock().elapsed_ns();
        self.tap.chunk(self.lane, now, now, bytes);
        self.framer.push(bytes, each);
        true
    }
}
