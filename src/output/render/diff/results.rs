//! What was answered, compared exchange by exchange.

use super::values::{lines_of, pointer_of};
use super::{Look, title};
use crate::analysis::report::{Change, ChangeKind, DiffReport, ExchangeHead, Level, PairHead, SideValue};
use crate::output::humanize::time;
use crate::output::sanitize;
use crate::output::styles::{BAD, paint};
use crate::session::message::Outcome;
use std::collections::BTreeMap;

/// How many changes of one exchange are shown.
const CHANGES: usize = 20;

/// How many exchanges have to change alike at a place for it to be told once.
const ALIKE: usize = 4;

/// Returns the section; only its title if nothing changed.
pub(super) fn section(report: &DiffReport, look: Look) -> String {
    if report.is_equal() {
        return String::new();
    }
    let mut by_pair: BTreeMap<usize, Vec<&Change>> = BTreeMap::new();
    for change in report.changes.iter().filter(|change| !matches!(change.level, Level::Soft | Level::Identity)) {
        if let Some(pair) = change.pair {
            by_pair.entry(pair).or_default().push(change);
        }
    }
    let sum = match (report.same, report.changed) {
        (0, 0) => return String::new(),
        (same, 0) => format!("{same} same"),
        (same, changed) => format!("{same} same, {changed} changed"),
    };
    let mut text = title("RESULTS", &sum);
    let alike = alike(&by_pair);
    for ((kind, place), changes) in &alike {
        let word = if *kind == ChangeKind::Added { "added" } else { "gone" };
        let line = format!("  in {} of them  {place}  {word}", changes.len());
        text.push_str(&sanitize::cut(&line, look.width, look.signs.cut));
        text.push('\n');
    }
    let seqs = by_pair.keys().filter_map(|at| report.pairs.get(*at)).filter_map(seq);
    let wide = seqs.map(|seq| seq.len()).max().unwrap_or(1);
    for (at, changes) in &by_pair {
        let Some(pair) = report.pairs.get(*at) else { continue };
        let own: Vec<&Change> =
            changes.iter().copied().filter(|change| !alike.contains_key(&(change.kind, pointer_of(change)))).collect();
        if !own.is_empty() {
            text.push_str(&one(pair, &own, wide, look));
        }
    }
    text
}

/// Returns what came or went at one place in many exchanges: a member that every result gained is told once.
fn alike<'r>(by_pair: &BTreeMap<usize, Vec<&'r Change>>) -> BTreeMap<(ChangeKind, String), Vec<&'r Change>> {
    let mut places: BTreeMap<(ChangeKind, String), Vec<&Change>> = BTreeMap::new();
    for change in by_pair.values().flatten() {
        let whole =
            matches!(change.kind, ChangeKind::Added | ChangeKind::Removed) && !change.pointer.shown().is_empty();
        if whole {
            places.entry((change.kind, pointer_of(change))).or_default().push(change);
        }
    }
    places.retain(|_, changes| changes.len() >= ALIKE);
    places
}

fn seq(pair: &PairHead) -> Option<String> {
    pair.a.as_ref().or(pair.b.as_ref()).map(|head| head.place.to_string())
}

fn one(pair: &PairHead, changes: &[&Change], wide: usize, look: Look) -> String {
    let Some(head) = pair.a.as_ref().or(pair.b.as_ref()) else { return String::new() };
    let only = match (&pair.a, &pair.b) {
        (Some(_), None) => "  (in a only)",
        (None, Some(_)) => "  (in b only)",
        _ => "",
    };
    let line = format!("  {:>wide$}  {}", head.place.to_string(), words(head));
    let room = look.width.saturating_sub(sanitize::width(only));
    let mut text = format!("{}{only}\n", sanitize::cut(&line, room, look.signs.cut));
    if !only.is_empty() {
        return text;
    }
    let indent = wide + 6;
    let (repeated, changes) = without_repetition(changes);
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let column = changes
        .iter()
        .map(|change| sanitize::width(&place(change)))
        .chain(repeated.iter().map(|(pointer, _)| sanitize::width(pointer)))
        .max()
        .unwrap_or(0);
    let column = column.min(look.width.saturating_sub(indent) / 2);
    let room = look.width.saturating_sub(indent + column + 2);
    for change in changes.iter().take(CHANGES) {
        let lines = match change.level {
            Level::Outcome => vec![outcome(pair, room, look)],
            _ => lines_of(change, room, look),
        };
        rows.push((place(change), lines));
    }
    for (pointer, count) in repeated {
        let number = match count {
            1 => "one".to_owned(),
            2 => "two".to_owned(),
            3 => "three".to_owned(),
            more => more.to_string(),
        };
        rows.push((pointer, vec![sanitize::cut(&format!("the same {number}, as JSON in text"), room, look.signs.cut)]));
    }
    let margin = " ".repeat(indent);
    for (place, lines) in rows {
        for (at, line) in lines.into_iter().enumerate() {
            let place = if at == 0 { super::cut_left(&place, column, look) } else { String::new() };
            text.push_str(format!("{margin}{}  {line}", super::padded(&place, column)).trim_end());
            text.push('\n');
        }
    }
    if changes.len() > CHANGES {
        text.push_str(&format!("{margin}{} {} more (--json has all)\n", look.signs.cut, changes.len() - CHANGES));
    }
    text
}

