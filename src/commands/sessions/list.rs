//! `sessions list`: the recordings, newest first.

use crate::commands::since::{self, Since};
use crate::commands::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::humanize::counted;
use crate::output::progress::Progress;
use crate::output::render::session_list::{self, Listed, Totals};
use crate::output::{json, sanitize};
use crate::session::session::Origin;
use crate::session::source::SessionSource;
use crate::store::reader::Stored;
use crate::store::{Reader, retention};
use serde::Serialize;
use std::ops::ControlFlow;

/// Which recordings are listed, and how.
#[derive(Debug, Default, clap::Args)]
pub struct ListArgs {
    /// List so many at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// List all, probes and replays of tests too
    #[arg(long)]
    pub all: bool,
    /// List those that began since then only: 7d, 12h, 30m, or a date
    #[arg(long, value_name = "TIME", value_parser = since::parse)]
    pub since: Option<Since>,
    /// List those in which this text was said only, and where
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
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
    sessions: Vec<SessionLine<'a>>,
}

#[derive(Serialize)]
struct SessionLine<'a> {
    #[serde(flatten)]
    session: json::SessionObject<'a>,
    /// With `--grep`: the frames that have the text.
    #[serde(flatten)]
    hits: Option<Hits>,
}

/// Lists recordings.
///
/// # Errors
/// What kept the store from being read.
pub fn list(ctx: &mut Context, args: &ListArgs) -> Result<Code, CommandError> {
    let reader = ctx.reader()?;
    let mut picked: Vec<(Stored, Option<Hits>)> = Vec::new();
    let mut totals = Totals::default();
    if let Some(reader) = &reader {
        totals.bytes = reader.size();
        picked = pick(ctx, reader, args, &mut totals)?;
    }
    let (picked, hits): (Vec<Stored>, Vec<Option<Hits>>) = picked.into_iter().unzip();
    let listed = match &reader {
        Some(reader) => picked.iter().map(|stored| listed(reader, stored)).collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    if args.json {
        let sessions = listed.iter().zip(&hits).map(|(one, hits)| object(one, *hits)).collect();
        let store = ctx.location.path.display().to_string();
        json::report(ctx.ui.out(), "sessions", SessionsReport { store, total: totals.sessions, sessions })?;
        return Ok(Code::Done);
    }
    if args.jsonl {
        for (one, hits) in listed.iter().zip(&hits) {
            json::line(ctx.ui.out(), &object(one, *hits))?;
        }
        return Ok(Code::Done);
    }
    if listed.is_empty() && totals.sessions > 0 || listed.is_empty() && args.grep.is_some() {
        ctx.ui.line(&format!("no session matches in {}", ctx.location.shown()))?;
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
    if let Some(text) = &args.grep {
        let lines = listed.iter().zip(&hits).filter_map(|(one, hits)| Some((one, (*hits)?)));
        let lines: String = lines.map(|(one, hits)| found_line(ctx, one, hits, text)).collect();
        ctx.ui.print(&format!("\n{lines}"))?;
        return Ok(Code::Done);
    }
    let keep = ctx.retention();
    let days = keep.age_ns.map(|ns| (ns / crate::store::retention::DAY_NS).unsigned_abs());
    ctx.ui.line(&session_list::kept(days, keep.bytes))?;
    ctx.ui.flush()?;
    sweep(ctx);
    if let Some(newest) = listed.first() {
        let typed = newest.session.name.as_ref().filter(|_| newest.back == 0).unwrap_or(&newest.short_id).clone();
        let next = ctx.typed(&format!("inspect {}", sanitize::line(&typed)));
        ctx.ui.next(&next);
    }
    Ok(Code::Done)
}

/// Returns the sessions to list, newest first, with where they have the text that is looked for.
fn pick(
    ctx: &Context,
    reader: &Reader,
    args: &ListArgs,
    totals: &mut Totals,
) -> Result<Vec<(Stored, Option<Hits>)>, CommandError> {
    let from = args.since.map_or(i64::MIN, |since| since.before(crate::clock::wall_ns()));
    let mut found: Vec<Stored> = Vec::new();
    reader.sessions(|stored| {
        if stored.probe && !args.all {
            totals.probes += 1;
            return ControlFlow::Continue(());
        }
        if stored.session.origin == Origin::Test && !args.all {
            totals.tests += 1;
            return ControlFlow::Continue(());
        }
        totals.sessions += 1;
        let wanted = stored.session.started_at_ns >= from;
        if wanted && (args.all || args.grep.is_some() || found.len() < args.limit) {
            found.push(stored);
        }
        ControlFlow::Continue(())
    })?;
    let Some(text) = &args.grep else { return Ok(found.into_iter().map(|stored| (stored, None)).collect()) };
    let all = found.iter().map(|stored| stored.session.bytes).sum();
    let progress = Progress::bytes(ctx.ui.shows_progress(), "searching", all);
    let needles = crate::session::needle::spellings(text);
    let mut picked = Vec::new();
    for stored in found {
        let hits = search(&reader.source(stored.clone())?, &needles, &progress)?;
        if hits.frames > 0 && (args.all || picked.len() < args.limit) {
            picked.push((stored, Some(hits)));
        }
    }
    Ok(picked)
}

/// Where a session has a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct Hits {
    /// The first frame that has it.
    #[serde(rename = "found_first_seq")]
    first: u64,
    /// How many frames have it.
    #[serde(rename = "found_frames")]
    frames: u64,
}

/// Looks for a text, in any of its spellings, in the bytes of every frame.
fn search(source: &dyn SessionSource, needles: &[Vec<u8>], progress: &Progress) -> Result<Hits, CommandError> {
    let finders: Vec<_> = needles.iter().map(memchr::memmem::Finder::new).collect();
    let has = |bytes: &[u8]| finders.iter().any(|finder| finder.find(bytes).is_some());
    let longest = needles.iter().map(Vec::len).max().unwrap_or(0);
    let mut hits = Hits::default();
    let mut last_hit = None;
    // The end of the part before: a text may be cut by the border of two parts.
    let mut before: Vec<u8> = Vec::new();
    source.frames(0..u64::MAX, u64::MAX, &mut |info, part, bytes| {
        progress.add(bytes.len() as u64);
        if part == 0 {
            before.clear();
        }
        let border = before.len();
        let mut found = has(bytes);
        if border > 0 && !found {
            before.extend_from_slice(bytes.get(..longest.min(bytes.len())).unwrap_or(bytes));
            found = has(&before);
        }
        if found && last_hit != Some(info.seq) {
            last_hit = Some(info.seq);
            hits.first = if hits.frames == 0 { info.seq } else { hits.first };
            hits.frames += 1;
        }
        before.clear();
        before.extend_from_slice(bytes.get(bytes.len().saturating_sub(longest.saturating_sub(1))..).unwrap_or(bytes));
        Ok(())
    })?;
    Ok(hits)
}

fn found_line(ctx: &Context, one: &Listed, hits: Hits, text: &str) -> String {
    let quoted = shlex::try_quote(text).map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned);
    let times = counted(hits.frames, "time");
    let command = sanitize::line(&ctx.typed(&format!("inspect {} --grep {quoted}", one.short_id)));
    let line = format!("{}  {times}, first in {}:", one.short_id, hits.first);
    // What is to be typed is never cut.
    let fits = sanitize::width(&line) + 1 + sanitize::width(&command) <= ctx.ui.width();
    format!("{line}{}{command}\n", if fits { " " } else { "\n        " })
}

/// Deletes for a moment what the retention has marked; nobody is kept waiting for it, and nothing fails by it.
fn sweep(ctx: &mut Context) {
    if let Ok(gone) = retention::sweep(&ctx.location.path)
        && gone > 0
    {
        let gone = counted(gone, "old recording");
        ctx.ui.say(&format!("{gone} deleted: more than is kept ([retention] in ~/.config/mcp-tap/config.toml)"));
    }
}

fn object(listed: &Listed, hits: Option<Hits>) -> SessionLine<'_> {
    let session = json::SessionObject::of(&listed.session, listed.live, listed.probe, listed.imported);
    SessionLine { session, hits }
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
