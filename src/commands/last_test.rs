//! What the last test in a folder found, kept beside the store for `review`.

use super::Context;
use crate::analysis::blob::sha256;
use crate::analysis::report::{FailOn, Options};
use crate::replay::choice::Choice;
use crate::replay::report::{ReplayReport, Skipped};
use crate::session::message::Place;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of the file.
const VERSION: u32 = 1;

/// A test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LastTest {
    mcp_tap_last_test: u32,
    /// Nothing volatile was excused.
    strict: bool,
    float_tolerance: Option<f64>,
    ignore_order: bool,
    fail_on: String,
    only: Vec<String>,
    skip: Vec<String>,
    read_only: bool,
    destructive: bool,
    /// The files that failed.
    pub(super) files: Vec<LastFile>,
}

/// A file that failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LastFile {
    /// As it was typed.
    pub(super) shown: String,
    /// Where it is.
    pub(super) path: PathBuf,
    /// What it was then.
    pub(super) sha256: String,
    /// The session that playing it made.
    pub(super) session: String,
    /// What was not sent.
    skipped: Vec<(u64, u32)>,
    /// What a person has rejected, by its name.
    #[serde(default)]
    pub(super) rejected: Vec<String>,
}

impl LastFile {
    /// Returns a file that failed.
    pub(super) fn new(shown: &str, path: &Path, data: &[u8], session: &str, report: &ReplayReport) -> Self {
        Self {
            shown: shown.to_owned(),
            path: std::path::absolute(path).unwrap_or_else(|_| path.into()),
            sha256: sha256(data),
            session: session.to_owned(),
            skipped: report.skipped.iter().map(|skipped| (skipped.place.seq, skipped.place.index)).collect(),
            rejected: Vec::new(),
        }
    }

    /// Returns what the replay met, as far as a comparison has to know it.
    pub(super) fn report(&self) -> ReplayReport {
        let skipped = self.skipped.iter().map(|(seq, index)| Skipped {
            place: Place { seq: *seq, index: *index },
            what: String::new(),
            why: String::new(),
            fails: false,
        });
        ReplayReport { skipped: skipped.collect(), ..ReplayReport::default() }
    }
}

impl LastTest {
    /// Returns a test without files.
    pub(super) fn new(choice: &Choice, options: Options) -> Self {
        Self {
            mcp_tap_last_test: VERSION,
            strict: options.strict,
            float_tolerance: options.float_tolerance,
            ignore_order: options.ignore_order,
            fail_on: match options.fail_on {
                FailOn::Breaking => "breaking",
                FailOn::Any => "any",
                FailOn::None => "none",
            }
            .to_owned(),
            only: choice.only.clone(),
            skip: choice.skip.clone(),
            read_only: choice.read_only,
            destructive: choice.destructive,
            files: Vec::new(),
        }
    }

    /// Returns how it compared.
    pub(super) fn options(&self) -> Options {
        Options {
            strict: self.strict,
            float_tolerance: self.float_tolerance,
            ignore_order: self.ignore_order,
            fail_on: match self.fail_on.as_str() {
                "any" => FailOn::Any,
                "none" => FailOn::None,
                _ => FailOn::Breaking,
            },
        }
    }

    /// Returns what it sent.
    pub(super) fn choice(&self) -> Choice {
        Choice {
            only: self.only.clone(),
            skip: self.skip.clone(),
            read_only: self.read_only,
            destructive: self.destructive,
            one: None,
        }
    }

    /// Reads the last test of this folder; `None` if there was none, or it is of another version.
    pub(super) fn read(ctx: &Context) -> Option<Self> {
        let found: Self = serde_json::from_slice(&std::fs::read(place(ctx)?).ok()?).ok()?;
        (found.mcp_tap_last_test == VERSION).then_some(found)
    }

    /// Keeps it; a test is no worse where that fails, only `review` has nothing then.
    pub(super) fn keep(&self, ctx: &Context) {
        if let (Some(path), Ok(text)) = (place(ctx), serde_json::to_vec(self)) {
            let _ = super::file::write(&path, |out| Ok(out.write_all(&text)?));
        }
    }
}

fn place(ctx: &Context) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let name = sha256(here.as_os_str().as_encoded_bytes());
    Some(ctx.location.lock_folder().join(format!("last-test-{}.json", name.get(..16)?)))
}
