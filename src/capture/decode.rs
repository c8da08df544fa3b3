//! Decodes compressed bodies, as they come. Pure.
//!
//! The traffic passes as it is; only the copy is decoded, so that people can read it and messages can be found.

use std::io::Write;

/// How much of a body is given to a decoder at once, in bytes: what comes out may be many thousand times as long.
const SLICE: usize = 256;

/// The most that a body may decode to, in bytes.
const MOST: u64 = 1 << 30;

/// Decodes one body.
pub struct Decoder {
    inner: Inner,
    decoded: u64,
}

enum Inner {
    Gzip(flate2::write::MultiGzDecoder<Vec<u8>>),
    Deflate(flate2::write::ZlibDecoder<Vec<u8>>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Decoder<'static, Vec<u8>>),
}

/// A body that is not what its coding says, or that decodes to more than anybody could want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undecodable;

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("decoded", &self.decoded).finish_non_exhaustive()
    }
}

impl Decoder {
    /// Returns the decoder of a content coding, or `None` for one that is not known.
    #[must_use]
    pub fn of(coding: &str) -> Option<Self> {
        let inner = match coding.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Inner::Gzip(flate2::write::MultiGzDecoder::new(Vec::new())),
            "deflate" => Inner::Deflate(flate2::write::ZlibDecoder::new(Vec::new())),
            "br" => Inner::Brotli(Box::new(brotli_decompressor::DecompressorWriter::new(Vec::new(), 16 << 10))),
            "zstd" => Inner::Zstd(zstd::stream::write::Decoder::new(Vec::new()).ok()?),
            _ => return None,
        };
        Some(Self { inner, decoded: 0 })
    }

    /// Takes the next bytes of the wire and hands on what they decode to.
    ///
    /// # Errors
    /// Nothing can be decoded any more.
    pub fn push(&mut self, bytes: &[u8], mut emit: impl FnMut(&[u8])) -> Result<(), Undecodable> {
        for slice in bytes.chunks(SLICE) {
            let written = match &mut self.inner {
                Inner::Gzip(decoder) => decoder.write_all(slice).and_then(|()| decoder.flush()),
                Inner::Deflate(decoder) => decoder.write_all(slice).and_then(|()| decoder.flush()),
                Inner::Brotli(decoder) => decoder.write_all(slice).and_then(|()| decoder.flush()),
                Inner::Zstd(decoder) => decoder.write_all(slice).and_then(|()| decoder.flush()),
            };
            let out = self.inner.out();
            self.decoded += out.len() as u64;
            if !out.is_empty() {
                emit(out);
                out.clear();
            }
            if written.is_err() || self.decoded > MOST {
                return Err(Undecodable);
            }
        }
        Ok(())
    }

    /// Hands on what the decoder still holds at the end of the body.
    pub fn finish(&mut self, mut emit: impl FnMut(&[u8])) {
        // A body that breaks off is told by how its exchange ended.
        match &mut self.inner {
            Inner::Gzip(decoder) => drop(decoder.try_finish()),
            Inner::Deflate(decoder) => drop(decoder.try_finish()),
            Inner::Brotli(decoder) => drop(decoder.close()),
            Inner::Zstd(decoder) => drop(decoder.flush()),
        }
        let out = self.inner.out();
        if !out.is_empty() {
            emit(out);
            out.clear();
        }
    }
}

impl Inner {
    fn out(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"a":1}` in each coding, as other programs write it.
    const GZIP: &[u8] =
        &[31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 84, 178, 50, 172, 5, 0, 175, 172, 27, 86, 7, 0, 0, 0];
    const DEFLATE: &[u8] = &[120, 156, 171, 86, 74, 84, 178, 50, 172, 5, 0, 8, 42, 2, 9];
    const BROTLI: &[u8] = &[0x0b, 0x03, 0x80, 0x7b, 0x22, 0x61, 0x22, 0x3a, 0x31, 0x7d, 0x03];
    const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 7, 0x39, 0, 0, 0x7b, 0x22, 0x61, 0x22, 0x3a, 0x31, 0x7d];

    #[test]
    fn every_coding_is_decoded_under_every_cut() {
        for (coding, body) in [("gzip", GZIP), ("Deflate", DEFLATE), ("br", BROTLI), ("zstd", ZSTD)] {
            for size in 1..=body.len() {
                let mut decoder = Decoder::of(coding).unwrap();
                let mut out = Vec::new();
                for chunk in body.chunks(size) {
                    assert_eq!(decoder.push(chunk, |bytes| out.extend_from_slice(bytes)), Ok(()), "{coding}");
                }
                decoder.finish(|bytes| out.extend_from_slice(bytes));
                assert_eq!(String::from_utf8_lossy(&out), "{\"a\":1}", "{coding} in chunks of {size}");
            }
        }
    }

    #[test]
    fn what_is_no_such_body_is_said_and_not_more() {
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let mut decoder = Decoder::of(coding).unwrap();
            let garbage = vec![0xf3; 4096];
            assert_eq!(decoder.push(&garbage, |_| {}), Err(Undecodable), "{coding}");
        }
        assert!(Decoder::of("snappy").is_none() && Decoder::of("gzip, br").is_none());
    }
}
