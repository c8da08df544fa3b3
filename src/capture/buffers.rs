//! The memory that chunks travel in: small ones are copied, large ones are shared by the pump and the recorder.
//!
//! Fresh memory is slow: the kernel clears every page when it is first touched, which costs a burst more than all else
//! that is done to it. So large buffers are used again, and a few are touched before they are needed.

use std::ops::Deref;
use std::sync::Arc;

/// How much a pump reads at once, in bytes: what a pipe holds.
pub const CHUNK: usize = 64 << 10;

/// What is shorter is copied, in bytes: a whole buffer for it would be a waste.
const WORTH_SHARING: usize = 48 << 10;

/// How many buffers of a pump are kept when nobody reads in them any more.
const KEPT: usize = 128;

/// The bytes of a chunk.
#[derive(Debug, Clone)]
pub struct Bytes {
    buffer: Arc<[u8]>,
    from: usize,
    to: usize,
}

impl Bytes {
    /// Returns a part of these bytes, in the same memory.
    #[must_use]
    pub fn part(&self, from: usize, to: usize) -> Self {
        let to = self.from + to.min(self.len());
        Self { buffer: Arc::clone(&self.buffer), from: (self.from + from).min(to), to }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.get(self.from..self.to).unwrap_or_default()
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self { buffer: bytes.into(), from: 0, to: bytes.len() }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

/// Returns a buffer whose pages have been touched.
#[must_use]
pub fn touched() -> Arc<[u8]> {
    // Not zeroes: those the allocator may promise without touching anything.
    Arc::from(vec![0xaa; CHUNK])
}

/// The buffers of one pump, used in turn.
#[derive(Debug, Default)]
pub struct Buffers {
    all: Vec<Arc<[u8]>>,
    next: usize,
}

impl Buffers {
    /// Reads with `read` into a buffer that nobody else looks at, and returns what was read.
    ///
    /// `spare` may have one when all are in use.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn fill<E>(
        &mut self,
        spare: impl FnOnce() -> Option<Arc<[u8]>>,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Bytes, E> {
        self.next = if self.next < self.all.len() { self.next } else { 0 };
        // The recorder gives them back in the order in which it got them: the next one is free, or none is.
        if self.all.get_mut(self.next).is_none_or(|buffer| Arc::get_mut(buffer).is_none()) {
            self.all.insert(self.next, spare().unwrap_or_else(touched));
        }
        let Some(buffer) = self.all.get_mut(self.next) else { return Ok(Bytes::from(&[][..])) };
        let Some(room) = Arc::get_mut(buffer) else { return Ok(Bytes::from(&[][..])) };
        let read = read(room)?;
        if read < WORTH_SHARING {
            return Ok(Bytes::from(buffer.get(..read).unwrap_or_default()));
        }
        let bytes = Bytes { buffer: Arc::clone(buffer), from: 0, to: read };
        if self.all.len() > KEPT {
            // The recorder frees this one.
            self.all.remove(self.next);
        } else {
            self.next += 1;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(buffers: &mut Buffers, byte: u8, length: usize) -> Bytes {
        let read = |room: &mut [u8]| -> Result<usize, ()> {
            room.iter_mut().take(length).for_each(|place| *place = byte);
            Ok(length)
        };
        buffers.fill(|| None, read).expect("reading does not fail")
    }

    #[test]
    fn what_somebody_holds_is_never_written_over() {
        let mut buffers = Buffers::default();
        let held: Vec<Bytes> = (0..200).map(|byte| fill(&mut buffers, byte, CHUNK - usize::from(byte))).collect();
        for (byte, bytes) in held.iter().enumerate() {
            assert_eq!(bytes.len(), CHUNK - byte);
            assert!(bytes.iter().all(|found| usize::from(*found) == byte));
        }
        assert!(buffers.all.len() <= KEPT + 1);
    }

    #[test]
    fn what_nobody_holds_is_used_again() {
        let mut buffers = Buffers::default();
        for byte in 0..100 {
            assert_eq!(fill(&mut buffers, byte, CHUNK)[7], byte);
            assert_eq!(*fill(&mut buffers, byte, 3), [byte; 3]);
        }
        assert_eq!(buffers.all.len(), 1);
    }

    #[test]
    fn a_part_is_cut_to_what_is_there() {
        let bytes = Bytes::from(&b"abcdef"[..]);
        assert_eq!((&*bytes.part(1, 3), &*bytes.part(4, 99), &*bytes.part(9, 12)), (&b"bc"[..], &b"ef"[..], &b""[..]));
        assert_eq!(&*bytes.part(2, 6).part(1, 2), b"d");
    }
}
