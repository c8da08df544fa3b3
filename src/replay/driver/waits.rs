//! How the driver waits: for answers, questions and tasks, for its pace, and for quiet; never for ever.

use super::super::plan::{Step, Wait};
use super::super::report::TimedOut;
use super::super::transport::Received;
use super::{Driver, PATIENCE_NS, Pace, STEP_NS, ns};
use crate::session::message::Place;
use std::time::Duration;

/// How long the server is left alone after a question of it was answered, ns.
const SETTLE_NS: i64 = 20_000_000;

/// How long a question waits for its turn among the client's messages, ns.
const TURN_NS: i64 = 250_000_000;

impl Driver<'_> {
    /// Waits for all of these; what does not come in time is reported and not waited for again.
    pub(super) fn wait_for(&mut self, waits: &[Wait]) {
        for wait in waits {
            let began = self.transport.now_ns();
            loop {
                if self.is_over() {
                    return;
                }
                if self.live.has(*wait, self.concerns(*wait)) {
                    break;
                }
                let due = self.due(*wait, began);
                if self.transport.now_ns() >= due {
                    self.timed_out(*wait, began);
                    break;
                }
                self.listen(due);
            }
        }
    }

    pub(super) fn concerns(&self, wait: Wait) -> Option<Place> {
        match wait {
            Wait::Question(at) => self.plan.questions.get(at).and_then(|question| question.concerns),
            _ => None,
        }
    }

    pub(super) fn due(&self, wait: Wait, began: i64) -> i64 {
        let (request, from) = match wait {
            Wait::Answer(place) => (Some(place), self.live.sent.get(&place).map_or(began, |sent| sent.at_ns)),
            Wait::Task(place) => (Some(place), began),
            Wait::Question(_) => (None, began),
        };
        let took = request.and_then(|place| self.plan.requests.get(&place)?.took_ns).unwrap_or(0);
        from.saturating_add(self.settings.timeout.map_or(STEP_NS.max(took.saturating_mul(10)), ns))
    }

    pub(super) fn timed_out(&mut self, wait: Wait, began: i64) {
        let now = self.transport.now_ns();
        let sent = |place: Place| self.live.sent.get(&place);
        let (place, what, from) = match wait {
            Wait::Answer(place) => (
                place,
                sent(place).map_or_else(String::new, |s| s.what.clone()),
                sent(place).map_or(began, |s| s.at_ns),
            ),
            Wait::Task(place) => (place, format!("the task of {}", sent(place).map_or("", |s| s.what.as_str())), began),
            Wait::Question(at) => match self.plan.questions.get(at) {
                Some(question) => (question.place, format!("the question {}", question.method), began),
                None => return,
            },
        };
        let last = self.last.as_ref().map(|(line, at)| {
            let kept = line.get(..line.len().min(400)).unwrap_or_default();
            (String::from_utf8_lossy(kept).trim_end().to_owned(), now - at)
        });
        let stderr = self.transport.last_words();
        self.report.timed_out.push(TimedOut { place, what, waited_ns: now - from, last, stderr });
        self.live.given_up.insert(wait);
    }

    pub(super) fn keep_pace(&mut self, step: &Step) {
        let Pace::Times(times) = self.settings.pace else { return };
        let first = self.plan.steps.first().map_or(0, |first| first.at_ns);
        let due = self.began_ns.saturating_add(((step.at_ns - first) as f64 / times) as i64);
        while self.transport.now_ns() < due && !self.is_over() {
            self.listen(due);
        }
    }

    /// Leaves the server alone for a moment after an answer to a question of it.
    pub(super) fn settle(&mut self) {
        let Some(from) = self.settle_from.take() else { return };
        let limit = self.transport.now_ns() + PATIENCE_NS;
        loop {
            let last = self.last.as_ref().map_or(from, |(_, at)| from.max(*at));
            let now = self.transport.now_ns();
            if now >= last + SETTLE_NS || now >= limit || self.is_over() {
                return;
            }
            self.listen(last + SETTLE_NS);
        }
    }

    /// Takes the next thing that comes, until a time at most.
    pub(super) fn listen(&mut self, until_ns: i64) {
        let now = self.transport.now_ns();
        if now >= self.limit_ns {
            let limit = self.settings.limit.as_secs_f64();
            self.report.stopped.get_or_insert(format!("the whole run took longer than {limit} s"));
            return;
        }
        let unanswered = self.live.asked.iter().filter(|(at, _)| !self.live.answered.contains(*at));
        let overdue = unanswered.map(|(at, (_, asked))| (asked + TURN_NS, *at)).min();
        if let Some((due, at)) = overdue
            && now >= due
        {
            // The client's messages before its turn are held up, maybe by this very question.
            self.answer(at);
            return;
        }
        let until = until_ns.min(self.limit_ns).min(overdue.map_or(i64::MAX, |(due, _)| due));
        match self.transport.receive(Duration::from_nanos((until - now).max(0).unsigned_abs())) {
            Received::Line(line) => self.hear(line),
            Received::Ended => self.gone = true,
            Received::Interrupted => self.report.stopped = Some("interrupted".into()),
            Received::Nothing => {}
        }
    }
}
