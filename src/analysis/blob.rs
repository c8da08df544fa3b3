//! What is no text: base64 (RFC 4648) and SHA-256 (FIPS 180-4), so that two pictures can be told apart.

use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use sha2::{Digest, Sha256};

/// Servers pad or do not, and some leave bits in the last letter: what is meant is plain.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

/// Decodes base64, either alphabet, padding and line ends as they come; `None` if it is none.
#[must_use]
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let url = text.contains(['-', '_']);
    let letters: &alphabet::Alphabet = if url { &URL_SAFE } else { &STANDARD };
    let engine = GeneralPurpose::new(letters, LENIENT);
    if text.contains(['\r', '\n']) {
        return engine.decode(text.replace(['\r', '\n'], "")).ok();
    }
    engine.decode(text).ok()
}

/// Returns the SHA-256 of bytes, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
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
