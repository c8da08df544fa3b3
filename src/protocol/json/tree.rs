//! The arena.

use super::{node::Node, parse, scan::SyntaxError};
use std::fmt;

/// One value in the arena; nodes stand in document order, so a subtree is a run of neighbours.
///
/// The kind is not stored: the first byte of the value tells it.
#[derive(Clone, Copy, Default)]
pub(super) struct Slot {
    /// First byte of the value.
    pub(super) start: u32,
    /// One past the last byte of the value.
    pub(super) end: u32,
    /// First byte of the member's key, its quote; equal to `key_end` where there is no key.
    pub(super) key_start: u32,
    /// One past the closing quote of the member's key.
    pub(super) key_end: u32,
    /// One past the last node of this subtree, which is the next sibling where there is one.
    pub(super) subtree_end: u32,
    /// Number of direct children.
    pub(super) child_count: u32,
}

/// The place of a value in its tree, in document order from 0, the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// Returns the place as an index, for tables kept beside a tree.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A JSON text as a flat arena of nodes that point into its bytes.
#[derive(Clone)]
pub struct Tree<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) slots: Vec<Slot>,
    pub(super) depth: u32,
}

impl<'a> Tree<'a> {
    /// Reads one JSON text (RFC 8259), in one pass and at any depth.
    ///
    /// A leading UTF-8 byte order mark and surrounding whitespace are skipped; invalid UTF-8 is
    /// accepted inside strings.
    ///
    /// # Errors
    ///
    /// Says where and why the bytes are not exactly one JSON value, or that there are 4 GiB or more
    /// of them.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SyntaxError> {
        parse::parse(bytes)
    }

    /// Returns the outermost value.
    pub fn root(&self) -> Node<'_, 'a> {
        Node { tree: self, id: 0 }
    }

    /// Returns the value at a place, or `None` where this tree is shorter than the one the place
    /// came from.
    pub fn node(&self, id: NodeId) -> Option<Node<'_, 'a>> {
        (id.index() < self.slots.len()).then_some(Node { tree: self, id: id.0 })
    }

    /// Returns the number of values, the root and all containers counted; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a tree always holds its root, so it is never empty")]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the largest number of arrays and objects that are open at once.
    ///
    /// A scalar is 0, `[]` and `[1]` are 1, `[[1]]` is 2.
    pub fn depth(&self) -> usize {
        self.depth as usize
    }

    /// Returns the text that the tree points into, with all that surrounds the root.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl fmt::Debug for Tree<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tree")
            .field("bytes", &self.bytes.len())
            .field("len", &self.len())
            .field("depth", &self.depth)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_costs_24_bytes() {
        assert_eq!(size_of::<Slot>(), 24);
    }

    #[test]
    fn depth_counts_open_containers() {
        for (text, depth, len) in [
            ("7", 0, 1),
            ("[]", 1, 1),
            ("{}", 1, 1),
            ("[1]", 1, 2),
            ("[[1],[]]", 2, 4),
            (r#"{"a":[{"b":[]}],"c":0}"#, 4, 5),
        ] {
            let tree = Tree::parse(text.as_bytes()).unwrap();
            assert_eq!((tree.depth(), tree.len()), (depth, len), "{text}");
        }
    }

    #[test]
    fn a_place_from_a_longer_tree_is_refused() {
        let long = Tree::parse(b"[1,2]").unwrap();
        let short = Tree::parse(b"1").unwrap();
        let last = long.root().at(1).unwrap().id();
        assert_eq!(last.index(), 2);
        assert_eq!(long.node(last).unwrap().raw(), b"2");
        assert!(short.node(last).is_none());
    }
}
