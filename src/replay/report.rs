//! What a replay met besides the differences, as plain data.

use crate::session::message::Place;
use crate::session::session::ExitStatus;

/// A wait that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedOut {
    /// The recorded message that was waited for.
    pub place: Place,
    /// What it is, as `tools/call get_radar`.
    pub what: String,
    /// How long was waited, ns.
    pub waited_ns: i64,
    /// The last line of the server, and how long before, ns.
    pub last: Option<(String, i64)>,
    /// The last lines on its stderr.
    pub stderr: Vec<String>,
}

/// A step that was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The recorded message.
    pub place: Place,
    /// What it is.
    pub what: String,
    /// Why.
    pub why: String,
    /// True if that alone makes the answer "no".
    pub fails: bool,
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Waits that were given up.
    pub timed_out: Vec<TimedOut>,
    /// Steps that were not sent.
    pub skipped: Vec<Skipped>,
    /// Questions of the server that the recording has no answer to.
    pub unanswerable: Vec<String>,
    /// Values that were replaced.
    pub replaced: u64,
    /// Why the run ended before its end.
    pub stopped: Option<String>,
    /// The recorded messages that were not reached because it ended.
    pub unreached: Vec<Place>,
    /// How many messages the server sent.
    pub received: u64,
    /// How many requests were sent.
    pub requests: u64,
    /// How the server ended.
    pub exit: Option<ExitStatus>,
    /// Its last lines on stderr.
    pub stderr: Vec<String>,
    /// Exchanges that differ after a call that was not sent, and that call.
    pub not_judged: Option<(usize, Place)>,
}

impl ReplayReport {
    /// Returns true if what it met makes the answer "no", whatever the differences are.
    #[must_use]
    pub fn fails(&self) -> bool {
        !self.timed_out.is_empty() || self.stopped.is_some() || self.skipped.iter().any(|skipped| skipped.fails)
    }

    /// Returns true if the server never said a word although it was asked.
    #[must_use]
    pub fn is_mute(&self) -> bool {
        self.received == 0 && self.requests > 0
    }
}
