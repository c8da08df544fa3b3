//! Which parts of a text vary, and the expression that finds each between what does not.

use super::value;
use crate::analysis::volatile::{Era, Mask, spans};
use crate::session::mask::MaskType;
use regex::Regex;
use similar::algorithms::Algorithm;
use similar::{DiffOp, capture_diff_slices};
use std::ops::Range;

/// The longest texts that are looked at, in words.
const MOST_WORDS: usize = 4_000;

/// How many words beside a part are tried to tell it from others.
const CONTEXTS: [usize; 4] = [2, 4, 8, usize::MAX];

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
    let known = |cut: &Cut<'_>| -> Vec<String> {
        (0..cut.words.len())
            .map(|at| match cut.words.get(at).and_then(|word| word.volatile) {
                Some(shape) => format!("\0{shape:?}"),
                None => cut.word(at).to_owned(),
            })
            .collect()
    };
    let (left, right) = (known(base), known(run));
    let mut found = vec![None; left.len()];
    for op in capture_diff_slices(Algorithm::Myers, &left, &right) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for step in 0..len {
                if let Some(slot) = found.get_mut(old_index + step) {
                    *slot = Some(new_index + step);
                }
            }
        }
    }
    found
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
    // The context ends where something else varies.
    let floor = parts.iter().filter_map(|other| other.first()).filter(|other| other.end <= words.start);
    let floor = floor.map(|other| other.end).max().unwrap_or(0);
    let ceiling =
        parts.iter().filter_map(|other| other.first()).filter(|other| other.start >= words.end && *other != words);
    let ceiling = ceiling.map(|other| other.start).min().unwrap_or(base.words.len());
    CONTEXTS.into_iter().find_map(|context| {
        let left = context_before(base, floor, words.start, context);
        let right = context_behind(base, words.end, ceiling, context);
        let written = format!("{left}({class}){right}");
        let compiled = Regex::new(&written).ok()?;
        let fits = cuts.iter().enumerate().all(|(at, cut)| {
            let wanted = bytes.get(at);
            let found: Vec<Range<usize>> =
                compiled.captures_iter(cut.text).filter_map(|captures| Some(captures.get(1)?.range())).collect();
            let varies = |span: &Range<usize>| spans.iter().any(|part| part.get(at) == Some(span));
            wanted.is_some_and(|wanted| found.contains(wanted)) && found.iter().all(varies)
        });
        fits.then_some((Some(written), kind))
    })
}

fn context_before(base: &Cut<'_>, floor: usize, to: usize, most: usize) -> String {
    let mut from = to.saturating_sub(most).max(floor);
    // What is excused by its shape is no literal.
    let volatile = |at: &usize| base.words.get(*at).is_some_and(|word| word.volatile.is_some());
    if let Some(last) = (from..to).rev().find(volatile) {
        from = last + 1;
    }
    let literal: String = (from..to).map(|at| regex::escape(base.word(at))).collect();
    let begin = if from == 0 { "^" } else { "" };
    let edge = if literal.starts_with(|c: char| c.is_ascii_alphanumeric()) && from > 0 { r"\b" } else { "" };
    format!("{begin}{edge}{literal}")
}

fn context_behind(base: &Cut<'_>, from: usize, ceiling: usize, most: usize) -> String {
    let mut to = from.saturating_add(most).min(ceiling);
    let volatile = |at: &usize| base.words.get(*at).is_some_and(|word| word.volatile.is_some());
    if let Some(first) = (from..to).find(volatile) {
        to = first;
    }
    let literal: String = (from..to).map(|at| regex::escape(base.word(at))).collect();
    let end = if to == base.words.len() { "$" } else { "" };
    let edge = if literal.ends_with(|c: char| c.is_ascii_alphanumeric()) && end.is_empty() { r"\b" } else { "" };
    format!("{literal}{edge}{end}")
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
