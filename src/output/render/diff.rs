//! What differs between two sessions: surface, results, what is soft, and what was masked.

mod results;
mod surface;
mod values;

use super::super::humanize::{counted, moment};
use super::super::sanitize;
use super::super::styles::{BOLD, DIM, paint};
use super::super::ui::Signs;
use crate::analysis::report::{Change, ChangeKind, DiffReport, Level};
use crate::session::session::{Origin, Session};
use std::collections::BTreeMap;
pub(super) use values::cut_left;
use values::{lines_of, pointer_of};

/// How a comparison is shown.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The columns there are.
    pub width: usize,
    /// The signs.
    pub signs: Signs,
}

/// A session and how to call it.
pub struct Named<'a> {
    /// The session.
    pub session: &'a Session,
    /// Its short id, or its file's name.
    pub id: String,
}

/// Returns the comparison of two sessions.
#[must_use]
pub fn render(a: &Named<'_>, b: &Named<'_>, report: &DiffReport, look: Look) -> String {
    let mut text = String::new();
    if report.is_equal() {
        text.push_str(&equal_line(report));
        text.push('\n');
    } else {
        text.push_str(&sides(a, b, report, look));
    }
    for section in [
        identity(report, look),
        surface::section(report, look),
        results::section(report, look),
        soft(report, look),
        remarks(report, look),
    ] {
        if !section.is_empty() {
            text.push('\n');
            text.push_str(&section);
        }
    }
    text
}

/// Returns what differs in surface and results, without titles.
#[must_use]
pub fn changes(report: &DiffReport, look: Look) -> String {
    let body = |section: String| section.split_once('\n').map(|(_, body)| body.to_owned()).unwrap_or_default();
    body(surface::section(report, look)) + &body(results::section(report, look))
}

fn equal_line(report: &DiffReport) -> String {
    let exchanges = match report.exchanges {
        [a, b] if a == b => counted(a as u64, "exchange"),
        [a, b] => format!("{a} and {b} exchanges"),
    };
    let masked = masked_words(report).map(|words| format!(", {words}")).unwrap_or_default();
    format!("no difference: {exchanges}{masked}")
}

/// Returns `11 values masked (9 timestamps, 2 ids)`; `None` for none.
fn masked_words(report: &DiffReport) -> Option<String> {
    let total: u64 = report.masks.values().sum();
    (total > 0).then(|| format!("{} masked ({})", counted(total, "value"), masks_by_kind(report)))
}

fn masks_by_kind(report: &DiffReport) -> String {
    let mut kinds: Vec<(u64, &str)> = report.masks.iter().map(|(mask, count)| (*count, mask.noun())).collect();
    kinds.sort_by(|x, y| y.cmp(x));
    kinds.iter().map(|(count, noun)| counted(*count, noun)).collect::<Vec<_>>().join(", ")
}

fn sides(a: &Named<'_>, b: &Named<'_>, report: &DiffReport, look: Look) -> String {
    let rows = [("a", a, report.exchanges[0]), ("b", b, report.exchanges[1])];
    let cells = rows.map(|(sign, named, exchanges)| {
        let session = named.session;
        let server = session.server.as_ref().map_or_else(|| look.signs.none.to_owned(), ToString::to_string);
        let started = if session.started_at_ns > 0 { moment(session.started_at_ns) } else { look.signs.none.into() };
        let replayed = match (session.origin, &session.parent) {
            (Origin::Replay | Origin::Test, Some(parent)) => {
                format!(", replay of {}", parent.get(..4).unwrap_or(parent))
            }
            _ => String::new(),
        };
        let said = format!("{}{replayed}", counted(exchanges as u64, "exchange"));
        [sign.to_owned(), sanitize::line(&named.id), sanitize::line(&server), started, said]
    });
    let mut text = String::new();
    let wide = |column: usize| cells.iter().map(|row| sanitize::width(&row[column])).max().unwrap_or(0);
    let widths = [wide(0), wide(1).min(look.width / 2), wide(2).min(look.width / 3), wide(3), 0];
    for row in &cells {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&padded(&if width > 0 { cut_left(cell, width, look) } else { cell.clone() }, width));
            line.push_str("  ");
        }
        text.push_str(&paint(BOLD, &sanitize::cut(line.trim_end(), look.width, look.signs.cut)));
        text.push('\n');
    }
    text
}

