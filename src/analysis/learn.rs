//! Masks that are learned: what differs between runs of the same build, at the narrowest place and the narrowest part
//! of a text.
//!
//! What is learned is tried: a difference that is still there under the new masks (a value that one run lacks, another
//! type, another outcome) cannot be masked, and is told.

mod text;
mod value;

use super::diff::diff_masked;
use super::exchanges::{Exchange, Recording};
use super::report::{Change, ChangeKind, DiffReport, Level, Options, Pointers};
use super::rules::Rules;
use crate::protocol::json::Tree;
use crate::session::mask::{MaskRule, MaskType};
use crate::session::message::Place;
use std::collections::{BTreeMap, BTreeSet};

/// What repeated runs taught.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    /// The new masks.
    pub rules: Vec<MaskRule>,
    /// What differs and cannot be masked, each thing once.
    pub cannot: Vec<Cannot>,
}

/// A difference between runs that no mask excuses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cannot {
    /// The method of the exchange, or what was listed; a notification's name.
    pub method: String,
    /// The tool, resource or listed item.
    pub name: Option<String>,
    /// Where, as a comparison prints it; with what stands inside JSON in a text.
    pub pointer: String,
    /// What kind of difference it is.
    pub kind: ChangeKind,
}

/// How often what is still different is looked at again under the masks found so far.
const ROUNDS: usize = 4;

/// The most masks that are worth having.
const MOST_RULES: usize = 500;

/// Finds the masks under which runs of one build are equal to a recording of it.
#[must_use]
pub fn learn(base: &Recording, runs: &[Recording], options: Options, rules: &Rules) -> Learned {
    let mut learned = Learned::default();
    let mut all = rules.clone();
    for _ in 0..ROUNDS {
        let reports: Vec<DiffReport> = runs.iter().map(|run| diff_masked(base, run, options, &all)).collect();
        let before = learned.rules.len();
        for rule in proposals(base, runs, &reports) {
            if learned.rules.len() < MOST_RULES
                && !learned.rules.contains(&rule)
                && let Ok(more) = all.clone().and(&rule)
            {
                all = more;
                learned.rules.push(rule);
            }
        }
        if learned.rules.len() == before {
            break;
        }
    }
    let left: BTreeSet<Cannot> =
        runs.iter().flat_map(|run| cannot(&diff_masked(base, run, options, &all), options)).collect();
    learned.cannot = left.into_iter().collect();
    learned
}

/// Returns what of a comparison fails.
fn cannot(report: &DiffReport, options: Options) -> Vec<Cannot> {
    let fails = report.changes.iter().filter(|change| change.fails(options.fail_on));
    fails
        .map(|change| {
            let head =
                change.pair.and_then(|at| report.pairs.get(at)).and_then(|pair| pair.a.as_ref().or(pair.b.as_ref()));
            let inside = change.inside.as_ref().map(Pointers::shown).unwrap_or_default();
            let (method, name) = match (head, &change.item) {
                (Some(head), _) => (head.method.clone(), head.name.clone()),
                (None, Some(item)) => (item.kind.to_owned(), Some(item.name.clone())),
                (None, None) => (String::new(), None),
            };
            Cannot { method, name, pointer: format!("{}{inside}", change.pointer.shown()), kind: change.kind }
        })
        .collect()
}

/// Which exchanges a mask is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Tool(String),
    Resource(String),
    Method(String),
}

impl Scope {
    fn of(exchange: &Exchange) -> Self {
        // A name with a star in it would be read as a pattern; it still fits itself.
        match (exchange.method.as_str(), &exchange.name) {
            ("tools/call", Some(name)) => Self::Tool(name.clone()),
            ("resources/read", Some(name)) => Self::Resource(name.clone()),
            (method, _) => Self::Method(method.to_owned()),
        }
    }

    fn rule(&self, at: &[String], text: Option<String>, kind: MaskType) -> MaskRule {
        let (mut method, mut tool, mut resource) = (None, None, None);
        match self {
            Self::Tool(name) => tool = Some(name.clone()),
            Self::Resource(name) => resource = Some(name.clone()),
            Self::Method(name) => method = Some(name.clone()),
        }
        let at = Some(at.iter().map(|token| format!("/{token}")).collect());
        MaskRule { method, tool, resource, at, text, kind, learned: true }
    }
}

/// What was seen at one place of one exchange: the JSON text of the recording, and that of each run that differs.
type Samples = Vec<Vec<u8>>;

/// A place, by its tokens.
type At = Vec<String>;

