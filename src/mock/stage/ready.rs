//! When something is due: causes, patience, order and pace.

use super::super::fault;
use super::{Pending, Stage, State};
use crate::protocol::method;
use crate::replay::driver::Pace;
use std::collections::{BTreeSet, HashMap};

/// How long an answer that another call had overtaken waits for that call, ns.
const OVERTAKEN_NS: i64 = 1_000_000_000;

/// The least time that the client has for a message, ns.
const CLIENT_NS: i64 = 30_000_000_000;

/// How long after progress an answer comes, ns.
const BREATH_NS: i64 = 5_000_000;

/// Whether something goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    /// At once.
    Now,
    /// Never: the client does not want it any more.
    Gone,
    /// At this time, by its pace.
    Paced(i64),
    /// At this time, by a fault, and nobody has to wait for it.
    Delayed(i64),
    /// When something has come from the client, or at this time.
    Blocked(i64),
}

impl Stage<'_> {
    /// Returns the first thing that goes out, or is not wanted any more; notes when to look again.
    pub(super) fn next(&mut self, now: i64) -> Option<(usize, Ready)> {
        let mut known: HashMap<(usize, usize), Ready> = HashMap::new();
        self.wake_ns = i64::MAX;
        for (at, pending) in self.pending.iter().enumerate() {
            let ready = self.ready(pending, now, &known);
            match ready {
                Ready::Now | Ready::Gone => return Some((at, ready)),
                Ready::Paced(due) | Ready::Delayed(due) | Ready::Blocked(due) => {
                    self.wake_ns = self.wake_ns.min(due);
                }
            }
            if !pending.again {
                known.insert((pending.score, pending.cue), ready);
            }
        }
        let open = self.questions.iter().filter(|question| !question.answered && !question.expired);
        let due = open.filter_map(|question| self.patience(question.score, question.place, question.since_ns)).min();
        self.wake_ns = self.wake_ns.min(due.unwrap_or(i64::MAX));
        None
    }

    fn ready(&self, pending: &Pending, now: i64, known: &HashMap<(usize, usize), Ready>) -> Ready {
        let Some(score) = self.scores.get(pending.score) else { return Ready::Gone };
        let Some(cue) = score.cues.get(pending.cue) else { return Ready::Gone };
        let from = cue.cause.map_or(0, |cause| cause.seq);
        // What was said before counts from when this client said it.
        let mut base = (cue.cause.and_then(|c| score.times.get(&c).copied()).unwrap_or(0), pending.since_ns);
        for take in pending.takes.iter().filter_map(|take| self.takes.get(*take)) {
            let Some(request) = self.request(take.spot) else { continue };
            let late = request.cancel.filter(|cancel| cancel.seq < cue.seq);
            match (late, take.cancelled_ns) {
                (None, Some(_)) if pending.takes.len() == 1 => return Ready::Gone,
                (Some(_), None) if !take.kept && !self.ended => return Ready::Blocked(self.kept_ns(take)),
                (Some(cancel), Some(at)) => {
                    base = base.max((score.times.get(&cancel).copied().unwrap_or(0), at));
                }
                _ => {}
            }
        }
        for question in self.questions.iter().filter(|question| question.score == pending.score) {
            let answer = score.questions.get(&question.place).copied().flatten();
            let Some(answer) = answer.filter(|answer| answer.seq < cue.seq) else { continue };
            if question.place.seq < from {
                continue;
            }
            if !question.answered && !question.expired {
                let due = self.patience(question.score, question.place, question.since_ns);
                return if self.ended { Ready::Gone } else { Ready::Blocked(due.unwrap_or(i64::MAX)) };
            }
            if let Some(at) = self.said.get(&(pending.score, Some(answer))).filter(|_| !pending.again) {
                base = base.max((score.times.get(&answer).copied().unwrap_or(0), *at));
            }
        }
        if let Some(due) = self.in_order(pending, from, known)
            && now < due
        {
            return Ready::Blocked(due);
        }
        let delay = pending.takes.iter().filter_map(|take| match self.takes.get(*take)?.fault.as_ref()?.kind {
            fault::Kind::Delay(time) => Some(self.takes.get(*take)?.at_ns + nanoseconds(time)),
            _ => None,
        });
        let answers = cue.parts.iter().any(|part| part.kind.is_answer());
        match delay.filter(|_| answers).max() {
            Some(due) if now < due => return Ready::Delayed(due),
            _ => {}
        }
        // Clients that read progress together with the answer have been seen to forget the progress.
        let breath = self.progress_ns.saturating_add(BREATH_NS);
        if answers && now < breath {
            return Ready::Paced(breath);
        }
        let Pace::Times(times) = self.settings.pace else { return Ready::Now };
        let due = base.1.saturating_add(((cue.at_ns - base.0).max(0) as f64 / times) as i64);
        if now < due { Ready::Paced(due) } else { Ready::Now }
    }

    /// Returns until when something waits for what had been said between its cause and itself.
    fn in_order(&self, pending: &Pending, from: u64, known: &HashMap<(usize, usize), Ready>) -> Option<i64> {
        if pending.again {
            let earlier = |other: &&Pending| {
                other.again
                    && other.takes == pending.takes
                    && (other.cue, other.only) < (pending.cue, pending.only)
                    && other.score == pending.score
            };
            return self.pending.iter().find(earlier).map(|_| i64::MAX);
        }
        let cues = self.scores.get(pending.score).map(|score| score.cues.as_slice()).unwrap_or_default();
        let states = self.states.get(pending.score).map(Vec::as_slice).unwrap_or_default();
        let patience = pending.since_ns.saturating_add(OVERTAKEN_NS);
        let cause = cues.get(pending.cue).and_then(|cue| cue.cause);
        let first = cues.partition_point(|cue| cue.seq < from);
        let between = cues.iter().zip(states).enumerate().take(pending.cue).skip(first);
        let waits = between.filter_map(|(at, (cue, state))| match (state, known.get(&(pending.score, at))) {
            (State::Done, _) | (_, Some(Ready::Delayed(_))) => None,
            (State::Pending, Some(Ready::Paced(due))) => Some(*due),
            (State::Pending, Some(Ready::Blocked(_))) => Some(patience),
            (State::Pending, _) => None,
            (State::Waiting, _) if self.ended || cue.cause <= cause => None,
            (State::Waiting, _) => Some(patience),
        });
        waits.max()
    }

    /// Gives up the waits that are over, and says so.
    pub(super) fn expire(&mut self, now: i64) {
        let over: Vec<usize> = (0..self.questions.len())
            .filter(|at| {
                let Some(question) = self.questions.get(*at) else { return false };
                let open = !question.answered && !question.expired;
                let due = self.patience(question.score, question.place, question.since_ns);
                open && due.is_some_and(|due| due <= now)
            })
            .collect();
        for at in over {
            let Some(question) = self.questions.get_mut(at) else { continue };
            question.expired = true;
            let (score, place, since) = (question.score, question.place, question.since_ns);
            let parts = self.scores.get(score).into_iter().flat_map(|s| s.cues.iter().flat_map(|cue| &cue.parts));
            let method = parts.into_iter().find(|part| part.place == place).map_or("", |part| part.method.as_str());
            let time = told(self.patience(score, place, since).unwrap_or(now) - since);
            self.notices.push(format!("{place} {method}: no answer of the client in {time}, going on without it"));
            self.answered(now, score, place);
        }
        let waiting: BTreeSet<usize> = self.pending.iter().flat_map(|pending| pending.takes.iter().copied()).collect();
        for at in waiting {
            let Some(take) = self.takes.get(at).filter(|take| !take.kept && take.cancelled_ns.is_none()) else {
                continue;
            };
            let Some(request) = self.request(take.spot).filter(|request| request.cancel.is_some()) else { continue };
            if self.kept_ns(take) <= now {
                let (place, what, time) = (request.place, request.what(), told(self.kept_ns(take) - take.at_ns));
                self.notices.push(format!("{place} {what}: not given up by the client in {time}, answering it"));
                if let Some(take) = self.takes.get_mut(at) {
                    take.kept = true;
                }
            }
        }
    }

    /// Returns until when the answer to a question is waited for; `None` if there was none in the recording.
    fn patience(&self, score: usize, question: super::Place, since_ns: i64) -> Option<i64> {
        let score = self.scores.get(score)?;
        let answer = score.questions.get(&question).copied().flatten()?;
        let asked = score.cues.iter().find(|cue| cue.seq == question.seq).map_or(0, |cue| cue.at_ns);
        let took = score.times.get(&answer).copied().unwrap_or(0) - asked;
        Some(since_ns.saturating_add(self.limit_ns(took)))
    }

    fn limit_ns(&self, took: i64) -> i64 {
        self.settings.timeout.map_or_else(|| CLIENT_NS.max(took.saturating_mul(2)), nanoseconds)
    }

    /// Returns until when it is waited for that the client gives a call up; one that stays open by design is not.
    fn kept_ns(&self, take: &super::Take) -> i64 {
        match self.request(take.spot) {
            Some(request) if !method::is_long_lived(&request.method) => {
                take.at_ns.saturating_add(self.limit_ns(request.waited_ns))
            }
            _ => i64::MAX,
        }
    }
}

fn told(ns: i64) -> String {
    if ns < 1_000_000_000 { format!("{} ms", ns / 1_000_000) } else { format!("{} s", ns / 1_000_000_000) }
}

fn nanoseconds(time: std::time::Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
