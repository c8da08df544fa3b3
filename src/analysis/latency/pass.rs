//! One session: its calls, with what the server waited for during them.

use super::{At, Gathered, Key, Latency, Waited};
use crate::protocol::method;
use crate::session::frame::Direction;
use crate::session::message::{Answer, Kind, Message, Outcome, Place};
use std::collections::{HashMap, HashSet};

/// A request of the client.
#[derive(Debug)]
struct Call {
    place: Place,
    // Which of the pass's keys.
    key: usize,
    received_ns: i64,
    forwarded_ns: i64,
    answer: Option<Answer>,
    outcome: Option<Outcome>,
    gave_up_ns: Option<i64>,
    waits: Vec<Wait>,
    earlier_round: Option<usize>,
    tried_again: bool,
    rounds_unclear: bool,
    is_task: bool,
}

/// A stretch of time in which the server waited.
#[derive(Debug, Clone, Copy)]
struct Wait {
    from_ns: i64,
    to_ns: i64,
    who: Waited,
}

/// Gathers one session.
#[derive(Debug, Default)]
pub(super) struct Pass {
    // In the order of their places, so that a place is found by halving.
    calls: Vec<Call>,
    // What the calls call, once each.
    keys: Vec<Key>,
    numbers: HashMap<Key, usize>,
    // Rounds that asked for input, by what they called: the next request for the same is the retry.
    asking: HashMap<usize, Vec<usize>>,
    // Questions of which nobody knows the call: several were open.
    unowned: Vec<Place>,
    // Tool calls that were answered since the client last asked for anything but a task.
    just_answered: Vec<usize>,
    long_lived: u64,
    task_requests: u64,
}

impl Pass {
    pub(super) fn message(&mut self, message: Message) {
        match (message.kind, message.direction) {
            (Kind::Request, Direction::ToServer) => self.request(message),
            (Kind::Request, Direction::ToClient) => self.question(&message),
            (Kind::Result | Kind::Error, Direction::ToClient) => self.answer(&message),
            (Kind::Notification, Direction::ToClient) if is_about_a_task(&message) => self.became_tasks(),
            _ => {}
        }
    }

    fn find(&self, place: Place) -> Option<usize> {
        self.calls.binary_search_by_key(&place, |call| call.place).ok()
    }

    fn number(&mut self, key: Key) -> usize {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        self.keys.push(key.clone());
        self.numbers.insert(key, self.keys.len() - 1);
        self.keys.len() - 1
    }

    fn is_tool_call(&self, call: &Call) -> bool {
        self.keys.get(call.key).is_some_and(|key| key.method == "tools/call")
    }

    fn request(&mut self, message: Message) {
        let name = message.method.unwrap_or_default();
        if method::is_long_lived(&name) {
            self.long_lived += 1;
            return;
        }
        if matches!(name.as_str(), "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel") {
            self.task_requests += 1;
            self.became_tasks();
            return;
        }
        self.just_answered.clear();
        let named = matches!(name.as_str(), "tools/call" | "prompts/get");
        let key = self.number(Key { method: name, name: message.name.filter(|_| named) });
        let mut call = Call {
            place: message.place,
            key,
            received_ns: message.received_ns,
            forwarded_ns: message.forwarded_ns,
            answer: message.answer,
            outcome: message.outcome,
            gave_up_ns: message.gave_up_ns,
            waits: Vec::new(),
            earlier_round: None,
            tried_again: false,
            rounds_unclear: false,
            is_task: false,
        };
        if let Some(asking) = self.asking.get_mut(&call.key) {
            // Several at once: only their payload would tell whose retry this is.
            call.rounds_unclear = asking.len() > 1;
            if let Some(round) = asking.pop()
                && let Some(earlier) = self.calls.get_mut(round)
            {
                earlier.tried_again = true;
                earlier.rounds_unclear |= call.rounds_unclear;
                call.rounds_unclear |= earlier.rounds_unclear;
                call.earlier_round = Some(round);
            }
            for left in asking.iter() {
                if let Some(left) = self.calls.get_mut(*left) {
                    left.rounds_unclear = true;
                }
            }
            if asking.is_empty() {
                self.asking.remove(&call.key);
            }
        }
        self.calls.push(call);
    }

    fn question(&mut self, message: &Message) {
        let Some(owner) = message.concerns else {
            self.unowned.push(message.place);
            return;
        };
        // The server waited until the answer was passed on to it; a question that nobody answered held up nothing.
        let until = message.answer.map(|answer| answer.forwarded_ns).or(message.gave_up_ns);
        if let (Some(to_ns), Some(call)) = (until, self.find(owner).and_then(|at| self.calls.get_mut(at))) {
            let who = Waited::for_method(message.method.as_deref().unwrap_or_default());
            call.waits.push(Wait { from_ns: message.received_ns, to_ns, who });
        }
    }

