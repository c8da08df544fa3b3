//! How long calls took, from the messages of recordings; no payload is read.
//!
//! A call ends with its final response. What the other side took is the time from the request being passed on to the
//! response being received; of that, the time in which the server itself waited for the client (a person who was asked,
//! a model, the client) is taken out and told. Rounds that asked for input first (2026-07-28) are one call with the
//! retries that follow them. Calls that became tasks, and whatever cannot be attributed, are left out and counted.

mod pass;
#[cfg(test)]
mod tests;

use super::statistics::{Axis, Figures};
use crate::session::frame::Channel;
use crate::session::message::{Kind, Message, Place};
use pass::Pass;
use std::collections::{BTreeMap, HashMap};

/// Who the server waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waited {
    /// A person: `elicitation/create`.
    Person,
    /// A model: `sampling/createMessage`.
    Model,
    /// The client itself: its roots, a ping, anything else.
    Client,
    /// Whoever gave the input that a round of 2026-07-28 asked for.
    Input,
}

impl Waited {
    /// Returns the name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Model => "model",
            Self::Client => "client",
            Self::Input => "input",
        }
    }

    fn for_method(method: &str) -> Self {
        match method {
            "elicitation/create" => Self::Person,
            "sampling/createMessage" => Self::Model,
            _ => Self::Client,
        }
    }
}

/// What calls are put together by: the method, and the name of a tool or a prompt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The method.
    pub method: String,
    /// The tool or the prompt; resources are not told apart, there can be thousands.
    pub name: Option<String>,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Which of the sessions, in the order in which they were given.
    pub session: usize,
    /// Its request.
    pub place: Place,
}

/// The calls of one tool, prompt or method.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What they have in common.
    pub key: Key,
    /// How many calls ended: with a final response, or given up.
    pub count: u64,
    /// How many of them ended badly: a tool error, a JSON-RPC error, or given up.
    pub errors: u64,
    /// How long the caller waited before it gave up, in ascending order, ns.
    pub gave_up: Vec<i64>,
    /// The figures of those that were answered.
    pub figures: Figures,
    /// How many of those fall into each bin of the report's axis.
    pub histogram: [u64; super::statistics::BINS],
    /// What was taken out of their times.
    pub waits: Vec<Waits>,
}

/// Time in which the server waited during calls; it is in none of their figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    /// For whom.
    pub who: Waited,
    /// The waiting of each call that had some, as figures.
    pub figures: Figures,
}

/// What has no part in the figures, and how often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotCounted {
    /// Requests that were never answered.
    pub no_answer: u64,
    /// Requests that wait for their answer in a session that is being recorded.
    pub still_open: u64,
    /// Requests that stay open by design.
    pub long_lived: u64,
    /// Rounds that asked for input and were not tried again.
    pub input_not_given: u64,
    /// Rounds of which it cannot be said which belong together.
    pub rounds_unclear: u64,
    /// Calls that became tasks, or may have.
    pub tasks: u64,
    /// Requests about tasks.
    pub task_requests: u64,
    /// Calls during which the server asked something that may have been for another call.
    pub question_unclear: u64,
}

/// What the tap itself took, from receiving a message to passing it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TapShare {
    /// The figures, a message.
    pub figures: Figures,
}

/// The slowest call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slowest {
    /// What it called.
    pub key: Key,
    /// Where it stands.
    pub at: At,
    /// What it took, ns.
    pub ns: i64,
}

/// How long calls took.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The groups: those with calls that were given up first, then the slowest by median.
    pub groups: Vec<Group>,
    /// What the histograms stand on; absent when nothing was answered.
    pub axis: Option<Axis>,
    /// What has no part in the figures.
    pub not_counted: NotCounted,
    /// What the tap took; absent when there was no message.
    pub tap: Option<TapShare>,
    /// The slowest call.
    pub slowest: Option<Slowest>,
}

/// The calls of a group while they are gathered.
#[derive(Debug, Default)]
struct Gathered {
    count: u64,
    errors: u64,
    gave_up: Vec<i64>,
    times: Vec<i64>,
    waits: BTreeMap<Waited, Vec<i64>>,
    slowest: Option<(i64, At)>,
}

