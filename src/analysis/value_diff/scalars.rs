//! Two strings or two numbers that are not spelled the same.

use super::{JsonTexts, Matter, Walk};
use crate::analysis::blob;
use crate::analysis::normalize::{Eye, Eyes};
use crate::analysis::report::{ChangeKind, SideValue};
use crate::analysis::text_diff::{self, Piece, PieceKind};
use crate::analysis::volatile::Span;
use crate::protocol::json::{Node, Tree, unescape_bytes};
use crate::protocol::number::Decimal;

/// The relative difference that rounding can make; a double has almost 16 digits.
const ROUNDING: f64 = 1e-9;

impl<'c, 't> Walk<'_, 'c, 't> {
    pub(super) fn strings(&mut self, a: Node<'t, 't>, b: Node<'t, 't>, step: usize, texts: &mut Vec<JsonTexts<'c>>) {
        if unescape_bytes(a.raw()) == unescape_bytes(b.raw()) {
            return;
        }
        if self.excuse_place(step) {
            return;
        }
        let (Some(old), Some(new)) = (a.as_text(), b.as_text()) else { return };
        let ruled = (self.hits.0.spans(a.id(), &old), self.hits.1.spans(b.id(), &new));
        let eyes = self.eyes(&ruled);
        if let Some(masks) = eyes.excuse_text(&old, &new) {
            self.count(&masks);
            return;
        }
        let key = self.steps.get(step).and_then(|step| step.key.as_deref());
        if self.comparer.matter == Matter::Result && !self.inside && matches!(key, Some("data" | "blob")) {
            self.blobs(a, b, (&old, &new), step);
            return;
        }
        if !self.inside && is_json(&old) && is_json(&new) {
            if let Some(pointer) = self.pointers(step, None) {
                let soft = self.steps.get(step).is_some_and(|step| step.soft);
                let rules = (self.hits.0.inside(a.id()), self.hits.1.inside(b.id()));
                texts.push(JsonTexts { soft, rules, pointer, a: old.into_owned(), b: new.into_owned() });
            }
            return;
        }
        // A tool that answers with a number does so in a text; elsewhere `1.0` may be a version.
        if !self.inside
            && key == Some("text")
            && let (Some(x), Some(y)) = (Decimal::parse(&old), Decimal::parse(&new))
        {
            let (kind, soft) = self.of_numbers((&old, &x), (&new, &y));
            self.both(kind, a, b, step, soft);
            return;
        }
        let prose = |text: &str| text.contains(char::is_whitespace);
        if !prose(&old) && !prose(&new) {
            self.both(ChangeKind::Changed, a, b, step, false);
            return;
        }
        let diff = text_diff::compare(&old, &new, eyes, self.comparer.budget);
        self.count(&diff.masked);
        self.both(ChangeKind::Text, a, b, step, false);
        self.words(diff.pieces);
    }

    /// Returns both eyes with what rules excuse in one text.
    fn eyes<'r>(&self, ruled: &'r (Vec<Span>, Vec<Span>)) -> Eyes<'r>
    where
        'c: 'r,
    {
        let Eyes { a, b } = self.comparer.eyes;
        Eyes { a: Eye { ruled: &ruled.0, ..a }, b: Eye { ruled: &ruled.1, ..b } }
    }

    /// Gives the last change its words, long stretches shortened.
    fn words(&mut self, pieces: Vec<Piece>) {
        if let Some(last) = self.changes.last_mut().filter(|last| last.kind == ChangeKind::Text) {
            last.words = pieces.into_iter().map(shortened).collect();
        }
    }

    /// Compares pictures, sounds and files: as text if both are, else by their size and hash.
    fn blobs(&mut self, a: Node<'t, 't>, b: Node<'t, 't>, texts: (&str, &str), step: usize) {
        let (Some(old), Some(new)) = (blob::decode_base64(texts.0), blob::decode_base64(texts.1)) else {
            self.both(ChangeKind::Changed, a, b, step, false);
            return;
        };
        if old == new {
            return;
        }
        if let (Ok(old), Ok(new)) = (std::str::from_utf8(&old), std::str::from_utf8(&new)) {
            let ruled = (self.hits.0.spans(a.id(), old), self.hits.1.spans(b.id(), new));
            let eyes = self.eyes(&ruled);
            match eyes.excuse_text(old, new) {
                Some(masks) => self.count(&masks),
                None => {
                    let diff = text_diff::compare(old, new, eyes, self.comparer.budget);
                    self.count(&diff.masked);
                    self.both(ChangeKind::Text, a, b, step, false);
                    self.words(diff.pieces);
                }
            }
            return;
        }
        self.both(ChangeKind::Blob, a, b, step, false);
        if let Some(last) = self.changes.last_mut().filter(|last| last.kind == ChangeKind::Blob) {
            let described = |bytes: &[u8]| {
                let object = serde_json::json!({"bytes": bytes.len(), "sha256": blob::sha256(bytes)});
                Some(SideValue::of_json(object.to_string().as_bytes()))
            };
            (last.a, last.b) = (described(&old), described(&new));
        }
    }

    pub(super) fn numbers(&mut self, a: Node<'t, 't>, b: Node<'t, 't>, step: usize) {
        let (Some(old), Some(new)) = (a.as_number(), b.as_number()) else { return };
        let (Some(x), Some(y)) = (Decimal::parse(old), Decimal::parse(new)) else { return };
        if x != y && self.excuse_place(step) {
            return;
        }
        if let Some(mask) = self.comparer.eyes.excuse_number(old, new).filter(|_| x != y) {
            self.count(&[mask]);
            return;
        }
        let (kind, soft) = self.of_numbers((old, &x), (new, &y));
        self.both(kind, a, b, step, soft);
    }

    /// Returns what kind of change two spellings of numbers are, and whether it is a soft one.
    fn of_numbers(&self, (old, x): (&str, &Decimal), (new, y): (&str, &Decimal)) -> (ChangeKind, bool) {
        if x == y {
            return (ChangeKind::Spelling, true);
        }
        let difference = if x.is_integer() && y.is_integer() { None } else { relative_difference(old, new) };
        match difference {
            Some(far) if self.comparer.options.float_tolerance.is_some_and(|most| far <= most) => {
                (ChangeKind::FloatNoise, true)
            }
            Some(far) if far <= ROUNDING => (ChangeKind::FloatNoise, false),
            _ => (ChangeKind::Changed, false),
        }
    }
}

/// Tells whether a text is a JSON array or object.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && Tree::parse(text.as_bytes()).is_ok()
}

/// Returns the difference of two numbers as a part of the larger; `None` where a double cannot say.
fn relative_difference(a: &str, b: &str) -> Option<f64> {
    let (x, y): (f64, f64) = (a.parse().ok()?, b.parse().ok()?);
    let larger = x.abs().max(y.abs());
    (x.is_finite() && y.is_finite() && larger > 0.0).then(|| (x - y).abs() / larger)
}

/// The most characters of an unchanged stretch that are kept; what was left out is marked.
const CONTEXT: usize = 120;

fn shortened(piece: Piece) -> Piece {
    let most = if piece.kind == PieceKind::Same { CONTEXT } else { 4 << 10 };
    if piece.text.len() <= most * 2 {
        return piece;
    }
    let head: String = piece.text.chars().take(most / 2).collect();
    let tail: Vec<char> = piece.text.chars().rev().take(most / 2).collect();
    let text = format!("{head} … {}", tail.into_iter().rev().collect::<String>());
    Piece { text, ..piece }
}
