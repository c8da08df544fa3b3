//! What a mock met, as plain data.

use super::matcher::Miss;
use crate::session::session::ExitStatus;

/// A request that the recording has no answer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    /// Its method.
    pub method: String,
    /// Its name.
    pub name: Option<String>,
    /// What is most like it, and why it is not the same.
    pub miss: Miss,
    /// The nearest, as a person calls it.
    pub nearest: Option<String>,
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MockReport {
    /// How many requests the client sent.
    pub requests: u64,
    /// Requests that the recording has no answer to.
    pub misses: Vec<Missed>,
    /// Recorded requests that were never asked, as a person calls them.
    pub unused: Vec<String>,
    /// Waits that were given up.
    pub given_up: Vec<String>,
    /// Faults that were injected.
    pub faults: Vec<String>,
    /// How the server ended, if it did so before its client left.
    pub end: Option<ExitStatus>,
    /// The status with which the recorded server ended after its client had left.
    pub exit_code: u8,
}
