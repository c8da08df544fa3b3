//! The test of one session file: replayed, compared, judged.

use crate::analysis::report::Options;
use crate::clock::Stopwatch;
use crate::commands::judge::{Judged, judge};
use crate::commands::masks;
use crate::commands::play::{INTERRUPTED, Stage, play};
use crate::error::CommandError;
use crate::replay::choice::{self, Choice};
use crate::replay::plan::{Plan, plan};
use crate::replay::report::ReplayReport;
use crate::replay::script::{self, Script};
use crate::replay::tested::{Tested, Trouble, Verdict};
use crate::session::source::SessionSource;
use crate::session_file::FileSource;
use crate::store::Reader;
use std::path::Path;

/// What is sent, and how it is compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    /// What is sent.
    pub(crate) choice: Choice,
    /// How it is compared.
    pub(crate) options: Options,
}

/// A session file that can be played.
pub(crate) struct Playable {
    /// The file.
    pub(crate) source: FileSource,
    /// Its messages.
    pub(crate) script: Script,
    /// What is sent.
    pub(crate) plan: Plan,
}

/// Reads a session file and plans its replay.
///
/// # Errors
/// It cannot be read or not be replayed.
pub(crate) fn open(path: &Path, choice: &Choice) -> Result<Playable, CommandError> {
    let data = std::fs::read(path)
        .map_err(|error| CommandError::failed(format!("cannot be read: {}", crate::error::sentence(&error))))?;
    of_data(data, choice)
}

/// Reads the content of a session file and plans its replay.
///
/// # Errors
/// It cannot be read or not be replayed.
pub(crate) fn of_data(data: Vec<u8>, choice: &Choice) -> Result<Playable, CommandError> {
    let source = FileSource::read(data)?;
    if source.session().transport != "stdio" {
        return Err(CommandError::failed("it was recorded over HTTP, and that cannot be replayed yet"));
    }
    let script = script::read(&source)?;
    let mut plan = plan(&script);
    if plan.steps.is_empty() {
        return Err(CommandError::failed("nothing to replay: its client said nothing"));
    }
    choice::choose(&mut plan, &script, choice);
    Ok(Playable { source, script, plan })
}

/// Tests a file; whatever happens is told of this file alone.
pub(crate) fn test(path: &Path, shown: &str, stage: &Stage, rules: &Rules) -> Tested {
    let watch = Stopwatch::start();
    let mut tested = Tested::new(shown.to_owned());
    if let Err(error) = attempt(path, stage, rules, &mut tested) {
        tested.verdict = Verdict::Error;
        tested.trouble = Some(Trouble { message: error.message, hints: error.hints });
    }
    tested.took_ns = watch.elapsed_ns();
    tested
}

fn attempt(path: &Path, stage: &Stage, rules: &Rules, tested: &mut Tested) -> Result<(), CommandError> {
    let file = open(path, &rules.choice)?;
    tested.recorded = Some(file.source.session().clone());
    if !rules.options.strict {
        // What is wrong with a mask is said before anything is sent.
        masks::rules(&[file.source.session()])?;
    }
    let played = play(stage, file.source.session(), &file.script, &file.plan)?;
    if played.report.stopped.as_deref() == Some(INTERRUPTED) {
        return Err(CommandError::failed(INTERRUPTED));
    }
    let judged = again(&file, &stage.store, &played.id, played.report, rules)?;
    tested.verdict = if judged.fails { Verdict::Failed } else { Verdict::Ok };
    let Judged { a, b, differences, report, .. } = judged;
    (tested.recorded, tested.made) = (Some(a.session), Some(b.session));
    (tested.differences, tested.report) = (differences, report);
    tested.line = tested.first_change().and_then(|place| file.source.line_of(place.seq)).unwrap_or(1);
    Ok(())
}

/// Judges a replay of the store, as often as need be.
///
/// # Errors
/// A session cannot be read.
pub(crate) fn again(
    file: &Playable,
    store: &Path,
    played: &str,
    report: ReplayReport,
    rules: &Rules,
) -> Result<Judged, CommandError> {
    let reader = Reader::open(store)?;
    let stored = reader.by_id(played)?;
    let made = stored.ok_or_else(|| CommandError::failed("the replay is not in the store any more"))?;
    let made = reader.source(made)?;
    judge(&file.source, &made, &file.script, &file.plan, report, rules.options, false)
}
