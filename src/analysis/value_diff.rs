//! Two JSON values, compared over the lossless tree: what differs, and at which pointer.
//!
//! Nothing recurses, and a pointer is written out only where something differs, so a value that is 100,000 levels
//! deep costs what one of its length costs.

mod scalars;

use super::array_align::{self, Side};
use super::normalize::{Eyes, MaskCounts, mask_of_place};
use super::report::{ChangeKind, Options, Pointers, SideValue};
use super::rules::{Hits, Start};
use super::text_diff::Piece;
use super::value_hash::Hashes;
use super::volatile::Mask;
use crate::protocol::json::{Kind, Node, Tree, unescape_bytes};
use crate::protocol::number::Decimal;
use std::borrow::Cow;
use std::collections::HashMap;

/// What is being compared; it decides which members mean nothing, or little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    /// The result of a request.
    Result,
    /// The parameters of a request.
    Params,
    /// Something that the server lists.
    Surface,
    /// Who spoke.
    Identity,
}

/// How two values are compared, and what many comparisons share.
pub struct Comparer<'c> {
    /// What is compared.
    pub matter: Matter,
    /// How each side's volatile values are seen.
    pub eyes: Eyes<'c>,
    /// What rules excuse.
    pub rules: Start<'c>,
    /// What the user asked for.
    pub options: Options,
    /// What was excused.
    pub masks: &'c mut MaskCounts,
    /// How much work may still go into the words of texts.
    pub budget: &'c mut u64,
    /// How many differences were found beyond those that are kept.
    pub left_out: &'c mut u64,
}

/// One difference between two values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueChange {
    /// What kind it is.
    pub kind: ChangeKind,
    /// True if it stands where only hints do.
    pub soft: bool,
    /// Where it is.
    pub pointer: Pointers,
    /// Where it is inside the JSON that the text at `pointer` holds.
    pub inside: Option<Pointers>,
    /// The first side's value.
    pub a: Option<SideValue>,
    /// The second side's value.
    pub b: Option<SideValue>,
    /// The words of a changed text.
    pub words: Vec<Piece>,
}

/// The most differences of two values that are kept.
const MOST_CHANGES: usize = 10_000;

/// The most bytes of pointers that are written out for two values.
const MOST_POINTER_BYTES: usize = 8 << 20;

impl Comparer<'_> {
    /// Compares two JSON texts; one that is no JSON is compared as text.
    pub fn texts(&mut self, a: &[u8], b: &[u8]) -> Vec<ValueChange> {
        if a == b {
            return Vec::new();
        }
        match (Tree::parse(a), Tree::parse(b)) {
            (Ok(a), Ok(b)) => self.trees(&a, &b),
            _ => vec![ValueChange {
                kind: ChangeKind::Changed,
                soft: false,
                pointer: Pointers::both(""),
                inside: None,
                a: Some(SideValue::of_text(&String::from_utf8_lossy(a))),
                b: Some(SideValue::of_text(&String::from_utf8_lossy(b))),
                words: Vec::new(),
            }],
        }
    }

    /// Compares two trees.
    pub fn trees(&mut self, a: &Tree<'_>, b: &Tree<'_>) -> Vec<ValueChange> {
        let mut texts = Vec::new();
        let rules = self.rules.clone();
        let mut changes = Walk::new(self, a, b, (&rules, &rules), false).run(&mut texts);
        for JsonTexts { soft, pointer, a, b, rules } in texts {
            let (Ok(ours), Ok(theirs)) = (Tree::parse(a.as_bytes()), Tree::parse(b.as_bytes())) else { continue };
            let inner = Walk::new(self, &ours, &theirs, (&rules.0, &rules.1), true).run(&mut Vec::new());
            changes.extend(inner.into_iter().map(|change| ValueChange {
                soft: change.soft || soft,
                inside: Some(change.pointer),
                pointer: pointer.clone(),
                ..change
            }));
        }
        changes
    }
}

/// Two texts that hold JSON, to be compared as JSON.
struct JsonTexts<'r> {
    soft: bool,
    rules: (Start<'r>, Start<'r>),
    pointer: Pointers,
    a: String,
    b: String,
}

