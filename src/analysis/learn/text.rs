//! Which parts of a text vary, and the expression that finds each between what does not.

use super::value;
use crate::analysis::rules::groups;
use crate::analysis::volatile::{Era, Mask, spans};
use crate::session::mask::MaskType;
use regex::Regex;
use similar::algorithms::Algorithm;
use similar::{DiffOp, capture_diff_slices};
use std::ops::Range;

/// The longest texts that are looked at, in words.
const MOST_WORDS: usize = 4_000;

/// The most parts of one text that are looked for.
const MOST_PARTS: usize = 200;

/// How many words beside a part are tried to tell it from others.
const CONTEXTS: [usize; 4] = [2, 4, 8, 64];

/// A word of a text, a blank or a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    span: Range<usize>,
    // What is excused without a rule is known by its shape.
    volatile: Option<(Mask, u32)>,
}

/// A text, cut.
struct Cut<'t> {
    text: &'t str,
    words: Vec<Word>,
}

impl Cut<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).and_then(|word| self.text.get(word.span.clone())).unwrap_or_default()
    }

    fn same(&self, at: usize, other: &Self, there: usize) -> bool {
        let volatile = |cut: &Self, at: usize| cut.words.get(at).and_then(|word| word.volatile);
        match (volatile(self, at), volatile(other, there)) {
            (None, None) => self.word(at) == other.word(there),
            (one, two) => one == two,
        }
    }

    /// Returns true for a word with a letter or a digit, and for what is excused without a rule.
    fn tells(&self, at: usize) -> bool {
        let volatile = self.words.get(at).is_some_and(|word| word.volatile.is_some());
        volatile || self.word(at).contains(char::is_alphanumeric)
    }

    /// Returns the places of the words that say something.
    fn telling(&self) -> Vec<usize> {
        (0..self.words.len()).filter(|at| self.tells(*at)).collect()
    }

    /// Returns what a word is known by.
    fn key(&self, at: usize) -> String {
        match self.words.get(at).and_then(|word| word.volatile) {
            Some(shape) => format!("\0{shape:?}"),
            None => self.word(at).to_owned(),
        }
    }

    /// Returns the bytes of a stretch of words.
    fn bytes(&self, words: &Range<usize>) -> Range<usize> {
        let end = self.text.len();
        let start = self.words.get(words.start).map_or(end, |word| word.span.start);
        if words.is_empty() {
            return start..start;
        }
        start..self.words.get(words.end - 1).map_or(end, |word| word.span.end)
    }
}

/// Returns the masks for texts that differ: for each the expression, none for the whole, and the type.
pub(super) fn masks_of(key: &str, texts: &[String], era: Option<Era>) -> Vec<(Option<String>, MaskType)> {
    let cuts: Vec<Cut<'_>> = texts.iter().map(|text| cut(text, era)).collect();
    let Some((base, runs)) = cuts.split_first() else { return Vec::new() };
    if cuts.iter().any(|cut| cut.words.len() > MOST_WORDS) {
        return Vec::new();
    }
    let parts = varying(base, runs);
    if parts.len() > MOST_PARTS {
        return Vec::new();
    }
    let in_parts = |at: usize| parts.iter().any(|part| part.first().is_some_and(|words| words.contains(&at)));
    let stable = (0..base.words.len()).filter(|at| !in_parts(*at));
    let says_something = |at: usize| base.word(at).contains(char::is_alphanumeric);
    if !stable.into_iter().any(says_something) {
        let whole: Vec<&str> = texts.iter().map(String::as_str).collect();
        return vec![(None, kind_of(key, None, &whole))];
    }
    let spans: Vec<Vec<Range<usize>>> =
        parts.iter().map(|part| part.iter().zip(&cuts).map(|(words, cut)| cut.bytes(words)).collect()).collect();
    let found = (0..parts.len()).filter_map(|number| expression(&cuts, &parts, &spans, number));
    found.collect()
}

