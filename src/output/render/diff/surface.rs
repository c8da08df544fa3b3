//! What the server offers, compared.

use super::values::{cut_left, lines_of, pointer_of};
use super::{Look, of_level, padded, title};
use crate::analysis::report::{Change, ChangeKind, DiffReport, Impact, Level};
use crate::output::humanize::counted;
use crate::output::sanitize;
use crate::output::styles::{BAD, WARN, paint};
use crate::session::message::Place;
use std::collections::BTreeMap;

/// How many items have to change alike to be told in one line.
const ALIKE: usize = 4;

/// A line: one change, or the same one of many items.
struct Row<'r> {
    impact: Impact,
    who: String,
    place: String,
    change: &'r Change,
    alike: usize,
}

/// Returns the section; nothing if nothing changed.
pub(super) fn section(report: &DiffReport, look: Look) -> String {
    let changes = of_level(report, Level::Surface);
    if changes.is_empty() {
        return String::new();
    }
    let mut counts: BTreeMap<Impact, u64> = BTreeMap::new();
    for change in &changes {
        *counts.entry(change.impact.unwrap_or(Impact::Undecided)).or_default() += 1;
    }
    let sum: Vec<String> = counts.iter().map(|(impact, count)| format!("{count} {}", impact.as_str())).collect();
    let mut text = title("SURFACE", &sum.join(", "));
    let rows = rows(&changes);
    let who = rows.iter().map(|row| sanitize::width(&row.who)).max().unwrap_or(0).min(look.width * 3 / 10);
    for row in rows {
        text.push_str(&lines(&row, who, look));
    }
    text
}

fn rows<'r>(changes: &[&'r Change]) -> Vec<Row<'r>> {
    type Alike = (Impact, &'static str, String, ChangeKind);
    let key = |change: &Change| -> Alike {
        let item = change.item.as_ref().map_or("", |item| item.kind);
        (change.impact.unwrap_or(Impact::Undecided), item, pointer_of(change), change.kind)
    };
    let mut groups: BTreeMap<Alike, usize> = BTreeMap::new();
    for change in changes {
        // Items that came or went are named, however many they are.
        if !change.pointer.shown().is_empty() {
            *groups.entry(key(change)).or_default() += 1;
        }
    }
    let mut told = std::collections::BTreeSet::new();
    let mut rows = Vec::new();
    for change in changes {
        let key = key(change);
        let alike = groups.get(&key).copied().filter(|count| *count >= ALIKE).unwrap_or(1);
        if alike > 1 && !told.insert(key.clone()) {
            continue;
        }
        let item = change.item.as_ref();
        let who = match item {
            Some(item) if alike > 1 => counted(alike as u64, item.kind),
            Some(item) if item.kind == "capability" => "capabilities".to_owned(),
            Some(item) if item.kind == "tool" || item.kind == "resource" => sanitize::line(&item.name),
            Some(item) => format!("{} {}", item.kind, sanitize::line(&item.name)),
            None => String::new(),
        };
        let in_enum = change.kind == ChangeKind::Removed || change.kind == ChangeKind::Added;
        let place = match key.2.rsplit_once('/') {
            Some((list, _)) if in_enum && (list.ends_with("/enum") || list.ends_with("/required")) => list.to_owned(),
            _ => key.2,
        };
        rows.push(Row { impact: key.0, who, place, change, alike });
    }
    rows.sort_by_key(|row| row.impact);
    rows
}

fn lines(row: &Row<'_>, who: usize, look: Look) -> String {
    let label = format!("{:<10}", row.impact.as_str());
    let label = match row.impact {
        Impact::Breaking => paint(BAD, &label),
        Impact::Undecided => paint(WARN, &label),
        _ => label,
    };
    let indent = 2 + 10 + 2 + who + 2;
    let room = look.width.saturating_sub(indent).max(20);
    let place = if row.impact == Impact::Wording && row.alike == 1 {
        format!("{}  (the model reads this)", row.place)
    } else {
        row.place.clone()
    };
    let what = said(row, room, look);
    let first = cut_left(&place, room, look);
    let head = format!("  {label}  {}  ", padded(&sanitize::cut(&row.who, who, look.signs.cut), who));
    let margin = " ".repeat(indent);
    let mut text = String::new();
    match what.as_slice() {
        [only] if first.is_empty() => text.push_str(format!("{head}{only}").trim_end()),
        [only]
            if plain_width(only) + sanitize::width(&first) + 2 <= room
                && (row.impact != Impact::Wording || row.alike > 1) =>
        {
            text.push_str(format!("{head}{first}  {only}").trim_end());
        }
        several => {
            text.push_str(format!("{head}{first}").trim_end());
            for line in several {
                text.push_str(&format!("\n{margin}{line}"));
            }
        }
    }
    text.push('\n');
    text
}

/// Returns the columns of a text that may hold colours.
fn plain_width(text: &str) -> usize {
    sanitize::width(&anstream::adapter::strip_str(text).to_string())
}

/// Says what changed, in a sentence where there is one.
fn said(row: &Row<'_>, room: usize, look: Look) -> Vec<String> {
    let change = row.change;
    if row.alike > 1 {
        let word = match change.kind {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            _ => "changed",
        };
        return vec![word.to_owned()];
    }
    let pointer = change.pointer.shown();
    let used = used_by(&change.touches, pointer.starts_with("/outputSchema"), row.place.is_empty());
    let with_use = |text: String| vec![sanitize::cut(&format!("{text}{used}"), room, look.signs.cut)];
    if pointer.is_empty() {
        let kind = change.item.as_ref().map_or("", |item| item.kind);
        return match change.kind {
            ChangeKind::Added => vec![format!("{kind} added")],
            ChangeKind::Removed => with_use(format!("{kind} removed")),
            _ => Vec::new(),
        };
    }
    let value = |side: &Option<crate::analysis::report::SideValue>| {
        let json = side.as_ref().map(|value| value.json.as_str()).unwrap_or_default();
        let word = serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned());
        format!("`{}`", sanitize::line(&word))
    };
    let of_list = |name: &str| row.place.ends_with(name) && row.place != pointer_of(change);
    match (change.kind, change.impact) {
        (ChangeKind::Removed, _) if of_list("/enum") && !pointer.starts_with("/outputSchema") => {
            with_use(format!("{} is no longer accepted", value(&change.a)))
        }
        (ChangeKind::Added, _) if of_list("/required") => vec![format!("{} is required", value(&change.b))],
        (ChangeKind::Removed, _) if of_list("/required") => vec![format!("{} is not required", value(&change.a))],
        (ChangeKind::Added, Some(Impact::Breaking)) => vec!["added, required".to_owned()],
        (ChangeKind::Removed, Some(Impact::Breaking)) if pointer.starts_with("/outputSchema") => {
            with_use("removed, was required".to_owned())
        }
        (ChangeKind::Removed, _) if change.impact != Some(Impact::Undecided) || used.len() > 1 => {
            with_use("removed".to_owned())
        }
        _ => lines_of(change, room, look),
    }
}

/// Returns `; 14 sends it`, or nothing if no recorded message depends on it.
fn used_by(places: &[Place], answers: bool, calls: bool) -> String {
    let Some(first) = places.first() else { return String::new() };
    let (one, many) = match (answers, calls) {
        (true, _) => ("has it", "have it"),
        (_, true) => ("calls it", "call it"),
        _ => ("sends it", "send it"),
    };
    match places.len() {
        1 => format!("; {first} {one}"),
        more => format!("; {first} and {} more {many}", more - 1),
    }
}
