//! What the live client made, in the place of what the recorded one had made: ids, progress tokens, the ids of
//! subscriptions, and distinctive values of its parameters that came back. All other bytes stay. Pure.

use super::score::{Cue, Part, Request};
use crate::protocol::json::leaves;
use crate::protocol::json::{Node, Tree};
use crate::replay::bind::{content, is_distinctive};
use crate::replay::edit::{self, Edit, span};
use crate::session::message::Kind;
use std::collections::BTreeMap;

/// The deepest parameters that are searched for values.
const DEEPEST: usize = 128;

/// What the live client made for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its id, as JSON text.
    pub id: Vec<u8>,
    /// Its progress token, as JSON text.
    pub token: Option<Vec<u8>>,
}

/// Values of the recorded client, with those of the live one.
pub type Values = BTreeMap<Vec<u8>, Vec<u8>>;

/// Notes the distinctive values that the live client has in the places of recorded ones.
pub fn note(recorded: &[u8], live: &[u8], values: &mut Values) {
    if recorded == live {
        return;
    }
    let (Ok(old), Ok(new)) = (Tree::parse(recorded), Tree::parse(live)) else { return };
    if old.depth() > DEEPEST || new.depth() > DEEPEST {
        return;
    }
    for (pointer, node) in leaves(old.root()) {
        let (Some(was), Some(is)) = (content(node), new.root().pointer(&pointer).and_then(content)) else { continue };
        let plain = |value: &[u8]| value.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
        // Who the client is says nothing about what it asks.
        let itself = pointer.starts_with("/_meta/io.modelcontextprotocol") || pointer.starts_with("/clientInfo/");
        if was != is
            && !itself
            && pointer != "/_meta/progressToken"
            && is_distinctive(&was)
            && plain(&was)
            && plain(&is)
        {
            values.insert(was, is);
        }
    }
}

/// Returns what goes out for a part of a cue; `None` for progress that the live client did not ask for.
///
/// `request` is the recorded request that the part belongs to, `made` what the live client made for it.
#[must_use]
pub fn edits(text: &[u8], part: &Part, request: Option<(&Request, &Made)>, values: &Values) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let Ok(tree) = Tree::parse(text) else { return Some(edits) };
    let root = tree.root();
    let mut put = |node: Option<Node<'_, '_>>, with: &[u8]| {
        if let Some(node) = node.filter(|node| node.raw() != with) {
            let (from, to) = span(text, node.raw());
            edits.push(Edit { from, to, with: with.to_vec() });
        }
    };
    if let Some((request, made)) = request {
        if part.kind.is_answer() {
            let id = part.id.as_deref().unwrap_or_default();
            put(root.get("id"), &answered_id(id, &request.id, &made.id));
        }
        let progress = root.pointer("/params/progressToken").filter(|_| part.kind == Kind::Notification);
        if progress.is_some() && request.token.is_some() {
            put(progress, made.token.as_deref()?);
        }
        for member in ["params", "result"] {
            let id = root.pointer(&format!("/{member}/_meta/io.modelcontextprotocol~1subscriptionId"));
            put(id.filter(|id| id.raw() == request.id.as_bytes()), &made.id);
        }
    }
    for (was, is) in values {
        for from in memchr::memmem::find_iter(text, was) {
            let to = from + was.len();
            let inside = |at: Option<&u8>| at.is_some_and(u8::is_ascii_alphanumeric);
            if !inside(from.checked_sub(1).and_then(|at| text.get(at))) && !inside(text.get(to)) {
                edits.push(Edit { from, to, with: is.clone() });
            }
        }
    }
    Some(edits)
}

/// Returns the id of an answer: of the type that the recorded server gave it.
fn answered_id(answered: &str, asked: &str, live: &[u8]) -> Vec<u8> {
    let is_text = |id: &[u8]| id.starts_with(b"\"");
    if answered == asked || live == asked.as_bytes() {
        return if live == asked.as_bytes() { answered.into() } else { live.to_vec() };
    }
    match (is_text(answered.as_bytes()), is_text(live)) {
        (true, false) => [b"\"", live, b"\""].concat(),
        (false, true) => {
            let bare = live.get(1..live.len() - 1).unwrap_or_default();
            if bare.iter().all(u8::is_ascii_digit) && !bare.is_empty() { bare.to_vec() } else { live.to_vec() }
        }
        _ => live.to_vec(),
    }
}

