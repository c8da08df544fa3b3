//! A test of session files: a line for each, what failed in detail, the sum.

use super::super::humanize::{counted, time};
use super::super::sanitize;
use super::super::styles::{BAD, BOLD, GOOD, WARN, paint};
use super::diff::{self, Look};
use super::replay;
use crate::analysis::report::{FailOn, Impact, Level};
use crate::replay::report::ReplayReport;
use crate::replay::tested::{Tested, Update, Verdict, count};
use std::collections::BTreeSet;

/// How many reasons of messages that were not sent are told in the sum.
const REASONS: usize = 6;

/// Returns the first lines: how many files, which server, and what is not as it was recorded.
#[must_use]
pub fn heading(files: &[Tested], command: &str) -> String {
    let mut servers = BTreeSet::new();
    let mut before = BTreeSet::new();
    let mut revisions = BTreeSet::new();
    let mut others = String::new();
    for file in files {
        let (Some(recorded), Some(made)) = (&file.recorded, &file.made) else { continue };
        if let Some(server) = &made.server {
            servers.insert(server.to_string());
            before.extend(recorded.server.iter().filter(|old| *old != server).map(|old| match &old.version {
                Some(version) if old.name == server.name => version.clone(),
                _ => old.to_string(),
            }));
        }
        let (was, is) = (recorded.revision(), made.revision());
        revisions.extend(is.map(str::to_owned));
        if let (Some(was), Some(is)) = (was, is)
            && was != is
        {
            let line = format!("{}: recorded in {was}, answered in {is}", file.file);
            others.push_str(&format!("{}\n", sanitize::line(&line)));
        }
    }
    let joined = |words: BTreeSet<String>| words.into_iter().collect::<Vec<_>>().join(", ");
    let server = if servers.is_empty() { command.to_owned() } else { joined(servers) };
    let mut line = format!("{} against {server}", counted(files.len() as u64, "session file"));
    if !before.is_empty() {
        line.push_str(&format!(" (recorded from {})", joined(before)));
    }
    if !revisions.is_empty() {
        line.push_str(&format!(", {}", joined(revisions)));
    }
    format!("{}\n{others}", sanitize::line(&line))
}

/// Returns a line for each file.
#[must_use]
pub fn rows(files: &[Tested], fail_on: FailOn, look: Look) -> String {
    let name = |file: &Tested| sanitize::line(&file.file);
    let wide = files.iter().map(|file| sanitize::width(&name(file))).max().unwrap_or(0).min(look.width / 2);
    let cells: Vec<[String; 2]> = files.iter().map(cells).collect();
    let column = |at: usize| cells.iter().map(|row| sanitize::width(&row[at])).max().unwrap_or(0);
    let (first, second) = (column(0), column(1));
    let mut text = String::new();
    for (file, [exchanges, took]) in files.iter().zip(&cells) {
        let notes = notes(file, fail_on);
        let shown = diff::cut_left(&name(file), wide, look);
        let mut line = format!("  {}", diff::padded(&shown, wide));
        if file.verdict == Verdict::Error || file.verdict == Verdict::NotRun {
            line.push_str(&format!("  {notes}"));
        } else {
            let right = |text: &str, width: usize| format!("{}{text}", " ".repeat(width - sanitize::width(text)));
            line.push_str(&format!("  {}  {}  {notes}", right(exchanges, first), right(took, second)));
        }
        let line = sanitize::cut(line.trim_end(), look.width.saturating_sub(5), look.signs.cut);
        text.push_str(&format!("{}{line}\n", word(file.verdict)));
    }
    text
}

fn cells(file: &Tested) -> [String; 2] {
    let exchanges = match file.stuck_at() {
        Some(place) => format!("stopped at {place}"),
        None => counted(file.differences.exchanges[0] as u64, "exchange"),
    };
    match file.verdict {
        Verdict::Ok | Verdict::Failed => [exchanges, time(file.took_ns)],
        Verdict::Error | Verdict::NotRun => Default::default(),
    }
}

fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::Ok => paint(GOOD, "ok   "),
        Verdict::Failed => paint(BAD, "FAIL "),
        Verdict::Error => paint(WARN, "ERROR"),
        Verdict::NotRun => "–    ".to_owned(),
    }
}

