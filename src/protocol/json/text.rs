//! Strings: what an escaped spelling stands for.

use memchr::memchr;
use std::borrow::Cow;

/// A stretch of a string's spelling.
enum Piece<'a> {
    /// Bytes that stand for themselves; not necessarily UTF-8.
    Plain(&'a [u8]),
    /// What an escape, or a pair of them, stands for.
    Char(char),
    /// Half of a UTF-16 pair without the other half (RFC 8259 §8.2).
    LoneSurrogate(u16),
}

/// Cuts a spelling, without its quotes, into pieces; a malformed escape stands for itself.
struct Pieces<'a> {
    rest: &'a [u8],
}

impl<'a> Pieces<'a> {
    /// Takes the first `count` bytes away and returns them.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }

    /// Reads `\uXXXX` at `offset`.
    fn code_unit(&self, offset: usize) -> Option<u16> {
        let escape = self.rest.get(offset..offset + 6)?;
        let digits = escape.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |value: u16, digit| {
            let digit = char::from(*digit).to_digit(16)?;
            Some((value << 4) | u16::try_from(digit).ok()?)
        })
    }

    fn unicode_escape(&mut self) -> Piece<'a> {
        let Some(unit) = self.code_unit(0) else {
            return Piece::Plain(self.take(1));
        };
        if let Some(plain) = char::from_u32(u32::from(unit)) {
            self.take(6);
            return Piece::Char(plain);
        }
        let pair = [unit, self.code_unit(6).unwrap_or(0)];
        if let Some(Ok(joined)) = char::decode_utf16(pair).next() {
            self.take(12);
            return Piece::Char(joined);
        }
        self.take(6);
        Piece::LoneSurrogate(unit)
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if *self.rest.first()? != b'\\' {
            let length = memchr(b'\\', self.rest).unwrap_or(self.rest.len());
            return Some(Piece::Plain(self.take(length)));
        }
        let plain = match self.rest.get(1) {
            Some(b'u') => return Some(self.unicode_escape()),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(*same),
            _ => return Some(Piece::Plain(self.take(1))),
        };
        self.take(2);
        Some(Piece::Char(plain))
    }
}

fn without_quotes(raw: &[u8]) -> &[u8] {
    raw.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(raw)
}

/// Returns the text that a string's spelling stands for, given with its quotes.
///
/// Lone surrogates and invalid UTF-8 are shown as U+FFFD, so different strings can look the same;
/// [`unescape_bytes`] tells them apart. Borrows where there is nothing to change.
pub fn unescape(raw_with_quotes: &[u8]) -> Cow<'_, str> {
    let inner = without_quotes(raw_with_quotes);
    if memchr(b'\\', inner).is_none() {
        return String::from_utf8_lossy(inner);
    }
    let mut text = String::with_capacity(inner.len());
    for piece in (Pieces { rest: inner }) {
        match piece {
            Piece::Plain(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
            Piece::Char(plain) => text.push(plain),
            Piece::LoneSurrogate(_) => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    Cow::Owned(text)
}

/// Returns the bytes that a string's spelling stands for, given with its quotes; two strings are
/// the same when these are.
///
/// UTF-8 where the string is text. Invalid UTF-8 stays as it is, and a lone surrogate takes the
/// three bytes that UTF-8's scheme would give it (as in WTF-8), so nothing is lost. Borrows where
/// there is nothing to change.
pub fn unescape_bytes(raw_with_quotes: &[u8]) -> Cow<'_, [u8]> {
    let inner = without_quotes(raw_with_quotes);
    if memchr(b'\\', inner).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut exact = Vec::with_capacity(inner.len());
    for piece in (Pieces { rest: inner }) {
        match piece {
            Piece::Plain(bytes) => exact.extend_from_slice(bytes),
            Piece::Char(plain) => {
                exact.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Piece::LoneSurrogate(unit) => {
                let [high, low] = unit.to_be_bytes();
                exact.extend([0xE0 | (high >> 4), 0x80 | ((high & 0x0F) << 2) | (low >> 6), 0x80 | (low & 0x3F)]);
            }
        }
    }
    Cow::Owned(exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        for (raw, text) in [
            (r#""""#, ""),
            (r#""plain""#, "plain"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\u00e9\u00C9\u0000""#, "éÉ\0"),
            (r#""a\ud83d\ude00b""#, "a😀b"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\\u0041""#, "\\u0041"),
        ] {
            assert_eq!(unescape(raw.as_bytes()), text, "{raw}");
        }
    }

    #[test]
    fn malformed_spellings_stand_for_themselves() {
        for raw in ["\"", "\"\\", "\\u12", "\\uzzzz", "\\x", "", "\"\\u+123\""] {
            let inner = if raw.len() > 7 { "\\u+123" } else { raw };
            assert_eq!(unescape(raw.as_bytes()), inner, "{raw}");
            assert_eq!(unescape_bytes(raw.as_bytes()).as_ref(), inner.as_bytes(), "{raw}");
        }
    }

    #[test]
    fn invalid_bytes_are_shown_but_kept() {
        assert_eq!(unescape(b"\"\xff\\n\xe2\x82\""), "\u{fffd}\n\u{fffd}");
        assert_eq!(unescape_bytes(b"\"\xff\\n\"").as_ref(), b"\xff\n");
        assert!(matches!(unescape(b"\"abc\""), Cow::Borrowed("abc")));
    }

    #[test]
    fn lone_surrogates_stay_different() {
        assert_eq!(unescape_bytes(br#""\ud800""#).as_ref(), b"\xED\xA0\x80");
        assert_eq!(unescape_bytes(br#""\udfff""#).as_ref(), b"\xED\xBF\xBF");
        assert_eq!(unescape_bytes(br#""\ud83d\ude00""#).as_ref(), "😀".as_bytes());
    }
}
