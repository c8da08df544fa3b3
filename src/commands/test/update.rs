//! What comes after a test: what failed is kept for `review`, or accepted at once.

use super::accept::{self, Rewritten};
use super::one::{self, Rules};
use crate::commands::last_test::{LastFile, LastTest};
use crate::commands::{Context, file};
use crate::error::CommandError;
use crate::replay::tested::{Tested, Update, Verdict};
use crate::store::Reader;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Accepts what the files' servers answer now.
pub(super) fn update(store: &Path, rules: &Rules, files: &[(PathBuf, String)], tested: &mut [Tested]) {
    for ((path, _), tested) in files.iter().zip(tested) {
        if !matches!(tested.verdict, Verdict::Ok | Verdict::Failed) || accept::units(&tested.differences).is_empty() {
            if tested.verdict == Verdict::Failed {
                tested.update = Some(Update::Refused("the replay did not run to its end".into()));
            }
            continue;
        }
        tested.update = Some(match one_file(store, rules, path, tested) {
            Ok(done) => done,
            Err(why) => Update::Refused(why),
        });
    }
}

fn one_file(store: &Path, rules: &Rules, path: &Path, tested: &Tested) -> Result<Update, String> {
    if !accept::is_whole(&tested.report) {
        return Err(if tested.report.unanswerable.is_empty() {
            "the replay did not run to its end".into()
        } else {
            "the server asks what the recording has no answer to: record it anew".into()
        });
    }
    let said = |error: CommandError| error.message;
    let file = one::open(path, &rules.choice).map_err(said)?;
    let id = tested.made.as_ref().map(|made| made.id.clone()).unwrap_or_default();
    let judged = one::again(&file, store, &id, tested.report.clone(), rules).map_err(said)?;
    let reader = Reader::open(store).map_err(|error| error.to_string())?;
    let made = reader.by_id(&id).map_err(|error| error.to_string())?;
    let made = made.ok_or("the replay is not in the store any more")?;
    let made = reader.source(made).map_err(|error| error.to_string())?;
    let wanted: HashSet<accept::Unit> = accept::units(&judged.differences).into_iter().collect();
    let rewritten = accept::rewrite(&file, &made, &judged, rules, &wanted)?;
    let (done, data) = match rewritten {
        Rewritten::Frames(frames, data) => (Update::Frames(frames), data),
        Rewritten::Whole(data) => (Update::Whole, data),
    };
    file::rewrite(path, &data).map_err(said)?;
    Ok(done)
}

/// Keeps what failed, for `review`.
pub(super) fn keep(ctx: &Context, rules: &Rules, files: &[(PathBuf, String)], tested: &[Tested]) {
    let mut last = LastTest::new(&rules.choice, rules.options);
    for ((path, shown), tested) in files.iter().zip(tested) {
        let open = tested.verdict == Verdict::Failed && accept::is_whole(&tested.report);
        let done = matches!(tested.update, Some(Update::Frames(_) | Update::Whole));
        if open
            && !done
            && let Some(made) = &tested.made
            && let Ok(data) = std::fs::read(path)
        {
            last.files.push(LastFile::new(shown, path, &data, &made.id, &tested.report));
        }
    }
    last.keep(ctx);
}
