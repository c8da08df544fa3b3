//! What a masked value must look like.

use crate::analysis::volatile::{Mask, spans};
use crate::protocol::json::{Kind, Node};
use crate::session::mask::MaskType;

/// The longest text that can be a moment or a duration, in bytes.
const LONGEST_MOMENT: usize = 64;

/// Units of time, as they stand behind a number.
pub(in crate::analysis) const UNITS: [&str; 24] = [
    "ns",
    "us",
    "µs",
    "μs",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "m",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hr",
    "hrs",
    "hour",
    "hours",
    "d",
    "days",
    "millis",
    "milliseconds",
];

/// Names of months and days, and what else stands in moments.
const WORDS: [&str; 25] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon", "tue", "wed", "thu",
    "fri", "sat", "sun", "am", "pm", "utc", "gmt", "z", "t",
];

/// Tells whether a value looks like one of a type.
pub(super) fn fits(kind: MaskType, node: Node<'_, '_>) -> bool {
    match (kind, node.kind()) {
        (MaskType::Random, _) | (MaskType::Order, Kind::Array) => true,
        (_, Kind::String) => node.as_text().is_some_and(|text| text_fits(kind, &text)),
        (MaskType::Timestamp | MaskType::Duration, Kind::Number) => true,
        (MaskType::Counter, Kind::Number) => node.as_number().is_some_and(is_whole),
        _ => false,
    }
}

/// Tells whether a text, or a part of one, looks like a value of a type.
pub(in crate::analysis) fn text_fits(kind: MaskType, text: &str) -> bool {
    match kind {
        MaskType::Timestamp => is_moment(text),
        MaskType::Uuid => is_uuid(text),
        MaskType::Duration => is_duration(text),
        MaskType::Counter => is_whole(text),
        MaskType::Token => !text.is_empty() && !text.contains(char::is_whitespace),
        MaskType::Random => !text.is_empty(),
        MaskType::Order => false,
    }
}

fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for `8-4-4-4-12` hexadecimal digits, and for the same without its dashes.
fn is_uuid(text: &str) -> bool {
    let hex = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| *byte == b'-').map(|(at, _)| at).collect();
    hex == 32 && (dashes == [8, 13, 18, 23] && text.len() == 36 || text.len() == 32)
}

/// Returns the stretches of letters in a text.
fn letters(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty())
}

/// Returns true for a moment in any spelling: digits, and no words but those of dates.
fn is_moment(text: &str) -> bool {
    if text.len() > LONGEST_MOMENT || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return spans(text, None).iter().any(|span| span.shape.mask == Mask::Timestamp && text.len() <= LONGEST_MOMENT);
    }
    let of_date = |word: &str| {
        let lower = word.to_lowercase();
        let zone = word.len() <= 5 && word.chars().all(char::is_uppercase);
        zone || WORDS.contains(&lower.as_str())
            || lower.len() >= 3 && WORDS.iter().any(|name| name.len() == 3 && lower.starts_with(name))
    };
    letters(text).all(of_date)
}

/// Returns true for a number, with a unit or several: `12`, `1.5 s`, `1m 30s`, `0:01:02`.
fn is_duration(text: &str) -> bool {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.len() <= LONGEST_MOMENT
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | ',' | ':' | ' ' | '-' | '+'))
        && letters(digits).all(|word| UNITS.contains(&word.to_lowercase().as_str()) || matches!(word, "e" | "E"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        use MaskType::{Counter, Duration, Order, Random, Timestamp, Token, Uuid};
        for (kind, text, fits) in [
            (Timestamp, "2026-11-30T14:31:00Z", true),
            (Timestamp, "14:31", true),
            (Timestamp, "30 November 2026 CET", true),
            (Timestamp, "1796049060", true),
            (Timestamp, "never", false),
            (Timestamp, "error 5", false),
            (Uuid, "550e8400-e29b-41d4-a716-446655440000", true),
            (Uuid, "550e8400e29b41d4a716446655440000", true),
            (Uuid, "550e8400-e29b-41d4-a716-44665544000", false),
            (Duration, "12", true),
            (Duration, "1.5 s", true),
            (Duration, "1m 30s", true),
            (Duration, "12 apples", false),
            (Duration, "soon", false),
            (Counter, "41", true),
            (Counter, "4.1", false),
            (Token, "a-b", true),
            (Token, "a b", false),
            (Token, "", false),
            (Random, "a b", true),
            (Order, "a", false),
        ] {
            assert_eq!(text_fits(kind, text), fits, "{kind:?} {text}");
        }
    }
}
