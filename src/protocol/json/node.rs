//! One value, and what can be asked of it.

use super::{
    pointer::follow,
    text::{unescape, unescape_bytes},
    tree::{NodeId, Slot, Tree},
    walk::{Children, Descendants},
};
use std::{borrow::Cow, collections::HashSet, fmt};

/// The six kinds of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number, of any size and precision.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// Returns the name that JSON Schema gives the kind: `null`, `boolean`, `number`, `string`,
    /// `array`, `object`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "boolean",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }
}

/// A value in a [`Tree`]; as cheap to copy as a reference.
#[derive(Clone, Copy)]
pub struct Node<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) id: u32,
}

impl<'t, 'a> Node<'t, 'a> {
    pub(super) fn slot(self) -> Slot {
        let slot = self.tree.slots.get(self.id as usize);
        slot.copied().unwrap_or_default()
    }

    fn span(self, start: u32, end: u32) -> &'a [u8] {
        let span = self.tree.bytes.get(start as usize..end as usize);
        span.unwrap_or_default()
    }

    /// Returns the place of the value in its tree.
    pub fn id(self) -> NodeId {
        NodeId(self.id)
    }

    /// Returns the exact bytes of the value, without its key and without what surrounds it.
    pub fn raw(self) -> &'a [u8] {
        let slot = self.slot();
        self.span(slot.start, slot.end)
    }

    /// Returns the kind of the value.
    pub fn kind(self) -> Kind {
        match self.tree.bytes.get(self.slot().start as usize) {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// Tells whether the value is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Returns the truth value, or `None` for another kind.
    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.raw() == b"true")
    }

    /// Returns the number in its own spelling, or `None` for another kind.
    pub fn as_number(self) -> Option<&'a str> {
        (self.kind() == Kind::Number).then(|| str::from_utf8(self.raw()).ok()).flatten()
    }

    /// Returns the string unescaped, or `None` for another kind.
    ///
    /// Lone surrogates and invalid UTF-8 are shown as U+FFFD.
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| unescape(self.raw()))
    }

    /// Returns the number of direct children; 0 for a scalar.
    pub fn len(self) -> usize {
        self.slot().child_count as usize
    }

    /// Tells whether there are no children: a scalar, `[]` or `{}`.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the largest number of arrays and objects open at once within the value, itself
    /// counted.
    ///
    /// A scalar is 0, `[]` is 1. Costs a walk over the subtree; [`Tree::depth`] is free.
    pub fn depth(self) -> usize {
        let containers = self.descendants().filter(|(_, node)| node.is_container());
        containers.map(|(depth, _)| depth + 1).max().unwrap_or(0)
    }

    /// Tells whether the value is an array or an object.
    pub fn is_container(self) -> bool {
        matches!(self.kind(), Kind::Array | Kind::Object)
    }

    /// Returns the items of an array or the values of an object, in document order.
    pub fn children(self) -> Children<'t, 'a> {
        Children { tree: self.tree, next: self.id.saturating_add(1), remaining: self.slot().child_count }
    }

    /// Returns the value and all below it, in document order, each with its depth below this value.
    pub fn descendants(self) -> Descendants<'t, 'a> {
        Descendants::new(self)
    }

    /// Returns the exact bytes of the key, with its quotes, or `None` where the value is not a
    /// member of an object.
    pub fn key_raw(self) -> Option<&'a [u8]> {
        let slot = self.slot();
        (slot.key_start < slot.key_end).then(|| self.span(slot.key_start, slot.key_end))
    }

    /// Returns the key unescaped, or `None` where the value is not a member of an object.
    pub fn key(self) -> Option<Cow<'a, str>> {
        self.key_raw().map(unescape)
    }

    /// Returns keys and values of an object in document order, duplicates and all; nothing for
    /// another kind.
    pub fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Node<'t, 'a>)> {
        self.children().filter_map(|child| child.key().map(|key| (key, child)))
    }

    /// Returns the member with that key as [`Node::key`] shows it; of duplicates the last, as most
    /// readers do.
    ///
    /// Costs a pass over the members.
    pub fn get(self, key: &str) -> Option<Node<'t, 'a>> {
        self.members().filter_map(|(candidate, member)| (candidate == key).then_some(member)).last()
    }

    /// Returns the item of an array at an index from 0; `None` for another kind.
    ///
    /// Costs a pass over the items before it.
    pub fn at(self, index: usize) -> Option<Node<'t, 'a>> {
        if self.kind() != Kind::Array {
            return None;
        }
        self.children().nth(index)
    }

    /// Returns what a JSON pointer (RFC 6901) leads to from here, such as `/a/0/b~1c`; the empty
    /// pointer is the value itself.
    ///
    /// Of duplicate keys the last is followed. `None` where nothing is there or the pointer is
    /// malformed.
    pub fn pointer(self, pointer: &str) -> Option<Node<'t, 'a>> {
        follow(self, pointer)
    }

    /// Tells whether two members of this object have the same key, escapes resolved; not looking
    /// further down.
    pub fn has_duplicate_keys(self) -> bool {
        let mut seen = HashSet::new();
        let mut keys = self.children().filter_map(Node::key_raw);
        !keys.all(|raw| seen.insert(unescape_bytes(raw)))
    }

    /// Tells whether two values are spelled the same, but for whitespace between tokens.
    ///
    /// Key order, number spelling and escapes count; the keys of the two values themselves do not.
    pub fn same_spelling(self, other: Node<'_, '_>) -> bool {
        if self.raw() == other.raw() {
            return true;
        }
        let (ours, theirs) = (self.slot(), other.slot());
        if ours.subtree_end - self.id != theirs.subtree_end - other.id {
            return false;
        }
        let mut pairs = self.descendants().zip(other.descendants());
        pairs.all(|((depth, a), (_, b))| {
            let same_value =
                if a.is_container() { a.kind() == b.kind() && a.len() == b.len() } else { a.raw() == b.raw() };
            same_value && (depth == 0 || a.key_raw() == b.key_raw())
        })
    }
}