/// A step down from a value to one in it.
struct Step<'t> {
    parent: usize,
    key: Option<Cow<'t, str>>,
    index_a: usize,
    index_b: usize,
    depth: usize,
    soft: bool,
}

struct Walk<'w, 'c, 't> {
    comparer: &'w mut Comparer<'c>,
    a: &'t Tree<'t>,
    b: &'t Tree<'t>,
    hashes: (Hashes, Hashes),
    hits: (Hits<'c>, Hits<'c>),
    steps: Vec<Step<'t>>,
    inside: bool,
    pointer_bytes: usize,
    changes: Vec<ValueChange>,
}

type Pair<'t> = (Node<'t, 't>, Node<'t, 't>, usize);

impl<'w, 'c, 't> Walk<'w, 'c, 't> {
    fn new(
        comparer: &'w mut Comparer<'c>,
        a: &'t Tree<'t>,
        b: &'t Tree<'t>,
        rules: (&Start<'c>, &Start<'c>),
        inside: bool,
    ) -> Self {
        let strict = comparer.eyes.a.strict || comparer.eyes.b.strict;
        let met = |tree, start| {
            let hits = if strict { Hits::default() } else { Hits::of(tree, start) };
            if inside { hits.closed() } else { hits }
        };
        let hits = (met(a, rules.0), met(b, rules.1));
        let hashes = (Hashes::masked(a, comparer.eyes.a, &hits.0), Hashes::masked(b, comparer.eyes.b, &hits.1));
        let root = Step { parent: 0, key: None, index_a: 0, index_b: 0, depth: 0, soft: false };
        Self { comparer, a, b, hashes, hits, steps: vec![root], inside, pointer_bytes: 0, changes: Vec::new() }
    }

    fn run(mut self, texts: &mut Vec<JsonTexts<'c>>) -> Vec<ValueChange> {
        let mut open: Vec<Pair<'t>> = vec![(self.a.root(), self.b.root(), 0)];
        while let Some((a, b, step)) = open.pop() {
            if self.same_spelling(a, b) || self.excuse_by_rule(a, b) {
                continue;
            }
            match (a.kind(), b.kind()) {
                (Kind::Object, Kind::Object) => self.objects(a, b, step, &mut open),
                (Kind::Array, Kind::Array) => self.arrays(a, b, step, &mut open),
                (Kind::String, Kind::String) => self.strings(a, b, step, texts),
                (Kind::Number, Kind::Number) => self.numbers(a, b, step),
                (x, y) => {
                    let kind = if x == y { ChangeKind::Changed } else { ChangeKind::Type };
                    self.both(kind, a, b, step, false);
                }
            }
        }
        self.changes
    }

    fn same_spelling(&self, a: Node<'t, 't>, b: Node<'t, 't>) -> bool {
        self.hashes.0.spelling(a.id()) == self.hashes.1.spelling(b.id())
    }

    fn objects(&mut self, a: Node<'t, 't>, b: Node<'t, 't>, step: usize, open: &mut Vec<Pair<'t>>) {
        let mut theirs: HashMap<Cow<'t, [u8]>, Vec<Node<'t, 't>>> = HashMap::with_capacity(b.len());
        for member in b.children() {
            theirs.entry(unescape_bytes(member.key_raw().unwrap_or_default())).or_default().push(member);
        }
        // From the end, since of duplicate keys it is the last that counts.
        let members: Vec<Node<'t, 't>> = a.children().collect();
        let mut removed = Vec::new();
        for member in members.into_iter().rev() {
            let key = unescape_bytes(member.key_raw().unwrap_or_default());
            match theirs.get_mut(&key).and_then(Vec::pop) {
                Some(partner) if self.same_spelling(member, partner) => {}
                Some(partner) => {
                    if let Some(next) = self.member(step, member) {
                        open.push((member, partner, next));
                    }
                }
                None => removed.push(member),
            }
        }
        for member in removed.into_iter().rev() {
            self.alone(member, step, None, true);
        }
        let mut added: Vec<Node<'t, 't>> = theirs.into_values().flatten().collect();
        added.sort_unstable_by_key(|member| member.id());
        for member in added {
            self.alone(member, step, None, false);
        }
    }

