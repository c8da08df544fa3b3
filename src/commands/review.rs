//! `review`: walks through what the last test found, one change at a time.

use super::judge::Judged;
use super::last_test::{LastFile, LastTest};
use super::test::accept::{self, Rewritten, Unit, unit, units};
use super::test::mask;
use super::test::one::{self, Playable, Rules};
use super::{Context, file};
use crate::analysis::blob::sha256;
use crate::analysis::report::{DiffReport, Options};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::render::diff::{Look, changes};
use crate::output::sanitize;
use crate::output::styles::{BOLD, paint};
use crate::session::mask::MaskRule;
use crate::store::Reader;
use std::collections::HashSet;
use std::io::BufRead;

/// Go through what the last test found, one change at a time
///
/// What an exchange, a list or the greeting says differently is one change. `accept` writes what the server answers now
/// into the session file; `reject` leaves the file as it is and does not ask again; `mask` writes rules into the file
/// that excuse the values; `skip` asks again the next time.
#[derive(Debug, clap::Args)]
pub struct ReviewArgs {}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accept,
    Reject,
    Mask,
    Skip,
    Quit,
}

/// What was decided about the changes of one file.
#[derive(Debug, Default)]
struct Decided {
    accepted: HashSet<Unit>,
    rejected: Vec<Unit>,
    masks: Vec<MaskRule>,
    masked: usize,
    quit: bool,
}

/// Runs the command.
///
/// # Errors
/// A file has changed since the test, or cannot be written.
pub fn run(ctx: &mut Context, _args: &ReviewArgs) -> Result<Code, CommandError> {
    let Some(mut last) = LastTest::read(ctx).filter(|last| !last.files.is_empty()) else {
        ctx.ui.line("nothing to review: the last test in this folder left no change open")?;
        ctx.ui.say(&format!("hint: {}", ctx.typed_for("test -- SERVER…", "replays the session files")));
        return Ok(Code::Done);
    };
    let rules = Rules { choice: last.choice(), options: last.options() };
    let store = ctx.location.path.clone();
    let mut files = std::mem::take(&mut last.files).into_iter();
    let mut sums = [0_usize; 4];
    let mut failed = None;
    for mut one in files.by_ref() {
        match review(ctx, &store, &rules, &mut one, &mut sums) {
            Ok((open, quit)) => {
                if open {
                    last.files.push(one);
                }
                if quit {
                    break;
                }
            }
            Err(error) => {
                last.files.push(one);
                if error.broken_pipe {
                    return Err(error);
                }
                ctx.ui.error(&error);
                failed = Some(error.code);
            }
        }
    }
    last.files.extend(files);
    last.keep(ctx);
    let [accepted, rejected, masked, open] = sums;
    ctx.ui.line(&format!("\n{accepted} accepted, {rejected} rejected, {masked} masked, {open} left open"))?;
    Ok(failed.unwrap_or(Code::Done))
}

/// Goes through one file; returns whether something is left open in it, and whether a person wants no more.
fn review(
    ctx: &mut Context,
    store: &std::path::Path,
    rules: &Rules,
    one: &mut LastFile,
    sums: &mut [usize; 4],
) -> Result<(bool, bool), CommandError> {
    let shown = sanitize::line(&one.shown);
    let data = std::fs::read(&one.path)
        .map_err(|error| CommandError::failed(format!("cannot read `{shown}`: {}", crate::error::sentence(&error))))?;
    if sha256(&data) != one.sha256 {
        return Err(CommandError::failed(format!("`{shown}` has changed since the test"))
            .hint(ctx.typed_for("test -- SERVER…", "tests it again")));
    }
    let playable = one::of_data(data, &rules.choice)?;
    let judged = one::again(&playable, store, &one.session, one.report(), rules)?;
    let all: Vec<Unit> =
        units(&judged.differences).into_iter().filter(|unit| !one.rejected.contains(&name(unit))).collect();
    let decided = ask(ctx, &shown, &judged, rules.options, &all)?;
    write(store, rules, one, &playable, &judged, &decided)?;
    sums[0] += decided.accepted.len();
    sums[1] += decided.rejected.len();
    let open: Vec<&Unit> =
        all.iter().filter(|unit| !decided.accepted.contains(unit) && !decided.rejected.contains(unit)).collect();
    let by_mask = decided.masked;
    sums[2] += by_mask;
    sums[3] += open.len() - by_mask;
    one.rejected.extend(decided.rejected.iter().map(name));
    Ok((open.len() > by_mask, decided.quit))
}

