//! A value on one line.

use super::{
    DEEPEST_LEVEL, Limit,
    shorten::{lossy_start, shortened},
};
use crate::protocol::json::{Kind, Node};

/// Returns the value in its compact spelling, cut with `…` to at most `max_chars` characters.
///
/// No whitespace outside strings; invalid UTF-8 is shown as U+FFFD. Costs `max_chars`, not the size
/// of the value.
pub fn one_line(node: Node<'_, '_>, max_chars: usize) -> String {
    let mut out = BoundedText::new(max_chars);
    let whole = write_flat(node, &mut out, COMPACT, BoundedText::push_lossy);
    if whole.is_none() && out.text.pop().is_some() {
        out.text.push('…');
    }
    out.text
}

/// What stands between two children on one line.
pub(super) const BETWEEN: &str = ", ";

/// What stands between a key and its value.
pub(super) const AFTER_KEY: &str = ": ";

/// How a value is spelled on one line.
#[derive(Clone, Copy)]
struct Spelling {
    between: &'static str,
    after_key: &'static str,
    /// The depth below which nothing may lie.
    deepest: usize,
}

const COMPACT: Spelling = Spelling { between: ",", after_key: ":", deepest: usize::MAX };
const SPACED: Spelling = Spelling { between: BETWEEN, after_key: AFTER_KEY, deepest: DEEPEST_LEVEL };

/// Text that takes no more than a number of characters.
struct BoundedText {
    text: String,
    room: usize,
}

impl BoundedText {
    fn new(room: usize) -> Self {
        BoundedText { text: String::new(), room }
    }

    /// Appends what there is room for; `None` when something is left over.
    fn push(&mut self, more: &str) -> Option<()> {
        for character in more.chars() {
            self.room = self.room.checked_sub(1)?;
            self.text.push(character);
        }
        Some(())
    }

    /// Appends bytes, looking at no more of them than there is room for.
    fn push_lossy(&mut self, more: &[u8]) -> Option<()> {
        self.push(&lossy_start(more, self.room))
    }
}

/// Writes a value on one line, its keys and scalars by `write_token`; `None` as soon as `out` is
/// full.
fn write_flat(
    node: Node<'_, '_>,
    out: &mut BoundedText,
    spelling: Spelling,
    write_token: impl Fn(&mut BoundedText, &[u8]) -> Option<()>,
) -> Option<()> {
    let mut closers = Vec::new();
    let mut is_first = true;
    for (depth, value) in node.descendants() {
        if depth > spelling.deepest {
            return None;
        }
        while closers.len() > depth {
            out.push(closers.pop()?)?;
        }
        if !is_first {
            out.push(spelling.between)?;
        }
        if depth > 0
            && let Some(key) = value.key_raw()
        {
            write_token(out, key)?;
            out.push(spelling.after_key)?;
        }
        is_first = false;
        match (brackets(value), value.is_empty()) {
            (Some((opener, closer)), false) => {
                out.push(opener)?;
                closers.push(closer);
                is_first = true;
            }
            (Some((opener, closer)), true) => {
                out.push(opener)?;
                out.push(closer)?;
            }
            (None, _) => write_token(out, value.raw())?,
        }
    }
    while let Some(closer) = closers.pop() {
        out.push(closer)?;
    }
    Some(())
}

pub(super) fn brackets(node: Node<'_, '_>) -> Option<(&'static str, &'static str)> {
    match node.kind() {
        Kind::Array => Some(("[", "]")),
        Kind::Object => Some(("{", "}")),
        _ => None,
    }
}

/// Returns the value on one line of at most `room` characters, strings cut to the limit.
///
/// `None` where it does not fit or reaches below the last level that is laid out.
pub(super) fn spaced(node: Node<'_, '_>, level: usize, room: usize, limit: Limit) -> Option<String> {
    let mut out = BoundedText::new(room);
    let spelling = Spelling { deepest: DEEPEST_LEVEL.checked_sub(level)?, ..SPACED };
    write_flat(node, &mut out, spelling, |out, token| {
        if limit.is_full() { out.push_lossy(token) } else { out.push(&shortened(token, limit.scalar_chars)) }
    })?;
    Some(out.text)
}
