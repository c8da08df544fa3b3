//! Live values: what the server made and the client sent back is replaced by what this server made.
//!
//! A value of the protocol's own (a cursor, a task id, a `requestState`, a key of `inputRequests`) is always one. Any
//! other is one if it is distinctive, stands in an answer, and was not said by the client before. Distinctive is a
//! text of 8 to 512 bytes without blanks that has a letter and a digit, a text of 6 digits or more, or a whole number
//! of 6 digits or more. It is left as it is where the live answer still has it.

use super::edit::{quoted, span};
use crate::protocol::json::{Kind, Node, Tree, leaves};
use crate::session::message::Place;
use std::collections::{HashMap, HashSet};

/// The deepest message that is looked into.
const DEEPEST: usize = 128;

/// The longest text whose words are looked at, in bytes.
const WORDS_LIMIT: usize = 64 << 10;

/// Why a value is taken for one of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// The cursor of a list.
    Cursor,
    /// The id of a task.
    TaskId,
    /// The state of a call that asks for input.
    RequestState,
    /// The key of a question in a result.
    InputKey,
    /// It is distinctive and came from the server first.
    Distinctive,
}

impl Why {
    /// Returns the reason in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Cursor => "the cursor of a list",
            Self::TaskId => "the id of a task",
            Self::RequestState => "the state of a call",
            Self::InputKey => "the key of a question",
            Self::Distinctive => "distinctive, and from the server first",
        }
    }
}

/// Where in a value of an answer the value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inside {
    /// It is the value.
    Whole,
    /// At a pointer in the JSON that the text holds.
    Json(String),
    /// Between two pieces of the text.
    Text {
        /// What stands before it.
        before: String,
        /// What stands after it.
        after: String,
    },
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The request whose answer has it.
    pub request: Place,
    /// Where in the answer.
    pub pointer: String,
    /// Where in the value at that place.
    pub inside: Inside,
}

/// A value of a client's message that is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Its first byte in the message.
    pub from: usize,
    /// One past its last byte.
    pub to: usize,
    /// Where in the message it stands.
    pub at: String,
    /// The recorded value, as JSON text.
    pub recorded: Vec<u8>,
    /// Where it came from.
    pub source: Source,
    /// Why it is replaced.
    pub why: Why,
}

/// What is to be sent in the place of a recorded value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// The recorded value.
    Same,
    /// Another, as JSON text.
    New(Vec<u8>),
    /// There is none.
    Missing,
}

/// What the server made so far, as a recording is read from its beginning.
#[derive(Debug, Default)]
pub struct Made {
    distinctive: HashMap<Vec<u8>, Source>,
    cursors: HashMap<(String, Vec<u8>), Source>,
    tasks: HashMap<Vec<u8>, Source>,
    states: HashMap<Vec<u8>, Source>,
    keys: HashMap<String, Source>,
    said: HashSet<Vec<u8>>,
}

impl Made {
    /// Takes the answer to a request.
    pub fn answer(&mut self, request: Place, method: &str, text: &[u8]) {
        let Some(tree) = Tree::parse(text).ok().filter(|tree| tree.depth() <= DEEPEST) else { return };
        let source = |pointer: &str| Source { request, pointer: pointer.to_owned(), inside: Inside::Whole };
        let at = |pointer: &str| tree.root().pointer(pointer).and_then(content);
        if let Some(cursor) = at("/result/nextCursor") {
            self.cursors.insert((method.to_owned(), cursor), source("/result/nextCursor"));
        }
        for pointer in ["/result/taskId", "/result/task/taskId"] {
            if let Some(task) = at(pointer) {
                self.tasks.entry(task).or_insert_with(|| source(pointer));
            }
        }
        if let Some(state) = at("/result/requestState") {
            self.states.insert(state, source("/result/requestState"));
        }
        if let Some(requests) = tree.root().pointer("/result/inputRequests") {
            for (key, _) in requests.members() {
                self.keys.insert(key.into_owned(), source("/result/inputRequests"));
            }
        }
        let all = leaves(tree.root());
        let said = || all.iter().filter(|(pointer, _)| pointer != "/id" && pointer != "/jsonrpc");
        for (pointer, node) in said() {
            if let Some(value) = content(*node) {
                self.note(&value, || source(pointer));
            }
        }
        // A value that stands alone is a better source than the same in a text.
        for (pointer, node) in said().filter(|(_, node)| node.kind() == Kind::String) {
            if let Some(value) = content(*node).filter(|value| (9..=WORDS_LIMIT).contains(&value.len())) {
                self.inside(&value, request, pointer);
            }
        }
    }

