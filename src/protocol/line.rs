//! Cuts a byte stream into lines, wherever the reads happened to end.
//!
//! The byte 0A is the only border (MCP, stdio transport); its terminator stays with the line, so that the lines,
//! concatenated, are the stream. A line above [`WHOLE_LIMIT`] is handed on in parts and never held whole.

/// The longest line that is kept in one piece, in bytes.
pub const WHOLE_LIMIT: usize = 1 << 20;

/// The size of the parts of a longer line, in bytes; the last part of a line may be shorter.
pub const PART_SIZE: usize = 256 << 10;

/// A line, or a part of a long one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A complete line with its terminator, or, at the end of the stream, without.
    Whole(&'a [u8]),
    /// The next part of a line above [`WHOLE_LIMIT`].
    Part {
        /// The bytes of this part.
        bytes: &'a [u8],
        /// True if the line ends here.
        last: bool,
    },
}

/// Collects the chunks of one stream into lines.
#[derive(Debug, Default)]
pub struct LineFramer {
    pending: Vec<u8>,
    in_parts: bool,
    skipping: bool,
}

impl LineFramer {
    /// Returns a framer at the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns how many bytes wait for the end of their line.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Takes the next chunk and hands on every line, or part, that it completes.
    ///
    /// Returns the number of bytes passed over because the stream was being picked up again after [`Self::lost`].
    pub fn push(&mut self, chunk: &[u8], mut emit: impl FnMut(Piece<'_>)) -> usize {
        let mut rest = chunk;
        let mut skipped = 0;
        if self.skipping {
            let Some(end) = memchr::memchr(b'\n', rest) else { return rest.len() };
            skipped = end + 1;
            rest = rest.get(skipped..).unwrap_or_default();
            self.skipping = false;
        }
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.pending.is_empty() && !self.in_parts && line.len() <= WHOLE_LIMIT {
                emit(Piece::Whole(line));
                continue;
            }
            self.keep(line, &mut emit);
            self.end_line(&mut emit);
        }
        if !rest.is_empty() {
            self.keep(rest, &mut emit);
        }
        skipped
    }

    /// Hands on what is there at the end of the stream: a line without its terminator.
    pub fn finish(&mut self, mut emit: impl FnMut(Piece<'_>)) {
        if self.in_parts || !self.pending.is_empty() {
            self.end_line(&mut emit);
        }
    }

    /// Notes that bytes of the stream are missing from here on.
    ///
    /// What had come of the open line is handed on, and everything up to the next line end is passed over.
    pub fn lost(&mut self, emit: impl FnMut(Piece<'_>)) {
        self.finish(emit);
        self.skipping = true;
    }

    fn keep(&mut self, bytes: &[u8], emit: &mut impl FnMut(Piece<'_>)) {
        self.pending.extend_from_slice(bytes);
        if !self.in_parts && self.pending.len() <= WHOLE_LIMIT {
            return;
        }
        self.in_parts = true;
        // One byte is always kept back: the last part is the one that ends the line, even when it is full.
        let mut from = 0;
        while self.pending.len() - from > PART_SIZE {
            emit(Piece::Part { bytes: &self.pending[from..from + PART_SIZE], last: false });
            from += PART_SIZE;
        }
        self.pending.drain(..from);
    }

    fn end_line(&mut self, emit: &mut impl FnMut(Piece<'_>)) {
        if self.in_parts {
            emit(Piece::Part { bytes: &self.pending, last: true });
        } else {
            emit(Piece::Whole(&self.pending));
        }
        self.in_parts = false;
        self.pending.clear();
        // A long line must not leave its megabyte behind for the rest of the session.
        self.pending.shrink_to(PART_SIZE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut framer = LineFramer::new();
        let mut lines = Vec::new();
        let mut open = Vec::new();
        let mut take = |piece: Piece<'_>| match piece {
            Piece::Whole(line) => lines.push(line.to_vec()),
            Piece::Part { bytes, last } => {
                open.extend_from_slice(bytes);
                if last {
                    lines.push(std::mem::take(&mut open));
                }
            }
        };
        for chunk in chunks {
            framer.push(chunk, &mut take);
        }
        framer.finish(&mut take);
        lines
    }

    #[test]
    fn every_cut_gives_the_same_lines() {
        let stream = b"one\r\n\n{\"a\":1}\n\x00two\xff\ntail";
        let expected: Vec<Vec<u8>> = vec![
            b"one\r\n".to_vec(),
            b"\n".to_vec(),
            b"{\"a\":1}\n".to_vec(),
            b"\x00two\xff\n".to_vec(),
            b"tail".to_vec(),
        ];
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            assert_eq!(cut(&[head, tail]), expected, "cut at {at}");
        }
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(cut(&single), expected);
    }

    #[test]
    fn an_empty_stream_has_no_lines() {
        assert!(cut(&[]).is_empty());
        assert!(cut(&[b""]).is_empty());
    }

    #[test]
    fn a_long_line_comes_in_parts_that_are_the_line() {
        let mut line = vec![b'x'; WHOLE_LIMIT + 3 * PART_SIZE + 17];
        line.push(b'\n');
        let mut parts = Vec::new();
        let mut framer = LineFramer::new();
        let mut held = 0;
        for chunk in line.chunks(60_000) {
            framer.push(chunk, |piece| match piece {
                Piece::Part { bytes, last } => parts.push((bytes.to_vec(), last)),
                Piece::Whole(_) => panic!("a long line was held whole"),
            });
            held = held.max(framer.pending());
        }
        assert!(held <= WHOLE_LIMIT);
        assert_eq!(parts.iter().filter(|(_, last)| *last).count(), 1);
        assert!(parts.last().is_some_and(|(_, last)| *last));
        assert!(parts[..parts.len() - 1].iter().all(|(bytes, _)| bytes.len() == PART_SIZE));
        assert_eq!(parts.into_iter().flat_map(|(bytes, _)| bytes).collect::<Vec<_>>(), line);
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_whole() {
        let mut line = vec![b'x'; WHOLE_LIMIT - 1];
        line.push(b'\n');
        let mut framer = LineFramer::new();
        let mut whole = 0;
        framer.push(&line[..10], |_| panic!("not yet"));
        framer.push(&line[10..], |piece| {
            whole += usize::from(matches!(piece, Piece::Whole(l) if l.len() == WHOLE_LIMIT));
        });
        assert_eq!(whole, 1);
    }

    #[test]
    fn after_a_loss_the_next_whole_line_is_the_first() {
        let mut framer = LineFramer::new();
        let mut lines = Vec::new();
        framer.push(b"first\nhal", |piece| lines.push(format!("{piece:?}")));
        framer.lost(|piece| lines.push(format!("{piece:?}")));
        assert_eq!(framer.push(b"of another", |_| panic!("inside a lost line")), 10);
        assert_eq!(framer.push(b" line\nnext\n", |piece| lines.push(format!("{piece:?}"))), 6);
        let expected: Vec<String> =
            [&b"first\n"[..], b"hal", b"next\n"].iter().map(|l| format!("{:?}", Piece::Whole(l))).collect();
        assert_eq!(lines, expected);
    }
}