impl Gathered {
    fn absorb(&mut self, other: Self) {
        self.count += other.count;
        self.errors += other.errors;
        self.gave_up.extend(other.gave_up);
        self.times.extend(other.times);
        for (who, times) in other.waits {
            self.waits.entry(who).or_default().extend(times);
        }
        if other.slowest.is_some_and(|(ns, _)| self.slowest.is_none_or(|(most, _)| ns > most)) {
            self.slowest = other.slowest;
        }
    }
}

/// Gathers the calls of sessions, one session after the other.
#[derive(Debug, Default)]
pub struct Latency {
    only: Option<String>,
    sessions: usize,
    groups: HashMap<Key, Gathered>,
    not_counted: NotCounted,
    delays: Vec<i64>,
}

impl Latency {
    /// Returns a report about nothing yet; with `only`, about the tool or prompt of that name.
    #[must_use]
    pub fn new(only: Option<String>) -> Self {
        Self { only, ..Self::default() }
    }

    /// Begins the next session; its messages go to what is returned.
    #[must_use]
    pub fn session(&mut self) -> SessionPass<'_> {
        SessionPass { latency: self, pass: Pass::default() }
    }

    /// Returns the report.
    #[must_use]
    pub fn report(mut self) -> Report {
        self.delays.sort_unstable();
        let figures = Figures::of(&self.delays);
        let mut axis: Option<(i64, i64)> = None;
        let mut slowest: Option<Slowest> = None;
        for (key, gathered) in &mut self.groups {
            gathered.times.sort_unstable();
            gathered.gave_up.sort_unstable();
            if let (Some(min), Some(max)) = (gathered.times.first(), gathered.times.last()) {
                let (low, high) = axis.unwrap_or((*min, *max));
                axis = Some((low.min(*min), high.max(*max)));
            }
            if let Some((ns, at)) = gathered.slowest {
                let first = |at: At| (at.session, at.place);
                let slower = slowest.as_ref().is_none_or(|s| (ns, first(s.at)) > (s.ns, first(at)));
                if slower {
                    slowest = Some(Slowest { key: key.clone(), at, ns });
                }
            }
        }
        let axis = axis.map(|(low, high)| Axis::holding(low, high));
        let mut groups: Vec<Group> =
            self.groups.into_iter().map(|(key, gathered)| group(key, gathered, axis.as_ref())).collect();
        groups.sort_by(|a, b| {
            (b.gave_up.len(), b.figures.p50).cmp(&(a.gave_up.len(), a.figures.p50)).then_with(|| a.key.cmp(&b.key))
        });
        let tap = (figures.count > 0).then_some(TapShare { figures });
        Report { groups, axis, not_counted: self.not_counted, tap, slowest }
    }
}

fn group(key: Key, gathered: Gathered, axis: Option<&Axis>) -> Group {
    let waits = gathered.waits.into_iter().map(|(who, mut times)| {
        times.sort_unstable();
        Waits { who, figures: Figures::of(&times) }
    });
    Group {
        key,
        count: gathered.count,
        errors: gathered.errors,
        gave_up: gathered.gave_up,
        figures: Figures::of(&gathered.times),
        histogram: axis.map_or([0; super::statistics::BINS], |axis| axis.counts(&gathered.times)),
        waits: waits.collect(),
    }
}

/// Takes the messages of one session, in their order.
#[derive(Debug)]
pub struct SessionPass<'l> {
    latency: &'l mut Latency,
    pass: Pass,
}

impl SessionPass<'_> {
    /// Takes the next message.
    pub fn message(&mut self, message: Message) {
        let said = matches!(message.kind, Kind::Request | Kind::Notification | Kind::Result | Kind::Error);
        if !said || message.channel == Channel::Stderr {
            return;
        }
        self.latency.delays.push(message.forwarded_ns - message.received_ns);
        self.pass.message(message);
    }

    /// Ends the session; in a `live` one a request without an answer may still get it.
    pub fn end(self, live: bool) {
        let session = self.latency.sessions;
        self.latency.sessions += 1;
        self.pass.end(live, session, self.latency);
    }
}
