//! Two texts, compared by words; volatile values inside them are words of their own.

use super::normalize::Eyes;
use super::volatile::{Mask, Span};
use similar::algorithms::Algorithm;
use similar::{DiffOp, DiffableStr, capture_diff_slices};
use std::collections::HashMap;

/// What a piece of a compared text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// On both sides; where masked, as the first side has it.
    Same,
    /// On the first side only.
    Old,
    /// On the second side only.
    New,
}

/// A piece of a compared text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Its text.
    pub text: String,
}

/// What the comparison of two texts gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextDiff {
    /// The pieces, in order.
    pub pieces: Vec<Piece>,
    /// The volatile values that differ and were excused.
    pub masked: Vec<Mask>,
}

/// Up to so many tokens of both sides are aligned whatever they are; the cost is their square at worst.
const FEW_TOKENS: usize = 4_000;

/// More than so many are never aligned.
const MOST_TOKENS: usize = 40_000;

/// The most work of one alignment of many tokens.
const MOST_WORK: u64 = 16_000_000;

/// Returns about how many steps an alignment of two lists takes (Myers: their length times their difference); `None`
/// if that is too many.
#[must_use]
pub fn work(left: &[u64], right: &[u64]) -> Option<u64> {
    let (n, m) = (left.len() as u64, right.len() as u64);
    let total = left.len() + right.len();
    if total <= FEW_TOKENS {
        return Some((n + 1) * (m + 1));
    }
    if total > MOST_TOKENS {
        return None;
    }
    // What one side has more often than the other bounds the difference from below, and mostly is all of it.
    let mut surplus: HashMap<u64, i64> = HashMap::new();
    left.iter().for_each(|token| *surplus.entry(*token).or_default() += 1);
    right.iter().for_each(|token| *surplus.entry(*token).or_default() -= 1);
    let difference: u64 = surplus.values().map(|count| count.unsigned_abs()).sum();
    let steps = (n + m) * (difference + 64);
    (steps <= MOST_WORK).then_some(steps)
}

/// Compares two texts; `budget` bounds the work of many such comparisons, in pairs of words looked at.
///
/// When the texts are too long for their words they are compared by lines, and then as wholes; all that is lost is
/// detail.
#[must_use]
pub fn compare(a: &str, b: &str, eyes: Eyes<'_>, budget: &mut u64) -> TextDiff {
    // An alignment has ties, which are not symmetric: the same side always comes first.
    if a <= b {
        return ordered(a, b, eyes, budget);
    }
    let mut diff = ordered(b, a, eyes.swapped(), budget);
    for piece in &mut diff.pieces {
        piece.kind = match piece.kind {
            PieceKind::Same => PieceKind::Same,
            PieceKind::Old => PieceKind::New,
            PieceKind::New => PieceKind::Old,
        };
    }
    // Where both stand together, what is gone is read before what has come.
    let mut at = 0;
    while at + 1 < diff.pieces.len() {
        if diff.pieces[at].kind == PieceKind::New && diff.pieces[at + 1].kind == PieceKind::Old {
            diff.pieces.swap(at, at + 1);
            at += 1;
        }
        at += 1;
    }
    diff
}

fn ordered(a: &str, b: &str, eyes: Eyes<'_>, budget: &mut u64) -> TextDiff {
    let (spans_a, spans_b) = if *budget > 0 { (eyes.a.spans(a), eyes.b.spans(b)) } else { Default::default() };
    for tokenize in [words as fn(&str, &[Span]) -> Vec<Token>, lines] {
        if *budget == 0 {
            break;
        }
        let (ours, theirs) = (tokenize(a, &spans_a), tokenize(b, &spans_b));
        if let Some(diff) = aligned(a, b, &ours, &theirs, budget) {
            return diff;
        }
    }
    TextDiff {
        pieces: vec![
            Piece { kind: PieceKind::Old, text: a.to_owned() },
            Piece { kind: PieceKind::New, text: b.to_owned() },
        ],
        masked: Vec::new(),
    }
}

/// A stretch of a text; a volatile one is known by its shape.
#[derive(Debug, Clone, Copy)]
struct Token {
    start: usize,
    end: usize,
    volatile: Option<super::volatile::Shape>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key<'t> {
    Text(&'t str),
    Shape(super::volatile::Shape),
}

impl Token {
    fn text(self, of: &str) -> &str {
        of.get(self.start..self.end).unwrap_or_default()
    }

    fn key(self, of: &str) -> Key<'_> {
        self.volatile.map_or_else(|| Key::Text(self.text(of)), Key::Shape)
    }
}

