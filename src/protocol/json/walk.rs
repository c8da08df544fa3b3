//! Iterators over a tree, none of which recurses.

use super::{
    node::{Kind, Node},
    tree::Tree,
};
use std::iter::FusedIterator;

/// The direct children of a value in document order, each in constant time.
#[derive(Clone, Debug)]
pub struct Children<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) next: u32,
    pub(super) remaining: u32,
}

impl<'t, 'a> Iterator for Children<'t, 'a> {
    type Item = Node<'t, 'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let child = Node { tree: self.tree, id: self.next };
        self.next = child.slot().subtree_end;
        Some(child)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining as usize, Some(self.remaining as usize))
    }
}

impl ExactSizeIterator for Children<'_, '_> {}
impl FusedIterator for Children<'_, '_> {}

/// A value and all below it in document order, each with its depth below the value, which itself is
/// 0.
#[derive(Clone, Debug)]
pub struct Descendants<'t, 'a> {
    tree: &'t Tree<'a>,
    next: u32,
    end: u32,
    last_subtree_end: u32,
    /// Where the subtrees end that the last value lies in, from the outside in.
    open_ends: Vec<u32>,
}

impl<'t, 'a> Descendants<'t, 'a> {
    pub(super) fn new(node: Node<'t, 'a>) -> Self {
        Descendants {
            tree: node.tree,
            next: node.id,
            end: node.slot().subtree_end,
            last_subtree_end: node.id,
            open_ends: Vec::new(),
        }
    }

    /// Leaves out all that lies below the value returned last.
    pub fn skip_children(&mut self) {
        self.next = self.next.max(self.last_subtree_end);
    }
}

impl<'t, 'a> Iterator for Descendants<'t, 'a> {
    type Item = (usize, Node<'t, 'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let node = Node { tree: self.tree, id: self.next };
        while self.open_ends.last().is_some_and(|end| *end <= self.next) {
            self.open_ends.pop();
        }
        let depth = self.open_ends.len();
        let slot = node.slot();
        if slot.child_count > 0 {
            self.open_ends.push(slot.subtree_end);
        }
        self.last_subtree_end = slot.subtree_end;
        self.next += 1;
        Some((depth, node))
    }
}

impl FusedIterator for Descendants<'_, '_> {}

/// Returns every scalar with its pointer.
#[must_use]
pub fn leaves<'t, 'a>(root: Node<'t, 'a>) -> Vec<(String, Node<'t, 'a>)> {
    let mut found = Vec::new();
    // What is open: the length of the pointer before it, and the next index of an array.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let mut pointer = String::new();
    for (depth, node) in root.descendants() {
        if depth > 0 {
            open.truncate(depth);
            if let Some((length, index)) = open.last_mut() {
                pointer.truncate(*length);
                pointer.push('/');
                match index {
                    Some(index) => {
                        pointer.push_str(&index.to_string());
                        *index += 1;
                    }
                    None => {
                        let key = node.key().unwrap_or_default();
                        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    }
                }
            }
        }
        match node.kind() {
            Kind::Array => open.push((pointer.len(), Some(0))),
            Kind::Object => open.push((pointer.len(), None)),
            _ => found.push((pointer.clone(), node)),
        }
    }
    found
}