fn place(change: &Change) -> String {
    match change.level {
        Level::Outcome => "outcome".to_owned(),
        _ => pointer_of(change),
    }
}

/// Takes out what a text repeats of `structuredContent`; returns the texts with how much they repeat.
fn without_repetition<'c>(changes: &[&'c Change]) -> (Vec<(String, usize)>, Vec<&'c Change>) {
    type Said<'c> = (&'c str, ChangeKind, Option<&'c SideValue>, Option<&'c SideValue>);
    let said = |pointer: &'c str, change: &'c Change| -> Said<'c> {
        (pointer, change.kind, change.a.as_ref(), change.b.as_ref())
    };
    let mut structured: Vec<Said<'c>> = changes
        .iter()
        .filter(|change| change.inside.is_none())
        .filter_map(|change| Some(said(change.pointer.shown().strip_prefix("/structuredContent")?, change)))
        .collect();
    structured.sort_unstable();
    let mut texts: BTreeMap<&str, Vec<Said<'c>>> = BTreeMap::new();
    for change in changes {
        if let Some(inside) = &change.inside {
            texts.entry(change.pointer.shown()).or_default().push(said(inside.shown(), change));
        }
    }
    texts.retain(|_, told| {
        told.sort_unstable();
        !structured.is_empty() && *told == structured
    });
    let rest = changes
        .iter()
        .copied()
        .filter(|change| change.inside.is_none() || !texts.contains_key(change.pointer.shown()))
        .collect();
    let repeated = texts.iter().map(|(pointer, told)| (sanitize::line(pointer), told.len())).collect();
    (repeated, rest)
}

/// Returns what was asked: method, name and arguments.
fn words(head: &ExchangeHead) -> String {
    let name = head.name.as_deref().map(|name| format!(" {}", sanitize::line(name))).unwrap_or_default();
    let arguments = head.arguments.as_deref().map(|arguments| {
        let compact = crate::protocol::json::Tree::parse(arguments.as_bytes())
            .map_or_else(|_| arguments.to_owned(), |tree| super::super::pretty::one_line(tree.root(), 400));
        format!(" {}", sanitize::line(&compact))
    });
    format!("{}{name}{}", sanitize::line(&head.method), arguments.unwrap_or_default())
}

fn outcome(pair: &PairHead, room: usize, look: Look) -> String {
    let [a, b] = [&pair.a, &pair.b].map(|head| head.as_ref());
    let gave_up = [a, b].iter().flatten().any(|head| head.outcome == Some(Outcome::GaveUp));
    let text = format!("{} {} {}", ended(a, gave_up), look.signs.right, ended(b, gave_up));
    let bad = b.is_some_and(|head| head.outcome.is_none_or(Outcome::is_bad));
    let shown = sanitize::cut(&text, room, look.signs.cut);
    if bad { paint(BAD, &shown) } else { shown }
}

fn ended(head: Option<&ExchangeHead>, timed: bool) -> String {
    let Some(head) = head else { return "none".to_owned() };
    let took = head.took_ns.filter(|_| timed).map(|took| format!(" in {}", time(took))).unwrap_or_default();
    match head.outcome {
        None => "no answer".to_owned(),
        Some(Outcome::Ok) => format!("ok{took}"),
        Some(Outcome::ToolError) => format!("tool error{took}"),
        Some(Outcome::InputRequired) => format!("input required{took}"),
        Some(Outcome::GaveUp) => match head.gave_up_after_ns {
            Some(after) => format!("gave up after {}", time(after)),
            None => "gave up".to_owned(),
        },
        Some(Outcome::RpcError) => {
            let code = head.error_code.map_or_else(|| "?".to_owned(), |code| code.to_string());
            let message = head.error_message.as_deref().map(|text| format!(": {}", sanitize::line(text)));
            format!("error {code}{}", message.unwrap_or_default())
        }
    }
}
