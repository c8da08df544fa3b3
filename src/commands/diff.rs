//! `diff`: what differs between two sessions.

use super::{Context, masks, select};
use crate::analysis::diff::diff_masked;
use crate::analysis::exchanges::collect;
use crate::analysis::report::{FailOn, Options};
use crate::analysis::rules::Rules;
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::progress::Progress;
use crate::output::render::diff::{Look, Named, render};
use crate::output::{json, json_diff};
use crate::session::selector::Selector;

/// Which surface changes fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Surface {
    /// Those that break a client, or may
    #[default]
    Breaking,
    /// All
    Any,
    /// None
    None,
}

/// Show what differs between two sessions
///
/// Exchanges are paired by method, name and arguments, then by order. Ends with 1 if they differ: in what was answered,
/// or in the surface, unless something was only added or worded differently. The order of arrays counts; the order of
/// lists of tools, prompts and resources, the order of keys and the spelling of numbers do not. What differs from run to run
/// can be named as a mask in `mcp-tap.toml`.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// Session before: a name, an id or its beginning, `NAME~1`, or a session file
    #[arg(add = clap_complete::engine::ArgValueCompleter::new(super::complete::sessions))]
    pub a: String,
    /// Session after
    #[arg(add = clap_complete::engine::ArgValueCompleter::new(super::complete::sessions))]
    pub b: String,
    /// Compare timestamps, ids, tokens, cursors and what masks name by value, not by shape
    #[arg(long)]
    pub strict: bool,
    /// Take two numbers, not both whole, for the same up to this part of the larger, such as 1e-6
    #[arg(long, value_name = "X", value_parser = parse_tolerance)]
    pub float_tolerance: Option<f64>,
    /// Report another order of an array, but do not fail for it
    #[arg(long)]
    pub ignore_order: bool,
    /// Surface changes that end with 1
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub fail_on: Surface,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub(super) fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..1.0).contains(&value) => Ok(value),
        _ => Err("a tolerance is a number from 0 to less than 1".into()),
    }
}

/// Runs the command.
///
/// # Errors
/// There is no such session, or it cannot be read.
pub fn run(ctx: &mut Context, args: &DiffArgs) -> Result<Code, CommandError> {
    let is_file = |text: &str| matches!(Selector::parse(text), Selector::File(_));
    // Two files need no store, and should not fail because of one.
    let reader = if is_file(&args.a) && is_file(&args.b) { None } else { ctx.reader()? };
    let before = select::find(ctx, reader.as_ref(), Some(&args.a))?;
    let after = select::find(ctx, reader.as_ref(), Some(&args.b))?;
    let sizes = [before.source.session().bytes, after.source.session().bytes];
    let progress = Progress::bytes(ctx.ui.shows_progress(), "comparing", sizes.iter().sum());
    let a = collect(&*before.source)?;
    progress.add(sizes[0]);
    let b = collect(&*after.source)?;
    progress.add(sizes[1]);
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
    let report = diff_masked(&a, &b, options, &rules);
    drop(progress);
    let fails = report.fails(options.fail_on);
    if args.json {
        let body = json_diff::DiffBody::of(
            json::SessionObject::of(&a.session, before.source.is_live(), false, is_file(&args.a)),
            json::SessionObject::of(&b.session, after.source.is_live(), false, is_file(&args.b)),
            &report,
            options.fail_on,
        );
        json::report(ctx.ui.out(), "diff", body)?;
    } else {
        let named = |session, id: &str| Named { session, id: id.to_owned() };
        let look = Look { width: ctx.ui.width(), signs: ctx.ui.signs() };
        let text = render(&named(&a.session, &before.id), &named(&b.session, &after.id), &report, look);
        ctx.ui.print(&text)?;
        let first = report.changes.iter().find_map(|change| change.pair).and_then(|at| report.pairs.get(at));
        if let Some(place) = first.and_then(|pair| pair.a.as_ref()).map(|head| head.place) {
            let next = ctx.typed(&format!("inspect {} {place}", before.typed));
            ctx.ui.next(&next);
        }
    }
    Ok(if fails { Code::No } else { Code::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_parts() {
        assert_eq!(parse_tolerance("1e-6"), Ok(1e-6));
        assert_eq!(parse_tolerance("0"), Ok(0.0));
        for text in ["1", "-0.1", "x", "NaN", "inf"] {
            assert!(parse_tolerance(text).is_err(), "{text}");
        }
    }
}
