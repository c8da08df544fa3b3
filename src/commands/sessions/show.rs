//! `sessions show`: all that is known of a recording.

use super::list::listed;
use crate::commands::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::json;
use crate::output::render::session_show;
use crate::session::frame::Gap;
use crate::session::source::SessionSource;
use serde::Serialize;

/// Which recording is shown.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// Session: a name, an id or its beginning, `NAME~1` (default: the newest)
    #[arg(add = clap_complete::engine::ArgValueCompleter::new(crate::commands::complete::stored_sessions))]
    session: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct SessionReport<'a> {
    session: json::SessionObject<'a>,
    gaps: &'a [Gap],
    events: Vec<EventObject>,
}

#[derive(Serialize)]
struct EventObject {
    at_ns: i64,
    what: String,
    value: Option<i64>,
}

pub(super) fn run(ctx: &mut Context, args: &ShowArgs) -> Result<Code, CommandError> {
    let Some(reader) = ctx.reader()? else { return Err(ctx.no_sessions()) };
    let stored = select::stored(ctx, &reader, args.session.as_deref())?;
    let events = reader.events(&stored)?;
    let gaps = reader.source(stored.clone())?.gaps()?;
    let listed = listed(&reader, &stored)?;
    if args.json {
        let session = json::SessionObject::of(&listed.session, listed.live, listed.probe, listed.imported);
        let events = events.into_iter().map(|e| EventObject { at_ns: e.at_ns, what: e.what, value: e.value }).collect();
        json::report(ctx.ui.out(), "session", SessionReport { session, gaps: &gaps, events })?;
        return Ok(Code::Done);
    }
    let slow = events.iter().filter(|event| event.what == "slow-write").count() as u64;
    let text = session_show::render(&listed, &gaps, slow, ctx.ui.width(), ctx.ui.signs());
    ctx.ui.print(&text)?;
    let next = ctx.typed(&format!("inspect {}", listed.short_id));
    ctx.ui.next(&next);
    Ok(Code::Done)
}
