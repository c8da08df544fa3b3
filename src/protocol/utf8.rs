//! Finds the first byte that is not UTF-8 in a stream that arrives in chunks.

/// Checks a stream chunk by chunk; a character may be cut by the border of two chunks.
#[derive(Debug, Default)]
pub struct Utf8Checker {
    carry: [u8; 4],
    carried: usize,
    offset: u64,
    invalid_at: Option<u64>,
}

impl Utf8Checker {
    /// Takes the next chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        if self.invalid_at.is_some() {
            return;
        }
        let mut rest = chunk;
        while self.carried > 0 {
            let Some((&byte, after)) = rest.split_first() else { return };
            self.carry[self.carried] = byte;
            self.carried += 1;
            rest = after;
            match std::str::from_utf8(&self.carry[..self.carried]) {
                Ok(_) => {
                    self.offset += self.carried as u64;
                    self.carried = 0;
                }
                Err(error) if error.error_len().is_some() || self.carried == 4 => {
                    self.invalid_at = Some(self.offset);
                    return;
                }
                Err(_) => {}
            }
        }
        match std::str::from_utf8(rest) {
            Ok(_) => self.offset += rest.len() as u64,
            Err(error) => {
                self.offset += error.valid_up_to() as u64;
                let tail = &rest[error.valid_up_to()..];
                if error.error_len().is_some() || tail.len() >= 4 {
                    self.invalid_at = Some(self.offset);
                } else {
                    self.carry[..tail.len()].copy_from_slice(tail);
                    self.carried = tail.len();
                }
            }
        }
    }

    /// Returns the offset of the first byte that is not UTF-8; a character cut by the end counts.
    #[must_use]
    pub fn finish(&self) -> Option<u64> {
        self.invalid_at.or_else(|| (self.carried > 0).then_some(self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_bad(bytes: &[u8], size: usize) -> Option<u64> {
        let mut checker = Utf8Checker::default();
        for chunk in bytes.chunks(size) {
            checker.push(chunk);
        }
        checker.finish()
    }

    #[test]
    fn is_the_same_for_every_chunk_size() {
        let cases: [(&[u8], Option<u64>); 6] = [
            ("aé😀\u{2028}z".as_bytes(), None),
            (b"caf\xe9 x", Some(3)),
            (b"\xff\xfe", Some(0)),
            (b"ok \xf0\x9f\x98", Some(3)),
            (b"\xed\xa0\x80", Some(0)),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            for size in 1..=8 {
                assert_eq!(first_bad(bytes, size), expected, "{bytes:?} in chunks of {size}");
            }
        }
    }
}
