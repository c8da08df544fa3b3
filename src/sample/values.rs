//! Values that vary per run, or are fixed by a seed, and their spelling.

use std::hash::{BuildHasher, Hasher, RandomState};

use super::clock;

/// The moment that seeded runs pretend to live in: 30 November 2026, 13:02 UTC.
const SEEDED_MS: u64 = 1_796_043_720_000;

/// Makes ids and timestamps.
#[derive(Debug)]
pub(crate) struct Values {
    base: u64,
    seeded: bool,
    started_ms: u64,
}

impl Values {
    /// Creates values that are the same for the same seed, or fresh ones without.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        let base = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let started_ms = seed.map_or_else(clock::unix_ms, |seed| SEEDED_MS + seed % 86_400 * 1000);
        Self { base, seeded: seed.is_some(), started_ms }
    }

    /// Returns the number that belongs to `key` in this run.
    ///
    /// Derived from the key and not drawn from a sequence: overlapping calls cannot change it.
    pub(crate) fn number(&self, key: &str) -> u64 {
        key.bytes().fold(scramble(self.base), |state, byte| scramble(state ^ u64::from(byte)))
    }

    /// Returns a token of 16 hexadecimal digits.
    pub(crate) fn token(&self, key: &str) -> String {
        format!("{:016x}", self.number(key))
    }

    /// Returns a UUID, version 4.
    pub(crate) fn uuid(&self, key: &str) -> String {
        let (high, low) = (self.number(key), self.number(&format!("{key}+")));
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }

    /// Returns the time in milliseconds since the epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        if self.seeded { self.started_ms } else { clock::unix_ms() }
    }

    /// Returns the time as a timestamp.
    pub(crate) fn now(&self) -> String {
        timestamp(self.now_ms())
    }

    /// Returns when the server started.
    pub(crate) fn started(&self) -> String {
        timestamp(self.started_ms)
    }
}

/// Mixes the bits of a number (the finalizer of splitmix64).
pub(crate) fn scramble(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// Spells milliseconds since the epoch as ISO 8601 in UTC.
pub(crate) fn timestamp(unix_ms: u64) -> String {
    let (days, ms) = (unix_ms / 86_400_000, unix_ms % 86_400_000);
    // Days to a civil date, in years that begin in March (Hinnant, "chrono-compatible algorithms").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (seconds, ms) = (ms / 1000, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{ms:03}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Encodes bytes in base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit <= group.len() {
                text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Values, base64, timestamp};

    #[test]
    fn base64_pads() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
    }

    #[test]
    fn timestamps_know_leap_years() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(951_782_400_123), "2000-02-29T00:00:00.123Z");
        assert_eq!(timestamp(super::SEEDED_MS), "2026-11-30T13:02:00.000Z");
    }

    #[test]
    fn seeds_fix_values() {
        let (one, two, other) = (Values::new(Some(1)), Values::new(Some(1)), Values::new(Some(2)));
        assert_eq!(one.uuid("a"), two.uuid("a"));
        assert_ne!(one.uuid("a"), other.uuid("a"));
        assert_ne!(one.uuid("a"), one.uuid("b"));
        assert_eq!(one.now(), two.now());
    }
}
