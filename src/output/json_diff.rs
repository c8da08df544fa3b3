//! The comparison of two sessions for machines.

use super::json::{PlaceObject, SessionObject};
use crate::analysis::report::{Change, DiffReport, ExchangeHead, FailOn, Item, PairHead, Pointers, SideValue};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The body of the report `diff`.
#[derive(Serialize)]
pub struct DiffBody<'a> {
    /// The session before.
    a: SessionObject<'a>,
    /// The session after.
    b: SessionObject<'a>,
    /// What differs.
    diff: DiffObject<'a>,
}

impl<'a> DiffBody<'a> {
    /// Returns a comparison as it stands in reports.
    #[must_use]
    pub fn of(a: SessionObject<'a>, b: SessionObject<'a>, report: &'a DiffReport, fail_on: FailOn) -> Self {
        Self { a, b, diff: DiffObject::of(report, fail_on) }
    }
}

/// The body of the report `replay`.
#[derive(Serialize)]
pub struct ReplayBody<'a> {
    /// The recording.
    pub a: SessionObject<'a>,
    /// The session that playing it made.
    pub b: SessionObject<'a>,
    /// What differs.
    pub diff: DiffObject<'a>,
    /// True if the exit status is 1.
    pub failed: bool,
    /// What was met besides.
    pub replay: ReplayObject<'a>,
}

/// What a replay met besides the differences.
#[derive(Serialize)]
pub struct ReplayObject<'a> {
    /// Values that were replaced by live ones.
    replaced: u64,
    /// Waits that were given up.
    timed_out: Vec<serde_json::Value>,
    /// Messages that were not sent.
    not_sent: Vec<serde_json::Value>,
    /// Methods of questions that the recording has no answer to.
    unanswerable: &'a [String],
    /// Exchanges that differ and cannot be judged.
    not_judged: usize,
    /// Messages of the client that were not reached because the run ended.
    not_reached: usize,
    /// Why the run ended before its end.
    stopped: Option<&'a str>,
}

impl<'a> ReplayObject<'a> {
    /// Returns what a replay met as it stands in reports.
    #[must_use]
    pub fn of(report: &'a crate::replay::report::ReplayReport) -> Self {
        let place = |place: crate::session::message::Place| serde_json::json!({"seq": place.seq, "index": place.index});
        Self {
            replaced: report.replaced,
            timed_out: report
                .timed_out
                .iter()
                .map(|late| {
                    serde_json::json!({
                        "place": place(late.place), "what": late.what, "waited_ns": late.waited_ns,
                        "last_line": late.last.as_ref().map(|(line, _)| line),
                        "last_line_before_ns": late.last.as_ref().map(|(_, at)| at), "stderr": late.stderr,
                    })
                })
                .collect(),
            not_sent: report
                .skipped
                .iter()
                .map(|step| {
                    serde_json::json!({
                        "place": place(step.place), "what": step.what, "why": step.why, "fails": step.fails,
                    })
                })
                .collect(),
            unanswerable: &report.unanswerable,
            not_judged: report.not_judged.map_or(0, |(count, _)| count),
            not_reached: report.unreached.len(),
            stopped: report.stopped.as_deref(),
        }
    }
}

/// A comparison in a report; other reports have it under `diff` too.
#[derive(Serialize)]
pub struct DiffObject<'a> {
    /// True if nothing differs in surface, outcome and content.
    equal: bool,
    /// True if the differences make the exit status 1.
    failed: bool,
    /// Exchanges of either side.
    exchanges: [usize; 2],
    /// Pairs that gave the same.
    same: usize,
    /// Pairs that did not, and exchanges without a partner.
    changed: usize,
    /// How many values were compared by shape.
    masked: u64,
    /// The same by kind.
    masks: BTreeMap<&'a str, u64>,
    /// Lists that one side alone asked for.
    not_compared: &'a [String],
    /// Messages that could not be compared.
    unread: u64,
    /// Differences beyond those in `changes`.
    left_out: u64,
    /// The differences.
    changes: Vec<ChangeObject<'a>>,
}