    /// Returns the request whose answer made a task.
    #[must_use]
    pub fn maker_of_task(&self, id: &[u8]) -> Option<Place> {
        self.tasks.get(id).map(|source| source.request)
    }

    fn note(&mut self, value: &[u8], source: impl FnOnce() -> Source) {
        if is_distinctive(value) && !self.said.contains(value) {
            self.distinctive.entry(value.to_vec()).or_insert_with(source);
        }
    }

    /// Looks into a text: into the JSON in it, or at its words.
    fn inside(&mut self, value: &[u8], request: Place, pointer: &str) {
        let source = |inside| Source { request, pointer: pointer.to_owned(), inside };
        if matches!(value.first(), Some(b'{' | b'['))
            && let Some(inner) = Tree::parse(value).ok().filter(|tree| tree.depth() <= DEEPEST)
        {
            for (at, node) in leaves(inner.root()) {
                if let Some(value) = content(node) {
                    self.note(&value, || source(Inside::Json(at)));
                }
            }
            return;
        }
        let Ok(text) = std::str::from_utf8(value) else { return };
        let mut from = 0;
        for word in text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/'))) {
            let trimmed = word.trim_matches(['.', ':', '/', '-', '_']);
            let start = from + word.find(trimmed).unwrap_or(0);
            from += word.len();
            from += text.get(from..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
            if trimmed.len() < text.len() {
                let around = || Inside::Text {
                    before: text.get(..start).unwrap_or_default().to_owned(),
                    after: text.get(start + trimmed.len()..).unwrap_or_default().to_owned(),
                };
                self.note(trimmed.as_bytes(), || source(around()));
            }
        }
    }

    /// Returns the values of a client's message that the server made, and remembers what the client said itself.
    pub fn said(&mut self, method: &str, text: &[u8]) -> Vec<Binding> {
        let Some(tree) = Tree::parse(text).ok().filter(|tree| tree.depth() <= DEEPEST) else { return Vec::new() };
        let mut found = Vec::new();
        for (pointer, node) in leaves(tree.root()) {
            if !(pointer.starts_with("/params/") || pointer.starts_with("/result/")) {
                continue;
            }
            let Some(value) = content(node) else { continue };
            let made = match pointer.as_str() {
                "/params/cursor" => {
                    self.cursors.get(&(method.to_owned(), value.clone())).map(|from| (from, Why::Cursor))
                }
                "/params/requestState" => self.states.get(&value).map(|from| (from, Why::RequestState)),
                _ => None,
            };
            let made = made.or_else(|| self.tasks.get(&value).map(|from| (from, Why::TaskId)));
            let made = made.or_else(|| self.distinctive.get(&value).map(|from| (from, Why::Distinctive)));
            match made {
                Some((source, why)) => {
                    let (from, to) = span(text, node.raw());
                    let recorded = node.raw().to_vec();
                    found.push(Binding { from, to, at: pointer, recorded, source: source.clone(), why });
                }
                None => {
                    self.said.insert(value);
                }
            }
        }
        if let Some(responses) = tree.root().pointer("/params/inputResponses") {
            for member in responses.children() {
                let (Some(raw), Some(key)) = (member.key_raw(), member.key()) else { continue };
                if let Some(source) = self.keys.get(key.as_ref()) {
                    let (from, to) = span(text, raw);
                    let at = format!("/params/inputResponses/{key}");
                    let (recorded, source) = (raw.to_vec(), source.clone());
                    found.push(Binding { from, to, at, recorded, source, why: Why::InputKey });
                }
            }
        }
        found
    }
}

