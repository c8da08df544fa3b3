//! One change in a few words: values, words of texts, sizes of blobs.

use super::super::pretty::one_line;
use super::Look;
use crate::analysis::report::{Change, ChangeKind, SideValue};
use crate::analysis::text_diff::{Piece, PieceKind};
use crate::output::humanize::size;
use crate::output::sanitize;
use crate::output::styles::{BAD, GOOD, paint};
use crate::protocol::json::{Kind, Node, Tree};

/// How many changed places of one text are shown.
const HUNKS: usize = 3;

/// How many characters around a changed place are shown.
const AROUND: usize = 20;

/// Returns where a change is, made safe.
pub(super) fn pointer_of(change: &Change) -> String {
    let pointer = sanitize::line(change.pointer.shown());
    match &change.inside {
        Some(inside) if inside.shown().is_empty() => pointer,
        Some(inside) => format!("{pointer}: {}", sanitize::line(inside.shown())),
        None => pointer,
    }
}

/// Returns a text cut to so many columns at its beginning: of a pointer, the end says more.
pub(in crate::output::render) fn cut_left(text: &str, columns: usize, look: Look) -> String {
    if sanitize::width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(sanitize::width(look.signs.cut));
    let mut kept: Vec<char> = Vec::new();
    let mut used = 0;
    for character in text.chars().rev() {
        used += sanitize::width(character.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        kept.push(character);
    }
    format!("{}{}", look.signs.cut, kept.into_iter().rev().collect::<String>())
}

/// Returns what differs, on lines of at most `room` columns.
pub(super) fn lines_of(change: &Change, room: usize, look: Look) -> Vec<String> {
    let arrow = look.signs.right;
    match change.kind {
        ChangeKind::Text => text_lines(change, room, look),
        ChangeKind::Reordered => {
            let count = change.a.as_ref().map_or(0, items);
            let what =
                if count > 0 { format!("the same {count} items in another order") } else { "in another order".into() };
            vec![sanitize::cut(&what, room, look.signs.cut)]
        }
        ChangeKind::Blob => {
            let [a, b] = [&change.a, &change.b].map(|side| side.as_ref().map(blob).unwrap_or_default());
            vec![sanitize::cut(&format!("{a} {arrow} {b}"), room, look.signs.cut)]
        }
        ChangeKind::Added => {
            let value =
                change.b.as_ref().map(|value| value_in(value, room.saturating_sub(7), look)).unwrap_or_default();
            vec![sanitize::cut(&format!("added  {value}"), room, look.signs.cut)]
        }
        ChangeKind::Removed => {
            let value =
                change.a.as_ref().map(|value| value_in(value, room.saturating_sub(9), look)).unwrap_or_default();
            vec![sanitize::cut(&format!("{value} {arrow} gone"), room, look.signs.cut)]
        }
        _ => {
            let note = match change.kind {
                ChangeKind::Type => types(change),
                ChangeKind::FloatNoise => "  (rounding)".to_owned(),
                _ => String::new(),
            };
            vec![two_values(change, &note, room, look)]
        }
    }
}

fn types(change: &Change) -> String {
    let kind = |value: &Option<SideValue>| {
        let value = value.as_ref().filter(|value| !value.cut)?;
        Tree::parse(value.json.as_bytes()).ok().map(|tree| tree.root().kind())
    };
    match (kind(&change.a), kind(&change.b)) {
        // `null` says itself what it is.
        (Some(a), Some(b)) if a != Kind::Null && b != Kind::Null => format!("  ({}, was {})", b.name(), a.name()),
        _ => String::new(),
    }
}

fn two_values(change: &Change, note: &str, room: usize, look: Look) -> String {
    let arrow = look.signs.right;
    let room_for_both = room.saturating_sub(sanitize::width(arrow) + 2 + sanitize::width(note));
    let side =
        |value: &Option<SideValue>, room| value.as_ref().map_or("gone".to_owned(), |value| value_in(value, room, look));
    let full = side(&change.a, room_for_both);
    let other = side(&change.b, room_for_both);
    // The shorter of the two leaves its room to the longer.
    let half = room_for_both / 2;
    let (wide_a, wide_b) = (sanitize::width(&full), sanitize::width(&other));
    let room_a = if wide_b <= half { room_for_both - wide_b } else { half };
    let room_b = if wide_a <= half { room_for_both - wide_a } else { room_for_both - half };
    let a = side(&change.a, room_a);
    let b = side(&change.b, room_b);
    sanitize::cut(&format!("{a} {arrow} {b}{note}"), room, look.signs.cut)
}

/// Returns a value on one line of at most `room` columns.
fn value_in(value: &SideValue, room: usize, look: Look) -> String {
    let text = match Tree::parse(value.json.as_bytes()) {
        Ok(tree) => one_line(tree.root(), room.saturating_mul(2).max(8)),
        Err(_) => value.json.clone(),
    };
    sanitize::cut(&sanitize::line(&text), room.max(4), look.signs.cut)
}

fn items(value: &SideValue) -> usize {
    Tree::parse(value.json.as_bytes()).map_or(0, |tree| tree.root().len())
}

/// Returns the size of a blob and the beginning of its hash.
fn blob(value: &SideValue) -> String {
    let Ok(tree) = Tree::parse(value.json.as_bytes()) else { return String::new() };
    let bytes = tree.root().get("bytes").and_then(Node::as_number).and_then(|number| number.parse().ok()).unwrap_or(0);
    let hash = tree.root().get("sha256").and_then(Node::as_text).unwrap_or_default();
    format!("{} sha256 {}", size(bytes), hash.get(..8).unwrap_or_default())
}

/// Returns the changed places of a text, a line each.
fn text_lines(change: &Change, room: usize, look: Look) -> Vec<String> {
    let hunks = hunks(&change.words);
    let mut lines: Vec<String> = hunks.iter().take(HUNKS).map(|hunk| hunk_line(hunk, room, look)).collect();
    if hunks.len() > HUNKS {
        let more = hunks.len() - HUNKS;
        let places = if more == 1 { "place" } else { "places" };
        lines.push(sanitize::cut(
            &format!("{} {more} more {places} in this text", look.signs.cut),
            room,
            look.signs.cut,
        ));
    }
    lines
}

/// Cuts a compared text into its changed places with what stands around each.
fn hunks(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    let mut all: Vec<Vec<Piece>> = Vec::new();
    let mut current: Vec<Piece> = Vec::new();
    let last = pieces.len().saturating_sub(1);
    let short = |text: &str| text.chars().count() <= 2 * AROUND;
    let piece = |kind, text: String| Piece { kind, text };
    for (at, one) in pieces.iter().enumerate() {
        let text = one.text.as_str();
        if one.kind != PieceKind::Same || short(text) {
            current.push(one.clone());
            continue;
        }
        if at > 0 {
            let head: String = text.chars().take(AROUND).collect();
            current.push(piece(PieceKind::Same, format!("{head}…")));
            all.push(std::mem::take(&mut current));
        }
        if at < last {
            let mut tail: Vec<char> = text.chars().rev().take(AROUND).collect();
            tail.reverse();
            current.push(piece(PieceKind::Same, format!("…{}", tail.into_iter().collect::<String>())));
        }
    }
    if current.iter().any(|piece| piece.kind != PieceKind::Same) {
        all.push(current);
    }
    all
}

/// Returns one changed place, `[-old-]{+new+}`; neither side may push the other out of the line.
fn hunk_line(hunk: &[Piece], room: usize, look: Look) -> String {
    let safe: Vec<(PieceKind, String)> =
        hunk.iter().map(|piece| (piece.kind, sanitize::line(&piece.text).replace('…', look.signs.cut))).collect();
    let marks = safe.iter().filter(|(kind, _)| *kind != PieceKind::Same).count();
    let total: usize = safe.iter().map(|(_, text)| sanitize::width(text)).sum::<usize>() + marks * 4;
    let changed = marks.clamp(1, 4);
    let context: usize =
        safe.iter().filter(|(kind, _)| *kind == PieceKind::Same).map(|(_, text)| sanitize::width(text)).sum();
    let share = if total <= room {
        usize::MAX
    } else {
        (room.saturating_sub(context.min(room / 3) + marks * 4) / changed).max(8)
    };
    let mut line = String::new();
    let mut used = 0;
    for (kind, text) in safe {
        let (open, close, style) = match kind {
            PieceKind::Same => ("", "", None),
            PieceKind::Old => ("[-", "-]", Some(BAD)),
            PieceKind::New => ("{+", "+}", Some(GOOD)),
        };
        let left = room.saturating_sub(used + open.len() + close.len());
        if left == 0 {
            break;
        }
        let most = if kind == PieceKind::Same { left } else { left.min(share) };
        let shown = sanitize::cut(&text, most, look.signs.cut);
        used += sanitize::width(&shown) + open.len() + close.len();
        let whole = format!("{open}{shown}{close}");
        line.push_str(&style.map_or(whole.clone(), |style| paint(style, &whole)));
    }
    line
}
