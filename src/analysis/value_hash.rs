//! What each value of a tree is, in a number: once by value and once by spelling.
//!
//! Two values that are equal have the same number; the other way round it is only very likely, so what has the same
//! number by value is still compared. Computed from the leaves up in one pass: linear at any depth.

use super::normalize::Eye;
use super::rules::{Hits, Start};
use crate::protocol::json::{Kind, Node, NodeId, Tree, unescape_bytes};
use crate::protocol::number::Decimal;
use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// The numbers of all values of a tree.
#[derive(Debug, Clone)]
pub struct Hashes {
    value: Vec<u64>,
    spelling: Vec<u64>,
}

impl Hashes {
    /// Returns the numbers of a tree's values.
    ///
    /// By value: numbers by their exact value, members in any order, volatile values by their shape. By spelling:
    /// everything but the blanks between tokens.
    #[must_use]
    pub fn of(tree: &Tree<'_>, eye: Eye<'_>) -> Self {
        Self::masked(tree, eye, &Hits::default())
    }

    /// Returns the numbers of a tree's values, what rules excuse as the rule.
    #[must_use]
    pub fn masked(tree: &Tree<'_>, eye: Eye<'_>, hits: &Hits<'_>) -> Self {
        let nodes: Vec<Node<'_, '_>> = tree.root().descendants().map(|(_, node)| node).collect();
        let mut hashes = Self { value: vec![0; nodes.len()], spelling: vec![0; nodes.len()] };
        for node in nodes.iter().rev() {
            let (value, spelling) = hashes.one(*node, eye, hits);
            let at = node.id().index();
            if let (Some(by_value), Some(by_spelling)) = (hashes.value.get_mut(at), hashes.spelling.get_mut(at)) {
                (*by_value, *by_spelling) = (value, spelling);
            }
        }
        hashes
    }

    /// Returns the number of a value.
    #[must_use]
    pub fn value(&self, id: NodeId) -> u64 {
        self.value.get(id.index()).copied().unwrap_or(0)
    }

    /// Returns the number of a spelling.
    #[must_use]
    pub fn spelling(&self, id: NodeId) -> u64 {
        self.spelling.get(id.index()).copied().unwrap_or(0)
    }

    fn one(&self, node: Node<'_, '_>, eye: Eye<'_>, hits: &Hits<'_>) -> (u64, u64) {
        let (value, spelling) = self.plain(node, eye, hits);
        match hits.whole(node) {
            Some((number, _)) => {
                let mut ruled = DefaultHasher::new();
                (node.kind(), "rule", number).hash(&mut ruled);
                (ruled.finish(), spelling)
            }
            None => (value, spelling),
        }
    }

    fn plain(&self, node: Node<'_, '_>, eye: Eye<'_>, hits: &Hits<'_>) -> (u64, u64) {
        let (mut value, mut spelling) = (DefaultHasher::new(), DefaultHasher::new());
        let kind = node.kind();
        kind.hash(&mut value);
        kind.hash(&mut spelling);
        match kind {
            Kind::Array if hits.unordered(node.id()) => {
                let numbers = node.children().map(|child| self.value(child.id()));
                (node.len(), numbers.fold(0_u64, u64::wrapping_add)).hash(&mut value);
                node.children().for_each(|child| self.spelling(child.id()).hash(&mut spelling));
            }
            Kind::Array => {
                for child in node.children() {
                    self.value(child.id()).hash(&mut value);
                    self.spelling(child.id()).hash(&mut spelling);
                }
            }
            Kind::Object => {
                let mut sum = 0_u64;
                for child in node.children() {
                    let key = child.key_raw().unwrap_or_default();
                    let mut member = DefaultHasher::new();
                    unescape_bytes(key).hash(&mut member);
                    self.value(child.id()).hash(&mut member);
                    sum = sum.wrapping_add(member.finish());
                    key.hash(&mut spelling);
                    self.spelling(child.id()).hash(&mut spelling);
                }
                (node.len(), sum).hash(&mut value);
            }
            Kind::String => {
                node.raw().hash(&mut spelling);
                // A lone surrogate has no text: its bytes tell it from others.
                let bytes = unescape_bytes(node.raw());
                match std::str::from_utf8(&bytes) {
                    Ok(text) => match inside(text, eye, &hits.inside(node.id())) {
                        Some(number) => number.hash(&mut value),
                        None => {
                            let ruled = hits.spans(node.id(), text);
                            Eye { ruled: &ruled, ..eye }.feed_text(text, &mut value);
                        }
                    },
                    Err(_) => bytes.hash(&mut value),
                }
            }
            Kind::Number => {
                node.raw().hash(&mut spelling);
                canonical(node).hash(&mut value);
            }
            Kind::Bool | Kind::Null => {
                node.raw().hash(&mut spelling);
                node.raw().hash(&mut value);
            }
        }
        (value.finish(), spelling.finish())
    }
}

/// Returns the number of the JSON that a text holds, if rules go on into it.
fn inside(text: &str, eye: Eye<'_>, start: &Start<'_>) -> Option<u64> {
    if start.is_empty() || !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let tree = Tree::parse(text.as_bytes()).ok()?;
    let hits = Hits::of(&tree, start);
    // Texts inside are not opened once more, as in a comparison.
    Some(Hashes::masked(&tree, eye, &hits.closed()).value(tree.root().id()))
}

/// Returns the one spelling of a number's value.
fn canonical<'a>(node: Node<'_, 'a>) -> Cow<'a, str> {
    let spelled = node.as_number().unwrap_or_default();
    // Nearly every number is a whole one, spelled as it should be.
    let plain = spelled.len() <= 18 && spelled.bytes().all(|byte| byte.is_ascii_digit());
    if plain {
        return spelled.into();
    }
    Decimal::parse(spelled).map_or(spelled.into(), |decimal| decimal.canonical().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(text: &str) -> (u64, u64) {
        let tree = Tree::parse(text.as_bytes()).unwrap();
        let hashes = Hashes::of(&tree, Eye::default());
        (hashes.value(tree.root().id()), hashes.spelling(tree.root().id()))
    }

    #[test]
    fn equal_values_have_equal_numbers() {
        for (a, b) in [
            ("1", "1.0"),
            ("0", "-0"),
            (r#"{"a":1,"b":[2]}"#, r#"{"b":[2e0],"a":1}"#),
            (r#""a""#, r#""\u0061""#),
            (r#""2026-11-30T14:31:00Z""#, r#""2027-11-30T14:31:00Z""#),
        ] {
            assert_eq!(hashes(a).0, hashes(b).0, "{a} {b}");
            assert_ne!(hashes(a).1, hashes(b).1, "{a} {b}");
        }
        assert_eq!(hashes(r#"{"a":1}"#).1, hashes(r#" { "a" : 1 } "#).1);
        for (a, b) in [
            ("1", "\"1\""),
            ("[1,2]", "[2,1]"),
            ("[]", "{}"),
            ("9007199254740992", "9007199254740993"),
            (r#"{"a":1}"#, r#"{"a":1,"a":1}"#),
            (r#""\ud800""#, r#""\ud801""#),
            ("[[1],2]", "[[1,2]]"),
        ] {
            assert_ne!(hashes(a).0, hashes(b).0, "{a} {b}");
        }
    }
}
