//! What a test of session files found, as plain data.

use super::report::ReplayReport;
use crate::analysis::report::{DiffReport, Level};
use crate::session::message::Place;
use crate::session::session::Session;

/// The verdict on a session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The server still answers as it did.
    Ok,
    /// It does not.
    Failed,
    /// It could not be found out.
    Error,
    /// It was not tried, because the run had ended before.
    NotRun,
}

impl Verdict {
    /// Returns the word used in reports for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::NotRun => "not_run",
        }
    }
}

/// Why a file could not be tested, and what to do about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trouble {
    /// The sentence.
    pub message: String,
    /// What to do about it, and what the server wrote on stderr.
    pub hints: Vec<String>,
}

/// What became of a file that was to be updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// So many frames took another answer.
    Frames(usize),
    /// It took the new recording as a whole.
    Whole,
    /// It was left as it is, and why.
    Refused(String),
}

/// What was found of one session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The file, as it is to be typed.
    pub file: String,
    /// The verdict.
    pub verdict: Verdict,
    /// How long it took, ns.
    pub took_ns: i64,
    /// The session in the file.
    pub recorded: Option<Session>,
    /// The session that playing it made.
    pub made: Option<Session>,
    /// What differs.
    pub differences: DiffReport,
    /// What was met besides.
    pub report: ReplayReport,
    /// The line of the file where the first change is.
    pub line: usize,
    /// Why it could not be tested.
    pub trouble: Option<Trouble>,
    /// What became of it, if it was to be updated.
    pub update: Option<Update>,
}

impl Tested {
    /// Returns a file of which nothing is known yet.
    #[must_use]
    pub fn new(file: String) -> Self {
        Self {
            file,
            verdict: Verdict::NotRun,
            took_ns: 0,
            recorded: None,
            made: None,
            differences: DiffReport::default(),
            report: ReplayReport::default(),
            line: 1,
            trouble: None,
            update: None,
        }
    }

    /// Returns where the replay stuck: the first message that was not answered or not reached.
    #[must_use]
    pub fn stuck_at(&self) -> Option<Place> {
        let late = self.report.timed_out.first().map(|late| late.place);
        late.or_else(|| self.report.stopped.as_ref().and_then(|_| self.report.unreached.first().copied()))
    }

    /// Returns the place in the recording of the first thing that makes it fail.
    #[must_use]
    pub fn first_change(&self) -> Option<Place> {
        let of = |change: &crate::analysis::report::Change| {
            let pair = change.pair.and_then(|at| self.differences.pairs.get(at));
            let place = pair.and_then(|pair| pair.a.as_ref()).map(|head| head.answer.unwrap_or(head.place));
            place.or_else(|| change.touches.first().copied())
        };
        let hard = |change: &&crate::analysis::report::Change| !matches!(change.level, Level::Soft | Level::Identity);
        self.stuck_at().or_else(|| self.differences.changes.iter().filter(hard).find_map(of))
    }

    /// Returns how many values were compared by shape.
    #[must_use]
    pub fn masked(&self) -> u64 {
        self.differences.masks.values().sum()
    }
}

/// Returns how many files have this verdict.
#[must_use]
pub fn count(files: &[Tested], verdict: Verdict) -> usize {
    files.iter().filter(|file| file.verdict == verdict).count()
}
