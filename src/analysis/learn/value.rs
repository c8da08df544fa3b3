//! What kind of value one place holds, judged by what was seen there.

use super::text;
use crate::analysis::rules::UNITS;
use crate::analysis::volatile::Era;
use crate::protocol::json::{Kind, Tree};
use crate::protocol::number::Decimal;
use crate::session::mask::MaskType;

/// Returns the masks that excuse what was seen at a place: for each the part of a text, and the type.
pub(super) fn masks_of(
    at: &[String],
    samples: &[Vec<u8>],
    eras: (Option<Era>, Option<Era>),
) -> Vec<(Option<String>, MaskType)> {
    let trees: Vec<Tree<'_>> = samples.iter().filter_map(|sample| Tree::parse(sample).ok()).collect();
    let Some(kind) = trees.first().map(|tree| tree.root().kind()) else { return Vec::new() };
    if trees.iter().any(|tree| tree.root().kind() != kind) {
        return Vec::new();
    }
    let key = at.iter().rev().find(|token| !token.bytes().all(|byte| byte.is_ascii_digit()));
    let key = key.map(String::as_str).unwrap_or_default();
    match kind {
        Kind::String => {
            let texts: Option<Vec<String>> =
                trees.iter().map(|tree| tree.root().as_text().map(std::borrow::Cow::into_owned)).collect();
            texts.map(|texts| text::masks_of(key, &texts, eras.0.or(eras.1))).unwrap_or_default()
        }
        Kind::Number => {
            let spelled: Vec<&str> = trees.iter().filter_map(|tree| tree.root().as_number()).collect();
            vec![(None, number(key, None, &spelled))]
        }
        Kind::Bool => vec![(None, MaskType::Random)],
        Kind::Null | Kind::Array | Kind::Object => Vec::new(),
    }
}

/// Returns the type of numbers, given the key or the word before them and the word behind them.
pub(super) fn number(before: &str, behind: Option<&str>, spelled: &[&str]) -> MaskType {
    let words: Vec<String> = words(before);
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    let unit = behind.is_some_and(|word| UNITS.contains(&word.to_lowercase().as_str()));
    if unit
        || has(&[
            "ms",
            "ns",
            "us",
            "secs",
            "seconds",
            "millis",
            "milliseconds",
            "duration",
            "elapsed",
            "took",
            "latency",
            "uptime",
        ])
    {
        return MaskType::Duration;
    }
    if has(&["timestamp", "time", "date", "at", "epoch", "now", "created", "updated", "modified"]) {
        return MaskType::Timestamp;
    }
    if rises(spelled) { MaskType::Counter } else { MaskType::Random }
}

/// Tells whether whole numbers rise from one run to the next.
fn rises(spelled: &[&str]) -> bool {
    let whole: Option<Vec<i128>> = spelled
        .iter()
        .map(|text| Decimal::parse(text).filter(Decimal::is_integer).and_then(|_| text.parse().ok()))
        .collect();
    whole.is_some_and(|numbers| numbers.windows(2).all(|pair| pair[0] < pair[1]))
}

/// Cuts a key into its words: `tookMs`, `took_ms`.
fn words(key: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for letter in key.chars() {
        if !letter.is_alphanumeric() {
            found.push(String::new());
            continue;
        }
        if letter.is_uppercase() && found.last().is_some_and(|word| word.ends_with(char::is_lowercase)) {
            found.push(String::new());
        }
        if let Some(word) = found.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    found
}
