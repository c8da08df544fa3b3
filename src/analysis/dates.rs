//! The spellings of a moment in time that servers write, read by hand.
//!
//! Each reader says where the spelling ends and which form it has: two moments are of one shape only in the same
//! form, so that a server that changes from `+01:00` to `Z` is seen.

/// Where a spelling ends, and its form.
pub type Read = Option<(usize, u16)>;

/// Reads bytes from left to right.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes a number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let mut value = 0;
        let mut taken = 0;
        while taken < most && self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            value = value * 10 + u32::from(self.peek()? - b'0');
            self.at += 1;
            taken += 1;
        }
        (taken >= least).then_some(value)
    }

    /// Takes a number in a range.
    fn within(&mut self, digits: (usize, usize), range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        self.number(digits.0, digits.1).filter(|value| range.contains(value))
    }

    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(text).then(|| self.at += text.len())
    }

    /// Takes one of the words; returns which.
    fn word(&mut self, words: &[&str]) -> Option<usize> {
        let found = words.iter().position(|word| self.literal(word.as_bytes()).is_some())?;
        self.ends_word().then_some(found)
    }

    fn ends_word(self) -> bool {
        !self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric())
    }

    /// Takes `08:00`, `08:00:30` or `08:00:30.123`; returns whether there are seconds.
    fn clock(&mut self) -> Option<bool> {
        self.within((1, 2), 0..=24)?;
        self.literal(b":")?;
        self.within((2, 2), 0..=59)?;
        let mut ahead = *self;
        if ahead.literal(b":").is_none() || ahead.within((2, 2), 0..=60).is_none() {
            return Some(false);
        }
        *self = ahead;
        self.fraction();
        Some(true)
    }

    fn fraction(&mut self) {
        let mut ahead = *self;
        if (ahead.literal(b".").is_some() || ahead.literal(b",").is_some()) && ahead.number(1, 12).is_some() {
            *self = ahead;
        }
    }

    /// Takes a zone; returns its form: 0 none, 1 `Z`, 2 an offset, 3 a name.
    fn zone(&mut self) -> u16 {
        let mut ahead = *self;
        if ahead.literal(b"Z").is_some() || ahead.literal(b"z").is_some() {
            *self = ahead;
            return 1;
        }
        let spaced = ahead.literal(b" ").is_some();
        if ahead.literal(b"+").is_some() || ahead.literal(b"-").is_some() {
            let hours = ahead.within((2, 2), 0..=14);
            if hours.is_some() {
                let mut minutes = ahead;
                let _ = minutes.literal(b":");
                if minutes.within((2, 2), 0..=59).is_some() {
                    ahead = minutes;
                }
                if ahead.ends_word() {
                    *self = ahead;
                    return 2;
                }
            }
        } else if spaced && ahead.word(&["UTC", "GMT", "Z"]).is_some() {
            *self = ahead;
            return 3;
        }
        0
    }
}

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads ISO 8601 with a time of day, such as `2026-12-04T08:00:00+01:00`, `2026-12-04 08:00` or `20261204T080000Z`.
///
/// A date alone is no moment: it is what people ask for, and not when somebody asked.
#[must_use]
pub fn iso(bytes: &[u8], at: usize) -> Read {
    let mut cursor = Cursor { bytes, at };
    cursor.number(4, 4)?;
    let basic = cursor.literal(b"-").is_none();
    cursor.within((2, 2), 1..=12)?;
    if !basic {
        cursor.literal(b"-")?;
    }
    cursor.within((2, 2), 1..=31)?;
    let spaced = cursor.literal(b" ").is_some();
    if !spaced {
        cursor.literal(b"T").or_else(|| cursor.literal(b"t"))?;
    }
    if basic {
        cursor.within((2, 2), 0..=24)?;
        cursor.within((2, 2), 0..=59)?;
        cursor.within((2, 2), 0..=60)?;
    } else {
        cursor.clock()?;
    }
    let zone = cursor.zone();
    cursor.ends_word().then_some((cursor.at, zone | u16::from(spaced) << 4 | u16::from(basic) << 5))
}

/// Reads what begins with a weekday: RFC 2822 and HTTP (`Mon, 30 Nov 2026 18:49:30 GMT`), JavaScript's `Date`
/// (`Mon Nov 30 2026 18:49:30 GMT+0000 (UTC)`), git and C (`Mon Nov 30 18:49:30 2026 +0000`).
#[must_use]
pub fn weekday(bytes: &[u8], at: usize) -> Read {
    let mut cursor = Cursor { bytes, at };
    cursor.word(&WEEKDAYS)?;
    if cursor.literal(b", ").is_some() {
        return day_month(bytes, cursor.at).map(|(end, form)| (end, form | 1 << 6));
    }
    cursor.literal(b" ")?;
    cursor.word(&MONTHS)?;
    cursor.literal(b" ")?;
    // C pads the day with a blank.
    let _ = cursor.literal(b" ");
    cursor.within((1, 2), 1..=31)?;
    cursor.literal(b" ")?;
    let mut script = cursor;
    if script.number(4, 4).is_some() && script.literal(b" ").is_some() {
        script.clock()?;
        script.literal(b" GMT")?;
        script.zone();
        let mut name = script;
        if name.literal(b" (").is_some() {
            let rest = bytes.get(name.at..)?;
            if let Some(length) = rest.iter().take(64).position(|byte| *byte == b')') {
                script.at = name.at + length + 1;
            }
        }
        return Some((script.at, 1 << 7));
    }
    cursor.clock()?;
    cursor.literal(b" ")?;
    cursor.number(4, 4)?;
    let zone = cursor.zone();
    cursor.ends_word().then_some((cursor.at, zone | 1 << 8))
}