    /// Returns the step down to a member; `None` if it means nothing.
    fn member(&mut self, parent: usize, member: Node<'t, 't>) -> Option<usize> {
        let key = member.key().unwrap_or_default();
        let weight = self.weight(parent, &key);
        let soft = self.steps.get(parent).is_some_and(|step| step.soft) || weight == Weight::Soft;
        if weight == Weight::Nothing {
            return None;
        }
        Some(self.step(parent, Some(key), (0, 0), soft))
    }

    fn step(&mut self, parent: usize, key: Option<Cow<'t, str>>, index: (usize, usize), soft: bool) -> usize {
        let depth = self.steps.get(parent).map_or(0, |step| step.depth) + 1;
        self.steps.push(Step { parent, key, index_a: index.0, index_b: index.1, depth, soft });
        self.steps.len() - 1
    }

    /// Returns how much a member counts.
    fn weight(&self, parent: usize, key: &str) -> Weight {
        let depth = self.steps.get(parent).map_or(0, |step| step.depth);
        if depth > 1 || self.inside {
            return Weight::Full;
        }
        let in_task = depth == 1 && self.steps.get(parent).is_some_and(|step| step.key.as_deref() == Some("task"));
        match (self.comparer.matter, key) {
            // Its value is in the outcome.
            (Matter::Result, "isError") if depth == 0 => Weight::Nothing,
            (Matter::Result, "resultType") if depth == 0 => Weight::Nothing,
            (Matter::Result | Matter::Params | Matter::Surface, "_meta") if depth == 0 => Weight::Soft,
            (Matter::Result, "ttl" | "ttlMs" | "cacheScope" | "pollInterval" | "pollIntervalMs" | "statusMessage")
                if depth == 0 || in_task =>
            {
                Weight::Soft
            }
            _ => Weight::Full,
        }
    }

    fn arrays(&mut self, a: Node<'t, 't>, b: Node<'t, 't>, step: usize, open: &mut Vec<Pair<'t>>) {
        let surface = self.comparer.matter == Matter::Surface;
        let set = surface
            && self
                .steps
                .get(step)
                .and_then(|step| step.key.as_deref())
                .is_some_and(|key| matches!(key, "required" | "enum" | "type"));
        let unordered = self.hits.0.unordered(a.id()) && self.hits.1.unordered(b.id());
        let ours: Vec<Node<'t, 't>> = a.children().collect();
        let theirs: Vec<Node<'t, 't>> = b.children().collect();
        let found = array_align::align(
            Side { array: a, hashes: &self.hashes.0 },
            Side { array: b, hashes: &self.hashes.1 },
            set || unordered,
        );
        if unordered {
            // Whatever paired the items: those that change places go up and down.
            let mut places: Vec<(usize, usize)> = found.pairs.clone();
            places.sort_unstable();
            if places.windows(2).any(|pair| pair[1].1 < pair[0].1) {
                self.count(&[Mask::Order]);
            }
        } else if found.reordered {
            self.both(ChangeKind::Reordered, a, b, step, surface);
        }
        let soft = self.steps.get(step).is_some_and(|step| step.soft);
        for place in found.removed {
            if let Some(item) = ours.get(place) {
                self.alone(*item, step, Some(place), true);
            }
        }
        for place in found.added {
            if let Some(item) = theirs.get(place) {
                self.alone(*item, step, Some(place), false);
            }
        }
        for (x, y) in found.pairs.into_iter().rev() {
            let (Some(item), Some(partner)) = (ours.get(x), theirs.get(y)) else { continue };
            if !self.same_spelling(*item, *partner) {
                let next = self.step(step, None, (x, y), soft);
                open.push((*item, *partner, next));
            }
        }
    }

    fn count(&mut self, masks: &[Mask]) {
        for mask in masks {
            *self.comparer.masks.entry(*mask).or_default() += 1;
        }
    }

    /// Tells whether a rule excuses whatever two values of one type are, and counts it.
    fn excuse_by_rule(&mut self, a: Node<'t, 't>, b: Node<'t, 't>) -> bool {
        if a.kind() != b.kind() {
            return false;
        }
        // Another spelling of the same number is told, not masked.
        let number = |node: Node<'t, 't>| node.as_number().and_then(Decimal::parse);
        let differs = || a.kind() != Kind::Number || number(a) != number(b);
        let rule = self.hits.0.common(a, &self.hits.1, b).filter(|_| differs());
        if let Some(rule) = rule {
            self.count(&[rule.mask()]);
        }
        rule.is_some()
    }

