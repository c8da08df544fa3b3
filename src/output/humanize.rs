//! Times and sizes as people read them.

/// Returns a time as `38 µs`, `4.1 ms`, `318 ms`, `1.24 s`, `1m 43s`, `2h 5m`; three digits at most.
#[must_use]
pub fn time(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let text = if ns < 1_000 {
        format!("{ns} ns")
    } else if ns < 999_500 {
        three(ns as f64 / 1e3, "µs")
    } else if ns < 999_500_000 {
        three(ns as f64 / 1e6, "ms")
    } else if ns < 99_950_000_000 {
        // A second has two decimals: what people wait for is told more finely.
        let seconds = ns as f64 / 1e9;
        if seconds < 9.995 { format!("{seconds:.2} s") } else { format!("{seconds:.1} s") }
    } else {
        let seconds = (ns + 500_000_000) / 1_000_000_000;
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, minutes, rest) => format!("{minutes}m {rest}s"),
            (hours, minutes, _) => format!("{hours}h {minutes}m"),
        }
    };
    format!("{sign}{text}")
}

/// Returns a size as `214 B`, `4.4 KB`, `188 KB`, `1.9 MB`: decimal units.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1e3;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    if value < 9.95 { format!("{value:.1} {}", UNITS[unit]) } else { format!("{value:.0} {}", UNITS[unit]) }
}

fn three(value: f64, unit: &str) -> String {
    if value < 9.95 {
        format!("{value:.1} {unit}").replace(".0 ", " ")
    } else if value < 99.95 && unit == "ms" {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Returns an estimate of tokens, four bytes each, as `~310` or `~1.1k`.
#[must_use]
pub fn tokens(bytes: u64) -> String {
    let tokens = bytes.div_ceil(4);
    if tokens < 1000 { format!("~{tokens}") } else { format!("~{:.1}k", tokens as f64 / 1e3) }
}

/// Returns a number with its noun, in the plural where it belongs.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns when something was, as `14:02` today, `yesterday`, `24 Nov`, `24 Nov 2025`, in the user's zone.
#[must_use]
pub fn day(at_ns: i64, now_ns: i64) -> String {
    let zone = jiff::tz::TimeZone::system();
    let moment =
        |ns: i64| jiff::Timestamp::from_nanosecond(i128::from(ns)).ok().map(|t| t.to_zoned_datetime(zone.clone()));
    let (Some(at), Some(now)) = (moment(at_ns), moment(now_ns)) else { return "?".into() };
    let (then, today) = (at.date(), now.date());
    if then == today {
        at.strftime("%H:%M").to_string()
    } else if Some(then) == today.yesterday().ok() {
        "yesterday".into()
    } else if then.year() == today.year() {
        at.strftime("%-d %b").to_string()
    } else {
        at.strftime("%-d %b %Y").to_string()
    }
}

/// Returns when something was, as `30 Nov 14:02`, in the user's zone.
#[must_use]
pub fn moment(at_ns: i64) -> String {
    let zone = jiff::tz::TimeZone::system();
    match jiff::Timestamp::from_nanosecond(i128::from(at_ns)) {
        Ok(at) => at.to_zoned_datetime(zone).strftime("%-d %b %H:%M").to_string(),
        Err(_) => "?".into(),
    }
}

/// Returns the time of day, in the user's zone.
#[must_use]
pub fn clock_time(at_ns: i64) -> String {
    let zone = jiff::tz::TimeZone::system();
    match jiff::Timestamp::from_nanosecond(i128::from(at_ns)) {
        Ok(at) => at.to_zoned_datetime(zone).strftime("%H:%M:%S").to_string(),
        Err(_) => "?".into(),
    }
}

/// Returns a moment as RFC 3339 in UTC, with milliseconds.
#[must_use]
pub fn rfc3339(at_ns: i64) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(at_ns)) {
        Ok(at) => at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        Err(_) => "?".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (38_000, "38 µs"),
            (4_100_000, "4.1 ms"),
            (43_100_000, "43.1 ms"),
            (318_000_000, "318 ms"),
            (999_600_000, "1.00 s"),
            (1_240_000_000, "1.24 s"),
            (9_640_000_000, "9.64 s"),
            (62_400_000_000, "62.4 s"),
            (120_000_000_000, "2m 0s"),
            (103_000_000_000, "1m 43s"),
            (7_500_000_000_000, "2h 5m"),
            (-4_100_000, "-4.1 ms"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text, "{ns}");
        }
    }

    #[test]
    fn sizes_are_decimal() {
        let cases = [
            (214, "214 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (4_400, "4.4 KB"),
            (188_000, "188 KB"),
            (999_900, "1.0 MB"),
            (1_900_000, "1.9 MB"),
            (84_000_000, "84 MB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text, "{bytes}");
        }
        assert_eq!(tokens(1240), "~310");
        assert_eq!(tokens(4400), "~1.1k");
    }

    #[test]
    fn moments_in_utc() {
        assert_eq!(rfc3339(1_796_047_320_123_000_000), "2026-11-30T14:02:00.123Z");
    }
}