/// Returns the type of parts, given the words on both sides.
fn kind_of(before: &str, behind: Option<&str>, seen: &[&str]) -> MaskType {
    let all = |fits: &dyn Fn(&str) -> bool| seen.iter().all(|text| fits(text));
    let numeric = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    if all(&numeric) {
        return value::number(before, behind, seen);
    }
    for kind in [MaskType::Uuid, MaskType::Duration, MaskType::Timestamp] {
        let digits = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
        if all(&|text| digits(text) && crate::analysis::rules::text_fits(kind, text)) {
            return kind;
        }
    }
    if all(&|text| crate::analysis::rules::text_fits(MaskType::Token, text)) {
        MaskType::Token
    } else {
        MaskType::Random
    }
}

/// Returns the parts that vary: for each its words in the recording and in every run.
fn varying(base: &Cut<'_>, runs: &[Cut<'_>]) -> Vec<Vec<Range<usize>>> {
    // Where each word of the recording stands in every run, if it does.
    let anchors: Vec<Vec<Option<usize>>> = runs.iter().map(|run| partners(base, run)).collect();
    let stable = |at: usize| -> Option<Vec<usize>> { anchors.iter().map(|anchor| *anchor.get(at)?).collect() };
    let mut parts = Vec::new();
    let mut from = 0;
    let mut from_runs = vec![0; runs.len()];
    let ends: Vec<usize> = runs.iter().map(|run| run.words.len()).collect();
    for at in 0..=base.words.len() {
        let here = if at == base.words.len() { Some(ends.clone()) } else { stable(at) };
        let Some(here) = here else { continue };
        let of_runs = from_runs.iter().zip(&here).map(|(from, to)| *from..*to);
        let part: Vec<Range<usize>> = std::iter::once(from..at).chain(of_runs).collect();
        if part.iter().any(|words| !words.is_empty()) {
            parts.push(part);
        }
        from = at + 1;
        from_runs = here.iter().map(|to| to + 1).collect();
    }
    parts
}

/// Returns the partner of each word of the recording in one run.
fn partners(base: &Cut<'_>, run: &Cut<'_>) -> Vec<Option<usize>> {
    if base.words.len() == run.words.len() {
        // As many words: each stands for the one in its place.
        return (0..base.words.len()).map(|at| base.same(at, run, at).then_some(at)).collect();
    }
    // Blanks and signs are everywhere: only what says something holds two texts together, and takes its neighbours along.
    let (left, right) = (base.telling(), run.telling());
    let known = |cut: &Cut<'_>, places: &[usize]| -> Vec<String> { places.iter().map(|at| cut.key(*at)).collect() };
    let mut found = vec![None; base.words.len()];
    for op in capture_diff_slices(Algorithm::Myers, &known(base, &left), &known(run, &right)) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            let pairs = left.iter().skip(old_index).zip(right.iter().skip(new_index)).take(len);
            for (here, there) in pairs {
                if let Some(slot) = found.get_mut(*here) {
                    *slot = Some(*there);
                }
            }
        }
    }
    let mut from = (0, 0);
    for at in 0..=base.words.len() {
        let anchor = if at == base.words.len() { Some(run.words.len()) } else { found.get(at).copied().flatten() };
        let Some(there) = anchor else { continue };
        neighbours(base, run, (from.0..at, from.1..there), &mut found);
        from = (at + 1, there + 1);
    }
    found
}

/// Pairs what is equal at both ends of a stretch between two words that belong together.
fn neighbours(
    base: &Cut<'_>,
    run: &Cut<'_>,
    (mut ours, mut theirs): (Range<usize>, Range<usize>),
    found: &mut [Option<usize>],
) {
    let alike = |here: usize, there: usize| !base.tells(here) && base.same(here, run, there);
    while !ours.is_empty() && !theirs.is_empty() && alike(ours.start, theirs.start) {
        if let Some(slot) = found.get_mut(ours.start) {
            *slot = Some(theirs.start);
        }
        (ours.start, theirs.start) = (ours.start + 1, theirs.start + 1);
    }
    while !ours.is_empty() && !theirs.is_empty() && alike(ours.end - 1, theirs.end - 1) {
        (ours.end, theirs.end) = (ours.end - 1, theirs.end - 1);
        if let Some(slot) = found.get_mut(ours.end) {
            *slot = Some(theirs.end);
        }
    }
}