fn proposals(base: &Recording, runs: &[Recording], reports: &[DiffReport]) -> Vec<MaskRule> {
    let mut seen: BTreeMap<(Scope, At, Place), Samples> = BTreeMap::new();
    let mut orders: BTreeSet<(Scope, At)> = BTreeSet::new();
    for (run, report) in runs.iter().zip(reports) {
        for change in report.changes.iter().filter(|change| change.level == Level::Content) {
            let Some(pair) = change.pair.and_then(|at| report.pairs.get(at)) else { continue };
            let (Some(ours), Some(theirs)) = (&pair.a, &pair.b) else { continue };
            let (Some(ours), Some(theirs)) = (at_place(base, ours.place), at_place(run, theirs.place)) else {
                continue;
            };
            let Some((at, other)) = places(change) else { continue };
            match change.kind {
                ChangeKind::Reordered => {
                    orders.insert((Scope::of(ours), at));
                }
                ChangeKind::Changed | ChangeKind::Text | ChangeKind::Blob | ChangeKind::FloatNoise => {
                    let (Some(a), Some(b)) = (value_at(ours, &at), value_at(theirs, &other)) else { continue };
                    let samples = seen.entry((Scope::of(ours), at, ours.place)).or_insert_with(|| vec![a]);
                    samples.push(b);
                }
                // What one side lacks, another type and another outcome are no values that could be masked.
                _ => {}
            }
        }
    }
    let mut found: Vec<MaskRule> = orders.iter().map(|(scope, at)| scope.rule(at, None, MaskType::Order)).collect();
    let places: Vec<(&Scope, &At)> = seen.keys().map(|(scope, at, _)| (scope, at)).collect();
    let eras = (base.era, runs.first().and_then(|run| run.era));
    for ((scope, at, _), samples) in &seen {
        let wide = generalised(scope, at, &places);
        for (text, kind) in value::masks_of(at, samples, eras) {
            found.push(scope.rule(&wide, text, kind));
        }
    }
    found
}

/// Replaces the indices at which several items of an array vary by a wildcard.
fn generalised(scope: &Scope, at: &At, places: &[(&Scope, &At)]) -> At {
    let mut wide = at.clone();
    for (other_scope, other) in places {
        if *other_scope != scope || other.len() != at.len() {
            continue;
        }
        let index = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
        let differ: Vec<usize> = (0..at.len()).filter(|place| at.get(*place) != other.get(*place)).collect();
        let both_indices =
            |place: &usize| at.get(*place).zip(other.get(*place)).is_some_and(|(one, two)| index(one) && index(two));
        if differ.iter().all(both_indices) {
            for place in differ {
                if let Some(token) = wide.get_mut(place) {
                    "*".clone_into(token);
                }
            }
        }
    }
    wide
}

fn at_place(recording: &Recording, place: Place) -> Option<&Exchange> {
    recording.exchanges.iter().find(|exchange| exchange.place == place)
}

/// Returns where a change is on both sides, through the JSON that a text holds.
fn places(change: &Change) -> Option<(At, At)> {
    let inside = change.inside.as_ref();
    let joined = |pointer: Option<&String>, inner: Option<&String>| -> Option<At> {
        let whole = format!("{}{}", pointer?, inner.map(String::as_str).unwrap_or_default());
        Some(whole.split('/').skip(1).map(str::to_owned).collect())
    };
    let a = joined(change.pointer.a.as_ref(), inside.and_then(|inside| inside.a.as_ref()))?;
    let b = joined(change.pointer.b.as_ref(), inside.and_then(|inside| inside.b.as_ref()))?;
    Some((a, b))
}

/// Returns the JSON text of a value of an exchange.
fn value_at(exchange: &Exchange, at: &[String]) -> Option<Vec<u8>> {
    let (part, rest) = match at.first().map(String::as_str) {
        Some("params") => (&exchange.params, at.get(1..)?),
        Some("error") => (&exchange.error, at.get(1..)?),
        _ => (&exchange.result, at),
    };
    below(part.as_deref()?, rest, true)
}

fn below(json: &[u8], at: &[String], may_open: bool) -> Option<Vec<u8>> {
    let tree = Tree::parse(json).ok()?;
    let mut node = tree.root();
    for (depth, token) in at.iter().enumerate() {
        if may_open && let Some(text) = node.as_text() {
            return below(text.as_bytes(), at.get(depth..)?, false);
        }
        node = node.pointer(&format!("/{token}"))?;
    }
    Some(node.raw().to_vec())
}

#[cfg(test)]
mod tests;
