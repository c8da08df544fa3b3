//! Moments in the past, as they are typed: `7d`, `12h`, `30m`, or a date.

/// A moment that was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// So long before now, ns.
    Ago(i64),
    /// Then, ns since 1970 UTC.
    At(i64),
}

impl Since {
    /// Returns the moment in ns since 1970 UTC.
    #[must_use]
    pub fn before(self, now_ns: i64) -> i64 {
        match self {
            Self::Ago(ns) => now_ns.saturating_sub(ns),
            Self::At(ns) => ns,
        }
    }
}

/// What can be typed.
const FORMS: &str = "a time is 7d, 12h, 30m, or a date such as 2026-11-24 or 2026-11-24T09:30";

/// Reads a moment; a date is the beginning of that day in the user's zone.
///
/// # Errors
/// Says what can be typed.
pub fn parse(text: &str) -> Result<Since, String> {
    if let Some(ns) = age(text) {
        return Ok(Since::Ago(ns));
    }
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return in_ns(at).map(Since::At).ok_or_else(|| FORMS.to_owned());
    }
    let civil = text
        .parse::<jiff::civil::DateTime>()
        .or_else(|_| text.parse::<jiff::civil::Date>().map(|date| date.at(0, 0, 0, 0)))
        .map_err(|_| FORMS.to_owned())?;
    let at = jiff::tz::TimeZone::system().to_timestamp(civil).map_err(|_| FORMS.to_owned())?;
    in_ns(at).map(Since::At).ok_or_else(|| FORMS.to_owned())
}

fn in_ns(at: jiff::Timestamp) -> Option<i64> {
    i64::try_from(at.as_nanosecond()).ok()
}

/// Reads an age such as `30d`, `12h` or `1w`; ns.
fn age(text: &str) -> Option<i64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let seconds: i64 = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(seconds)?.checked_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        let second = 1_000_000_000;
        assert_eq!(parse("7d"), Ok(Since::Ago(604_800 * second)));
        assert_eq!(parse("12h"), Ok(Since::Ago(43_200 * second)));
        assert_eq!(parse("30m"), Ok(Since::Ago(1_800 * second)));
        assert_eq!(parse("2026-11-24T00:00:00Z"), Ok(Since::At(1_795_478_400 * second)));
        assert!(matches!(parse("2026-11-24"), Ok(Since::At(_))));
        assert!(matches!(parse("2026-11-24T09:30"), Ok(Since::At(_))));
        for text in ["", "d", "7", "seven", "-1d", "99999999999999w", "2026-13-01"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(Since::Ago(5).before(12), 7);
        assert_eq!(Since::At(5).before(12), 5);
    }
}
