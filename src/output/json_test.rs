//! A test of session files for machines.

use super::json::SessionObject;
use super::json_diff::{DiffObject, ReplayObject};
use crate::analysis::report::FailOn;
use crate::replay::tested::{Tested, Update, Verdict, count};
use crate::session::session::Peer;
use serde::Serialize;

/// The body of the report `test`.
#[derive(Serialize)]
pub struct TestBody<'a> {
    /// Files that are as they were.
    ok: usize,
    /// Files that are not.
    failed: usize,
    /// Files of which it could not be found out.
    errors: usize,
    /// Files that were not tried.
    not_run: usize,
    /// The exit status.
    exit_status: u8,
    /// The files.
    files: Vec<FileObject<'a>>,
}

#[derive(Serialize)]
struct FileObject<'a> {
    file: &'a str,
    verdict: &'static str,
    took_ns: i64,
    /// The line where the first change is.
    line: usize,
    /// Why it could not be tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hints: Option<&'a [String]>,
    /// The server and the revision that were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_from: Option<&'a Peer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_revision: Option<&'a str>,
    /// The session that playing it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionObject<'a>>,
    /// With `--update`: whether it was, and why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_updated: Option<&'a str>,
    /// What differs: `exchanges`, `same`, `changed`, `masked`, `changes` and the rest, as under `diff` of `replay`.
    #[serde(flatten)]
    diff: Option<DiffObject<'a>>,
    /// What was met besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayObject<'a>>,
}

impl<'a> TestBody<'a> {
    /// Returns a test as it stands in reports.
    #[must_use]
    pub fn of(files: &'a [Tested], fail_on: FailOn, exit_status: u8) -> Self {
        Self {
            ok: count(files, Verdict::Ok),
            failed: count(files, Verdict::Failed),
            errors: count(files, Verdict::Error),
            not_run: count(files, Verdict::NotRun),
            exit_status,
            files: files.iter().map(|file| FileObject::of(file, fail_on)).collect(),
        }
    }
}

impl<'a> FileObject<'a> {
    fn of(file: &'a Tested, fail_on: FailOn) -> Self {
        let compared = file.trouble.is_none() && file.made.is_some();
        Self {
            file: &file.file,
            verdict: file.verdict.as_str(),
            took_ns: file.took_ns,
            line: file.line,
            error: file.trouble.as_ref().map(|trouble| trouble.message.as_str()),
            hints: file.trouble.as_ref().map(|trouble| trouble.hints.as_slice()),
            recorded_from: file.recorded.as_ref().and_then(|session| session.server.as_ref()),
            recorded_revision: file.recorded.as_ref().and_then(|session| session.revision()),
            session: file.made.as_ref().map(|session| SessionObject::of(session, false, false, false)),
            updated: file.update.as_ref().map(|update| !matches!(update, Update::Refused(_))),
            not_updated: match &file.update {
                Some(Update::Refused(why)) => Some(why),
                _ => None,
            },
            diff: compared.then(|| DiffObject::of(&file.differences, fail_on)),
            replay: compared.then(|| ReplayObject::of(&file.report)),
        }
    }
}