/// Returns a question under another id.
#[must_use]
pub fn with_id(text: &[u8], id: &[u8]) -> Vec<u8> {
    let Ok(tree) = Tree::parse(text) else { return text.to_vec() };
    let Some(node) = tree.root().get("id") else { return text.to_vec() };
    let (from, to) = span(text, node.raw());
    edit::apply(text, vec![Edit { from, to, with: id.to_vec() }])
}

/// Returns the text of a part of a cue.
#[must_use]
pub fn text<'c>(cue: &'c Cue, part: &Part) -> &'c [u8] {
    let to = part.offset.saturating_add(part.length).min(cue.bytes.len());
    cue.bytes.get(part.offset..to).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::message::Place;

    fn rewritten(kind: Kind, text: &str, id: &str, token: Option<&str>) -> Option<String> {
        let place = Place { seq: 4, index: 0 };
        let request = Request {
            place,
            method: "tools/call".into(),
            name: None,
            id: "1".into(),
            params: Vec::new(),
            token: Some(b"\"t\"".to_vec()),
            keys: super::super::matcher::Keys::default(),
            cancel: None,
            waited_ns: 0,
        };
        let tree = Tree::parse(text.as_bytes()).unwrap();
        let part = Part {
            kind,
            method: "tools/call".into(),
            id: tree.root().get("id").map(|id| String::from_utf8(id.raw().to_vec()).unwrap()),
            place: Place { seq: 5, index: 0 },
            owner: Some(place),
            offset: 0,
            length: text.len(),
        };
        let made = Made { id: id.into(), token: token.map(Into::into) };
        let edits = edits(text.as_bytes(), &part, Some((&request, &made)), &Values::new())?;
        Some(String::from_utf8(edit::apply(text.as_bytes(), edits)).unwrap())
    }

    #[test]
    fn only_what_the_client_made_is_replaced() {
        let answer = |id: &str| format!(r#"{{ "jsonrpc" : "2.0", "result":{{"id":1,"n":1.0}}, "id" : {id} }}"#);
        let of = |recorded: &str, live: &str| rewritten(Kind::Result, &answer(recorded), live, None).unwrap();
        assert_eq!(of("1", "1"), answer("1"));
        assert_eq!(of("1", "\"x\""), answer("\"x\""));
        // A server that answers in another type does so again.
        assert_eq!(of("\"1\"", "1"), answer("\"1\""));
        assert_eq!(of("\"1\"", "7"), answer("\"7\""));
        let progress = |token: &str| format!(r#"{{"method":"p","params":{{"progressToken":{token},"progress":1}}}}"#);
        let of = |live: Option<&str>| rewritten(Kind::Notification, &progress("\"t\""), "1", live);
        assert_eq!(of(Some("9")), Some(progress("9")));
        assert_eq!(of(None), None);
        let listens = |id: &str| {
            format!(r#"{{"params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"other":1}}}}"#)
        };
        assert_eq!(rewritten(Kind::Notification, &listens("1"), "8", None), Some(listens("8")));
    }

    #[test]
    fn what_the_client_called_something_comes_back_under_its_new_name() {
        let mut values = Values::new();
        let params = |order: &str, city: &str| format!(r#"{{"arguments":{{"order":"{order}","city":"{city}"}}}}"#);
        note(params("order-4711", "Oslo").as_bytes(), params("order-9999", "Rome").as_bytes(), &mut values);
        assert_eq!(values.len(), 1, "a city is not distinctive");
        let text = r#"{"result":{"of":"order-4711","all":"order-4711, order-47110","city":"Oslo"}}"#;
        let part = Part {
            kind: Kind::Result,
            method: String::new(),
            id: None,
            place: Place { seq: 5, index: 0 },
            owner: None,
            offset: 0,
            length: text.len(),
        };
        let edits = edits(text.as_bytes(), &part, None, &values).unwrap();
        let new = String::from_utf8(edit::apply(text.as_bytes(), edits)).unwrap();
        assert_eq!(new, r#"{"result":{"of":"order-9999","all":"order-9999, order-47110","city":"Oslo"}}"#);
    }
}
