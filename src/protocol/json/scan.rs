//! Strings and numbers: where a token ends, and whether it is one.

use memchr::memchr2;
use std::{error::Error, fmt};

/// Why and where a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte, from 0, at which reading stopped; the length of the text where it ends too early.
    pub offset: usize,
    /// What is wrong there, as a lower-case fragment.
    pub what: &'static str,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at byte {}", self.what, self.offset)
    }
}

impl Error for SyntaxError {}

/// Makes an error, of which the end of the text is the better explanation when it has been reached.
pub(super) fn error_at(bytes: &[u8], offset: usize, what: &'static str) -> SyntaxError {
    let what = if offset < bytes.len() { what } else { "the text ends too early" };
    SyntaxError { offset, what }
}

/// Returns the place after the closing quote of the string that opens at `start`.
pub(super) fn scan_string(bytes: &[u8], start: usize) -> Result<usize, SyntaxError> {
    let mut at = start + 1;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let found = memchr2(b'"', b'\\', rest);
        let plain = rest.get(..found.unwrap_or(rest.len())).unwrap_or_default();
        if let Some(position) = find_control_character(plain) {
            let what = "a control character in a string must be escaped";
            return Err(error_at(bytes, at + position, what));
        }
        at += plain.len();
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(_) => at = scan_escape(bytes, at)?,
            None => return Err(error_at(bytes, at, "")),
        }
    }
}

/// Looks for U+0000 to U+001F, by blocks, so that the compiler can compare many bytes at once.
fn find_control_character(plain: &[u8]) -> Option<usize> {
    let clean_blocks =
        plain.chunks(64).take_while(|block| block.iter().copied().fold(u8::MAX, u8::min) >= 0x20).count();
    let from = clean_blocks * 64;
    let rest = plain.get(from..)?;
    Some(from + rest.iter().position(|byte| *byte < 0x20)?)
}

/// Returns the place after the escape whose backslash is at `start`; lone surrogates are accepted.
fn scan_escape(bytes: &[u8], start: usize) -> Result<usize, SyntaxError> {
    match bytes.get(start + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(start + 2),
        Some(b'u') => {
            for at in start + 2..start + 6 {
                if !bytes.get(at).is_some_and(u8::is_ascii_hexdigit) {
                    return Err(error_at(bytes, at, "`\\u` wants four hexadecimal digits"));
                }
            }
            Ok(start + 6)
        }
        _ => Err(error_at(bytes, start + 1, "an unknown escape in a string")),
    }
}

/// Returns the place after the number that begins at `start` (RFC 8259 §6).
pub(crate) fn scan_number(bytes: &[u8], start: usize) -> Result<usize, SyntaxError> {
    let mut at = start;
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { scan_digits(bytes, at)? };
    if bytes.get(at) == Some(&b'.') {
        at = scan_digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = scan_digits(bytes, at)?;
    }
    Ok(at)
}

/// Returns the place after one or more digits.
fn scan_digits(bytes: &[u8], start: usize) -> Result<usize, SyntaxError> {
    let mut at = start;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at == start {
        return Err(error_at(bytes, at, "a digit was expected"));
    }
    Ok(at)
}
