//! The verdict on a replay: the comparison of what was recorded with what it made.

use super::masks;
use crate::analysis::diff::diff_masked;
use crate::analysis::exchanges::{Recording, collect};
use crate::analysis::report::{DiffReport, FailOn, Options};
use crate::analysis::rules::Rules;
use crate::error::CommandError;
use crate::replay::choice;
use crate::replay::plan::Plan;
use crate::replay::report::ReplayReport;
use crate::replay::script::Script;
use crate::session::frame::Direction;
use crate::session::message::Place;
use crate::session::source::SessionSource;
use std::collections::HashSet;

/// Two sessions, what differs, and what the replay met.
#[derive(Debug)]
pub(super) struct Judged {
    /// The recording, without what was not sent.
    pub(super) a: Recording,
    /// The session that playing it made.
    pub(super) b: Recording,
    /// What differs.
    pub(super) differences: DiffReport,
    /// What was met besides.
    pub(super) report: ReplayReport,
    /// True if the answer is "no".
    pub(super) fails: bool,
}

/// Compares a recording with the session that playing it made.
///
/// `one` is true where a single message was asked for: it is judged by itself, and so is what was left out for it.
///
/// # Errors
/// A session cannot be read, or a mask cannot be used.
pub(super) fn judge(
    recorded: &dyn SessionSource,
    made: &dyn SessionSource,
    script: &Script,
    plan: &Plan,
    mut report: ReplayReport,
    options: Options,
    one: bool,
) -> Result<Judged, CommandError> {
    let (mut a, b) = (collect(recorded)?, collect(made)?);
    leave_out(&mut a, plan, &report);
    let rules = if options.strict { Rules::default() } else { masks::rules(&[&a.session, &b.session])? };
    let mut differences = diff_masked(&a, &b, options, &rules);
    if one {
        report.skipped.retain(|skipped| skipped.fails);
    } else if let Some(after) = choice::first_unsent_write(plan, script) {
        let count = leave_unjudged(&mut differences, after);
        report.not_judged = (count > 0).then_some((count, after));
    }
    let fails = differences.fails(options.fail_on) || report.fails();
    Ok(Judged { a, b, differences, report, fails })
}

/// Takes out of the recording what was not sent, and what was asked during it.
fn leave_out(a: &mut Recording, plan: &Plan, report: &ReplayReport) {
    let mut unsent: HashSet<Place> = report.skipped.iter().map(|skipped| skipped.place).collect();
    unsent.extend(&report.unreached);
    let steps = plan.steps.iter().filter(|step| step.unsent.is_some());
    unsent.extend(steps.flat_map(|step| step.members.iter().map(|member| member.place)));
    let asked = plan.questions.iter().filter(|question| question.concerns.is_some_and(|call| unsent.contains(&call)));
    let questions: HashSet<Place> = asked.map(|question| question.place).collect();
    a.exchanges.retain(|exchange| match exchange.direction {
        Direction::ToServer => !unsent.contains(&exchange.place),
        Direction::ToClient => !questions.contains(&exchange.place),
    });
}

/// Takes out of the differences those that may come from a call that was not sent; returns in how many exchanges.
fn leave_unjudged(report: &mut DiffReport, after: Place) -> usize {
    let unjudged: HashSet<usize> = report
        .pairs
        .iter()
        .enumerate()
        .filter(|(_, pair)| pair.a.as_ref().is_some_and(|head| head.place > after))
        .map(|(at, _)| at)
        .collect();
    let mut hard = HashSet::new();
    report.changes.retain(|change| match change.pair.filter(|at| unjudged.contains(at)) {
        Some(at) => {
            if change.fails(FailOn::Any) {
                hard.insert(at);
            }
            false
        }
        None => true,
    });
    report.changed = report.changed.saturating_sub(hard.len());
    hard.len()
}
