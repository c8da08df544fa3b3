//! What is no text: base64 (RFC 4648) and SHA-256 (FIPS 180-4), so that two pictures can be told apart.

/// Decodes base64, either alphabet, padding and line ends as they come; `None` if it is none.
#[must_use]
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    let mut letters = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n'));
    for letter in letters.by_ref() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap_or(0));
        }
    }
    letters.all(|letter| letter == b'=').then_some(bytes)
}

/// Returns the SHA-256 of bytes, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let constants = Constants::new();
    let mut state = constants.start;
    let mut chunks = bytes.chunks_exact(64);
    for chunk in chunks.by_ref() {
        compress(&mut state, chunk, &constants.rounds);
    }
    let mut last = chunks.remainder().to_vec();
    last.push(0x80);
    while last.len() % 64 != 56 {
        last.push(0);
    }
    let bits = u64::try_from(bytes.len()).unwrap_or(u64::MAX).wrapping_mul(8);
    last.extend(bits.to_be_bytes());
    for chunk in last.chunks_exact(64) {
        compress(&mut state, chunk, &constants.rounds);
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

/// The constants of the standard: fractions of the square and cube roots of the first primes.
struct Constants {
    start: [u32; 8],
    rounds: [u32; 64],
}

impl Constants {
    fn new() -> Self {
        let mut constants = Self { start: [0; 8], rounds: [0; 64] };
        let primes = (2_u128..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
        for (at, prime) in primes.take(64).enumerate() {
            if let Some(word) = constants.start.get_mut(at) {
                *word = fraction_of_root(prime, 2);
            }
            if let Some(word) = constants.rounds.get_mut(at) {
                *word = fraction_of_root(prime, 3);
            }
        }
        constants
    }
}

/// Returns the first 32 bits of the fraction of a root: the root of the number times 2^(32·degree), its low bits.
fn fraction_of_root(number: u128, degree: u32) -> u32 {
    let scaled = number << (32 * degree);
    let (mut low, mut high) = (0_u128, 1 << 36);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if middle.pow(degree) <= scaled { low = middle } else { high = middle }
    }
    u32::try_from(low & 0xffff_ffff).unwrap_or(0)
}

fn compress(state: &mut [u32; 8], chunk: &[u8], rounds: &[u32; 64]) {
    let mut words = [0_u32; 64];
    for (word, four) in words.iter_mut().zip(chunk.chunks_exact(4)) {
        *word = four.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
    }
    for at in 16..64 {
        let (early, late) = (words[at - 15], words[at - 2]);
        let s0 = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let s1 = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        words[at] = words[at - 16].wrapping_add(s0).wrapping_add(words[at - 7]).wrapping_add(s1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(rounds) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = e & f ^ !e & g;
        let t1 = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(*constant).wrapping_add(*word);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let t2 = s0.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_both_alphabets() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9vYmFy", b"foobar"),
            ("Zm9v\r\nYmFy", b"foobar"),
            ("__-_", b"\xff\xff\xbf"),
            ("//+/", b"\xff\xff\xbf"),
            ("Zg", b"f"),
        ] {
            assert_eq!(decode_base64(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(decode_base64("a b"), None);
        assert_eq!(decode_base64("Zg==x"), None);
    }

    // The examples of the standard's authors (NIST, "Secure Hashing").
    #[test]
    fn sha256_of_the_examples() {
        for (text, hash) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ] {
            assert_eq!(sha256(text.as_bytes()), hash, "{text}");
        }
    }
}
