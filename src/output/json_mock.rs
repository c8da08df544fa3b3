//! The report of a mock for machines.

use crate::mock::report::MockReport;
use crate::session::session::ExitStatus;
use serde::Serialize;

/// A request that the recording has no answer to.
#[derive(Serialize)]
struct MissObject<'r> {
    method: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'r str>,
    why: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<&'r str>,
}

/// What a mock met.
#[derive(Serialize)]
pub struct MockObject<'r> {
    sessions: &'r [String],
    requests: u64,
    misses: Vec<MissObject<'r>>,
    unused: &'r [String],
    given_up: &'r [String],
    faults: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<ExitStatus>,
}

impl<'r> MockObject<'r> {
    /// Returns the report of a mock of these sessions.
    #[must_use]
    pub fn of(report: &'r MockReport, sessions: &'r [String]) -> Self {
        let misses = report.misses.iter().map(|missed| {
            let difference = missed.miss.difference.as_ref();
            MissObject {
                method: &missed.method,
                name: missed.name.as_deref(),
                why: &missed.miss.why,
                nearest: missed.nearest.as_deref(),
                pointer: difference.map(|(pointer, ..)| pointer.as_str()),
                recorded: difference.and_then(|(_, recorded, _)| recorded.as_deref()),
                asked: difference.and_then(|(.., asked)| asked.as_deref()),
            }
        });
        Self {
            sessions,
            requests: report.requests,
            misses: misses.collect(),
            unused: &report.unused,
            given_up: &report.given_up,
            faults: &report.faults,
            ended: report.end,
        }
    }
}
