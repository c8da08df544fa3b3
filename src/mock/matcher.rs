//! Which recorded request a live one is. Pure.
//!
//! By method and parameters: first by value, then with volatile values (times, ids, tokens) by their shape. What
//! `_meta` says does not count, nor who the client is, nor what a person answered to a question that a result asked.
//! Requests that ask for the same get the recorded answers in their order, and then the last one again.

use super::score::{Request, Score, what};
use crate::analysis::normalize::Eye;
use crate::analysis::rules::{Hits, Part, Rules, Start};
use crate::analysis::value_hash::Hashes;
use crate::protocol::json::Tree;
use crate::protocol::json::leaves;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

/// The deepest parameters that are searched for the place where they differ.
const DEEPEST: usize = 128;

/// What a request asks for, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keys {
    /// By value.
    pub value: u64,
    /// With volatile values by their shape.
    pub shape: u64,
}

/// Returns what a request asks for; `params` is JSON text, or empty.
///
/// Values that `rules` excuse count as volatile ones.
#[must_use]
pub fn keys(method: &str, name: Option<&str>, params: &[u8], eye: Eye<'_>, rules: &Rules) -> Keys {
    let strict = Eye { strict: true, ..eye };
    let ruled = rules.start_of(method, name, Part::Params);
    Keys { value: key(method, params, strict, &Start::default()), shape: key(method, params, eye, &ruled) }
}

fn key(method: &str, params: &[u8], eye: Eye<'_>, ruled: &Start<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    method.hash(&mut hasher);
    // Whoever greets is greeted, in whatever revision.
    if matches!(method, "initialize" | "server/discover" | "ping") {
        return hasher.finish();
    }
    // Absent parameters and none are the same.
    let params = if params.is_empty() { b"{}" } else { params };
    let Ok(tree) = Tree::parse(params) else { return hasher.finish() };
    let hashes = Hashes::masked(&tree, eye, &Hits::of(&tree, ruled));
    let mut sum = 0_u64;
    for (name, member) in tree.root().members() {
        // Absent arguments and no arguments are the same to every server.
        if name == "_meta" || name == "arguments" && member.is_empty() && member.is_container() {
            continue;
        }
        let mut one = DefaultHasher::new();
        name.hash(&mut one);
        if name == "inputResponses" && !eye.strict {
            // What was asked counts, not what a person said to it.
            let mut asked: Vec<_> = member.members().map(|(key, _)| key).collect();
            asked.sort_unstable();
            asked.hash(&mut one);
        } else {
            hashes.value(member.id()).hash(&mut one);
        }
        sum = sum.wrapping_add(one.finish());
    }
    sum.hash(&mut hasher);
    hasher.finish()
}

/// Returns true for what a client asks whenever it likes: whether the server is there, and what it speaks.
fn is_any_time(method: &str) -> bool {
    matches!(method, "ping" | "server/discover")
}

/// Which recorded requests may be taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Matching {
    /// Any that asks for the same.
    #[default]
    Params,
    /// Only the one whose turn it is.
    Sequence,
}

/// A live request.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Its method.
    pub method: &'a str,
    /// Its name.
    pub name: Option<&'a str>,
    /// Its parameters, as JSON text; empty if it has none.
    pub params: &'a [u8],
    /// What it asks for.
    pub keys: Keys,
}

/// A recorded request: which score, and which of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// The number of the score.
    pub score: usize,
    /// The number of the request in it.
    pub request: usize,
}

/// The recorded request that a live one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub spot: Spot,
    /// True if it was taken before.
    pub again: bool,
}

/// Why a live request is none of the recorded ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The recorded request that is most like it.
    pub nearest: Option<Spot>,
    /// Where the two differ first: a pointer, the recorded value and the one that is asked for.
    pub difference: Option<(String, Option<String>, Option<String>)>,
    /// The whole of it, as a sentence.
    pub why: String,
    /// True if nothing of this method is recorded at all.
    pub unknown: bool,
}

/// Requests that ask for the same, in their order, and how many of them are known to be taken.
#[derive(Debug, Default)]
struct Alike {
    spots: Vec<Spot>,
    next: usize,
}

impl Alike {
    /// Returns the first that is not taken.
    fn first(&mut self, taken: &BTreeMap<Spot, u64>) -> Option<Spot> {
        while self.spots.get(self.next).is_some_and(|spot| taken.contains_key(spot)) {
            self.next += 1;
        }
        self.spots.get(self.next).copied()
    }
}