/// Reads `30 Nov 2026 18:49:30 +0000`.
#[must_use]
pub fn day_month(bytes: &[u8], at: usize) -> Read {
    let mut cursor = Cursor { bytes, at };
    cursor.within((1, 2), 1..=31)?;
    cursor.literal(b" ")?;
    cursor.word(&MONTHS)?;
    cursor.literal(b" ")?;
    cursor.number(4, 4)?;
    cursor.literal(b" ")?;
    cursor.clock()?;
    let zone = cursor.zone();
    cursor.ends_word().then_some((cursor.at, zone | 1 << 9))
}

/// Reads what a browser's locale makes of a moment: `11/30/2026, 6:49:30 PM`, `30.11.2026, 18:49:30`, `6:49:30 PM`.
#[must_use]
pub fn locale(bytes: &[u8], at: usize) -> Read {
    let mut cursor = Cursor { bytes, at };
    let mut dated = cursor;
    let mut form = 1 << 10;
    let date = |cursor: &mut Cursor<'_>| {
        cursor.within((1, 2), 1..=31)?;
        let separator: &[u8] = if cursor.peek() == Some(b'.') { b"." } else { b"/" };
        cursor.literal(separator)?;
        cursor.within((1, 2), 1..=31)?;
        cursor.literal(separator)?;
        cursor.number(4, 4)?;
        let _ = cursor.literal(b",");
        cursor.literal(b" ")
    };
    if date(&mut dated).is_some() {
        cursor = dated;
        form = 1 << 11;
    }
    let seconds = cursor.clock()?;
    let mut half = cursor;
    // Node writes a narrow no-break space here.
    if half.literal(" ".as_bytes()).is_none() {
        let _ = half.literal("\u{202f}".as_bytes());
    }
    if half.word(&["AM", "PM", "am", "pm"]).is_some() {
        return (seconds || form == 1 << 11).then_some((half.at, form | 1));
    }
    // A time of day alone is data: only with its date it is a moment.
    (form == 1 << 11 && cursor.ends_word()).then_some((cursor.at, form))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Reader = fn(&[u8], usize) -> Read;

    #[test]
    fn every_spelling_is_read_to_its_end() {
        let cases: [(Reader, &str); 19] = [
            (iso, "2026-12-04T08:00:00+01:00"),
            (iso, "2026-12-04T08:00:00.123Z"),
            (iso, "2026-12-04T08:00:00,5+0100"),
            (iso, "2026-12-04 08:00:00 UTC"),
            (iso, "2026-12-04 08:00:00 +0100"),
            (iso, "2026-12-04 08:00"),
            (iso, "2026-12-04T08:00:00"),
            (iso, "20261204T080000Z"),
            (weekday, "Mon, 30 Nov 2026 18:49:30 GMT"),
            (weekday, "Mon, 30 Nov 2026 18:49:30 +0000"),
            (weekday, "Mon Nov 30 2026 18:49:30 GMT+0000 (Coordinated Universal Time)"),
            (weekday, "Mon Nov 30 18:49:30 2026 +0000"),
            (weekday, "Mon Nov 30 18:49:30 2026"),
            (weekday, "Tue Dec  1 08:09:30 2026"),
            (day_month, "1 Dec 2026 08:09:30 +0000"),
            (locale, "11/30/2026, 6:49:30 PM"),
            (locale, "30.11.2026, 18:49:30"),
            (locale, "6:49:30 PM"),
            (locale, "6:49:30\u{202f}PM"),
        ];
        for (reader, text) in cases {
            assert_eq!(reader(text.as_bytes(), 0).map(|(end, _)| end), Some(text.len()), "{text}");
            let inside = format!("x {text}, and more");
            assert_eq!(reader(inside.as_bytes(), 2).map(|(end, _)| end), Some(text.len() + 2), "{inside}");
        }
    }

    #[test]
    fn what_is_no_moment_is_left() {
        let cases: [(Reader, &str); 10] = [
            (iso, "2026-12-04"),
            (iso, "2026-13-04T08:00:00Z"),
            (iso, "2026-12-04T08"),
            (iso, "2026-12-04T08:00:00Zulu"),
            (iso, "12345678"),
            (weekday, "Monday"),
            (weekday, "Mon Nov 30"),
            (locale, "12:30"),
            (locale, "12:30:15"),
            (locale, "12:30 PM"),
        ];
        for (reader, text) in cases {
            assert_eq!(reader(text.as_bytes(), 0), None, "{text}");
        }
    }

    #[test]
    fn the_form_tells_zones_apart_and_not_fractions() {
        let form = |text: &str| iso(text.as_bytes(), 0).map(|(_, form)| form);
        assert_eq!(form("2026-12-04T08:00:00Z"), form("1999-01-01T23:59:59.000001Z"));
        assert_eq!(form("2026-12-04T08:00:00+01:00"), form("2026-12-04T08:00:00-0500"));
        assert_ne!(form("2026-12-04T08:00:00Z"), form("2026-12-04T08:00:00+01:00"));
        assert_ne!(form("2026-12-04T08:00:00Z"), form("2026-12-04T08:00:00"));
        assert_ne!(form("2026-12-04T08:00:00"), form("2026-12-04 08:00:00"));
    }
}
