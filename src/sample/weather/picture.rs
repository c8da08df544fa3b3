//! A radar picture: a valid PNG without a compressor.

/// The width and height of the picture.
const SIDE: u32 = 1024;

/// Paints rings around the station and adds `frame_bytes` of payload for each of `frames`.
pub(super) fn png(frames: usize, frame_bytes: usize) -> Vec<u8> {
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    let side = SIDE.to_be_bytes();
    // One bit a pixel, grey.
    chunk(&mut picture, b"IHDR", &[&side[..], &side[..], &[1, 0, 0, 0, 0]].concat());
    chunk(&mut picture, b"IDAT", &stored(&pixels()));
    for frame in 0..frames.min(10_000) {
        if frame_bytes > 0 {
            // A private chunk that viewers pass over.
            let filler: Vec<u8> = (0..frame_bytes).map(|at| (at * 31 + frame * 7) as u8).collect();
            chunk(&mut picture, b"raDr", &filler);
        }
    }
    chunk(&mut picture, b"IEND", &[]);
    picture
}

fn pixels() -> Vec<u8> {
    let mut rows = Vec::new();
    for y in 0..SIDE {
        rows.push(0);
        for group in 0..SIDE / 8 {
            let bit = |x: u32| {
                let (x, y) = (x.abs_diff(SIDE / 2), y.abs_diff(SIDE / 2));
                u8::from((x * x + y * y) / 8192 % 3 == 0)
            };
            rows.push((0..8).fold(0, |byte, x| byte << 1 | bit(group * 8 + x)));
        }
    }
    rows
}

/// Wraps bytes as a zlib stream of stored blocks (RFC 1950, RFC 1951).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let blocks = bytes.chunks(0xffff);
    let last = blocks.len().saturating_sub(1);
    for (index, block) in blocks.enumerate() {
        let length = block.len() as u16;
        stream.push(u8::from(index == last));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    stream.extend_from_slice(&(high << 16 | low).to_be_bytes());
    stream
}

fn chunk(picture: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    picture.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let start = picture.len();
    picture.extend_from_slice(kind);
    picture.extend_from_slice(data);
    let sum = crc32(&picture[start..]);
    picture.extend_from_slice(&sum.to_be_bytes());
}

/// Computes the checksum of PNG chunks (ISO 3309).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |state, &byte| {
        (0..8).fold(
            state ^ u32::from(byte),
            |state, _| {
                if state & 1 == 1 { state >> 1 ^ 0xedb8_8320 } else { state >> 1 }
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{crc32, png};

    #[test]
    fn checksum_matches_the_known_value() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn size_depends_on_frames() {
        assert_eq!(png(24, 100).len() - png(0, 100).len(), 24 * 112);
    }
}