/// Gives recorded requests out.
#[derive(Debug)]
pub struct Matcher<'s> {
    scores: &'s [Score],
    matching: Matching,
    taken: BTreeMap<Spot, u64>,
    by_value: HashMap<u64, Alike>,
    by_shape: HashMap<u64, Alike>,
    in_turn: Alike,
    greeted: Option<usize>,
}

impl<'s> Matcher<'s> {
    /// Returns a matcher that has given nothing out yet.
    #[must_use]
    pub fn new(scores: &'s [Score], matching: Matching) -> Self {
        let (by_value, by_shape, in_turn) = (HashMap::new(), HashMap::new(), Alike::default());
        let mut new = Self { scores, matching, taken: BTreeMap::new(), by_value, by_shape, in_turn, greeted: None };
        for (spot, request) in new.all() {
            new.by_value.entry(request.keys.value).or_default().spots.push(spot);
            new.by_shape.entry(request.keys.shape).or_default().spots.push(spot);
            if !is_any_time(&request.method) {
                new.in_turn.spots.push(spot);
            }
        }
        new
    }

    fn all(&self) -> impl Iterator<Item = (Spot, &'s Request)> + use<'s> {
        self.scores.iter().enumerate().flat_map(|(score, whole)| {
            whole.requests.iter().enumerate().map(move |(request, asked)| (Spot { score, request }, asked))
        })
    }

    /// Returns the recorded request that a live one is, and takes it.
    ///
    /// # Errors
    /// It is none of them: what is most like it, and what differs.
    pub fn take(&mut self, asked: &Asked<'_>) -> Result<Found, Box<Miss>> {
        let found = match self.matching {
            Matching::Sequence if !is_any_time(asked.method) => self.in_turn(asked)?,
            _ => self.any(asked).ok_or_else(|| Box::new(self.miss(asked)))?,
        };
        let probe = self.scores.get(found.score).is_some_and(|score| score.probe);
        if matches!(asked.method, "initialize" | "server/discover") && !probe {
            self.greeted.get_or_insert(found.score);
        }
        Ok(self.mark(found))
    }

    /// Takes a request, whatever it asks for.
    pub fn mark(&mut self, spot: Spot) -> Found {
        let times = self.taken.entry(spot).or_default();
        *times += 1;
        Found { spot, again: *times > 1 }
    }

    fn any(&mut self, asked: &Asked<'_>) -> Option<Spot> {
        if asked.method == "initialize" {
            return self.greeting(asked);
        }
        let same = self.by_value.get_mut(&asked.keys.value);
        let alike = same.or_else(|| self.by_shape.get_mut(&asked.keys.shape))?;
        // The first that was not taken yet, or else the last.
        alike.first(&self.taken).or_else(|| alike.spots.last().copied())
    }

    /// Returns the greeting in the client's revision, or the first.
    fn greeting(&self, asked: &Asked<'_>) -> Option<Spot> {
        let revision = |params: &[u8]| {
            let tree = Tree::parse(params).ok()?;
            Some(tree.root().get("protocolVersion")?.raw().to_vec())
        };
        let wanted = revision(asked.params);
        let greetings = || self.all().filter(|(_, request)| request.method == "initialize");
        let same = greetings().find(|(_, request)| revision(&request.params) == wanted);
        let (spot, _) = same.or_else(|| greetings().next())?;
        Some(spot)
    }

    /// Returns the request whose turn it is, if this is it.
    fn in_turn(&mut self, asked: &Asked<'_>) -> Result<Spot, Box<Miss>> {
        let next = self.in_turn.first(&self.taken);
        let next = next.and_then(|spot| Some((spot, self.scores.get(spot.score)?.requests.get(spot.request)?)));
        let Some((spot, request)) = next else {
            let why = format!("the recording has ended: all {} requests were asked", self.all().count());
            return Err(Box::new(Miss { nearest: None, difference: None, why, unknown: false }));
        };
        let same = request.method == asked.method
            && (request.keys.value == asked.keys.value || request.keys.shape == asked.keys.shape);
        if same {
            return Ok(spot);
        }
        let turn = format!("the turn is {}'s", self.called(spot));
        Err(Box::new(self.differs(asked, spot, &turn)))
    }

    /// Returns what a person calls a recorded request, as `10 tools/call get_forecast`.
    #[must_use]
    pub fn called(&self, spot: Spot) -> String {
        let Some(score) = self.scores.get(spot.score) else { return String::new() };
        let Some(request) = score.requests.get(spot.request) else { return String::new() };
        let several = self.scores.iter().filter(|score| !score.probe).count() > 1;
        let of = if several { format!(" of {}", score.typed) } else { String::new() };
        format!("{} {}{of}", request.place, request.what())
    }

    fn miss(&self, asked: &Asked<'_>) -> Miss {
        let of_method = || self.all().filter(|(_, request)| request.method == asked.method);
        let same_name = || of_method().filter(|(_, request)| request.name.as_deref() == asked.name);
        let near = same_name().map(|(spot, request)| (differences(&request.params, asked.params).len(), spot)).min();
        if let Some((_, spot)) = near {
            return self.differs(asked, spot, &format!("the nearest is {}", self.called(spot)));
        }
        let mut names: Vec<String> =
            of_method().filter_map(|(_, request)| Some(format!("`{}`", request.name.as_ref()?))).collect();
        names.sort();
        names.dedup();
        let wanted = what(asked.method, asked.name);
        let why = match names.as_slice() {
            [] => match self.scores.first().and_then(|score| score.revision.as_ref()) {
                Some(revision) if matches!(asked.method, "initialize" | "server/discover") => {
                    format!("no {} is recorded, the session speaks {revision}", asked.method)
                }
                _ => format!("no {} is recorded", asked.method),
            },
            [one] => format!("no {wanted} is recorded, only {one}"),
            [some @ .., last] => format!("no {wanted} is recorded, only {} and {last}", some.join(", ")),
        };
        let nearest = of_method().next().map(|(spot, _)| spot);
        Miss { nearest, difference: None, why, unknown: nearest.is_none() }
    }

    fn differs(&self, asked: &Asked<'_>, spot: Spot, begin: &str) -> Miss {
        let recorded = self.scores.get(spot.score).and_then(|score| score.requests.get(spot.request));
        let same = recorded.is_some_and(|request| request.method == asked.method);
        let mut all = recorded.filter(|_| same).map(|r| differences(&r.params, asked.params)).unwrap_or_default();
        let difference = (!all.is_empty()).then(|| all.remove(0));
        let why = match &difference {
            Some((at, Some(old), Some(new))) => format!("{begin}, where {at} is {old}, not {new}"),
            Some((at, Some(old), None)) => format!("{begin}, where {at} is {old}, and here it is missing"),
            Some((at, None, Some(new))) => format!("{begin}, which has no {at}, and here it is {new}"),
            _ => begin.to_owned(),
        };
        Miss { nearest: Some(spot), difference, why, unknown: false }
    }

    /// Returns the recorded requests that were never taken: pings and the greetings of other sessions do not count.
    #[must_use]
    pub fn unused(&self) -> Vec<Spot> {
        let greets = |request: &Request| matches!(request.method.as_str(), "initialize" | "server/discover");
        let others = |spot: Spot| self.greeted.map_or(spot.score > 0, |greeted| greeted != spot.score);
        let counts = |(spot, request): &(Spot, &Request)| {
            !self.taken.contains_key(spot) && request.method != "ping" && !(greets(request) && others(*spot))
        };
        self.all().filter(counts).map(|(spot, _)| spot).collect()
    }

    /// Returns the score whose greeting was given, or the first.
    #[must_use]
    pub fn primary(&self) -> usize {
        self.greeted.unwrap_or(0)
    }
}

type Difference = (String, Option<String>, Option<String>);

/// Returns where parameters differ, in the order of the recorded ones; `_meta` does not count.
fn differences(recorded: &[u8], asked: &[u8]) -> Vec<Difference> {
    let values = |text: &[u8]| -> Vec<(String, String)> {
        let Ok(tree) = Tree::parse(text) else { return Vec::new() };
        if tree.depth() > DEEPEST {
            return Vec::new();
        }
        let all = leaves(tree.root()).into_iter().filter(|(pointer, _)| !pointer.starts_with("/_meta/"));
        all.map(|(pointer, node)| (pointer, String::from_utf8_lossy(node.raw()).into_owned())).collect()
    };
    let (recorded, asked) = (values(recorded), values(asked));
    let find = |list: &[(String, String)], pointer: &str| {
        list.iter().find(|(other, _)| other == pointer).map(|(_, value)| value.clone())
    };
    let mut found = Vec::new();
    for (pointer, value) in &recorded {
        let new = find(&asked, pointer);
        if new.as_ref() != Some(value) {
            found.push((pointer.clone(), Some(short(value)), new.as_deref().map(short)));
        }
    }
    for (pointer, value) in asked {
        if find(&recorded, &pointer).is_none() {
            found.push((pointer, None, Some(short(&value))));
        }
    }
    found
}

/// Returns a value as it fits into a sentence.
fn short(value: &str) -> String {
    const MOST: usize = 60;
    match value.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", value.get(..at).unwrap_or_default()),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests;
