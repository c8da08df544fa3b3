//! The dated revisions of MCP.
//!
//! A revision is a string and stays open-ended: an unknown date is kept and shown, never refused.

/// The revisions that this build knows, oldest first.
pub const KNOWN: [&str; 6] = ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The first revision without a handshake: every request carries its own revision.
pub const FIRST_MODERN: &str = "2026-07-28";

/// Returns true if the revision has no handshake and each request says which revision it speaks.
///
/// Dates sort as text, so a later revision than those known counts as modern.
#[must_use]
pub fn is_modern(revision: &str) -> bool {
    revision >= FIRST_MODERN
}

/// Returns true if the text has the form of a revision, `YYYY-MM-DD`.
#[must_use]
pub fn looks_like_one(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_dates_are_modern_and_earlier_ones_are_not() {
        assert!(is_modern("2026-07-28") && is_modern("2027-01-01"));
        assert!(!is_modern("2025-11-25") && !is_modern("2024-11-05"));
        assert!(looks_like_one("2099-01-01") && !looks_like_one("1.0") && !looks_like_one("2025_11-25"));
    }
}