    /// Tells whether the protocol makes the value at a place volatile, and counts it.
    fn excuse_place(&mut self, step: usize) -> bool {
        let strict = self.comparer.eyes.a.strict || self.comparer.eyes.b.strict;
        let mask = self.short_path(step).filter(|_| !strict && !self.inside).and_then(|path| mask_of_place(&path));
        if let Some(mask) = mask {
            self.count(&[mask]);
        }
        mask.is_some()
    }

    /// Returns the keys down to a step, `""` for items; `None` if it lies deeper than the protocol's own places.
    fn short_path(&self, step: usize) -> Option<Vec<&str>> {
        let mut at = self.steps.get(step).filter(|step| step.depth <= 4)?;
        let mut path = Vec::new();
        while at.depth > 0 {
            path.push(at.key.as_deref().unwrap_or_default());
            at = self.steps.get(at.parent)?;
        }
        path.reverse();
        Some(path)
    }

    fn both(&mut self, kind: ChangeKind, a: Node<'t, 't>, b: Node<'t, 't>, step: usize, soft: bool) {
        let soft = soft
            || self.steps.get(step).is_some_and(|step| step.soft)
            || kind == ChangeKind::Reordered && self.comparer.options.ignore_order;
        let Some(pointer) = self.pointers(step, None) else { return };
        let (a, b) = (SideValue::of_json(a.raw()), SideValue::of_json(b.raw()));
        self.changes.push(ValueChange { kind, soft, pointer, inside: None, a: Some(a), b: Some(b), words: Vec::new() });
    }

    /// Adds a value that one side has alone, under the step `parent`.
    fn alone(&mut self, node: Node<'t, 't>, parent: usize, index: Option<usize>, ours: bool) {
        let key = node.key();
        let weight = key.as_deref().map_or(Weight::Full, |key| self.weight(parent, key));
        if weight == Weight::Nothing {
            return;
        }
        let soft = weight == Weight::Soft || self.steps.get(parent).is_some_and(|step| step.soft);
        let last = match index {
            Some(index) => Cow::Owned(index.to_string()),
            None => key.unwrap_or_default(),
        };
        let Some(pointers) = self.pointers(parent, Some(&last)) else { return };
        let value = Some(SideValue::of_json(node.raw()));
        let change = ValueChange {
            kind: if ours { ChangeKind::Removed } else { ChangeKind::Added },
            soft,
            pointer: Pointers::default(),
            inside: None,
            a: None,
            b: None,
            words: Vec::new(),
        };
        self.changes.push(if ours {
            ValueChange { pointer: Pointers { a: pointers.a, b: None }, a: value, ..change }
        } else {
            ValueChange { pointer: Pointers { a: None, b: pointers.b }, b: value, ..change }
        });
    }

    /// Writes the pointers of a step out, and one token more; `None` once enough was written.
    fn pointers(&mut self, step: usize, last: Option<&str>) -> Option<Pointers> {
        if self.changes.len() >= MOST_CHANGES || self.pointer_bytes >= MOST_POINTER_BYTES {
            *self.comparer.left_out += 1;
            return None;
        }
        let mut chain = Vec::new();
        let mut at = self.steps.get(step)?;
        while at.depth > 0 {
            chain.push(at);
            at = self.steps.get(at.parent)?;
        }
        let (mut a, mut b) = (String::new(), String::new());
        for step in chain.into_iter().rev() {
            match &step.key {
                Some(key) => {
                    push_token(&mut a, key);
                    push_token(&mut b, key);
                }
                None => {
                    push_token(&mut a, &step.index_a.to_string());
                    push_token(&mut b, &step.index_b.to_string());
                }
            }
        }
        if let Some(last) = last {
            push_token(&mut a, last);
            push_token(&mut b, last);
        }
        self.pointer_bytes += a.len() + b.len();
        Some(Pointers { a: Some(a), b: Some(b) })
    }
}

/// How much a member counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Nothing,
    Soft,
    Full,
}

fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

#[cfg(test)]
mod tests;