/// Returns what stands in the live answer where the recorded value stood in the recorded one.
#[must_use]
pub fn resolve(binding: &Binding, recorded: &[u8], live: &[u8]) -> Resolved {
    let Ok(tree) = Tree::parse(live) else { return Resolved::Missing };
    if binding.why == Why::InputKey {
        return input_key(binding, recorded, &tree);
    }
    let Ok(old) = Tree::parse(&binding.recorded) else { return Resolved::Same };
    let Some(wanted) = content(old.root()) else { return Resolved::Same };
    // Still valid where the live answer has it anywhere: a list may have another order.
    if binding.why == Why::Distinctive && memchr::memmem::find(live, &wanted).is_some() {
        return Resolved::Same;
    }
    let Some(node) = tree.root().pointer(&binding.source.pointer) else { return Resolved::Missing };
    let value = match &binding.source.inside {
        Inside::Whole => content(node),
        Inside::Json(at) => content(node).and_then(|text| {
            let inner = Tree::parse(&text).ok()?;
            inner.root().pointer(at).and_then(content)
        }),
        Inside::Text { before, after } => content(node).and_then(|text| {
            let rest = text.strip_prefix(before.as_bytes())?;
            rest.strip_suffix(after.as_bytes()).map(<[u8]>::to_vec)
        }),
    };
    match value {
        None => Resolved::Missing,
        Some(value) if value == wanted => Resolved::Same,
        Some(value) => match (old.root().kind(), std::str::from_utf8(&value)) {
            (_, Err(_)) => Resolved::Missing,
            (Kind::Number, Ok(text)) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Resolved::New(value)
            }
            (_, Ok(text)) => Resolved::New(quoted(text)),
        },
    }
}

/// Finds the live question that asks what the recorded one asked: by key, by content, by order.
fn input_key(binding: &Binding, recorded: &[u8], live: &Tree<'_>) -> Resolved {
    let Some(now) = live.root().pointer(&binding.source.pointer) else { return Resolved::Missing };
    let key = crate::protocol::json::unescape(&binding.recorded).into_owned();
    if now.get(&key).is_some() {
        return Resolved::Same;
    }
    let Ok(then) = Tree::parse(recorded) else { return Resolved::Missing };
    let Some(then) = then.root().pointer(&binding.source.pointer) else { return Resolved::Missing };
    let Some(question) = then.get(&key) else { return Resolved::Missing };
    let method = |node: Node<'_, '_>| node.get("method").and_then(Node::as_text).map(std::borrow::Cow::into_owned);
    let same = now.members().find(|(_, node)| node.same_spelling(question));
    let place = then.members().position(|(name, _)| name == key).unwrap_or(0);
    let by_order = || now.members().nth(place).filter(|(_, node)| method(*node) == method(question));
    match same.or_else(by_order) {
        Some((name, _)) => Resolved::New(quoted(&name)),
        None => Resolved::Missing,
    }
}

/// Returns what a scalar stands for: the text, or the spelling of a number.
#[must_use]
pub fn content(node: Node<'_, '_>) -> Option<Vec<u8>> {
    match node.kind() {
        Kind::String => Some(crate::protocol::json::unescape_bytes(node.raw()).into_owned()),
        Kind::Number => Some(node.raw().to_vec()),
        _ => None,
    }
}

