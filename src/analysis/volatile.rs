//! What values look like that differ from run to run: moments, random ids and tokens, inside any text.
//!
//! One pass over the text, word by word; nothing but the beginning and length of a word decides which reader looks at
//! it, so the cost is linear.

use super::dates;
use serde::Serialize;

/// A kind of volatile value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// A moment in time.
    Timestamp,
    /// A UUID, a ULID or an id that the protocol makes.
    Id,
    /// A random token.
    Token,
    /// A cursor of a list.
    Cursor,
    /// The id of a task.
    TaskId,
    /// A trace context.
    Trace,
    /// Where in memory an object lies.
    Address,
    /// How long something took; by rule only.
    Duration,
    /// A number that rises; by rule only.
    Counter,
    /// Whatever a rule says is random.
    Random,
    /// The order of an array; by rule only.
    Order,
}

impl Mask {
    /// Returns the noun, in the singular.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Id => "id",
            Self::Token => "token",
            Self::Cursor => "cursor",
            Self::TaskId => "task id",
            Self::Trace => "trace context",
            Self::Address => "address",
            Self::Duration => "duration",
            Self::Counter => "counter",
            Self::Random => "random value",
            Self::Order => "order",
        }
    }
}

/// What a volatile value looks like; two values can be excused only if they look the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The kind.
    pub mask: Mask,
    /// Its spelling: form and length.
    pub form: u32,
}

/// A volatile value inside a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What it looks like.
    pub shape: Shape,
}

/// The stretch of time in which a number is taken for a moment of its session, in seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Era {
    /// The first second.
    pub from: i64,
    /// The last second.
    pub to: i64,
}

/// How far from its session a number may lie to be a moment of it, in seconds: two days.
const NEAR: i64 = 2 * 86_400;

impl Era {
    /// Returns the era of a session; `None` if nobody knows when it was.
    #[must_use]
    pub fn of(started_at_ns: i64, lasted_ns: i64) -> Option<Self> {
        let started = started_at_ns / 1_000_000_000;
        (started > 0).then(|| Self { from: started - NEAR, to: started + lasted_ns.max(0) / 1_000_000_000 + NEAR })
    }

    /// Returns the shape of a whole number, or of one with a fraction, that is a moment of the session.
    #[must_use]
    pub fn shape_of_number(self, spelling: &str) -> Option<Shape> {
        let (whole, fraction) = spelling.split_once('.').unwrap_or((spelling, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return None;
        }
        // Seconds, milliseconds, microseconds and nanoseconds are told apart by their length.
        if !matches!(whole.len(), 10 | 13 | 16 | 19) {
            return None;
        }
        let seconds: i64 = whole.get(..10)?.parse().ok()?;
        let form = 0x1_0000 | u32::try_from(whole.len()).ok()?;
        (self.from..=self.to).contains(&seconds).then_some(Shape { mask: Mask::Timestamp, form })
    }
}

/// Returns the volatile values of a text, from left to right.
#[must_use]
pub fn spans(text: &str, era: Option<Era>) -> Vec<Span> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
            at += 1;
            continue;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
        match at_word(text, at, at + length, era) {
            Some((end, shape)) => {
                found.push(Span { start: at, end, shape });
                at = end;
            }
            None => at += length,
        }
    }
    found
}

/// Looks at the word from `start` to `end`, which may be the beginning of something longer.
fn at_word(text: &str, start: usize, end: usize, era: Option<Era>) -> Option<(usize, Shape)> {
    let bytes = text.as_bytes();
    let word = bytes.get(start..end)?;
    let first = *word.first()?;
    let moment = |(end, form): (usize, u16)| (end, Shape { mask: Mask::Timestamp, form: u32::from(form) });
    if first.is_ascii_digit() {
        let read = match word.len() {
            4 | 15 | 16 => dates::iso(bytes, start),
            1 | 2 => dates::locale(bytes, start).or_else(|| dates::day_month(bytes, start)),
            _ => None,
        };
        if let Some(read) = read {
            return Some(moment(read));
        }
    } else if word.len() == 3
        && first.is_ascii_uppercase()
        && let Some(read) = dates::weekday(bytes, start)
    {
        return Some(moment(read));
    }
    if word.len() == 8
        && let Some(end) = uuid(bytes, start)
    {
        return Some((end, Shape { mask: Mask::Id, form: 1 }));
    }
    if let Some(era) = era.filter(|_| word.iter().all(u8::is_ascii_digit)) {
        let part_of_number = start > 0 && matches!(bytes.get(start - 1), Some(b'.' | b'-'));
        if let Some(shape) = era.shape_of_number(text.get(start..end)?).filter(|_| !part_of_number) {
            return Some((end, shape));
        }
    }
    if is_address(bytes, start, end) {
        return Some((end, Shape { mask: Mask::Address, form: 0 }));
    }
    token(word).map(|shape| (end, shape))
}