/// Cuts a text into words (UAX #29), its volatile values whole.
fn words(text: &str, spans: &[Span]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut from = 0;
    let plain = |from: usize, to: usize, tokens: &mut Vec<Token>| {
        let mut start = from;
        for word in text.get(from..to).unwrap_or_default().tokenize_unicode_words() {
            tokens.push(Token { start, end: start + word.len(), volatile: None });
            start += word.len();
        }
    };
    for span in spans {
        plain(from, span.start, &mut tokens);
        tokens.push(Token { start: span.start, end: span.end, volatile: Some(span.shape) });
        from = span.end;
    }
    plain(from, text.len(), &mut tokens);
    tokens
}

fn lines(text: &str, _: &[Span]) -> Vec<Token> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            start += line.len();
            Token { start: start - line.len(), end: start, volatile: None }
        })
        .collect()
}

/// Aligns two lists of tokens; `None` if that is too much work.
fn aligned(a: &str, b: &str, ours: &[Token], theirs: &[Token], budget: &mut u64) -> Option<TextDiff> {
    let mut numbers = HashMap::new();
    let mut number = |token: &Token, of| {
        let next = numbers.len() as u64;
        // The keys of both texts live as long as the texts.
        *numbers.entry(token.key(of)).or_insert(next)
    };
    let left: Vec<u64> = ours.iter().map(|token| number(token, a)).collect();
    let right: Vec<u64> = theirs.iter().map(|token| number(token, b)).collect();
    let head = left.iter().zip(&right).take_while(|(x, y)| x == y).count();
    let tail = left.iter().rev().zip(right.iter().rev()).take_while(|(x, y)| x == y).count();
    let tail = tail.min(left.len().min(right.len()) - head);
    let (inner_left, inner_right) = (left.get(head..left.len() - tail)?, right.get(head..right.len() - tail)?);
    let cost = work(inner_left, inner_right)?;
    // Once it is used up nothing is begun any more: finding that out costs as much as a comparison.
    *budget = budget.saturating_sub(cost);
    let mut build = Build { a, b, ours, theirs, diff: TextDiff::default() };
    build.same(0, 0, head);
    for op in capture_diff_slices(Algorithm::Myers, inner_left, inner_right) {
        let (old, new) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } => build.same(head + old.start, head + new.start, old.len()),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                build.changed(head + old.start..head + old.end, head + new.start..head + new.end);
            }
        }
    }
    build.same(left.len() - tail, right.len() - tail, tail);
    build.diff.pieces = readable(build.diff.pieces);
    Some(build.diff)
}

/// Joins changes that only a blank or a comma stands between, and what has hardly anything in common as a whole.
fn readable(pieces: Vec<Piece>) -> Vec<Piece> {
    let length = |kinds: &[PieceKind]| -> usize {
        pieces.iter().filter(|piece| kinds.contains(&piece.kind)).map(|piece| piece.text.len()).sum()
    };
    let same = length(&[PieceKind::Same]);
    let foreign = same * 3 < length(&[PieceKind::Old]).max(length(&[PieceKind::New]));
    let meaningless = |text: &str| foreign || text.len() <= 3 && !text.contains(char::is_alphanumeric);
    let mut joined: Vec<Piece> = Vec::new();
    let (mut old, mut new) = (String::new(), String::new());
    // What may still turn out to stand between two changes.
    let mut between = String::new();
    let flush = |joined: &mut Vec<Piece>, old: &mut String, new: &mut String| {
        for (kind, text) in [(PieceKind::Old, old), (PieceKind::New, new)] {
            if !text.is_empty() {
                joined.push(Piece { kind, text: std::mem::take(text) });
            }
        }
    };
    for piece in pieces {
        let open = !old.is_empty() || !new.is_empty();
        match piece.kind {
            PieceKind::Same if open && meaningless(&piece.text) => between.push_str(&piece.text),
            PieceKind::Same => {
                flush(&mut joined, &mut old, &mut new);
                let text = std::mem::take(&mut between) + &piece.text;
                joined.push(Piece { kind: PieceKind::Same, text });
            }
            kind => {
                let held = std::mem::take(&mut between);
                old.push_str(&held);
                new.push_str(&held);
                if kind == PieceKind::Old { old.push_str(&piece.text) } else { new.push_str(&piece.text) }
            }
        }
    }
    flush(&mut joined, &mut old, &mut new);
    if !between.is_empty() {
        joined.push(Piece { kind: PieceKind::Same, text: between });
    }
    joined
}

