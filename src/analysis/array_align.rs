//! Which item of one array belongs to which of another.
//!
//! Items that name themselves (`name`, `uri`, `uriTemplate`, `id`) are paired by that; else by a longest common
//! subsequence of their values, where what stands in the place of each other is paired in order.

use super::value_hash::Hashes;
use crate::protocol::json::{Kind, Node};
use similar::algorithms::Algorithm;
use similar::{DiffOp, capture_diff_slices};
use std::collections::{HashMap, HashSet};

/// What belongs together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alignment {
    /// Places on both sides.
    pub pairs: Vec<(usize, usize)>,
    /// Places that only the first side has.
    pub removed: Vec<usize>,
    /// Places that only the second side has.
    pub added: Vec<usize>,
    /// True if the pairs stand in another order.
    pub reordered: bool,
}

/// An array and the numbers of its values.
#[derive(Clone, Copy)]
pub struct Side<'t, 'a> {
    /// The array.
    pub array: Node<'t, 'a>,
    /// The numbers of its tree.
    pub hashes: &'t Hashes,
}

/// Aligns two arrays; those that are sets have no order and no places that could be taken by something else.
#[must_use]
pub fn align(a: Side<'_, '_>, b: Side<'_, '_>, as_set: bool) -> Alignment {
    if let Some(found) = ["name", "uri", "uriTemplate", "id"].iter().find_map(|key| by_key(a, b, key)) {
        return found;
    }
    let values =
        |side: Side<'_, '_>| -> Vec<u64> { side.array.children().map(|item| side.hashes.value(item.id())).collect() };
    let (left, right) = (values(a), values(b));
    if as_set {
        return Alignment { reordered: false, ..by_equality(&left, &right) };
    }
    let sorted = |values: &[u64]| {
        let mut values = values.to_vec();
        values.sort_unstable();
        values
    };
    if left != right && left.len() == right.len() && sorted(&left) == sorted(&right) {
        return by_equality(&left, &right);
    }
    by_subsequence(&left, &right)
}

/// Pairs items that name themselves; `None` if they do not, or if too few of the names are on both sides.
fn by_key(a: Side<'_, '_>, b: Side<'_, '_>, key: &str) -> Option<Alignment> {
    let names = |side: Side<'_, '_>| -> Option<Vec<u64>> {
        let mut seen = HashSet::new();
        side.array
            .children()
            .map(|item| {
                let name = item.get(key).filter(|name| matches!(name.kind(), Kind::String | Kind::Number))?;
                let number = side.hashes.spelling(name.id());
                seen.insert(number).then_some(number)
            })
            .collect()
    };
    let (left, right) = (names(a)?, names(b)?);
    let found = by_equality(&left, &right);
    let fewer = left.len().min(right.len());
    // Two lists that have no name in common are told apart better by what is in them.
    (fewer > 0 && found.pairs.len() * 2 >= fewer).then_some(found)
}

/// Pairs equal numbers, the first with the first.
fn by_equality(left: &[u64], right: &[u64]) -> Alignment {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, number) in right.iter().enumerate().rev() {
        places.entry(*number).or_default().push(place);
    }
    let mut found = Alignment::default();
    let mut last = None;
    for (place, number) in left.iter().enumerate() {
        match places.get_mut(number).and_then(Vec::pop) {
            Some(partner) => {
                found.reordered |= last.is_some_and(|last| partner < last);
                last = Some(partner);
                found.pairs.push((place, partner));
            }
            None => found.removed.push(place),
        }
    }
    found.added = places.into_values().flatten().collect();
    found.added.sort_unstable();
    found
}