/// Tells whether a word is the address in what Python writes for an object, `<thing object at 0x7f2ad4c3b1d0>`.
///
/// Any other hexadecimal number is data.
fn is_address(bytes: &[u8], start: usize, end: usize) -> bool {
    let digits = bytes.get(start..end).and_then(|word| word.strip_prefix(b"0x"));
    digits.is_some_and(|digits| (6..=16).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit))
        && bytes.get(..start).is_some_and(|before| before.ends_with(b" at "))
        && bytes.get(end) == Some(&b'>')
}

/// Reads `8-4-4-4-12` hexadecimal digits (RFC 9562).
fn uuid(bytes: &[u8], start: usize) -> Option<usize> {
    let text = bytes.get(start..start + 36)?;
    let well = text.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    let ends = !bytes.get(start + 36).is_some_and(u8::is_ascii_alphanumeric);
    (well && ends).then_some(start + 36)
}

/// Returns the shape of a word that is too random to mean anything.
///
/// Digests (40 and 64 hexadecimal digits) are left: they change because something else did.
fn token(word: &[u8]) -> Option<Shape> {
    if word.len() < 16 || word.len() > 512 {
        return None;
    }
    let form = u32::try_from(word.len()).ok()?;
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let (upper, lower) = (word.iter().any(u8::is_ascii_uppercase), word.iter().any(u8::is_ascii_lowercase));
    let hex = word.iter().all(u8::is_ascii_hexdigit);
    if hex && matches!(word.len(), 16 | 24 | 32) && upper != lower && digits >= 2 {
        return Some(Shape { mask: Mask::Token, form });
    }
    if word.len() == 26 && upper && !lower && digits >= 3 && word.first().is_some_and(|byte| *byte <= b'7') {
        return Some(Shape { mask: Mask::Id, form: 2 });
    }
    let runs = word.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    let mixed = !hex && word.len() >= 20 && upper && lower && digits >= 2 && runs >= 3;
    mixed.then_some(Shape { mask: Mask::Token, form: 0x1_0000 | form })
}

#[cfg(test)]
mod tests {
    use super::*;

    // 2026-11-30T14:31:00Z
    const NOW: i64 = 1_796_049_060;

    fn found(text: &str) -> Vec<(&str, Mask)> {
        let era = Era::of(NOW * 1_000_000_000, 60_000_000_000);
        spans(text, era).iter().map(|span| (&text[span.start..span.end], span.shape.mask)).collect()
    }

    #[test]
    fn volatile_values_are_found_inside_text() {
        for (text, expected) in [
            (
                "made 550e8400-e29b-41d4-a716-446655440000 at 2026-11-30T14:31:00.123Z.",
                vec![("550e8400-e29b-41d4-a716-446655440000", Mask::Id), ("2026-11-30T14:31:00.123Z", Mask::Timestamp)],
            ),
            ("id_550E8400-E29B-41D4-A716-446655440000", vec![("550E8400-E29B-41D4-A716-446655440000", Mask::Id)]),
            ("1796049060, 1796049060123", vec![("1796049060", Mask::Timestamp), ("1796049060123", Mask::Timestamp)]),
            ("bsk_0123456789abcdef", vec![("0123456789abcdef", Mask::Token)]),
            ("01ARZ3NDEKTSV4RRFFQ69G5FAV", vec![("01ARZ3NDEKTSV4RRFFQ69G5FAV", Mask::Id)]),
            ("Bearer aB3dE5fG7hI9jK1lM3nO", vec![("aB3dE5fG7hI9jK1lM3nO", Mask::Token)]),
            ("Date:   Mon Nov 30 18:49:30 2026 +0000\n", vec![("Mon Nov 30 18:49:30 2026 +0000", Mask::Timestamp)]),
            ("created at 6:49:30 PM", vec![("6:49:30 PM", Mask::Timestamp)]),
            ("<tz object at 0x7fddcdcd2f90>", vec![("0x7fddcdcd2f90", Mask::Address)]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn data_is_left() {
        for text in [
            "2026-12-04",
            "12:30",
            "1234567890",
            "1234567890123",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "getCurrentWeatherForecastForCity",
            "ABCDEFGHIJKLMNOPQRST",
            "0000000000000000",
            "550e8400-e29b-41d4-a716-4466554400001",
            "-1796049060",
            "x1796049060",
            "written at 0x7fddcdcd2f90",
            "<0x7fddcdcd2f90>",
            "<block at 0xff>",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn an_unknown_time_has_no_era() {
        assert_eq!(Era::of(0, 5), None);
        assert_eq!(spans("1796049060", None), []);
    }
}
