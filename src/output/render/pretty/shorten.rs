//! Strings and numbers that are too long to be shown.

use std::borrow::Cow;

/// The least room that a string gets, however narrow the terminal or deep the nesting.
const LEAST_STRING_CHARS: usize = 24;

/// Returns the text of at least the first `chars + 1` characters, or of all where there are fewer.
///
/// A character takes four bytes at most, so one that the cut splits lies beyond these.
pub(super) fn lossy_start(bytes: &[u8], chars: usize) -> Cow<'_, str> {
    let enough = chars.saturating_add(1).saturating_mul(4);
    String::from_utf8_lossy(bytes.get(..enough).unwrap_or(bytes))
}

/// Returns a scalar's spelling in at most `max_chars` characters (or 24, if that is more).
///
/// What is too long is cut with `…`, a string between escapes and within its quotes, and its size
/// is said.
pub(super) fn shortened(raw: &[u8], max_chars: usize) -> Cow<'_, str> {
    let max_chars = max_chars.max(LEAST_STRING_CHARS);
    let start = lossy_start(raw, max_chars);
    if start.chars().nth(max_chars).is_none() {
        return start;
    }
    let (quote, length) = match raw {
        [b'"', inner @ .., b'"'] => ("\"", inner.len()),
        _ => ("", raw.len()),
    };
    let note = format!("…{quote} ({})", human_size(length));
    let head = whole_units(&start, max_chars.saturating_sub(note.chars().count()));
    Cow::Owned(format!("{head}{note}"))
}

/// Returns the start of a spelling that has at most `max_chars` characters and does not end within
/// an escape.
pub(super) fn whole_units(text: &str, max_chars: usize) -> &str {
    let mut used = 0;
    let mut rest = text.chars();
    loop {
        let kept = text.len() - rest.as_str().len();
        let unit = match (rest.next(), rest.as_str().starts_with('u')) {
            (Some('\\'), true) => 6,
            (Some('\\'), false) => 2,
            (Some(_), _) => 1,
            (None, _) => return text,
        };
        used += unit;
        if used > max_chars {
            return text.get(..kept).unwrap_or(text);
        }
        for _ in 1..unit {
            rest.next();
        }
    }
}

/// Writes a number of bytes with one decimal, in powers of 1000.
pub(super) fn human_size(bytes: usize) -> String {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let units = [("KB", 100), ("MB", 100_000), ("GB", 100_000_000)];
    let mut shown = String::new();
    for (unit, tenth_of_unit) in units {
        let tenths = bytes.saturating_add(tenth_of_unit / 2) / tenth_of_unit;
        shown = format!("{}.{} {unit}", tenths / 10, tenths % 10);
        // Rounding can reach 1000.0, which the next unit says better.
        if tenths < 10_000 {
            break;
        }
    }
    shown
}
