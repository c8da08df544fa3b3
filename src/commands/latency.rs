//! `latency`: how long calls took, from recordings.

use super::messages::{gather_name, say_names};
use super::since::{self, Since};
use super::{Context, select};
use crate::analysis::latency::{Latency, Report};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::humanize::{counted, day, moment};
use crate::output::json::latency::LatencyReport;
use crate::output::progress::Progress;
use crate::output::render::latency;
use crate::output::{json, sanitize};
use crate::session::message::Place;
use crate::session::selector::Selector;
use crate::session::session::{Origin, Session};
use crate::session::source::SessionSource;
use crate::store::Reader;
use std::ops::ControlFlow;

/// Show how long calls took: per tool and method, from recordings
///
/// A call ends with its final response. Time in which the server waited for answers to its own questions (a person, a
/// model, the client) is taken out and told. Percentiles are recorded values (nearest rank), p90 from 10 calls on, p95
/// from 20, p99 from 100.
#[derive(Debug, clap::Args)]
pub struct LatencyArgs {
    /// Sessions: names, ids or their beginnings, `NAME~1`, files (default: the newest recording)
    #[arg(value_name = "SESSION", add = clap_complete::engine::ArgValueCompleter::new(super::complete::sessions))]
    pub sessions: Vec<String>,
    /// Take every recording since then, of these names if there are any: 7d, 12h, 30m, or a date
    #[arg(long, value_name = "TIME", value_parser = since::parse)]
    pub since: Option<Since>,
    /// Only the tool or prompt of this name
    #[arg(long, value_name = "NAME", add = clap_complete::engine::ArgValueCompleter::new(super::complete::tools))]
    pub tool: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A session that was looked at, with how to call it.
struct Looked {
    session: Session,
    id: String,
    typed: String,
}

/// Runs the command.
///
/// # Errors
/// There is no such session, or it cannot be read.
pub fn run(ctx: &mut Context, args: &LatencyArgs) -> Result<Code, CommandError> {
    let reader = ctx.reader()?;
    let mut gathered = Latency::new(args.tool.clone());
    let mut looked: Vec<Looked> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let wanted = wanted(ctx, reader.as_ref(), args)?;
    let progress = Progress::count(ctx.ui.shows_progress() && wanted.len() > 1, "reading", wanted.len() as u64);
    for text in wanted {
        progress.add(1);
        let found = select::find(ctx, reader.as_ref(), Some(&text))?;
        let source = &*found.source;
        if looked.iter().any(|one| one.session.id == source.session().id) {
            continue;
        }
        read(source, args.tool.is_some(), &mut gathered, &mut names)?;
        looked.push(Looked { session: source.session().clone(), id: found.id, typed: found.typed });
    }
    drop(progress);
    let report = gathered.report();
    if args.json {
        let sessions: Vec<Session> = looked.into_iter().map(|one| one.session).collect();
        json::report(ctx.ui.out(), "latency", LatencyReport::of(&report, &sessions))?;
        return Ok(Code::Done);
    }
    show(ctx, args, &report, &looked)?;
    if let (Some(tool), true) = (&args.tool, report.groups.is_empty()) {
        say_names(ctx, tool, &names, looked.len());
    }
    Ok(Code::Done)
}

/// Returns what to look at, as it would be typed.
fn wanted(ctx: &Context, reader: Option<&Reader>, args: &LatencyArgs) -> Result<Vec<String>, CommandError> {
    let Some(since) = args.since else {
        if !args.sessions.is_empty() {
            return Ok(args.sessions.clone());
        }
        let Some(reader) = reader else { return Err(ctx.no_sessions()) };
        // What was replayed or driven is measured when it is asked for by its id.
        let newest = reader.newest(|stored| stored.session.origin == Origin::Record && !stored.imported)?;
        let newest = match newest {
            Some(newest) => newest,
            None => select::stored(ctx, reader, None)?,
        };
        return Ok(vec![newest.session.id]);
    };
    let Some(reader) = reader else { return Err(ctx.no_sessions()) };
    let from = since.before(crate::clock::wall_ns());
    let mut ids = Vec::new();
    let mut named: Vec<&String> = args.sessions.iter().collect();
    let mut known = Vec::new();
    for text in &args.sessions {
        let all_of_name =
            matches!(Selector::parse(text), Selector::Named { back: 0, .. }) && reader.count_by_name(text)? > 0;
        if !all_of_name {
            named.retain(|name| *name != text);
            known.push(select::stored(ctx, reader, Some(text))?.session.id);
        }
    }
    reader.sessions(|stored| {
        let session = &stored.session;
        let by_name = session.name.as_ref().is_some_and(|name| named.contains(&name));
        let any = args.sessions.is_empty() && session.origin == Origin::Record && !stored.imported;
        if !stored.probe && session.started_at_ns >= from && (any || by_name || known.contains(&session.id)) {
            ids.push(stored.session.id);
        }
        ControlFlow::Continue(())
    })?;
    // Oldest first, as they happened.
    ids.reverse();
    if ids.is_empty() {
        let of = if args.sessions.is_empty() { String::new() } else { format!(" of {}", args.sessions.join(", ")) };
        return Err(CommandError::failed(sanitize::line(&format!("no recording{of} since {}", moment(from))))
            .hint(ctx.typed_for("sessions", "lists what is there")));
    }
    Ok(ids)
}

fn read(
    source: &dyn SessionSource,
    wants_names: bool,
    gathered: &mut Latency,
    names: &mut Vec<String>,
) -> Result<(), CommandError> {
    let mut pass = gathered.session();
    source.messages(0..u64::MAX, &mut |message| {
        if wants_names && matches!(message.method.as_deref(), Some("tools/call" | "prompts/get")) {
            gather_name(&message, names);
        }
        pass.message(message);
        ControlFlow::Continue(())
    })?;
    pass.end(source.is_live());
    Ok(())
}

fn show(ctx: &mut Context, args: &LatencyArgs, report: &Report, looked: &[Looked]) -> Result<(), CommandError> {
    let (width, signs) = (ctx.ui.width(), ctx.ui.signs());
    let what = what(looked, args);
    let inspect = |at: usize, place: Place| {
        let session = looked.get(at).map_or_else(String::new, |one| sanitize::line(&one.typed));
        ctx.typed(&format!("inspect {session} {place}"))
    };
    let text = latency::text(report, &what, &inspect, width, signs);
    ctx.ui.print(&text)
}

/// Says what was looked at: one session, or so many of which names, and from when to when.
fn what(looked: &[Looked], args: &LatencyArgs) -> String {
    let name = |one: &Looked| one.session.name.as_deref().map(sanitize::line);
    let tool = args.tool.as_deref().map(|tool| format!(", {} only", sanitize::line(tool))).unwrap_or_default();
    if let [one] = looked {
        let name = name(one).map(|name| format!("{name}  ")).unwrap_or_default();
        return format!("{name}{}, {}{tool}", sanitize::line(&one.id), moment(one.session.started_at_ns));
    }
    let mut names: Vec<String> = looked.iter().filter_map(name).collect();
    names.sort();
    names.dedup();
    let of = match names.as_slice() {
        [] => String::new(),
        [one] => format!(" of {one}"),
        many => format!(" of {}", counted(many.len() as u64, "name")),
    };
    let now = crate::clock::wall_ns();
    let starts = || looked.iter().map(|one| one.session.started_at_ns);
    let when = match (starts().min(), starts().max()) {
        (Some(first), Some(last)) => {
            let (first, last) = (day(first, now), day(last, now));
            if first == last { format!(", {first}") } else { format!(", {first} to {last}") }
        }
        _ => String::new(),
    };
    format!("{}{of}{when}{tool}", counted(looked.len() as u64, "session"))
}
