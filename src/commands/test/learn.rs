//! `test --learn`: what differs between replays against one build is masked from then on.

use super::one::{self, Playable, Rules};
use super::{TestArgs, accept, mask};
use crate::analysis::exchanges::Recording;
use crate::analysis::learn::{Cannot, Learned, learn};
use crate::analysis::report::{ChangeKind, Options};
use crate::commands::judge::Judged;
use crate::commands::play::{Stage, play};
use crate::commands::{Context, file, masks};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::humanize::counted;
use crate::output::progress::Progress;
use crate::output::sanitize;
use std::path::{Path, PathBuf};

/// Learns the masks of each file, and writes them into it.
///
/// # Errors
/// The reader went away.
pub(super) fn run(
    ctx: &mut Context,
    args: &TestArgs,
    files: &[(PathBuf, String)],
    stage: &Stage,
    rules: &Rules,
) -> Result<Code, CommandError> {
    let (mut failed, mut unknown) = (false, false);
    for (path, shown) in files {
        let shown = sanitize::line(shown);
        match learn_file(ctx, path, args.runs, stage, rules) {
            Ok(learned) => {
                failed |= !learned.cannot.is_empty();
                tell(ctx, &shown, &learned)?;
            }
            Err(error) => {
                failed |= error.code == Code::No;
                unknown |= error.code != Code::No;
                let message = format!("`{shown}`: {}", error.message);
                ctx.ui.error(&CommandError { message, ..error });
            }
        }
    }
    Ok(match (failed, unknown) {
        (true, _) => Code::No,
        (false, true) => Code::Failed,
        (false, false) => Code::Done,
    })
}

/// Replays a file several times and writes what differs between the replays as masks into it.
///
/// # Errors
/// The server did not start, or the file cannot be written; with the code for "no" if a replay did not run to its end.
pub(super) fn learn_file(
    ctx: &Context,
    path: &Path,
    runs: usize,
    stage: &Stage,
    rules: &Rules,
) -> Result<Learned, CommandError> {
    let file = one::open(path, &rules.choice)?;
    let progress = Progress::count(ctx.ui.shows_progress(), "learning", runs as u64);
    let mut made: Vec<Recording> = Vec::new();
    for _ in 0..runs {
        made.push(replayed(&file, stage, rules)?);
        progress.add(1);
    }
    drop(progress);
    let Some((first, others)) = made.split_first() else { return Ok(Learned::default()) };
    // Only replays are compared with each other: what differs from the recording alone has changed, and is no chance.
    let held = masks::rules(&[crate::session::source::SessionSource::session(&file.source)])?;
    let learned = learn(first, others, Options { strict: false, ..rules.options }, &held);
    if !learned.rules.is_empty() {
        let changed = mask::with(file.source.content(), &learned.rules);
        let changed = changed.ok_or_else(|| CommandError::failed("its first line cannot be read"))?;
        file::rewrite(path, &changed)?;
    }
    Ok(learned)
}

fn replayed(file: &Playable, stage: &Stage, rules: &Rules) -> Result<Recording, CommandError> {
    let session = crate::session::source::SessionSource::session(&file.source);
    let played = play(stage, session, &file.script, &file.plan)?;
    if !accept::is_whole(&played.report) {
        let error = CommandError::failed("a replay did not run to its end, so nothing was learned");
        return Err(CommandError { code: Code::No, ..error });
    }
    let Judged { b, .. } = one::again(file, &stage.store, &played.id, played.report, rules)?;
    Ok(b)
}

/// Says what was learned.
///
/// # Errors
/// The reader went away.
pub(super) fn tell(ctx: &mut Context, shown: &str, learned: &Learned) -> Result<(), CommandError> {
    match learned.rules.len() {
        0 if learned.cannot.is_empty() => ctx.ui.line(&format!("nothing differs  {shown}"))?,
        0 => {}
        number => ctx.ui.line(&format!("learned  {shown}  {}", counted(number as u64, "mask")))?,
    }
    for rule in &learned.rules {
        ctx.ui.line(&format!("  {}", mask::shown(rule)))?;
    }
    if !learned.cannot.is_empty() {
        ctx.ui.line(&format!("differs from run to run, and no mask hides it  {shown}"))?;
    }
    for Cannot { method, name, pointer, kind } in &learned.cannot {
        let name = name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let line = sanitize::line(&format!("{method}{name}  {pointer}"));
        ctx.ui.line(&format!("  {}  {}", line.trim_end(), word(*kind)))?;
    }
    Ok(())
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added | ChangeKind::Removed => "there or not",
        ChangeKind::Type => "another type",
        ChangeKind::Outcome => "another outcome",
        ChangeKind::Count => "another number",
        _ => "another value",
    }
}