/// Returns the name by which a change is kept.
fn name(unit: &Unit) -> String {
    match unit {
        Unit::Exchange(place) => format!("exchange {place}"),
        Unit::New(place) => format!("new {place}"),
        Unit::List(method) => (*method).to_owned(),
        Unit::Greeting => "greeting".to_owned(),
    }
}

/// Shows each change and asks what is to become of it.
fn ask(
    ctx: &mut Context,
    shown: &str,
    judged: &Judged,
    options: Options,
    all: &[Unit],
) -> Result<Decided, CommandError> {
    let look = Look { width: ctx.ui.width(), signs: ctx.ui.signs() };
    let mut decided = Decided::default();
    for (at, one) in all.iter().enumerate() {
        let report = only(&judged.differences, one);
        let mut text = changes(&report, look);
        if text.is_empty() {
            text = crate::output::render::diff::identity(&report, look);
        }
        ctx.ui.print(&format!("\n{}  {} of {}\n{text}", paint(BOLD, shown), at + 1, all.len()))?;
        loop {
            ctx.ui.print("accept, reject, mask, skip, quit? ")?;
            ctx.ui.flush()?;
            let Some(answer) = answer(ctx)? else { continue };
            match answer {
                Answer::Accept => drop(decided.accepted.insert(one.clone())),
                Answer::Reject => decided.rejected.push(one.clone()),
                Answer::Mask => match mask::rules(judged, options, one) {
                    Ok(rules) => {
                        decided.masked += 1;
                        for rule in rules {
                            ctx.ui.line(&format!("  masked: {}", mask::shown(&rule)))?;
                            decided.masks.push(rule);
                        }
                    }
                    Err(why) => {
                        ctx.ui.line(&format!("  {why}"))?;
                        continue;
                    }
                },
                Answer::Skip => {}
                Answer::Quit => {
                    decided.quit = true;
                    return Ok(decided);
                }
            }
            break;
        }
    }
    Ok(decided)
}

/// Reads a line; its end is a person who leaves.
fn answer(ctx: &mut Context) -> Result<Option<Answer>, CommandError> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line)?;
    if !ctx.ui.is_terminal() {
        ctx.ui.print("\n")?;
    }
    if read == 0 {
        return Ok(Some(Answer::Quit));
    }
    let word = line.trim().to_ascii_lowercase();
    let words = [
        ("accept", Answer::Accept),
        ("reject", Answer::Reject),
        ("mask", Answer::Mask),
        ("skip", Answer::Skip),
        ("quit", Answer::Quit),
    ];
    let found = words.iter().find(|(name, _)| !word.is_empty() && name.starts_with(word.as_str()));
    if found.is_none() {
        ctx.ui.line("  a word, or its first letter: accept, reject, mask, skip, quit")?;
    }
    Ok(found.map(|(_, answer)| *answer))
}

/// Returns the report with one change alone.
fn only(report: &DiffReport, wanted: &Unit) -> DiffReport {
    let of_it = |change: &&crate::analysis::report::Change| unit(change, report).as_ref() == Some(wanted);
    let changes = report.changes.iter().filter(of_it).cloned().collect();
    DiffReport { changes, ..report.clone() }
}

/// Writes what was decided into the file, and keeps what it is then.
fn write(
    store: &std::path::Path,
    rules: &Rules,
    one: &mut LastFile,
    playable: &Playable,
    judged: &Judged,
    decided: &Decided,
) -> Result<(), CommandError> {
    if decided.accepted.is_empty() && decided.masks.is_empty() {
        return Ok(());
    }
    let shown = sanitize::line(&one.shown);
    let refused = |why: String| CommandError::failed(format!("`{shown}` was not written: {why}"));
    let mut data = None;
    if !decided.accepted.is_empty() {
        let reader = Reader::open(store)?;
        let stored = reader.by_id(&one.session)?;
        let made = stored.ok_or_else(|| refused("the replay is not in the store any more".into()))?;
        let made = reader.source(made)?;
        let rewritten = accept::rewrite(playable, &made, judged, rules, &decided.accepted).map_err(refused)?;
        let (Rewritten::Frames(_, new) | Rewritten::Whole(new)) = rewritten;
        data = Some(new);
    }
    if !decided.masks.is_empty() {
        let old = data.unwrap_or_else(|| playable.source.content().to_vec());
        data = Some(mask::with(&old, &decided.masks).ok_or_else(|| refused("its first line cannot be read".into()))?);
    }
    let Some(data) = data else { return Ok(()) };
    file::rewrite(&one.path, &data)?;
    one.sha256 = sha256(&data);
    Ok(())
}