/// Returns what is to be said of a file in a few words.
#[must_use]
pub fn notes(file: &Tested, fail_on: FailOn) -> String {
    if let Some(trouble) = &file.trouble {
        return sanitize::line(&trouble.message);
    }
    let report = &file.differences;
    let mut notes = Vec::new();
    if file.verdict == Verdict::NotRun {
        return "not run".to_owned();
    }
    if !file.report.timed_out.is_empty() {
        notes.push("no answer".to_owned());
    } else if file.report.stopped.is_some() {
        notes.push("the server ended".to_owned());
    }
    if report.changed > 0 {
        notes.push(format!("{} changed", report.changed));
    }
    for impact in [Impact::Breaking, Impact::Undecided, Impact::Compatible, Impact::Wording, Impact::Cosmetic] {
        let of = |change: &&crate::analysis::report::Change| {
            change.level == Level::Surface && change.impact.unwrap_or(Impact::Undecided) == impact
        };
        let changes = report.changes.iter().filter(of);
        let number = changes.clone().count();
        if number > 0 && (file.verdict == Verdict::Failed) == changes.clone().any(|change| change.fails(fail_on)) {
            notes.push(format!("{number} {}", impact.as_str()));
        }
    }
    let missing = file.report.skipped.iter().filter(|skipped| skipped.fails).count();
    if missing > 0 {
        notes.push(format!("{missing} could not be sent"));
    }
    if let Some((unjudged, _)) = file.report.not_judged {
        notes.push(format!("{unjudged} not judged"));
    }
    if file.masked() > 0 && file.verdict == Verdict::Ok {
        notes.push(format!("{} masked", counted(file.masked(), "value")));
    }
    notes.join(", ")
}

/// Returns what is wrong with a file, below its name; empty for one that is well.
#[must_use]
pub fn details(file: &Tested, look: Look) -> String {
    let mut text = String::new();
    match (&file.trouble, file.verdict) {
        (Some(trouble), _) => {
            text.push_str(&format!("  {}\n", sanitize::line(&trouble.message)));
            for hint in &trouble.hints {
                text.push_str(&format!("  {}\n", sanitize::line(hint)));
            }
        }
        (None, Verdict::Failed) => {
            text.push_str(&diff::changes(&file.differences, look));
            let skipped = file.report.skipped.iter().filter(|skipped| skipped.fails).cloned().collect();
            let met = ReplayReport { skipped, ..file.report.clone() };
            let inner = Look { width: look.width.saturating_sub(2), ..look };
            for line in replay::met(&met, inner).lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
        _ => {}
    }
    text
}

/// Returns the details of all files that are not well, each below its name.
#[must_use]
pub fn all_details(files: &[Tested], look: Look) -> String {
    let mut text = String::new();
    for file in files {
        let details = details(file, look);
        if !details.is_empty() {
            text.push_str(&format!("{}  {}\n{details}", word(file.verdict), paint(BOLD, &sanitize::line(&file.file))));
        }
    }
    text
}

/// Returns the last line: how many are what, and what was not sent.
#[must_use]
pub fn sum(files: &[Tested]) -> String {
    let mut words = vec![format!("{} ok", count(files, Verdict::Ok))];
    for (verdict, word) in [(Verdict::Failed, "failed"), (Verdict::Error, "error"), (Verdict::NotRun, "not run")] {
        match (count(files, verdict), word) {
            (0, _) => {}
            (number, "error") => words.push(counted(number as u64, "error")),
            (number, word) => words.push(format!("{number} {word}")),
        }
    }
    let mut unsent: Vec<String> = Vec::new();
    for skipped in files.iter().flat_map(|file| &file.report.skipped) {
        let what = skipped.what.strip_prefix("tools/call ").unwrap_or(&skipped.what);
        let reason = format!("{} ({})", sanitize::line(what), sanitize::line(&skipped.why));
        if !unsent.contains(&reason) {
            unsent.push(reason);
        }
    }
    let mut text = words.join(", ");
    if !unsent.is_empty() {
        let more = unsent.len().saturating_sub(REASONS);
        unsent.truncate(REASONS);
        text.push_str(&format!("; not sent: {}", unsent.join(", ")));
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
    }
    text.push('\n');
    text
}

/// Returns what became of the files that were to be updated.
#[must_use]
pub fn updates(files: &[Tested]) -> String {
    let mut text = String::new();
    for file in files {
        let name = sanitize::line(&file.file);
        let line = match &file.update {
            None => continue,
            Some(Update::Frames(frames)) => format!("updated      {name}  {}", counted(*frames as u64, "frame")),
            Some(Update::Whole) => format!("updated      {name}  as a whole: the exchanges themselves are others now"),
            Some(Update::Refused(why)) => format!("not updated  {name}  {}", sanitize::line(why)),
        };
        text.push_str(&format!("{line}\n"));
    }
    text
}