impl fmt::Debug for Node<'_, '_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Node").field("id", &self.id).field("raw", &String::from_utf8_lossy(self.raw())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#" {"n": -1.50e+2, "s": "a\u00e9\ud800", "t": true, "z": null,
        "list": [ 1, [2, 3], {"deep": {"x": []}} ], "n": 7, "b/c": 1, "~": 2, "": 3, "\u006b": 4} "#;

    #[test]
    fn scalars_keep_their_spelling() {
        let tree = Tree::parse(SAMPLE.as_bytes()).unwrap();
        let root = tree.root();
        assert_eq!((root.kind(), root.len(), root.key()), (Kind::Object, 10, None));
        let first = root.children().next().unwrap();
        assert_eq!(first.as_number(), Some("-1.50e+2"));
        assert_eq!(first.key_raw(), Some(&b"\"n\""[..]));
        assert_eq!(root.get("n").unwrap().as_number(), Some("7"));
        assert_eq!(root.get("s").unwrap().as_text().unwrap(), "aé\u{fffd}");
        assert_eq!(root.get("s").unwrap().raw(), br#""a\u00e9\ud800""#);
        assert_eq!(root.get("t").unwrap().as_bool(), Some(true));
        assert!(root.get("z").unwrap().is_null());
        assert_eq!(root.get("k").unwrap().raw(), b"4");
        assert!(root.get("nope").is_none() && root.at(0).is_none());
        assert!(first.as_text().is_none() && first.as_bool().is_none() && root.as_number().is_none());
    }

    #[test]
    fn children_step_over_subtrees() {
        let tree = Tree::parse(SAMPLE.as_bytes()).unwrap();
        let keys: Vec<_> = tree.root().members().map(|(key, _)| key.into_owned()).collect();
        assert_eq!(keys, ["n", "s", "t", "z", "list", "n", "b/c", "~", "", "k"]);
        let list = tree.root().get("list").unwrap();
        assert_eq!(list.children().len(), 3);
        assert_eq!(list.at(1).unwrap().raw(), b"[2, 3]");
        assert_eq!(list.at(2).unwrap().raw(), br#"{"deep": {"x": []}}"#);
        assert!(list.at(3).is_none() && list.get("0").is_none());
        assert_eq!((list.depth(), list.at(0).unwrap().depth()), (4, 0));
    }

    #[test]
    fn duplicate_keys_are_compared_unescaped_and_exactly() {
        for (text, expected) in [
            (r#"{"a":1,"b":2}"#, false),
            (r#"{"a":1,"b":2,"a":3}"#, true),
            (r#"{"a":1,"\u0061":2}"#, true),
            (r#"{"\ud800":1,"\ud801":2}"#, false),
            (r#"{"x":{"a":1,"a":2}}"#, false),
            ("[1,1]", false),
            ("{}", false),
        ] {
            let tree = Tree::parse(text.as_bytes()).unwrap();
            assert_eq!(tree.root().has_duplicate_keys(), expected, "{text}");
        }
    }

    #[test]
    fn descendants_come_in_document_order_with_depth() {
        let tree = Tree::parse(br#"[1,{"a":[2],"b":{}},3]"#).unwrap();
        let walked: Vec<_> = tree.root().descendants().map(|(depth, node)| (depth, node.id().index())).collect();
        assert_eq!(walked, [(0, 0), (1, 1), (1, 2), (2, 3), (3, 4), (2, 5), (1, 6)]);
        let inner: Vec<_> = tree.root().at(1).unwrap().descendants().map(|(depth, _)| depth).collect();
        assert_eq!(inner, [0, 1, 2, 1]);
    }

    #[test]
    fn a_walk_can_leave_out_what_lies_below() {
        let tree = Tree::parse(b"[[1,[2]],[],3,[[4]]]").unwrap();
        let mut seen = Vec::new();
        let mut walk = tree.root().descendants();
        while let Some((depth, node)) = walk.next() {
            seen.push((depth, node.raw()));
            if depth == 1 {
                walk.skip_children();
                walk.skip_children();
            }
        }
        let expected: [(usize, &[u8]); 5] =
            [(0, tree.root().raw()), (1, b"[1,[2]]"), (1, b"[]"), (1, b"3"), (1, b"[[4]]")];
        assert_eq!(seen, expected);
    }

    #[test]
    fn same_spelling_overlooks_only_whitespace() {
        let same = |a: &str, b: &str| {
            let (a, b) = (Tree::parse(a.as_bytes()).unwrap(), Tree::parse(b.as_bytes()).unwrap());
            a.root().same_spelling(b.root())
        };
        assert!(same(r#"{"a":[1,{}]}"#, r#" { "a" : [ 1, { } ] }"#));
        for (a, b) in [
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
            ("1", "1.0"),
            ("[[1],2]", "[[1,2]]"),
            ("[[],1]", "[{},1]"),
            (r#""a""#, r#""\u0061""#),
            ("[1]", "[1,1]"),
            (r#"{"a":1}"#, "[1]"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }
}