impl<'a> DiffObject<'a> {
    /// Returns a comparison as it stands in reports.
    #[must_use]
    pub fn of(report: &'a DiffReport, fail_on: FailOn) -> Self {
        Self {
            equal: report.is_equal(),
            failed: report.fails(fail_on),
            exchanges: report.exchanges,
            same: report.same,
            changed: report.changed,
            masked: report.masks.values().sum(),
            masks: report.masks.iter().map(|(mask, count)| (mask.noun(), *count)).collect(),
            not_compared: &report.not_compared,
            unread: report.unread,
            left_out: report.left_out,
            changes: report.changes.iter().map(|change| ChangeObject::of(change, report, fail_on)).collect(),
        }
    }
}

#[derive(Serialize)]
struct ChangeObject<'a> {
    kind: crate::analysis::report::ChangeKind,
    level: crate::analysis::report::Level,
    failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    impact: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exchange: Option<ExchangeObject<'a>>,
    pointer: &'a str,
    /// The second side's, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer_b: Option<&'a str>,
    /// Inside the JSON that the text at `pointer` holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inside_b: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<Box<RawValue>>,
    /// The sizes of values of which only the beginning is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    a_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_bytes: Option<u64>,
    /// Recorded messages of `a` that use what is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    touches: Vec<PlaceObject>,
}

#[derive(Serialize)]
struct ExchangeObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<PlaceObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<PlaceObject>,
    method: &'a str,
    name: Option<&'a str>,
    from_server: bool,
}

impl<'a> ExchangeObject<'a> {
    fn of(pair: &'a PairHead) -> Option<Self> {
        let head: &ExchangeHead = pair.a.as_ref().or(pair.b.as_ref())?;
        let place = |side: &Option<ExchangeHead>| side.as_ref().map(|head| head.place.into());
        Some(Self {
            a: place(&pair.a),
            b: place(&pair.b),
            method: &head.method,
            name: head.name.as_deref(),
            from_server: pair.from_server,
        })
    }
}

impl<'a> ChangeObject<'a> {
    fn of(change: &'a Change, report: &'a DiffReport, fail_on: FailOn) -> Self {
        let other =
            |pointers: &'a Pointers| pointers.b.as_deref().filter(|b| pointers.a.as_deref().is_some_and(|a| a != *b));
        let cut = |value: &Option<SideValue>| value.as_ref().filter(|value| value.cut).map(|value| value.bytes);
        Self {
            kind: change.kind,
            level: change.level,
            failed: change.fails(fail_on),
            impact: change.impact.map(crate::analysis::report::Impact::as_str),
            item: change.item.as_ref(),
            exchange: change.pair.and_then(|at| report.pairs.get(at)).and_then(ExchangeObject::of),
            pointer: change.pointer.shown(),
            pointer_b: other(&change.pointer),
            inside: change.inside.as_ref().map(Pointers::shown),
            inside_b: change.inside.as_ref().and_then(other),
            a: change.a.as_ref().map(raw),
            b: change.b.as_ref().map(raw),
            a_bytes: cut(&change.a),
            b_bytes: cut(&change.b),
            touches: change.touches.iter().copied().map(PlaceObject::from).collect(),
        }
    }
}

/// The deepest value that goes in as JSON: common readers stop at 128 levels.
const DEEPEST: usize = 100;

/// Returns a value as raw JSON; one that readers would refuse goes in as text.
fn raw(value: &SideValue) -> Box<RawValue> {
    let depth = crate::protocol::json::Tree::parse(value.json.as_bytes()).map_or(usize::MAX, |tree| tree.depth());
    let whole = (depth <= DEEPEST).then(|| RawValue::from_string(value.json.clone()).ok()).flatten();
    whole.unwrap_or_else(|| {
        let text = serde_json::Value::String(value.json.clone()).to_string();
        RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
    })
}