struct Build<'t> {
    a: &'t str,
    b: &'t str,
    ours: &'t [Token],
    theirs: &'t [Token],
    diff: TextDiff,
}

impl Build<'_> {
    fn push(&mut self, kind: PieceKind, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.diff.pieces.last_mut() {
            Some(last) if last.kind == kind => last.text.push_str(text),
            _ => self.diff.pieces.push(Piece { kind, text: text.to_owned() }),
        }
    }

    fn same(&mut self, from_a: usize, from_b: usize, count: usize) {
        for at in 0..count {
            let (Some(ours), Some(theirs)) = (self.ours.get(from_a + at), self.theirs.get(from_b + at)) else { return };
            let (old, new) = (ours.text(self.a), theirs.text(self.b));
            if let Some(shape) = ours.volatile.filter(|_| old != new) {
                self.diff.masked.push(shape.mask);
            }
            self.push(PieceKind::Same, old);
        }
    }

    fn changed(&mut self, old: std::ops::Range<usize>, new: std::ops::Range<usize>) {
        let stretch = |tokens: &[Token], range: std::ops::Range<usize>| {
            let part = tokens.get(range).unwrap_or_default();
            part.first().zip(part.last()).map_or(0..0, |(first, last)| first.start..last.end)
        };
        let (a, b) = (self.a, self.b);
        self.push(PieceKind::Old, a.get(stretch(self.ours, old)).unwrap_or_default());
        self.push(PieceKind::New, b.get(stretch(self.theirs, new)).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(a: &str, b: &str) -> String {
        let diff = compare(a, b, Eyes::default(), &mut 1_000_000);
        let show = |piece: &Piece| match piece.kind {
            PieceKind::Same => piece.text.clone(),
            PieceKind::Old => format!("[-{}-]", piece.text),
            PieceKind::New => format!("{{+{}+}}", piece.text),
        };
        diff.pieces.iter().map(show).collect()
    }

    #[test]
    fn words_are_compared() {
        for (a, b, expected) in [
            ("light rain in the evening", "light sleet in the evening", "light [-rain-]{+sleet+} in the evening"),
            ("light sleet in the evening", "light rain in the evening", "light [-sleet-]{+rain+} in the evening"),
            ("none", "unknown region: NO-46", "[-none-]{+unknown region: NO-46+}"),
            ("Forecast for a city", "Forecast for a city; prefer", "Forecast for a city{+; prefer+}"),
            ("Error: no file", "no file", "[-Error: -]no file"),
            ("grün", "gruen", "[-grün-]{+gruen+}"),
            ("", "a", "{+a+}"),
            (
                "one two three four five six",
                "one two drei vier five six",
                "one two [-three four-]{+drei vier+} five six",
            ),
            (
                "Error: no such file",
                "Tool failed: it was not there",
                "[-Error: no such file-]{+Tool failed: it was not there+}",
            ),
        ] {
            assert_eq!(shown(a, b), expected);
        }
    }

    #[test]
    fn volatile_values_are_words_of_their_own() {
        let (a, b) = ("at 2026-11-30T14:31:00Z rain", "at 2026-11-30T15:31:00Z snow");
        let diff = compare(a, b, Eyes::default(), &mut 1_000_000);
        assert_eq!(diff.masked, [Mask::Timestamp]);
        assert_eq!(shown(a, b), "at 2026-11-30T14:31:00Z [-rain-]{+snow+}");
    }

    #[test]
    fn without_budget_the_whole_is_changed() {
        let diff = compare("a b", "a c", Eyes::default(), &mut 0);
        assert_eq!(diff.pieces.len(), 2);
    }

    #[test]
    fn long_texts_are_compared_by_lines() {
        let text = |word: &str| (0..3000).map(|n| format!("{n} {word} {n}\n")).collect::<String>();
        let (a, b) = (text("a"), text("b"));
        let mut budget = u64::MAX;
        let diff = compare(&a, &b, Eyes::default(), &mut budget);
        assert_eq!(diff.pieces.len(), 2);
        let c = a.replace("\n1500 a", "\n1500 c").replace("\n20 a", "\n20 d");
        let kinds: Vec<PieceKind> =
            compare(&a, &c, Eyes::default(), &mut budget).pieces.iter().map(|piece| piece.kind).collect();
        use PieceKind::{New, Old, Same};
        assert_eq!(kinds, [Same, Old, New, Same, Old, New, Same]);
    }
}