/// Returns a text with blanks up to a width.
pub(super) fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(sanitize::width(text))))
}

/// Returns the line that a section begins with.
fn title(name: &str, words: &str) -> String {
    let words = if words.is_empty() { String::new() } else { format!("  {words}") };
    format!("{}{words}\n", paint(BOLD, name))
}

fn of_level(report: &DiffReport, level: Level) -> Vec<&Change> {
    report.changes.iter().filter(|change| change.level == level).collect()
}

/// Returns who spoke, if that changed.
#[must_use]
pub fn identity(report: &DiffReport, look: Look) -> String {
    let changes = of_level(report, Level::Identity);
    if changes.is_empty() {
        return String::new();
    }
    let rows = changes.iter().map(|change| (pointer_of(change).trim_start_matches('/').to_owned(), *change)).collect();
    format!("{}{}", title("IDENTITY", ""), table(rows, 2, look))
}

/// Returns rows of a place and what differs there, the places in a column.
fn table(rows: Vec<(String, &Change)>, indent: usize, look: Look) -> String {
    let widest = rows.iter().map(|(place, _)| sanitize::width(place)).max().unwrap_or(0);
    let column = widest.min(look.width.saturating_sub(indent) / 2);
    let margin = " ".repeat(indent);
    let mut text = String::new();
    for (place, change) in rows {
        let room = look.width.saturating_sub(indent + column + 2);
        for (at, line) in lines_of(change, room, look).into_iter().enumerate() {
            let place = if at == 0 { cut_left(&place, column, look) } else { String::new() };
            text.push_str(format!("{margin}{}  {line}", padded(&place, column)).trim_end());
            text.push('\n');
        }
    }
    text
}

/// What never fails, alike things told once.
fn soft(report: &DiffReport, look: Look) -> String {
    let changes = of_level(report, Level::Soft);
    if changes.is_empty() {
        return String::new();
    }
    let mut groups: BTreeMap<(ChangeKind, String), Vec<&Change>> = BTreeMap::new();
    for change in changes {
        let place = match &change.item {
            Some(item) if change.kind == ChangeKind::Count => item.name.clone(),
            Some(item) => format!("{} {}", item.name, pointer_of(change)),
            None => pointer_of(change),
        };
        groups.entry((change.kind, sanitize::line(&without_places(&place)))).or_default().push(change);
    }
    let total: usize = groups.values().map(Vec::len).sum();
    let mut text = title("SOFT", &format!("{}, no reason to fail", counted(total as u64, "difference")));
    let mut rows = Vec::new();
    for ((_, place), changes) in &groups {
        let times = if changes.len() > 1 { format!("{place} ({} times)", changes.len()) } else { place.clone() };
        if let Some(first) = changes.first() {
            rows.push((times, *first));
        }
    }
    text.push_str(&table(rows, 2, look));
    text
}

/// Returns a pointer with its numbers as `*`.
fn without_places(pointer: &str) -> String {
    let tokens = pointer.split('/');
    let starred = tokens.map(|token| {
        let number = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
        if number { "*" } else { token }
    });
    starred.collect::<Vec<_>>().join("/")
}

/// What was masked, left out or not compared.
fn remarks(report: &DiffReport, look: Look) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let total: u64 = report.masks.values().sum();
    if total > 0 && !report.is_equal() {
        let were = if total == 1 { "was" } else { "were" };
        let values = counted(total, "value");
        lines.push(("MASKED", format!("  {values} {were} compared by shape: {} (--strict)", masks_by_kind(report))));
    }
    for method in &report.not_compared {
        lines.push(("", format!("not compared: {}, answered on one side only", sanitize::line(method))));
    }
    if report.unread > 0 {
        let what = counted(report.unread, "message");
        lines.push(("", format!("not compared: {what}, too long or not readable")));
    }
    if report.left_out > 0 {
        lines.push(("", format!("{} more differences were found and not kept", report.left_out)));
    }
    let mut text = String::new();
    for (name, words) in lines {
        let words = sanitize::cut(&words, look.width.saturating_sub(name.len()), look.signs.cut);
        text.push_str(&paint(BOLD, name));
        text.push_str(&if name.is_empty() { paint(DIM, &words) } else { words });
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_arrays_are_alike() {
        assert_eq!(without_places("/days/0/high"), "/days/*/high");
        assert_eq!(without_places("/a1/b"), "/a1/b");
    }
}