    fn answer(&mut self, message: &Message) {
        let Some(at) = message.answers.and_then(|place| self.find(place)) else { return };
        let Some(call) = self.calls.get(at) else { return };
        match call.outcome {
            Some(Outcome::InputRequired) => self.asking.entry(call.key).or_default().push(at),
            Some(Outcome::Ok) if self.is_tool_call(call) => self.just_answered.push(at),
            _ => {}
        }
    }

    /// Marks the calls after which the client turned to a task at once: their answers told of a task, not of a result.
    fn became_tasks(&mut self) {
        for at in self.just_answered.drain(..) {
            if let Some(call) = self.calls.get_mut(at) {
                call.is_task = true;
            }
        }
    }

    pub(super) fn end(self, live: bool, session: usize, into: &mut Latency) {
        // A tool that was once used as a task may have been so whenever it was called.
        let tasks: HashSet<usize> = self.calls.iter().filter(|call| call.is_task).map(|call| call.key).collect();
        if into.only.is_none() {
            into.not_counted.long_lived += self.long_lived;
            into.not_counted.task_requests += self.task_requests;
        }
        let wanted = |key: &Key| into.only.is_none() || key.name == into.only;
        let mut gathered: Vec<Option<Gathered>> =
            self.keys.iter().map(|key| wanted(key).then(Gathered::default)).collect();
        for call in &self.calls {
            let Some(Some(group)) = gathered.get_mut(call.key) else { continue };
            let not_counted = &mut into.not_counted;
            if call.outcome == Some(Outcome::GaveUp) {
                let waited = call.gave_up_ns.unwrap_or(call.forwarded_ns) - call.received_ns;
                group.count += 1;
                group.errors += 1;
                group.gave_up.push(waited.max(0));
                continue;
            }
            let Some(answer) = call.answer else {
                *(if live { &mut not_counted.still_open } else { &mut not_counted.no_answer }) += 1;
                continue;
            };
            if call.rounds_unclear {
                not_counted.rounds_unclear += 1;
            } else if call.outcome == Some(Outcome::InputRequired) {
                not_counted.input_not_given += u64::from(!call.tried_again);
            } else if tasks.contains(&call.key) {
                not_counted.tasks += 1;
            } else if self.may_own_a_question(call, answer) {
                not_counted.question_unclear += 1;
            } else {
                self.measure(call, session, group);
            }
        }
        for (key, gathered) in self.keys.into_iter().zip(gathered) {
            if let Some(gathered) = gathered.filter(|gathered| gathered.count > 0) {
                into.groups.entry(key).or_default().absorb(gathered);
            }
        }
    }

    /// Returns true if a question that may have been this call's came while it was open.
    fn may_own_a_question(&self, call: &Call, answer: Answer) -> bool {
        let after = self.unowned.partition_point(|place| *place < call.place);
        self.unowned.get(after).is_some_and(|place| *place < answer.place)
    }

    /// Adds a call with all its rounds.
    fn measure(&self, call: &Call, session: usize, group: &mut Gathered) {
        let mut took = 0;
        let mut waits: Vec<(Waited, i64)> = Vec::new();
        let mut first = call;
        let mut next = Some(call);
        while let Some(round) = next {
            let Some(answer) = round.answer else { break };
            took += served(round, answer, &mut waits);
            first = round;
            next = round.earlier_round.and_then(|at| self.calls.get(at));
            if let Some(answer) = next.and_then(|earlier| earlier.answer) {
                add(&mut waits, Waited::Input, (round.received_ns - answer.received_ns).max(0));
            }
        }
        let at = At { session, place: first.place };
        group.count += 1;
        group.errors += u64::from(call.outcome.is_some_and(Outcome::is_bad));
        group.times.push(took);
        for (who, waited) in waits {
            group.waits.entry(who).or_default().push(waited);
        }
        if group.slowest.is_none_or(|(most, _)| took > most) {
            group.slowest = Some((took, at));
        }
    }
}

fn is_about_a_task(message: &Message) -> bool {
    message.method.as_deref().is_some_and(|name| name.starts_with("notifications/tasks"))
}

/// Returns what the server took for one round, without the time in which it waited itself, which goes to `waits`.
fn served(call: &Call, answer: Answer, waits: &mut Vec<(Waited, i64)>) -> i64 {
    let (from, to) = (call.forwarded_ns, answer.received_ns);
    let mut took = (to - from).max(0);
    let mut stretches: Vec<Wait> = call.waits.clone();
    stretches.sort_by_key(|wait| wait.from_ns);
    // Questions may overlap: each moment is taken out once.
    let mut done = from;
    for wait in stretches {
        let (begin, end) = (wait.from_ns.max(done), wait.to_ns.min(to));
        if end > begin {
            took -= end - begin;
            add(waits, wait.who, end - begin);
            done = end;
        }
    }
    took
}

fn add(waits: &mut Vec<(Waited, i64)>, who: Waited, ns: i64) {
    match waits.iter_mut().find(|(known, _)| *known == who) {
        Some((_, sum)) => *sum += ns,
        None => waits.push((who, ns)),
    }
}