/// Returns the expression that finds one part in every text, and nothing but parts that vary, with its type.
fn expression(
    cuts: &[Cut<'_>],
    parts: &[Vec<Range<usize>>],
    spans: &[Vec<Range<usize>>],
    number: usize,
) -> Option<(Option<String>, MaskType)> {
    let (part, bytes) = (parts.get(number)?, spans.get(number)?);
    let seen: Vec<&str> =
        cuts.iter().zip(bytes).map(|(cut, bytes)| cut.text.get(bytes.clone()).unwrap_or_default()).collect();
    // What a run lacks is its presence, and no value.
    if seen.iter().any(|text| text.trim().is_empty()) {
        return None;
    }
    let (base, words) = (cuts.first()?, part.first()?);
    let letters = |at: usize| Some(base.word(at)).filter(|word| word.contains(char::is_alphanumeric));
    let before = (words.start.saturating_sub(3)..words.start).rev().find_map(letters).unwrap_or_default();
    let behind = (words.end..(words.end + 2).min(base.words.len())).find_map(letters);
    let kind = kind_of(before, behind, &seen);
    let class = class_of(&seen);
    let pieces = pieces(cuts, parts, spans);
    let here = pieces.iter().position(|piece| *piece == Piece::Part(number))?;
    CONTEXTS.into_iter().find_map(|context| {
        let from = here.saturating_sub(context);
        let to = here.saturating_add(context).saturating_add(1).min(pieces.len());
        let side = |range: Range<usize>| -> String {
            pieces.get(range).unwrap_or_default().iter().map(|piece| written(piece, cuts, spans)).collect()
        };
        let tells = |at: usize| matches!(pieces.get(at), Some(Piece::Word(word)) if base.tells(*word));
        let begin = if from == 0 {
            "^"
        } else if from < here && tells(from) {
            r"\b"
        } else {
            ""
        };
        let end = if to == pieces.len() {
            "$"
        } else if to > here + 1 && tells(to - 1) {
            r"\b"
        } else {
            ""
        };
        let expression = format!("{begin}{}({class}){}{end}", side(from..here), side(here + 1..to));
        let compiled = Regex::new(&expression).ok()?;
        let fits = cuts.iter().enumerate().all(|(at, cut)| {
            let wanted = bytes.get(at);
            let found = groups(&compiled, cut.text);
            let varies = |span: &Range<usize>| spans.iter().any(|part| part.get(at) == Some(span));
            wanted.is_some_and(|wanted| found.contains(wanted)) && found.iter().all(varies)
        });
        fits.then_some((Some(expression), kind))
    })
}

/// A piece of a text, as an expression sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// A word that never varies.
    Word(usize),
    /// What is excused without a rule.
    Volatile,
    /// A part that varies.
    Part(usize),
}

