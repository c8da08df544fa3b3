//! When to end a server that does not end by itself: a ladder of times, decided without a clock.

use std::time::Duration;

/// How long a server may stay silent after its client has closed stdin.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How long it may stay silent then while calls are still unanswered and the client still reads.
pub const PATIENCE_WITH_CALLS: Duration = Duration::from_secs(60);

/// How long after TERM the group is killed. SDK clients kill the tap 2.0 s after they sent TERM to it.
pub const TERM_GRACE: Duration = Duration::from_millis(1200);

/// How long a pipe must be silent after the server has ended: a grandchild may hold it open.
pub const DRAIN_SILENCE: Duration = Duration::from_millis(200);

/// How long what is left of the group has after the server itself has ended.
pub const LEFTOVER_GRACE: Duration = Duration::from_millis(200);

/// What is known when the ladder is asked; times are ns since the session began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Situation {
    /// When the client closed stdin.
    pub client_ended_ns: Option<i64>,
    /// When the server last wrote anything.
    pub last_output_ns: i64,
    /// True if calls are unanswered and somebody still reads our stdout.
    pub answers_awaited: bool,
    /// When TERM was sent to the server.
    pub terminated_ns: Option<i64>,
    /// True if KILL was sent.
    pub killed: bool,
}

/// What the ladder says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing before this time, ns since the session began; `None`: wait for something to happen.
    Wait(Option<i64>),
    /// Send TERM to the group.
    Terminate,
    /// Send KILL to the group.
    Kill,
}

/// Returns the next step of the ladder.
#[must_use]
pub fn next_step(situation: &Situation, now_ns: i64) -> Step {
    let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    if situation.killed {
        return Step::Wait(None);
    }
    if let Some(at) = situation.terminated_ns {
        let due = at + ns(TERM_GRACE);
        return if now_ns >= due { Step::Kill } else { Step::Wait(Some(due)) };
    }
    let Some(ended) = situation.client_ended_ns else { return Step::Wait(None) };
    let patience = if situation.answers_awaited { PATIENCE_WITH_CALLS } else { PATIENCE };
    let due = ended.max(situation.last_output_ns) + ns(patience);
    if now_ns >= due { Step::Terminate } else { Step::Wait(Some(due)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn nothing_happens_before_the_client_ends() {
        assert_eq!(next_step(&Situation::default(), 3600 * S), Step::Wait(None));
    }

    #[test]
    fn patience_counts_from_the_last_output() {
        let mut s = Situation { client_ended_ns: Some(S), ..Situation::default() };
        assert_eq!(next_step(&s, 2 * S), Step::Wait(Some(6 * S)));
        assert_eq!(next_step(&s, 6 * S), Step::Terminate);
        s.last_output_ns = 4 * S;
        assert_eq!(next_step(&s, 6 * S), Step::Wait(Some(9 * S)));
        s.answers_awaited = true;
        assert_eq!(next_step(&s, 10 * S), Step::Wait(Some(64 * S)));
    }

    #[test]
    fn kill_follows_term_after_its_grace_and_comes_once() {
        let mut s = Situation { terminated_ns: Some(S), ..Situation::default() };
        assert_eq!(next_step(&s, S), Step::Wait(Some(2_200_000_000)));
        assert_eq!(next_step(&s, 2_200_000_000), Step::Kill);
        s.killed = true;
        assert_eq!(next_step(&s, 9 * S), Step::Wait(None));
    }
}
