//! How long calls took, as a table with what has no part in it below.

use crate::analysis::latency::{Group, Key, NotCounted, Report, Waited};
use crate::analysis::statistics::{BINS, P95, P99};
use crate::output::humanize::{counted, time};
use crate::output::sanitize;
use crate::output::styles::{DIM, paint};
use crate::output::table::{Column, Row, render, widest};
use crate::output::ui::{Signs, UTF8_SIGNS};
use crate::session::message::Place;

/// The heights of a histogram's columns.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How wide the label before a line below the table is, its two blanks included.
const LABEL: usize = 13;

/// In place of a label: what is to be typed, on a line of its own and never cut.
const COMMAND: &str = "$";

/// Returns the report: a first line, the table, and what is to be known about it.
///
/// `what` says what was looked at; `inspect` returns what to type to see a message of a session, which is named by its
/// place in the report.
#[must_use]
pub fn text(
    report: &Report,
    what: &str,
    inspect: &dyn Fn(usize, Place) -> String,
    width: usize,
    signs: Signs,
) -> String {
    let cut = |line: &str| sanitize::cut(line, width, signs.cut);
    let mut text = format!("{}\n", cut(&format!("{what}: {}", sum(report))));
    if !report.groups.is_empty() {
        text.push('\n');
        text.push_str(&table(report, width, signs));
    }
    let mut below = Vec::new();
    gave_up(report, &mut below);
    taken_out(report, &mut below);
    below.push(("not counted", not_counted(&report.not_counted)));
    // Where nothing was found there is nothing that the tap has no part in.
    if let Some(tap) = report.tap.as_ref().filter(|_| !report.groups.is_empty()) {
        let part = |name: &str, ns: Option<i64>| ns.map(|ns| format!("{} {name}", time(ns)));
        let parts: Vec<String> =
            [part("p50", tap.figures.p50), part("p99", tap.figures.p99)].into_iter().flatten().collect();
        below.push(("the tap", vec![format!("{} a message, not in these figures", parts.join(", "))]));
    }
    if let Some(slowest) = &report.slowest {
        let at = slowest.at;
        let command = inspect(at.session, at.place);
        let line = format!("{}, {}: {command}", label(&slowest.key), time(slowest.ns));
        if LABEL + sanitize::width(&line) <= width {
            below.push(("slowest", vec![line]));
        } else {
            below.push(("slowest", vec![format!("{}, {}:", label(&slowest.key), time(slowest.ns))]));
            below.push((COMMAND, vec![command]));
        }
    }
    let few = few(report);
    if !few.is_empty() {
        below.push((signs.none, few));
    }
    let lines: String = below.iter().map(|(label, items)| block(label, items, width, signs)).collect();
    if !lines.is_empty() {
        text.push('\n');
        text.push_str(&lines);
    }
    text
}

/// Returns how many calls of how many tools there were.
fn sum(report: &Report) -> String {
    let tools: Vec<&Group> = report.groups.iter().filter(|group| is_tool(&group.key)).collect();
    let calls: u64 = tools.iter().map(|group| group.count).sum();
    let all: u64 = report.groups.iter().map(|group| group.count).sum();
    match (calls, all) {
        (0, 0) => "nothing was answered".into(),
        (0, all) => format!("no tool calls, {}", counted(all, "other request")),
        _ => format!("{} of {}", counted(calls, "call"), counted(tools.len() as u64, "tool")),
    }
}

fn is_tool(key: &Key) -> bool {
    key.method == "tools/call"
}

/// Returns what a row is about: a tool by its name alone, anything else by its method.
#[must_use]
pub fn label(key: &Key) -> String {
    match &key.name {
        Some(name) if is_tool(key) => sanitize::line(name),
        Some(name) => sanitize::line(&format!("{} {name}", key.method)),
        None => sanitize::line(&key.method),
    }
}

fn table(report: &Report, width: usize, signs: Signs) -> String {
    let or_none = |ns: Option<i64>| ns.map_or_else(|| signs.none.to_owned(), time);
    // Tools first: the rest is the machinery around them.
    let (tools, others): (Vec<&Group>, Vec<&Group>) = report.groups.iter().partition(|group| is_tool(&group.key));
    let mut rows: Vec<Row> = tools
        .iter()
        .chain(&others)
        .map(|group| {
            let figures = &group.figures;
            Row {
                cells: vec![
                    label(&group.key),
                    group.count.to_string(),
                    if group.errors == 0 { signs.none.to_owned() } else { group.errors.to_string() },
                    or_none(figures.p50),
                    or_none(figures.p95),
                    or_none(figures.p99),
                    or_none(figures.max),
                    histogram(&group.histogram, signs),
                ],
                style: None,
            }
        })
        .collect();
    let axis = report.axis.as_ref().map_or_else(String::new, |axis| {
        let ends = [axis.edges.first(), axis.edges.last()]
            .map(|edge| edge.map_or_else(String::new, |ns| time(*ns).replace(".0 ", " ")));
        format!("{} {} {}", ends[0], signs.cut, ends[1])
    });
    let header = if others.is_empty() {
        "tool"
    } else if tools.is_empty() {
        "method"
    } else {
        "tool, method"
    };
    let mut columns = vec![
        Column::left(header),
        Column::right("calls"),
        Column::right("bad"),
        Column::right("p50"),
        Column::right("p95"),
        Column::right("p99"),
        Column::right("max"),
        Column::left("").wide(BINS),
    ];
    let cells = |at: usize| rows.iter().filter_map(move |row| row.cells.get(at));
    // Two blanks before each.
    let fixed: usize = (1..7).map(|at| 2 + columns.get(at).map_or(0, |column| widest(column.header, cells(at)))).sum();
    let picture = 2 + BINS.max(sanitize::width(&axis));
    let names = widest(header, cells(0));
    // The picture gives way before the names become unreadable.
    let shows_picture = fixed + picture + names.min(16) <= width;
    let room = width.saturating_sub(fixed + if shows_picture { picture } else { 0 }).max(sanitize::width(header));
    for row in &mut rows {
        if let Some(name) = row.cells.first_mut() {
            *name = sanitize::cut(name, room, signs.cut);
        }
        if !shows_picture {
            row.cells.truncate(7);
        }
    }
    if !shows_picture {
        columns.truncate(7);
        return render(&columns, &rows, true);
    }
    // The header of the picture changes with the data, and headers are fixed texts: it is a row of its own.
    let mut head: Vec<String> = columns.iter().map(|column| column.header.to_owned()).collect();
    if let Some(last) = head.last_mut() {
        *last = axis;
    }
    for column in &mut columns {
        column.width = None;
    }
    rows.insert(0, Row { cells: head, style: Some(DIM) });
    render(&columns, &rows, false)
}

