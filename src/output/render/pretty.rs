//! A JSON value laid out for people.
//!
//! What fits is put on one line, the rest is broken and indented. Numbers and strings keep their
//! own spelling, so control characters stay escaped; bidi and zero-width characters are the
//! business of whoever prints (`output::sanitize`). Widths are counted in characters.
//!
//! Nothing recurses, and what is written is linear in the value: indentation ends at level 64.

mod flat;
mod shorten;
#[cfg(test)]
mod tests;

pub use flat::one_line;

use crate::protocol::json::{Children, Kind, Node};
use flat::{AFTER_KEY, BETWEEN, brackets, spaced};
use shorten::shortened;
use std::borrow::Cow;

/// The number of levels that are laid out; what lies deeper is only counted.
const DEEPEST_LEVEL: usize = 64;

/// How much of a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The most children of one array or object that are shown, when they do not fit on one line.
    pub children: usize,
    /// The most characters that a string or number may take; where it stands alone on a line, also
    /// the width is kept.
    pub scalar_chars: usize,
}

impl Limit {
    /// Returns the limit of an overview: 20 children, 120 characters.
    pub const fn short() -> Limit {
        Limit { children: 20, scalar_chars: 120 }
    }

    /// Returns the limit that shows everything, as `--full` asks for.
    pub const fn full() -> Limit {
        Limit { children: usize::MAX, scalar_chars: usize::MAX }
    }

    /// Tells whether everything is shown.
    pub fn is_full(self) -> bool {
        self == Limit::full()
    }
}

/// Returns the value as lines, without terminators, that keep to `width` characters where they can.
///
/// Broken containers are indented by 2. An array that `limit` shortens stands on one line when some
/// of its items fit: `[ {"to": "Geilo"}, … 2 more (--full) ]`. What lies more than 64 levels deep
/// is shown as `… 3 levels deeper (--raw)`. The key of the value itself is not shown.
pub fn pretty(node: Node<'_, '_>, width: usize, limit: Limit) -> Vec<String> {
    let mut layout = Layout { lines: Vec::new(), line: String::new(), width, limit, open: Vec::new() };
    layout.place(node, "");
    while let Some(innermost) = layout.open.last_mut() {
        match innermost.next_child() {
            NextChild::Child(child, comma) => layout.place_child(child, comma),
            NextChild::LeftOut(count) => {
                layout.indent(layout.open.len());
                layout.line.push_str(&left_out(count));
                layout.end_line();
            }
            NextChild::None => layout.close(),
        }
    }
    layout.lines
}

fn left_out(count: usize) -> String {
    format!("… {count} more (--full)")
}

fn levels_deeper(node: Node<'_, '_>) -> String {
    match node.depth() {
        1 => "… 1 level deeper (--raw)".to_owned(),
        levels => format!("… {levels} levels deeper (--raw)"),
    }
}

/// A container that has been broken over lines and is not closed yet.
struct Broken<'t, 'a> {
    children: Children<'t, 'a>,
    closer: &'static str,
    /// `,` where something follows the container.
    comma: &'static str,
    still_shown: usize,
    left_out: usize,
}

/// What stands on the next line of a broken container.
enum NextChild<'t, 'a> {
    /// A child and what follows it.
    Child(Node<'t, 'a>, &'static str),
    /// So many children that are not shown.
    LeftOut(usize),
    /// The closing bracket.
    None,
}

impl<'t, 'a> Broken<'t, 'a> {
    fn next_child(&mut self) -> NextChild<'t, 'a> {
        if let Some(fewer) = self.still_shown.checked_sub(1)
            && let Some(child) = self.children.next()
        {
            self.still_shown = fewer;
            let comma = if fewer > 0 || self.left_out > 0 { "," } else { "" };
            return NextChild::Child(child, comma);
        }
        match std::mem::take(&mut self.left_out) {
            0 => NextChild::None,
            count => NextChild::LeftOut(count),
        }
    }
}

/// The lines made so far, and what is still open.
struct Layout<'t, 'a> {
    lines: Vec<String>,
    line: String,
    width: usize,
    limit: Limit,
    open: Vec<Broken<'t, 'a>>,
}

impl<'t, 'a> Layout<'t, 'a> {
    fn indent(&mut self, level: usize) {
        for _ in 0..level {
            self.line.push_str("  ");
        }
    }

    fn end_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
    }

    fn close(&mut self) {
        if let Some(closed) = self.open.pop() {
            self.indent(self.open.len());
            self.line.push_str(closed.closer);
            self.line.push_str(closed.comma);
            self.end_line();
        }
    }

    fn place_child(&mut self, child: Node<'t, 'a>, comma: &'static str) {
        self.indent(self.open.len());
        if let Some(key) = child.key_raw() {
            let room = self.width / 2;
            let key = self.scalar(key, room);
            self.line.push_str(&key);
            self.line.push_str(AFTER_KEY);
        }
        self.place(child, comma);
    }

    /// Returns a key's or scalar's spelling; a limit also keeps it within the room that there is.
    fn scalar<'b>(&self, raw: &'b [u8], room: usize) -> Cow<'b, str> {
        if self.limit.is_full() {
            String::from_utf8_lossy(raw)
        } else {
            shortened(raw, self.limit.scalar_chars.min(room))
        }
    }

    /// Continues the line with a value, or with its opening bracket and an entry among the open
    /// ones.
    fn place(&mut self, node: Node<'t, 'a>, comma: &'static str) {
        let level = self.open.len();
        let room = self.width.saturating_sub(self.line.chars().count() + comma.len());
        let on_this_line = match brackets(node) {
            None => self.scalar(node.raw(), room).into_owned(),
            Some((opener, closer)) if node.is_empty() => format!("{opener}{closer}"),
            Some(_) if level >= DEEPEST_LEVEL => levels_deeper(node),
            Some((opener, closer)) => {
                let whole = spaced(node, level, room, self.limit);
                let Some(text) = whole.or_else(|| self.shortened_array(node, level, room)) else {
                    self.line.push_str(opener);
                    self.end_line();
                    self.open_broken(node, closer, comma);
                    return;
                };
                text
            }
        };
        self.line.push_str(&on_this_line);
        self.line.push_str(comma);
        self.end_line();
    }

    fn open_broken(&mut self, node: Node<'t, 'a>, closer: &'static str, comma: &'static str) {
        let count = node.len();
        // One line to say that one child is left out would take the place of that child.
        let fits = count <= self.limit.children.saturating_add(1);
        let still_shown = if fits { count } else { self.limit.children };
        self.open.push(Broken { children: node.children(), closer, comma, still_shown, left_out: count - still_shown });
    }

    /// Returns an array on one line with as many items as there is room for; `None` where not even
    /// one fits.
    fn shortened_array(&self, node: Node<'_, '_>, level: usize, room: usize) -> Option<String> {
        if self.limit.is_full() || node.kind() != Kind::Array {
            return None;
        }
        let mut items = "[ ".to_owned();
        let mut used = items.len();
        let mut best = None;
        let mut rest = node.children();
        while let Some(item) = rest.next()
            && rest.len() > 0
        {
            let ending = format!("{} ]", left_out(rest.len()));
            let free = room.checked_sub(used + BETWEEN.len() + ending.chars().count());
            let Some(text) = free.and_then(|free| spaced(item, level + 1, free, self.limit)) else {
                break;
            };
            used += text.chars().count() + BETWEEN.len();
            items.push_str(&text);
            items.push_str(BETWEEN);
            best = Some((items.len(), ending));
        }
        let (length, ending) = best?;
        Some(format!("{}{ending}", items.get(..length)?))
    }
}
