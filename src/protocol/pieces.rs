//! Holds what has come of an open unit, and hands it on whole or, where it grows long, in parts.

use super::line::{PART_SIZE, Piece, WHOLE_LIMIT};

/// The bytes of a unit that has not ended yet.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pending: Vec<u8>,
    in_parts: bool,
}

impl Pieces {
    /// Returns how many bytes are held.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns true if nothing has come of a unit.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && !self.in_parts
    }

    /// Takes more of the unit; parts of a long one are handed on.
    pub(super) fn keep(&mut self, bytes: &[u8], emit: &mut impl FnMut(Piece<'_>)) {
        self.pending.extend_from_slice(bytes);
        if !self.in_parts && self.pending.len() <= WHOLE_LIMIT {
            return;
        }
        self.in_parts = true;
        // One byte is always kept back: the last part is the one that ends the unit, even when it is full.
        let mut from = 0;
        while self.pending.len() - from > PART_SIZE {
            emit(Piece::Part { bytes: &self.pending[from..from + PART_SIZE], last: false });
            from += PART_SIZE;
        }
        self.pending.drain(..from);
    }

    /// Ends the unit.
    pub(super) fn end(&mut self, emit: &mut impl FnMut(Piece<'_>)) {
        if self.in_parts {
            emit(Piece::Part { bytes: &self.pending, last: true });
        } else {
            emit(Piece::Whole(&self.pending));
        }
        self.in_parts = false;
        self.pending.clear();
        // A long unit must not leave its megabyte behind for the rest of the session.
        self.pending.shrink_to(PART_SIZE);
    }
}
