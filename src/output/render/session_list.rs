//! Sessions as a table.

use crate::output::humanize::{counted, day, size};
use crate::output::sanitize;
use crate::output::styles::BAD;
use crate::output::table::{Align, Column, Row, render};
use crate::output::ui::Signs;
use crate::session::session::{ExitStatus, Origin, Session};

/// A session with what only the store knows of it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The session.
    pub session: Session,
    /// The shortest beginning of its id that names it alone.
    pub short_id: String,
    /// How many newer recordings have its name.
    pub back: u64,
    /// True while it is recorded.
    pub live: bool,
    /// True if it was read from a file.
    pub imported: bool,
    /// True if it is the probe of another session.
    pub probe: bool,
    /// The last line of its server's stderr, if it ended badly before it said anything.
    pub last_stderr: Option<String>,
}

/// What stands below the list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Sessions in the store, probes and replays of tests left out.
    pub sessions: u64,
    /// Probes that are not shown.
    pub probes: u64,
    /// Replays of tests that are not shown.
    pub tests: u64,
    /// Bytes of the store.
    pub bytes: u64,
}

/// Returns what is kept of old recordings, so many days and bytes at most, as a sentence.
#[must_use]
pub fn kept(days: Option<u64>, bytes: Option<u64>) -> String {
    let limit = match (days.map(|days| counted(days, "day")), bytes.map(size)) {
        (None, None) => return "kept for ever".into(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(days), Some(bytes)) => format!("{days} or {bytes}"),
    };
    format!("kept for {limit}, the newest of each chosen name for ever")
}

/// Returns the list, newest first.
#[must_use]
pub fn table(listed: &[Listed], totals: Totals, now_ns: i64, width: usize, signs: Signs) -> String {
    let mut rows: Vec<Row> =
        listed.iter().map(|one| Row { cells: cells(one, now_ns, signs), style: failed(one).then_some(BAD) }).collect();
    let mut columns = vec![
        Column::left("id"),
        Column::left("name"),
        Column::left("server"),
        Column::left("client"),
        Column::left("started"),
        Column { header: "calls", align: Align::Right, width: None },
        Column { header: "bad", align: Align::Right, width: None },
    ];
    fit(&mut columns, &mut rows, width, signs);
    let mut text = render(&columns, &rows, true);
    let notes = notes(listed, width, signs);
    if !notes.is_empty() {
        text.push('\n');
        text.push_str(&notes);
    }
    let shown = listed.len() as u64;
    let probes = (totals.probes > 0).then(|| counted(totals.probes, "probe"));
    let tests = (totals.tests > 0).then(|| match totals.tests {
        1 => "1 replay of a test".to_owned(),
        more => format!("{more} replays of tests"),
    });
    let hidden: Vec<String> = probes.into_iter().chain(tests).collect();
    let hidden =
        if hidden.is_empty() { String::new() } else { format!(", {} not shown (--all)", hidden.join(" and ")) };
    let of = if shown < totals.sessions {
        format!("{shown} of {}", counted(totals.sessions, "session"))
    } else {
        counted(shown, "session")
    };
    text.push_str(&format!("\n{of}{hidden}; {} in the store\n", size(totals.bytes)));
    text
}

fn cells(one: &Listed, now_ns: i64, signs: Signs) -> Vec<String> {
    let session = &one.session;
    let none = || signs.none.to_owned();
    let name = match (&session.name, one.back) {
        (Some(name), 0) => sanitize::line(name),
        (Some(name), back) => format!("{}~{back}", sanitize::line(name)),
        (None, _) => none(),
    };
    let server = session.server.as_ref().map_or_else(none, |peer| sanitize::line(&peer.to_string()));
    let client = match (&session.parent, session.origin) {
        (Some(parent), Origin::Replay | Origin::Test) => format!("replay of {}", parent.get(..4).unwrap_or(parent)),
        (Some(parent), Origin::Mock) => format!("mock of {}", parent.get(..4).unwrap_or(parent)),
        _ if one.probe => "probe".into(),
        _ => session.client.as_ref().map_or_else(none, |peer| sanitize::line(&peer.to_string())),
    };
    let mut started = day(session.started_at_ns, now_ns);
    if one.live {
        started.push_str(" live");
    } else if session.is_incomplete() {
        started.push_str(" cut off");
    } else if one.imported {
        started.push_str(" file");
    }
    let calls = if session.calls == 0 { none() } else { session.calls.to_string() };
    let bad = if failed(one) {
        "!".into()
    } else if session.bad == 0 {
        none()
    } else {
        session.bad.to_string()
    };
    vec![one.short_id.clone(), name, server, client, started, calls, bad]
}

/// Narrows the free texts until the table fits.
fn fit(columns: &mut [Column], rows: &mut [Row], width: usize, signs: Signs) {
    let mut widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            crate::output::table::widest(column.header, rows.iter().filter_map(|row| row.cells.get(at)))
        })
        .collect();
    let gaps = 2 * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        // The widest of name, server and client gives way.
        let Some(at) = (1..4).max_by_key(|at| widths[*at]).filter(|at| widths[*at] > 8) else { break };
        widths[at] -= 1;
    }
    for (at, column) in columns.iter_mut().enumerate() {
        column.width = Some(widths[at]);
        for row in rows.iter_mut() {
            if let Some(cell) = row.cells.get_mut(at) {
                *cell = sanitize::cut(cell, widths[at], signs.cut);
            }
        }
    }
}

/// Returns true if the server never got to say who it is and did not end well.
#[must_use]
pub fn failed(one: &Listed) -> bool {
    !one.live
        && one.session.server.is_none()
        && one.session.messages <= 1
        && one.session.exit_status.is_some_and(|status| status != ExitStatus::Code(0))
}

fn notes(listed: &[Listed], width: usize, signs: Signs) -> String {
    let mut text = String::new();
    for one in listed {
        let session = &one.session;
        let id = &one.short_id;
        if failed(one) {
            let how = match session.exit_status {
                _ if session.end_reason.as_deref().is_some_and(|reason| reason.contains("could not be started")) => {
                    session.end_reason.clone().unwrap_or_default()
                }
                Some(ExitStatus::Code(code)) => format!("exited with {code} before it answered"),
                Some(ExitStatus::Signal(signal)) => format!("was ended by signal {signal} before it answered"),
                None => String::new(),
            };
            let line = match &one.last_stderr {
                Some(_) => format!("! {id}  {how}; last line on stderr:"),
                None => format!("! {id}  {how}"),
            };
            text.push_str(&format!("{}\n", sanitize::cut(&line, width, signs.cut)));
            if let Some(last) = &one.last_stderr {
                text.push_str(&format!("        {}\n", sanitize::cut(last, width.saturating_sub(8), signs.cut)));
            }
        }
        if session.lost_frames > 0 {
            text.push_str(&format!("! {id}  {} not in the recording\n", counted(session.lost_frames, "line")));
        }
    }
    text
}
