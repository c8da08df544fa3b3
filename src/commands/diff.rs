//! `diff`: what differs between two sessions.

use super::options::CompareArgs;
use super::{Context, masks, select};
use crate::analysis::diff::diff_masked;
use crate::analysis::exchanges::collect;
use crate::analysis::rules::Rules;
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::progress::Progress;
use crate::output::render::diff::{Look, Named, render};
use crate::output::{json, json_diff};
use crate::session::selector::Selector;

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
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub compare: CompareArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
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
    let options = args.compare.options();
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
