//! Masks: two volatile values are the same when both have the same shape, or stand where the protocol puts a value
//! that the other side makes up.
//!
//! A mask hides a value, not its presence and not its type: it is asked only when both sides have a text, or both a
//! number.

use super::volatile::{Era, Mask, Span, spans};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// How many values were excused, by kind.
pub type MaskCounts = BTreeMap<Mask, u64>;

/// How one side's values are looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Eye<'r> {
    /// When its session was.
    pub era: Option<Era>,
    /// True if nothing is excused.
    pub strict: bool,
    /// What rules excuse in the one text that is looked at, from left to right.
    pub ruled: &'r [Span],
}

impl Eye<'_> {
    /// Returns the volatile values of a text; where a rule and the built-in masks overlap, the rule counts.
    #[must_use]
    pub fn spans(self, text: &str) -> Vec<Span> {
        if self.strict {
            return Vec::new();
        }
        let mut found = spans(text, self.era);
        if !self.ruled.is_empty() {
            found.retain(|span| !self.ruled.iter().any(|rule| rule.start < span.end && span.start < rule.end));
            found.extend(self.ruled);
            found.sort_by_key(|span| span.start);
        }
        found
    }

    /// Feeds a text into a hash, volatile values as their shape.
    pub fn feed_text(self, text: &str, hasher: &mut impl Hasher) {
        let mut from = 0;
        for span in self.spans(text) {
            text.get(from..span.start).unwrap_or_default().hash(hasher);
            span.shape.hash(hasher);
            from = span.end;
        }
        text.get(from..).unwrap_or_default().hash(hasher);
    }
}

/// Both sides.
#[derive(Debug, Clone, Copy, Default)]
pub struct Eyes<'r> {
    /// How the first side is looked at.
    pub a: Eye<'r>,
    /// How the second side is looked at.
    pub b: Eye<'r>,
}

impl Eyes<'_> {
    /// Returns the eyes for sides that have changed places.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self { a: self.b, b: self.a }
    }

    /// Returns the masks that make two different texts the same; `None` if they are not.
    #[must_use]
    pub fn excuse_text(self, a: &str, b: &str) -> Option<Vec<Mask>> {
        let (ours, theirs) = (self.a.spans(a), self.b.spans(b));
        if ours.is_empty() || ours.len() != theirs.len() {
            return None;
        }
        let mut excused = Vec::new();
        let (mut from_a, mut from_b) = (0, 0);
        for (x, y) in ours.iter().zip(&theirs) {
            if x.shape != y.shape || a.get(from_a..x.start) != b.get(from_b..y.start) {
                return None;
            }
            if a.get(x.start..x.end) != b.get(y.start..y.end) {
                excused.push(x.shape.mask);
            }
            (from_a, from_b) = (x.end, y.end);
        }
        (a.get(from_a..) == b.get(from_b..)).then_some(excused)
    }

    /// Returns the mask that makes two different numbers the same.
    #[must_use]
    pub fn excuse_number(self, a: &str, b: &str) -> Option<Mask> {
        if self.a.strict || self.b.strict {
            return None;
        }
        let (ours, theirs) = (self.a.era?.shape_of_number(a)?, self.b.era?.shape_of_number(b)?);
        (ours == theirs).then_some(ours.mask)
    }
}

/// Returns the mask of a place in a result, in parameters or in what is listed; `path` are the pointer's tokens.
///
/// These are the places of the protocol alone: a `taskId` in a server's own structure is that server's data.
#[must_use]
pub fn mask_of_place(path: &[&str]) -> Option<Mask> {
    match path {
        ["nextCursor" | "cursor"] => Some(Mask::Cursor),
        ["requestState" | "progressToken"] => Some(Mask::Token),
        ["taskId"] | ["task" | "_meta", .., "taskId"] | ["tasks", _, "taskId"] => Some(Mask::TaskId),
        ["elicitationId"] | ["_meta", "io.modelcontextprotocol/subscriptionId"] => Some(Mask::Id),
        ["_meta", "progressToken"] => Some(Mask::Token),
        ["_meta", "traceparent" | "tracestate" | "baggage"] => Some(Mask::Trace),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eyes() -> Eyes<'static> {
        let era = Era::of(1_796_049_060_000_000_000, 0);
        Eyes { a: Eye { era, strict: false, ruled: &[] }, b: Eye { era, strict: false, ruled: &[] } }
    }

    #[test]
    fn both_sides_need_the_shape() {
        let (one, two) = ("at 2026-11-30T14:31:00Z", "at 2026-11-30T15:31:00Z");
        assert_eq!(eyes().excuse_text(one, two), Some(vec![Mask::Timestamp]));
        assert_eq!(eyes().excuse_text(one, "at noon"), None);
        assert_eq!(eyes().excuse_text(one, "on 2026-11-30T15:31:00Z"), None);
        assert_eq!(eyes().excuse_text(one, "at 2026-11-30T15:31:00+01:00"), None);
        assert_eq!(eyes().excuse_text("a", "b"), None);
        assert_eq!(eyes().excuse_number("1796049060", "1796049070"), Some(Mask::Timestamp));
        assert_eq!(eyes().excuse_number("1796049060", "1796049060000"), None);
        assert_eq!(eyes().excuse_number("7", "8"), None);
        let strict = Eyes { a: Eye { strict: true, ..eyes().a }, ..eyes() };
        assert_eq!(strict.excuse_text(one, two), None);
        assert_eq!(strict.excuse_number("1796049060", "1796049070"), None);
    }

    #[test]
    fn only_what_differs_is_counted() {
        let one = "550e8400-e29b-41d4-a716-446655440000 2026-11-30T14:31:00Z";
        let two = "550e8400-e29b-41d4-a716-446655440000 2026-11-30T14:31:09Z";
        assert_eq!(eyes().excuse_text(one, two), Some(vec![Mask::Timestamp]));
    }

    #[test]
    fn places_are_those_of_the_protocol() {
        assert_eq!(mask_of_place(&["nextCursor"]), Some(Mask::Cursor));
        assert_eq!(mask_of_place(&["task", "taskId"]), Some(Mask::TaskId));
        assert_eq!(mask_of_place(&["_meta", "io.modelcontextprotocol/related-task", "taskId"]), Some(Mask::TaskId));
        assert_eq!(mask_of_place(&["structuredContent", "taskId"]), None);
        assert_eq!(mask_of_place(&["structuredContent", "nextCursor"]), None);
    }
}