fn by_subsequence(left: &[u64], right: &[u64]) -> Alignment {
    let head = left.iter().zip(right).take_while(|(x, y)| x == y).count();
    let tail = left.iter().rev().zip(right.iter().rev()).take_while(|(x, y)| x == y).count();
    let tail = tail.min(left.len().min(right.len()) - head);
    let mut found = Alignment::default();
    found.pairs.extend((0..head).map(|place| (place, place)));
    let (old, new) = (left.get(head..left.len() - tail), right.get(head..right.len() - tail));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let mut changed = |old: std::ops::Range<usize>, new: std::ops::Range<usize>| {
        let both = old.len().min(new.len());
        found.pairs.extend((0..both).map(|at| (head + old.start + at, head + new.start + at)));
        found.removed.extend(head + old.start + both..head + old.end);
        found.added.extend(head + new.start + both..head + new.end);
    };
    if old.is_empty() || new.is_empty() || super::text_diff::work(old, new).is_none() {
        // Beyond what can be aligned, items are paired by their place.
        changed(0..old.len(), 0..new.len());
    } else {
        // Ties of a longest common subsequence are not symmetric: the same side always comes first.
        let swap = old > new;
        let (first, second) = if swap { (new, old) } else { (old, new) };
        for op in capture_diff_slices(Algorithm::Myers, first, second) {
            let (mut from, mut to) = (op.old_range(), op.new_range());
            if swap {
                std::mem::swap(&mut from, &mut to);
            }
            // Equal stretches are pairs too; they may still differ in spelling.
            debug_assert!(!matches!(op, DiffOp::Equal { .. }) || from.len() == to.len());
            changed(from, to);
        }
    }
    found.pairs.extend((0..tail).map(|at| (left.len() - tail + at, right.len() - tail + at)));
    found
}

#[cfg(test)]
mod tests {
    use super::super::normalize::Eye;
    use super::*;
    use crate::protocol::json::Tree;

    fn aligned(a: &str, b: &str, as_set: bool) -> Alignment {
        let (a, b) = (Tree::parse(a.as_bytes()).unwrap(), Tree::parse(b.as_bytes()).unwrap());
        let (left, right) = (Hashes::of(&a, Eye::default()), Hashes::of(&b, Eye::default()));
        align(Side { array: a.root(), hashes: &left }, Side { array: b.root(), hashes: &right }, as_set)
    }

    fn alignment(pairs: &[(usize, usize)], removed: &[usize], added: &[usize], reordered: bool) -> Alignment {
        Alignment { pairs: pairs.to_vec(), removed: removed.to_vec(), added: added.to_vec(), reordered }
    }

    #[test]
    fn items_that_name_themselves() {
        let found = aligned(r#"[{"name":"x","v":1},{"name":"y"}]"#, r#"[{"name":"n"},{"name":"x","v":2}]"#, false);
        assert_eq!(found, alignment(&[(0, 1)], &[1], &[0], false));
        let found = aligned(r#"[{"id":1},{"id":2}]"#, r#"[{"id":2},{"id":1}]"#, false);
        assert_eq!(found, alignment(&[(0, 1), (1, 0)], &[], &[], true));
        let one_name_twice = aligned(r#"[{"id":1},{"id":1}]"#, r#"[{"id":1}]"#, false);
        assert_eq!(one_name_twice, alignment(&[(0, 0)], &[1], &[], false));
    }

    #[test]
    fn items_without_a_name() {
        assert_eq!(aligned("[1,2,3]", "[1,9,2,3]", false), alignment(&[(0, 0), (1, 2), (2, 3)], &[], &[1], false));
        assert_eq!(aligned("[1,2,3]", "[1,5,3]", false), alignment(&[(0, 0), (1, 1), (2, 2)], &[], &[], false));
        assert_eq!(aligned("[1,2]", "[2,1]", false), alignment(&[(0, 1), (1, 0)], &[], &[], true));
        assert_eq!(aligned("[1,2]", "[3,1]", true), alignment(&[(0, 1)], &[1], &[0], false));
        assert_eq!(aligned("[]", "[7]", false), alignment(&[], &[], &[0], false));
    }

    #[test]
    fn sides_can_change_places() {
        for (a, b) in [("[1,2,1,3,2]", "[2,1,2,3,1,1]"), ("[1,1,2]", "[2,1]"), ("[5,6,7]", "[8,5,9,7,7]")] {
            let (there, back) = (aligned(a, b, false), aligned(b, a, false));
            let mut turned: Vec<(usize, usize)> = back.pairs.iter().map(|(x, y)| (*y, *x)).collect();
            turned.sort_unstable();
            let mut pairs = there.pairs.clone();
            pairs.sort_unstable();
            assert_eq!(pairs, turned, "{a} {b}");
            assert_eq!((there.removed, there.added), (back.added, back.removed), "{a} {b}");
        }
    }
}
