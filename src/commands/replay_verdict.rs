//! The verdict of a replay: the comparison of what was recorded with what it made.

use super::diff::Surface;
use super::replay::ReplayArgs;
use super::select::{self, Found};
use super::{Context, masks};
use crate::analysis::diff::diff_masked;
use crate::analysis::exchanges::{Recording, collect};
use crate::analysis::report::{DiffReport, FailOn, Options};
use crate::analysis::rules::Rules;
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::render::diff::{Look, Named, render};
use crate::output::render::replay::met;
use crate::output::{json, json_diff};
use crate::replay::choice;
use crate::replay::plan::Plan;
use crate::replay::report::ReplayReport;
use crate::replay::script::Script;
use crate::session::frame::Direction;
use crate::session::message::Place;
use std::collections::HashSet;

/// Compares, prints and judges.
///
/// # Errors
/// A session cannot be read.
pub(super) fn compare(
    ctx: &mut Context,
    args: &ReplayArgs,
    found: &Found<'_>,
    script: &Script,
    plan: &Plan,
    played: &str,
    mut report: ReplayReport,
) -> Result<Code, CommandError> {
    let reader = ctx.reader()?;
    let made = select::find(ctx, reader.as_ref(), Some(played))?;
    let (mut a, b) = (collect(&*found.source)?, collect(&*made.source)?);
    leave_out(&mut a, plan, &report);
    let options = Options {
        strict: args.strict,
        float_tolerance: args.float_tolerance,
        ignore_order: args.ignore_order,
        fail_on: match args.fail_on {
            Surface::Breaking => FailOn::Breaking,
            Surface::Any => FailOn::Any,
            Surface::None => FailOn::None,
        },
    };
    let rules = if options.strict { Rules::default() } else { masks::rules(&[&a.session, &b.session])? };
    let mut differences = diff_masked(&a, &b, options, &rules);
    // One exchange alone is judged by itself; so is what a person left out on purpose before it.
    if args.target.iter().all(|word| word.parse::<u64>().is_err())
        && let Some(after) = choice::first_unsent_write(plan, script)
    {
        let count = leave_unjudged(&mut differences, after);
        report.not_judged = (count > 0).then_some((count, after));
    }
    let one = args.target.iter().any(|word| word.parse::<u64>().is_ok());
    if one {
        report.skipped.retain(|skipped| skipped.fails);
    }
    let fails = differences.fails(options.fail_on) || report.fails();
    if args.json {
        let body = json_diff::ReplayBody {
            a: json::SessionObject::of(&a.session, found.source.is_live(), false, false),
            b: json::SessionObject::of(&b.session, false, false, false),
            diff: json_diff::DiffObject::of(&differences, options.fail_on),
            failed: fails,
            replay: json_diff::ReplayObject::of(&report),
        };
        json::report(ctx.ui.out(), "replay", body)?;
    } else {
        let named = |session, id: &str| Named { session, id: id.to_owned() };
        let look = Look { width: ctx.ui.width(), signs: ctx.ui.signs() };
        let text = render(&named(&a.session, &found.id), &named(&b.session, &made.id), &differences, look);
        ctx.ui.print(&text)?;
        let met = met(&report, look);
        if !met.is_empty() {
            ctx.ui.print(&format!("\n{met}"))?;
        }
        ctx.ui.next(&format!("mcp-tap inspect {}", made.id));
    }
    Ok(if fails { Code::No } else { Code::Done })
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
