//! The report of `latency`.

use super::rfc3339;
use crate::analysis::latency::{Group, NotCounted, Report};
use crate::analysis::statistics::{Figures, P50, P90, P95, P99};
use crate::session::session::Session;
use serde::Serialize;

/// How long calls took.
#[derive(Debug, Serialize)]
pub struct LatencyReport<'a> {
    /// The sessions that were looked at.
    pub sessions: Vec<SessionReference<'a>>,
    /// The calls by method and name: those with calls that were given up first, then the slowest by median.
    pub groups: Vec<GroupObject<'a>>,
    /// The edges of the bins of the histograms, ns; empty when nothing was answered.
    pub histogram_edges_ns: Vec<i64>,
    /// What has no part in the figures.
    pub not_counted: NotCountedObject,
    /// What the tap took for a message, from receiving it to passing it on.
    pub tap: Option<TapObject>,
    /// The slowest call.
    pub slowest: Option<SlowestObject<'a>>,
    /// How percentiles are defined, and the fewest values they are told of.
    pub percentiles: PercentilesObject,
}

/// A session that a report is about.
#[derive(Debug, Serialize)]
pub struct SessionReference<'a> {
    /// The id; of a file, that of the session in it.
    pub id: &'a str,
    /// The name.
    pub name: Option<&'a str>,
    /// When it began, RFC 3339 UTC.
    pub started_at: String,
}

/// The calls of one method and name.
#[derive(Debug, Serialize)]
pub struct GroupObject<'a> {
    /// The method.
    pub method: &'a str,
    /// The tool or prompt.
    pub name: Option<&'a str>,
    /// Calls that ended, those that were given up included.
    pub count: u64,
    /// Those that ended badly: tool errors, JSON-RPC errors, given up.
    pub errors: u64,
    /// Those that were given up; they have no time.
    pub gave_up: usize,
    /// Those that the figures are of.
    pub measured: usize,
    /// The figures.
    #[serde(flatten)]
    pub figures: FiguresObject,
    /// How many fall into each bin.
    pub histogram: &'a [u64],
    /// What was taken out: waiting for answers to the server's own questions.
    pub waiting: Vec<WaitingObject>,
}

/// Figures of recorded values: nearest rank, null where there are too few.
#[derive(Debug, Serialize)]
pub struct FiguresObject {
    /// The smallest.
    pub min_ns: Option<i64>,
    /// The median.
    pub p50_ns: Option<i64>,
    /// The 90th percentile.
    pub p90_ns: Option<i64>,
    /// The 95th percentile.
    pub p95_ns: Option<i64>,
    /// The 99th percentile.
    pub p99_ns: Option<i64>,
    /// The largest.
    pub max_ns: Option<i64>,
}

impl From<Figures> for FiguresObject {
    fn from(figures: Figures) -> Self {
        Self {
            min_ns: figures.min,
            p50_ns: figures.p50,
            p90_ns: figures.p90,
            p95_ns: figures.p95,
            p99_ns: figures.p99,
            max_ns: figures.max,
        }
    }
}

/// Time in which the server waited during calls.
#[derive(Debug, Serialize)]
pub struct WaitingObject {
    /// For whom: `person`, `model`, `client`, `input`.
    pub r#for: &'static str,
    /// In how many calls.
    pub calls: usize,
    /// The figures, a call.
    #[serde(flatten)]
    pub figures: FiguresObject,
}

/// What has no part in the figures.
#[derive(Debug, Serialize)]
pub struct NotCountedObject {
    /// Requests that were never answered.
    pub no_answer: u64,
    /// Requests that wait for their answer.
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

/// What the tap took.
#[derive(Debug, Serialize)]
pub struct TapObject {
    /// Messages.
    pub messages: usize,
    /// The figures, a message.
    #[serde(flatten)]
    pub figures: FiguresObject,
}

/// The slowest call.
#[derive(Debug, Serialize)]
pub struct SlowestObject<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The frame of its request.
    pub seq: u64,
    /// The place in the batch.
    pub index: u32,
    /// The method.
    pub method: &'a str,
    /// The tool or prompt.
    pub name: Option<&'a str>,
    /// What it took.
    pub ns: i64,
}

/// How percentiles are defined.
#[derive(Debug, Serialize)]
pub struct PercentilesObject {
    /// The definition.
    pub definition: &'static str,
    /// The fewest values that p50 is told of.
    pub p50_least: usize,
    /// The fewest values that p90 is told of.
    pub p90_least: usize,
    /// The fewest values that p95 is told of.
    pub p95_least: usize,
    /// The fewest values that p99 is told of.
    pub p99_least: usize,
}

impl<'a> LatencyReport<'a> {
    /// Returns a report as machines read it.
    #[must_use]
    pub fn of(report: &'a Report, sessions: &'a [Session]) -> Self {
        let slowest = report.slowest.as_ref().map(|slowest| SlowestObject {
            session: sessions.get(slowest.at.session).map_or("", |session| &session.id),
            seq: slowest.at.place.seq,
            index: slowest.at.place.index,
            method: &slowest.key.method,
            name: slowest.key.name.as_deref(),
            ns: slowest.ns,
        });
        Self {
            sessions: sessions
                .iter()
                .map(|session| SessionReference {
                    id: &session.id,
                    name: session.name.as_deref(),
                    started_at: rfc3339(session.started_at_ns),
                })
                .collect(),
            groups: report.groups.iter().map(group).collect(),
            histogram_edges_ns: report.axis.as_ref().map_or_else(Vec::new, |axis| axis.edges.to_vec()),
            not_counted: not_counted(&report.not_counted),
            tap: report.tap.map(|tap| TapObject { messages: tap.figures.count, figures: tap.figures.into() }),
            slowest,
            percentiles: PercentilesObject {
                definition: "nearest rank",
                p50_least: P50.least,
                p90_least: P90.least,
                p95_least: P95.least,
                p99_least: P99.least,
            },
        }
    }
}

fn group(group: &Group) -> GroupObject<'_> {
    let waiting = group.waits.iter().map(|waits| WaitingObject {
        r#for: waits.who.as_str(),
        calls: waits.figures.count,
        figures: waits.figures.into(),
    });
    GroupObject {
        method: &group.key.method,
        name: group.key.name.as_deref(),
        count: group.count,
        errors: group.errors,
        gave_up: group.gave_up.len(),
        measured: group.figures.count,
        figures: group.figures.into(),
        histogram: &group.histogram,
        waiting: waiting.collect(),
    }
}

fn not_counted(left: &NotCounted) -> NotCountedObject {
    NotCountedObject {
        no_answer: left.no_answer,
        still_open: left.still_open,
        long_lived: left.long_lived,
        input_not_given: left.input_not_given,
        rounds_unclear: left.rounds_unclear,
        tasks: left.tasks,
        task_requests: left.task_requests,
        question_unclear: left.question_unclear,
    }
}
