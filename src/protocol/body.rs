//! Collects the body of an HTTP message: one frame, whatever the reads.

use super::line::Piece;
use super::pieces::Pieces;

/// Collects the chunks of one body.
#[derive(Debug, Default)]
pub struct BodyFramer {
    pieces: Pieces,
}

impl BodyFramer {
    /// Returns how many bytes wait for the end of the body.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pieces.pending()
    }

    /// Takes the next chunk; parts of a long body are handed on.
    pub fn push(&mut self, chunk: &[u8], mut emit: impl FnMut(Piece<'_>)) {
        self.pieces.keep(chunk, &mut emit);
    }

    /// Hands on the body, or the rest of a long one; an empty body is none.
    pub fn finish(&mut self, mut emit: impl FnMut(Piece<'_>)) {
        if !self.pieces.is_empty() {
            self.pieces.end(&mut emit);
        }
    }
}