fn histogram(counts: &[u64; BINS], signs: Signs) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let utf8 = signs == UTF8_SIGNS;
    counts
        .iter()
        .map(|count| match count {
            0 if utf8 => '·',
            0 => '.',
            count => {
                // Rounded up: a single call among many must be seen.
                let height = usize::try_from((count * 8).div_ceil(most)).unwrap_or(8).clamp(1, 8);
                if utf8 { HEIGHTS[height - 1] } else { char::from(b'0' + height as u8) }
            }
        })
        .collect()
}

fn gave_up(report: &Report, below: &mut Vec<(&'static str, Vec<String>)>) {
    let items: Vec<String> = report
        .groups
        .iter()
        .filter_map(|group| {
            let (first, last) = (group.gave_up.first()?, group.gave_up.last()?);
            let (shortest, longest) = (time(*first), time(*last));
            let after = if shortest == longest { longest } else { format!("{shortest} to {longest}") };
            Some(format!("{} {} after {after}", group.gave_up.len(), label(&group.key)))
        })
        .collect();
    below.push(("gave up", items));
}

fn taken_out(report: &Report, below: &mut Vec<(&'static str, Vec<String>)>) {
    let mut items = Vec::new();
    for group in &report.groups {
        for waits in &group.waits {
            let whom = match waits.who {
                Waited::Person => "waiting for a person",
                Waited::Model => "waiting for a model",
                Waited::Client => "waiting for the client",
                Waited::Input => "waiting for input",
            };
            let median = waits.figures.p50.map(time).unwrap_or_default();
            let of = format!("{} of {}", waits.figures.count, counted(group.figures.count as u64, "call"));
            items.push(format!("{}: {whom}, median {median} in {of}", label(&group.key)));
        }
    }
    // One line each: they are sentences.
    for (at, item) in items.into_iter().enumerate() {
        below.push((if at == 0 { "taken out" } else { "" }, vec![item]));
    }
}

fn not_counted(left: &NotCounted) -> Vec<String> {
    let some = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    [
        some(left.no_answer, "no answer"),
        some(left.still_open, "still open"),
        some(left.long_lived, "long-lived"),
        some(left.input_not_given, "waiting for input that never came"),
        some(left.rounds_unclear, "input rounds of calls at once"),
        some(left.tasks, "that became tasks"),
        (left.task_requests > 0).then(|| counted(left.task_requests, "request") + " about tasks"),
        some(left.question_unclear, "with a question that may be another's"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Says from how many calls on a missing percentile is told.
fn few(report: &Report) -> Vec<String> {
    let missing = |value: fn(&Group) -> bool| report.groups.iter().any(value);
    let mut items = Vec::new();
    if missing(|group| group.figures.p95.is_none()) {
        items.push(format!("p95 below {} calls", P95.least));
    }
    if missing(|group| group.figures.p99.is_none()) {
        items.push(format!("p99 below {} calls", P99.least));
    }
    items
}

/// Returns a label and its items, on as many lines as they need.
fn block(label: &str, items: &[String], width: usize, signs: Signs) -> String {
    if label == COMMAND {
        return format!("{}{}\n", " ".repeat(LABEL), items.join(" "));
    }
    let mut text = String::new();
    let mut line = String::new();
    let room = width.saturating_sub(LABEL).max(20);
    let mut finish = |line: &mut String| {
        let label = if text.is_empty() { label } else { "" };
        let pad = " ".repeat(LABEL.saturating_sub(sanitize::width(label)));
        text.push_str(&format!("{}{pad}{}\n", paint(DIM, label), sanitize::cut(line, room, signs.cut)));
        line.clear();
    };
    for item in items {
        if !line.is_empty() && sanitize::width(&line) + 2 + sanitize::width(item) > room {
            line.push(';');
            finish(&mut line);
        }
        if !line.is_empty() {
            line.push_str("; ");
        }
        line.push_str(item);
    }
    if !line.is_empty() {
        finish(&mut line);
    }
    text
}
