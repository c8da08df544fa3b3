//! `sessions prune`: deletes old recordings.

use crate::commands::since::{self, Since};
use crate::commands::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::humanize::{counted, moment, size};
use crate::output::progress::Progress;
use crate::output::{json, sanitize};
use crate::store::reader::Stored;
use crate::store::retention::{Candidate, choose};
use crate::store::{Reader, StoreError, delete};
use serde::Serialize;
use std::ops::ControlFlow;

/// Which recordings are deleted.
#[derive(Debug, clap::Args)]
pub(super) struct PruneArgs {
    /// Delete what began longer ago: 30d, 12h, or before a date
    #[arg(long, value_name = "TIME", value_parser = since::parse)]
    older_than: Option<Since>,
    /// Keep the newest N whatever their age
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Say what would go, and delete nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PruneReport<'a> {
    dry_run: bool,
    deleted: Vec<json::SessionObject<'a>>,
    bytes: u64,
    kept: usize,
}

pub(super) fn run(ctx: &mut Context, args: &PruneArgs) -> Result<Code, CommandError> {
    let Some(reader) = ctx.reader()? else { return Err(ctx.no_sessions()) };
    if !args.dry_run {
        delete::finish_interrupted(&reader)?;
    }
    let mut all: Vec<Stored> = Vec::new();
    reader.sessions(|stored| {
        all.push(stored);
        ControlFlow::Continue(())
    })?;
    let before = reader.size();
    let goes = chosen(ctx, &reader, &all, args);
    let bytes: u64 = goes.iter().map(|stored| stored.session.bytes).sum();
    if !args.json && args.dry_run {
        for stored in &goes {
            ctx.ui.line(&describe(&reader, stored)?)?;
        }
    }
    let mut deleted = Vec::new();
    if args.dry_run {
        deleted = goes;
    } else {
        let progress = Progress::bytes(ctx.ui.shows_progress(), "deleting", bytes);
        for stored in goes {
            match delete::session(&reader, stored) {
                Ok(()) => deleted.push(stored),
                // Begun to be recorded in the meantime: it stays.
                Err(StoreError::Live { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            progress.add(stored.session.bytes);
        }
    }
    let bytes: u64 = deleted.iter().map(|stored| stored.session.bytes).sum();
    let kept = all.len() - deleted.len();
    if args.json {
        let deleted = deleted.iter().map(|s| json::SessionObject::of(&s.session, false, s.probe, s.imported)).collect();
        json::report(ctx.ui.out(), "prune", PruneReport { dry_run: args.dry_run, deleted, bytes, kept })?;
        return Ok(Code::Done);
    }
    let count = counted(deleted.len() as u64, "session");
    let what = match (deleted.is_empty(), args.dry_run) {
        (true, _) => "nothing to delete".into(),
        (false, true) => format!("would delete {count} with {}", size(bytes)),
        (false, false) => {
            let freed = before.saturating_sub(reader.size());
            format!("deleted {count} with {}; {} went back to the disk", size(bytes), size(freed))
        }
    };
    ctx.ui.line(&format!("{what}; {kept} kept"))?;
    Ok(Code::Done)
}

/// Returns the sessions that go, oldest first; those that are being recorded never do.
fn chosen<'s>(ctx: &Context, reader: &Reader, newest_first: &'s [Stored], args: &PruneArgs) -> Vec<&'s Stored> {
    let now = crate::clock::wall_ns();
    let dead = |stored: &&Stored| !reader.is_live(&stored.session);
    if args.older_than.is_none() && args.keep.is_none() {
        // Nothing said: what the configuration says.
        let candidates: Vec<Candidate> = newest_first.iter().map(candidate).collect();
        let go = choose(&candidates, ctx.retention(), now, reader.size());
        return go.into_iter().filter_map(|at| newest_first.get(at)).filter(dead).collect();
    }
    let mut kept = 0;
    let mut go: Vec<&Stored> = newest_first
        .iter()
        .filter(|stored| {
            // A probe belongs to its session and does not count.
            kept += usize::from(!stored.probe);
            args.keep.is_none_or(|keep| kept > keep)
                && args.older_than.is_none_or(|limit| stored.session.started_at_ns < limit.before(now))
        })
        .filter(dead)
        .collect();
    go.reverse();
    go
}

fn candidate(stored: &Stored) -> Candidate {
    let session = &stored.session;
    Candidate {
        number: stored.number,
        id: session.id.clone(),
        name: session.name.clone(),
        named: session.named,
        started_at_ns: session.started_at_ns,
        ended: !session.is_incomplete(),
        bytes: session.bytes,
        imported: stored.imported,
    }
}

fn describe(reader: &Reader, stored: &Stored) -> Result<String, CommandError> {
    let session = &stored.session;
    let id = select::short_id(reader, &session.id)?;
    let name = sanitize::line(session.name.as_deref().unwrap_or("without a name"));
    Ok(format!("{id}  {name}  {}  {}", moment(session.started_at_ns), size(session.bytes)))
}