/// Returns the pieces of the recording's text.
fn pieces(cuts: &[Cut<'_>], parts: &[Vec<Range<usize>>], spans: &[Vec<Range<usize>>]) -> Vec<Piece> {
    let Some(base) = cuts.first() else { return Vec::new() };
    let starts: Vec<(usize, usize)> = parts
        .iter()
        .take(spans.len())
        .map(|part| part.first().map_or((0, 0), |words| (words.start, words.end)))
        .collect();
    let mut found = Vec::new();
    let (mut at, mut next) = (0, 0);
    while at < base.words.len() || next < starts.len() {
        match starts.get(next) {
            Some((start, end)) if *start <= at => {
                found.push(Piece::Part(next));
                at = at.max(*end);
                next += 1;
            }
            _ => {
                let volatile = base.words.get(at).is_some_and(|word| word.volatile.is_some());
                found.push(if volatile { Piece::Volatile } else { Piece::Word(at) });
                at += 1;
            }
        }
    }
    found
}

/// Returns the expression of a piece beside the part that is looked for.
fn written(piece: &Piece, cuts: &[Cut<'_>], spans: &[Vec<Range<usize>>]) -> String {
    match piece {
        Piece::Word(at) => cuts.first().map(|base| regex::escape(base.word(*at))).unwrap_or_default(),
        Piece::Volatile => "(?s:.+?)".into(),
        Piece::Part(number) => {
            let bytes = spans.get(*number).map(Vec::as_slice).unwrap_or_default();
            let seen: Vec<&str> =
                cuts.iter().zip(bytes).map(|(cut, bytes)| cut.text.get(bytes.clone()).unwrap_or_default()).collect();
            if seen.iter().any(|text| text.is_empty()) { "(?s:.*?)".into() } else { class_of(&seen).into() }
        }
    }
}

/// Returns the narrowest class of letters that all parts fit.
fn class_of(seen: &[&str]) -> &'static str {
    let all = |fits: &dyn Fn(char) -> bool| seen.iter().all(|text| text.chars().all(fits));
    let decimal = |text: &&str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits(whole) && digits(fraction)
    };
    if all(&|c| c.is_ascii_digit()) {
        r"\d+"
    } else if seen.iter().all(decimal) {
        r"\d+(?:\.\d+)?"
    } else if all(&|c| c.is_ascii_alphanumeric()) {
        "[0-9A-Za-z]+"
    } else if all(&|c| !c.is_whitespace()) {
        r"\S+?"
    } else {
        "(?s:.+?)"
    }
}

/// Cuts a text into words, numbers, blanks and signs; what is excused without a rule stays whole.
fn cut(text: &str, era: Option<Era>) -> Cut<'_> {
    let mut words = Vec::new();
    let mut from = 0;
    for span in spans(text, era) {
        plain(text, from..span.start, &mut words);
        words.push(Word { span: span.start..span.end, volatile: Some((span.shape.mask, span.shape.form)) });
        from = span.end;
    }
    plain(text, from..text.len(), &mut words);
    Cut { text, words }
}

fn plain(text: &str, stretch: Range<usize>, words: &mut Vec<Word>) {
    let inside = text.get(stretch.clone()).unwrap_or_default();
    let mut at = 0;
    while let Some(first) = inside.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = inside.get(at..).unwrap_or_default();
        let length = word_length(rest, first);
        let start = stretch.start + at;
        words.push(Word { span: start..start + length, volatile: None });
        at += length;
    }
}

/// Returns how long the word at the beginning of a text is: letters and digits, a number with its unit cut off, or
/// one sign.
fn word_length(rest: &str, first: char) -> usize {
    if !first.is_alphanumeric() {
        return first.len_utf8();
    }
    let run = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let word = rest.get(..run).unwrap_or_default();
    let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(run);
    if digits == 0 {
        return run;
    }
    if digits < run {
        let unit = word.get(digits..).unwrap_or_default();
        let is_unit = crate::analysis::rules::UNITS.contains(&unit.to_lowercase().as_str());
        return if is_unit { digits } else { run };
    }
    // A fraction, or a time of day with its minutes, belongs to the number; a full stop does not.
    let mut end = digits;
    while let Some(more) = rest.get(end..).and_then(|rest| rest.strip_prefix(['.', ':'])) {
        let count = more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
        let ends = !more.get(count..).and_then(|rest| rest.chars().next()).is_some_and(char::is_alphabetic)
            || more.get(count..).is_some_and(|rest| {
                let unit =
                    rest.find(|c: char| !c.is_alphanumeric()).map_or(rest, |end| rest.get(..end).unwrap_or_default());
                crate::analysis::rules::UNITS.contains(&unit.to_lowercase().as_str())
            });
        if count == 0 || !ends {
            break;
        }
        end += 1 + count;
    }
    end
}
