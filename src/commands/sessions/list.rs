//! `sessions list`: the recordings, newest first.

use crate::commands::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::render::session_list::{self, Listed, Totals};
use crate::output::{json, sanitize};
use crate::store::Reader;
use crate::store::reader::Stored;
use serde::Serialize;
use std::ops::ControlFlow;

/// Which recordings are listed, and how.
#[derive(Debug, Default, clap::Args)]
pub struct ListArgs {
    /// List so many at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// List all, probes too
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "jsonl")]
    pub json: bool,
    /// Print one JSON object a session
    #[arg(long)]
    pub jsonl: bool,
}

#[derive(Serialize)]
struct SessionsReport<'a> {
    store: String,
    total: u64,
    sessions: Vec<json::SessionObject<'a>>,
}

/// Lists recordings.
///
/// # Errors
/// What kept the store from being read.
pub fn list(ctx: &mut Context, args: &ListArgs) -> Result<Code, CommandError> {
    let reader = ctx.reader()?;
    let mut picked: Vec<Stored> = Vec::new();
    let mut totals = Totals::default();
    if let Some(reader) = &reader {
        totals.bytes = reader.size();
        reader.sessions(|stored| {
            if stored.probe && !args.all {
                totals.probes += 1;
                return ControlFlow::Continue(());
            }
            totals.sessions += 1;
            if args.all || picked.len() < args.limit {
                picked.push(stored);
            }
            ControlFlow::Continue(())
        })?;
    }
    let listed = match &reader {
        Some(reader) => picked.iter().map(|stored| listed(reader, stored)).collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    if args.json {
        let sessions = listed.iter().map(object).collect();
        let store = ctx.location.path.display().to_string();
        json::report(ctx.ui.out(), "sessions", SessionsReport { store, total: totals.sessions, sessions })?;
        return Ok(Code::Done);
    }
    if args.jsonl {
        for one in &listed {
            json::line(ctx.ui.out(), &object(one))?;
        }
        return Ok(Code::Done);
    }
    if listed.is_empty() {
        ctx.ui.line(&format!("no sessions in {}", ctx.location.shown()))?;
        for hint in ctx.no_sessions_hints() {
            ctx.ui.say(&format!("hint: {hint}"));
        }
        return Ok(Code::Done);
    }
    let text = session_list::table(&listed, totals, crate::clock::wall_ns(), ctx.ui.width(), ctx.ui.signs());
    ctx.ui.print(&text)?;
    if let Some(newest) = listed.first() {
        let typed = newest.session.name.as_ref().filter(|_| newest.back == 0).unwrap_or(&newest.short_id).clone();
        ctx.ui.next(&format!("mcp-tap inspect {}", sanitize::line(&typed)));
    }
    Ok(Code::Done)
}

fn object(listed: &Listed) -> json::SessionObject<'_> {
    json::SessionObject::of(&listed.session, listed.live, listed.probe, listed.imported)
}

/// Returns a session with what only the store knows of it.
///
/// # Errors
/// What kept the store from being read.
pub(super) fn listed(reader: &Reader, stored: &Stored) -> Result<Listed, CommandError> {
    let mut listed = Listed {
        short_id: select::short_id(reader, &stored.session.id)?,
        back: match &stored.session.name {
            Some(name) => reader.newer_of_name(name, stored.number)?,
            None => 0,
        },
        live: reader.is_live(&stored.session),
        imported: stored.imported,
        probe: stored.probe,
        last_stderr: None,
        session: stored.session.clone(),
    };
    if session_list::failed(&listed) {
        let lines = reader.last_stderr(stored, 5)?;
        let last = lines.iter().rev().map(|line| sanitize::bytes(line.trim_ascii())).find(|line| !line.is_empty());
        listed.last_stderr = last;
    }
    Ok(listed)
}