/// Returns true for a value that hardly comes twice by chance.
#[must_use]
pub fn is_distinctive(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == value.len() {
        return (6..=64).contains(&digits);
    }
    let letters = value.iter().any(u8::is_ascii_alphabetic);
    let blank = value.iter().any(u8::is_ascii_whitespace);
    // A time is when something was, not what it is called.
    let time = value.len() >= 10
        && value.get(4) == Some(&b'-')
        && value.get(7) == Some(&b'-')
        && digits >= 8
        && value.get(..4).is_some_and(|year| year.iter().all(u8::is_ascii_digit));
    (8..=512).contains(&value.len()) && digits > 0 && letters && !blank && !time
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: Place = Place { seq: 4, index: 0 };

    #[test]
    fn only_what_hardly_comes_twice_is_distinctive() {
        for value in ["basket-7f", "5735d4aa-2ea3-48b1", "123456", "weather://stations/2"] {
            assert!(is_distinctive(value.as_bytes()), "{value}");
        }
        for value in
            ["Bergen", "NO-46", "12345", "weather://stations", "2026-12-04", "2026-11-30T21:27:51.416Z", "a b 1234567"]
        {
            assert!(!is_distinctive(value.as_bytes()), "{value}");
        }
    }

    fn replaced(recorded: &str, live: &str, sent: &str) -> Vec<Resolved> {
        let mut made = Made::default();
        made.answer(R, "tools/call", recorded.as_bytes());
        let bindings = made.said("tools/call", sent.as_bytes());
        bindings.iter().map(|binding| resolve(binding, recorded.as_bytes(), live.as_bytes())).collect()
    }

    #[test]
    fn a_handle_is_found_in_structure_in_json_in_text_and_in_words() {
        let sent = r#"{"params":{"arguments":{"basket":"b-11aa22bb"}}}"#;
        let new = |text: &str| vec![Resolved::New(text.into())];
        for (recorded, live) in [
            (r#"{"result":{"x":["b-11aa22bb"]}}"#, r#"{"result":{"x":["b-33cc44dd"]}}"#),
            (r#"{"result":{"text":"{\"id\":\"b-11aa22bb\"}"}}"#, r#"{"result":{"text":"{\"id\":\"b-33cc44dd\"}"}}"#),
            (r#"{"result":{"text":"made b-11aa22bb for you"}}"#, r#"{"result":{"text":"made b-33cc44dd for you"}}"#),
        ] {
            assert_eq!(replaced(recorded, live, sent), new("\"b-33cc44dd\""), "{recorded}");
            assert_eq!(replaced(recorded, recorded, sent), vec![Resolved::Same]);
            assert_eq!(replaced(recorded, r#"{"result":{}}"#, sent), vec![Resolved::Missing]);
        }
    }

    #[test]
    fn what_the_client_said_first_is_its_own() {
        let mut made = Made::default();
        let sent = br#"{"params":{"arguments":{"id":"order-4711"}}}"#;
        assert_eq!(made.said("tools/call", sent), []);
        made.answer(R, "tools/call", br#"{"result":{"echo":"order-4711"}}"#);
        assert_eq!(made.said("tools/call", sent), []);
    }

    #[test]
    fn cursors_belong_to_their_list_and_need_not_be_distinctive() {
        let mut made = Made::default();
        made.answer(R, "tools/list", br#"{"result":{"nextCursor":"1"}}"#);
        assert_eq!(made.said("prompts/list", br#"{"params":{"cursor":"1"}}"#), []);
        let found = made.said("tools/list", br#"{"params":{"cursor":"1"}}"#);
        assert_eq!(found.iter().map(|binding| binding.why).collect::<Vec<_>>(), [Why::Cursor]);
        assert_eq!(resolve(&found[0], b"", br#"{"result":{"nextCursor":"2"}}"#), Resolved::New(b"\"2\"".to_vec()));
        assert_eq!(resolve(&found[0], b"", br#"{"result":{}}"#), Resolved::Missing);
    }

    #[test]
    fn keys_of_questions_are_found_by_what_they_ask() {
        let recorded = r#"{"result":{"inputRequests":{"k1":{"method":"a"},"k2":{"method":"b","params":{}}}}}"#;
        let live = r#"{"result":{"inputRequests":{"z":{"method":"b","params":{}},"y":{"method":"a"}}}}"#;
        let sent = r#"{"params":{"inputResponses":{"k2":{},"k1":{}}}}"#;
        let new = |text: &str| Resolved::New(text.into());
        assert_eq!(replaced(recorded, live, sent), [new("\"z\""), new("\"y\"")]);
    }
}
