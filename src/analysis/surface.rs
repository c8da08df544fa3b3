//! What a server offers, compared: what was added, removed and changed, and what that means for a client that was
//! written against the first side.
//!
//! Until schemas are compared by what they accept, only what is certain has a name; the rest is undecided.

use super::exchanges::{Exchange, Recording};
use super::report::{Change, ChangeKind, Impact, Item, Level};
use super::value_diff::{Comparer, ValueChange};
use crate::protocol::json::{Node, Tree};
use crate::session::message::Place;
use std::collections::HashMap;

/// Compares the items of one list of both sides, as JSON arrays.
pub fn lists(comparer: &mut Comparer<'_>, method: &str, a: &[u8], b: &[u8]) -> Vec<Change> {
    let (kind, key) = match method {
        "tools/list" => ("tool", "name"),
        "prompts/list" => ("prompt", "name"),
        "resources/list" => ("resource", "uri"),
        _ => ("template", "uriTemplate"),
    };
    let (Ok(ours), Ok(theirs)) = (Tree::parse(a), Tree::parse(b)) else { return Vec::new() };
    let mut changes = Vec::new();
    let name = |node: Node<'_, '_>| node.get(key).and_then(Node::as_text).map(std::borrow::Cow::into_owned);
    let mut partners: HashMap<Option<String>, Vec<Node<'_, '_>>> = HashMap::new();
    let listed: Vec<Node<'_, '_>> = theirs.root().children().collect();
    for item in listed.into_iter().rev() {
        partners.entry(name(item)).or_default().push(item);
    }
    for item in ours.root().children() {
        let called = Item { kind, name: name(item).unwrap_or_default() };
        match partners.get_mut(&name(item)).and_then(Vec::pop) {
            Some(partner) => changes.extend(one(comparer, &called, item, partner)),
            None => changes.push(whole(called, item, true)),
        }
    }
    let mut added: Vec<Node<'_, '_>> = partners.into_values().flatten().collect();
    added.sort_unstable_by_key(|item| item.id());
    changes.extend(added.into_iter().map(|item| {
        let called = Item { kind, name: name(item).unwrap_or_default() };
        whole(called, item, false)
    }));
    changes
}

/// Compares the capabilities of both servers.
pub fn capabilities(comparer: &mut Comparer<'_>, a: &[u8], b: &[u8]) -> Vec<Change> {
    let item = Item { kind: "capability", name: String::new() };
    let found = comparer.texts(a, b);
    found
        .into_iter()
        .map(|change| {
            let impact = if change.kind == ChangeKind::Removed { Impact::Breaking } else { Impact::Undecided };
            from_value(change, &item, impact)
        })
        .collect()
}

/// A tool, prompt or resource that only one side has.
fn whole(item: Item, node: Node<'_, '_>, ours: bool) -> Change {
    let value = Some(super::report::SideValue::of_json(node.raw()));
    let root = Some(String::new());
    let mut change = if ours {
        let mut change = Change::new(Level::Surface, ChangeKind::Removed);
        (change.pointer.a, change.a) = (root, value);
        change
    } else {
        let mut change = Change::new(Level::Surface, ChangeKind::Added);
        (change.pointer.b, change.b) = (root, value);
        change
    };
    change.impact = Some(if ours { Impact::Breaking } else { Impact::Compatible });
    change.item = Some(item);
    change
}

/// Compares one tool, prompt or resource of both sides.
fn one(comparer: &mut Comparer<'_>, item: &Item, a: Node<'_, '_>, b: Node<'_, '_>) -> Vec<Change> {
    let (Ok(ours), Ok(theirs)) = (Tree::parse(a.raw()), Tree::parse(b.raw())) else { return Vec::new() };
    let found = comparer.trees(&ours, &theirs);
    let told_with_property = |change: &ValueChange| {
        // A property that came or went takes its name in `required` along: that is one change, not two.
        let (own, other) = match change.kind {
            ChangeKind::Added => (change.pointer.b.as_deref(), change.b.as_ref()),
            ChangeKind::Removed => (change.pointer.a.as_deref(), change.a.as_ref()),
            _ => return false,
        };
        let Some((schema, _)) = own.and_then(|pointer| pointer.rsplit_once("/required/")) else { return false };
        let name = other.and_then(|value| serde_json::from_str::<String>(&value.json).ok());
        name.is_some_and(|name| {
            let property = format!("{schema}/properties/{}", escaped(&name));
            found.iter().any(|other| other.kind == change.kind && other.pointer.shown() == property)
        })
    };
    let kept: Vec<bool> = found.iter().map(|change| !told_with_property(change)).collect();
    let impacts: Vec<Impact> = found.iter().map(|change| impact(item, change, ours.root(), theirs.root())).collect();
    let all = found.into_iter().zip(impacts).zip(kept);
    all.filter(|(_, kept)| *kept).map(|((change, impact), _)| from_value(change, item, impact)).collect()
}

fn from_value(change: ValueChange, item: &Item, impact: Impact) -> Change {
    let ValueChange { kind, soft, pointer, inside, a, b, words } = change;
    let level = if soft { Level::Soft } else { Level::Surface };
    let impact = (!soft).then_some(impact);
    Change { impact, item: Some(item.clone()), pointer, inside, a, b, words, ..Change::new(level, kind) }
}

fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// Says what a change of an item means.
fn impact(item: &Item, change: &ValueChange, a: Node<'_, '_>, b: Node<'_, '_>) -> Impact {
    let pointer = change.pointer.shown();
    let tokens: Vec<&str> = pointer.split('/').skip(1).collect();
    let last = tokens.last().copied().unwrap_or_default();
    let above = tokens.len().checked_sub(2).and_then(|at| tokens.get(at)).copied();
    let in_schema = matches!(tokens.first(), Some(&("inputSchema" | "outputSchema")));
    let input = tokens.first() != Some(&"outputSchema");
    if !in_schema && matches!(tokens.first(), Some(&("annotations" | "icons"))) {
        return Impact::Cosmetic;
    }
    // Under `properties` these are names of properties.
    let keyword = above != Some("properties");
    if keyword && matches!(last, "description" | "title") {
        return Impact::Wording;
    }
    match (change.kind, above) {
        (ChangeKind::Added, Some("properties")) if in_schema => {
            if input && requires(b, pointer, last) {
                Impact::Breaking
            } else {
                Impact::Compatible
            }
        }
        (ChangeKind::Removed, Some("properties")) if in_schema => {
            if input || requires(a, pointer, last) {
                Impact::Breaking
            } else {
                Impact::Undecided
            }
        }
        (ChangeKind::Added, Some("required")) if in_schema && input => Impact::Breaking,
        (ChangeKind::Removed, Some("required")) if in_schema && !input => Impact::Breaking,
        (ChangeKind::Removed, Some("enum")) if in_schema && input => Impact::Breaking,
        (ChangeKind::Added, Some("arguments")) if item.kind == "prompt" => {
            let required = b.pointer(pointer).and_then(|argument| argument.get("required"));
            if required.and_then(Node::as_bool) == Some(true) { Impact::Breaking } else { Impact::Compatible }
        }
        (ChangeKind::Removed, Some("arguments")) if item.kind == "prompt" => Impact::Breaking,
        _ => Impact::Undecided,
    }
}

/// Tells whether the schema that has a property at `pointer` requires it.
fn requires(item: Node<'_, '_>, pointer: &str, token: &str) -> bool {
    let Some((properties, _)) = pointer.rsplit_once('/') else { return false };
    let Some(schema) = properties.strip_suffix("/properties").and_then(|pointer| item.pointer(pointer)) else {
        return false;
    };
    let name = token.replace("~1", "/").replace("~0", "~");
    schema
        .get("required")
        .is_some_and(|required| required.children().any(|item| item.as_text().is_some_and(|text| text == name)))
}

/// The calls of one tool, with what they sent and got.
pub struct Calls<'e> {
    calls: HashMap<&'e str, Vec<&'e Exchange>>,
}

impl<'e> Calls<'e> {
    /// Sorts the tool calls of a recording by their tool.
    #[must_use]
    pub fn of(recording: &'e Recording) -> Self {
        let mut calls: HashMap<&str, Vec<&Exchange>> = HashMap::new();
        for exchange in recording.exchanges.iter().filter(|exchange| exchange.method == "tools/call") {
            calls.entry(exchange.name.as_deref().unwrap_or_default()).or_default().push(exchange);
        }
        Self { calls }
    }

    /// Returns the recorded messages that what a change took away was used by.
    #[must_use]
    pub fn touched_by(&self, change: &Change) -> Vec<Place> {
        let Some(item) = change.item.as_ref().filter(|item| item.kind == "tool") else { return Vec::new() };
        let Some(calls) = self.calls.get(item.name.as_str()).filter(|_| change.kind == ChangeKind::Removed) else {
            return Vec::new();
        };
        let pointer = change.pointer.shown();
        if pointer.is_empty() {
            return calls.iter().map(|call| call.place).collect();
        }
        let tokens: Vec<&str> = pointer.split('/').skip(1).collect();
        let gone = change.a.as_ref().map(|value| value.json.as_str()).unwrap_or_default();
        match tokens.as_slice() {
            ["inputSchema", "properties", name] => places(calls, |call| argument(call, name).is_some(), false),
            ["inputSchema", "properties", name, "enum", _] => {
                places(calls, |call| argument(call, name).is_some_and(|value| value == gone.as_bytes()), false)
            }
            ["outputSchema", "properties", name] => places(calls, |call| has_output(call, name), true),
            _ => Vec::new(),
        }
    }
}

fn places(calls: &[&Exchange], uses: impl Fn(&Exchange) -> bool, answers: bool) -> Vec<Place> {
    let used = calls.iter().filter(|call| uses(call));
    used.map(|call| if answers { call.answer.unwrap_or(call.place) } else { call.place }).collect()
}

fn argument(call: &Exchange, token: &str) -> Option<Vec<u8>> {
    let params = Tree::parse(call.params.as_deref()?).ok()?;
    params.root().pointer(&format!("/arguments/{token}")).map(|node| node.raw().to_vec())
}

fn has_output(call: &Exchange, token: &str) -> bool {
    let result = call.result.as_deref().and_then(|result| Tree::parse(result).ok());
    result.is_some_and(|tree| tree.root().pointer(&format!("/structuredContent/{token}")).is_some())
}
