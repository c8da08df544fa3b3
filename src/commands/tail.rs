//! `tail`: follows what is being recorded.

use super::messages::pages_from;
use super::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::json::{self, MessageObject};
use crate::output::render::messages::{Filter, MessageRows, text_of, title};
use crate::output::sanitize;
use crate::output::styles::{BOLD, paint};
use crate::session::selector::Selector;
use crate::session::session::{ID_LETTERS, Session};
use crate::session::source::SessionSource;
use crate::store::reader::Stored;
use crate::store::watch::Watch;
use crate::store::{Reader, StoreError, liveness};
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::Duration;

/// How often the store is asked for what is new; each time in one short transaction.
const EVERY: Duration = Duration::from_millis(100);

/// Follow what is being recorded
///
/// Without an argument: the newest session that is being recorded, or else the next one. A name is waited for. It ends
/// when the recording ends, unless the same server was started again meanwhile; `-f` goes on with the next start.
#[derive(Debug, clap::Args)]
pub struct TailArgs {
    /// Session: a name (waited for if need be), an id or its beginning
    #[arg(value_name = "SESSION|NAME", add = clap_complete::engine::ArgValueCompleter::new(super::complete::stored_sessions))]
    pub session: Option<String>,
    /// Go on with the next recording when one has ended
    #[arg(long, short)]
    pub follow: bool,
    /// Begin with the last N lines of what is there already (default: with the first)
    #[arg(long, short = 'n', value_name = "N")]
    pub lines: Option<u64>,
    /// Show the server's stderr too
    #[arg(long)]
    pub stderr: bool,
    /// Print one JSON object a message
    #[arg(long)]
    pub jsonl: bool,
}

/// What is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// Whatever is recorded.
    Any,
    /// Recordings of this name.
    Name(String),
    /// The session of this id.
    Id(String),
}

#[derive(Serialize)]
struct Line<'a> {
    session: &'a str,
    #[serde(flatten)]
    message: MessageObject<'a>,
}

/// The store, opened when it is there and again when it is another file.
struct Follower {
    reader: Option<(Reader, Watch)>,
}

impl Follower {
    fn reader(&mut self, ctx: &Context) -> Result<Option<&Reader>, CommandError> {
        if self.reader.as_ref().is_none_or(|(_, watch)| watch.is_replaced()) {
            self.reader = ctx.reader()?.map(|reader| (reader, Watch::of(&ctx.location.path)));
        }
        Ok(self.reader.as_ref().map(|(reader, _)| reader))
    }
}

/// Runs the command.
///
/// # Errors
/// The store cannot be read, or a file was named.
pub fn run(ctx: &mut Context, args: &TailArgs) -> Result<Code, CommandError> {
    let mut follower = Follower { reader: None };
    let mut target = target(ctx, follower.reader(ctx)?, args.session.as_deref())?;
    // What is newer than this was begun while we looked on: it counts even if it has ended already.
    let mut after = match follower.reader(ctx)? {
        Some(reader) => reader.newest(|_| true)?.map_or(0, |stored| stored.number),
        None => 0,
    };
    let mut first = true;
    loop {
        let found = match follower.reader(ctx)? {
            Some(reader) => next(reader, &target, after, first)?,
            None => None,
        };
        let Some(stored) = found else {
            if first {
                say_waiting(ctx, &target);
                first = false;
            }
            pause(ctx)?;
            continue;
        };
        first = false;
        after = after.max(stored.number);
        follow(ctx, &mut follower, &stored, args)?;
        if let (Target::Id(_), Some(name)) = (&target, stored.session.name) {
            target = Target::Name(name);
        }
        let restarted = match follower.reader(ctx)? {
            Some(reader) if target != Target::Any => next(reader, &target, after, false)?.is_some(),
            _ => false,
        };
        if restarted {
            continue;
        }
        if !args.follow {
            return Ok(Code::Done);
        }
        say_waiting(ctx, &target);
    }
}

fn target(ctx: &Context, reader: Option<&Reader>, text: Option<&str>) -> Result<Target, CommandError> {
    let (text, back) = match text.map(Selector::parse) {
        None | Some(Selector::Latest) => return Ok(Target::Any),
        Some(Selector::File(path)) => {
            let shown = sanitize::line(&path.display().to_string());
            return Err(CommandError::usage(format!("`{shown}` is a file: it does not grow"))
                .hint(ctx.typed(&format!("inspect {shown}"))));
        }
        Some(Selector::Named { text, back }) => (text, back),
    };
    let Some(reader) = reader else { return Ok(Target::Name(text)) };
    if back > 0 {
        let typed = format!("{text}~{back}");
        return Ok(Target::Id(select::stored(ctx, reader, Some(&typed))?.session.id));
    }
    let letters = !text.is_empty() && text.bytes().all(|byte| ID_LETTERS.contains(&byte));
    if letters && reader.count_by_name(&text)? == 0 && !reader.by_prefix(&text)?.is_empty() {
        return Ok(Target::Id(select::stored(ctx, reader, Some(&text))?.session.id));
    }
    Ok(Target::Name(text))
}

/// Returns the session to follow next: one that is newer than `after`, the oldest of them; at first also the newest
/// one that is being recorded.
fn next(reader: &Reader, target: &Target, after: i64, first: bool) -> Result<Option<Stored>, CommandError> {
    if let Target::Id(id) = target {
        return Ok(reader.by_id(id)?);
    }
    let matches = |stored: &Stored| match target {
        Target::Name(name) => stored.session.name.as_ref() == Some(name),
        _ => !stored.imported,
    };
    if first {
        let mut live = Vec::new();
        for id in liveness::locked(reader.path()) {
            live.extend(reader.by_id(&id)?.filter(|stored| matches(stored) && reader.is_live(&stored.session)));
        }
        if let Some(newest) = live.into_iter().max_by_key(|stored| stored.number) {
            return Ok(Some(newest));
        }
    }
    let mut found = None;
    reader.sessions(|stored| {
        if stored.number <= after {
            return ControlFlow::Break(());
        }
        if matches(&stored) && !stored.probe {
            found = Some(stored);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn say_waiting(ctx: &mut Context, target: &Target) {
    let what = match target {
        Target::Name(name) => format!("a recording of {}", sanitize::line(name)),
        Target::Any | Target::Id(_) => "the next recording".into(),
    };
    ctx.ui.say(&format!("waiting for {what} in {}; Ctrl-C ends it", ctx.location.shown()));
}

/// Sleeps until it is time to look again; ends when nobody reads our output any more.
fn pause(ctx: &Context) -> Result<(), CommandError> {
    if ctx.ui.is_abandoned() {
        return Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe).into());
    }
    crate::clock::sleep(EVERY);
    Ok(())
}

/// Prints the messages of one session until its recording has ended.
fn follow(ctx: &mut Context, follower: &mut Follower, stored: &Stored, args: &TailArgs) -> Result<(), CommandError> {
    let filter = Filter { stderr: args.stderr, ..Filter::default() };
    let id = stored.session.id.clone();
    let mut rows = MessageRows::new(filter, ctx.ui.signs(), ctx.ui.width(), 0)
        .more_with(ctx.typed(&format!("inspect {id} --errors")));
    let mut session = stored.session.clone();
    let mut short = String::new();
    let mut next = 0;
    let shown_from = args.lines.map_or(0, |lines| session.frames.saturating_sub(lines));
    loop {
        // Asked before reading: what was written until the lock fell is read below.
        let live = liveness::is_live(&ctx.location.path, &id);
        if let Some(reader) = follower.reader(ctx)?
            && let Some(now) = reader.by_id(&id).or_else(calm)?
        {
            session = now.session.clone();
            if short.is_empty() {
                short = select::short_id(reader, &id)?;
                head(ctx, args, &session, &short, &rows)?;
            }
            let source = reader.source(now)?;
            next = print_new(ctx, args, &source, next, shown_from, &mut rows)?;
            ctx.ui.flush()?;
        }
        if !live {
            break;
        }
        pause(ctx)?;
    }
    if args.jsonl {
        return Ok(());
    }
    let gaps = match follower.reader(ctx)? {
        Some(reader) => match reader.by_id(&id)? {
            Some(now) => reader.source(now)?.gaps()?,
            None => Vec::new(),
        },
        None => Vec::new(),
    };
    let below = rows.findings(&session, &gaps, false);
    if !below.is_empty() {
        ctx.ui.print(&format!("\n{below}"))?;
    }
    ctx.ui.flush()?;
    let why = session.end_reason.as_deref().map(|why| format!(": {}", sanitize::line(why))).unwrap_or_default();
    ctx.ui.say(&format!("\nthe recording of {short} has ended{why}"));
    let next = ctx.typed(&format!("inspect {short}"));
    ctx.ui.next(&next);
    Ok(())
}

/// Turns a store that another process holds into "nothing new": the next look is near.
fn calm(error: StoreError) -> Result<Option<Stored>, StoreError> {
    if error.is_busy() { Ok(None) } else { Err(error) }
}

fn head(
    ctx: &mut Context,
    args: &TailArgs,
    session: &Session,
    short: &str,
    rows: &MessageRows,
) -> Result<(), CommandError> {
    if args.jsonl {
        return Ok(());
    }
    let title = sanitize::cut(&title(session, short), ctx.ui.width(), ctx.ui.signs().cut);
    ctx.ui.line(&paint(BOLD, &title))?;
    ctx.ui.print("\n")?;
    ctx.ui.print(&rows.header())
}

/// Prints the messages from the frame `next` on; returns the frame to go on with.
fn print_new(
    ctx: &mut Context,
    args: &TailArgs,
    source: &dyn SessionSource,
    next: u64,
    shown_from: u64,
    rows: &mut MessageRows,
) -> Result<u64, CommandError> {
    let mut upto = next;
    let id = source.session().id.clone();
    pages_from(source, next, |page, bytes| {
        upto = page.last().map_or(upto, |message| message.place.seq + 1);
        // What is not shown is still gone through: an answer is told by its request.
        let at = page.partition_point(|message| message.place.seq < shown_from);
        let (passed, shown) = page.split_at(at);
        if !args.jsonl {
            if !passed.is_empty() {
                rows.page(passed, bytes);
            }
            let text = if shown.is_empty() { String::new() } else { rows.page(shown, bytes) };
            ctx.ui.print(&text)?;
            return ctx.ui.flush();
        }
        for message in shown {
            if rows.wants(message, text_of(message, bytes)) {
                json::line(ctx.ui.out(), &Line { session: &id, message: MessageObject::of(message) })?;
            }
        }
        ctx.ui.flush()
    })?;
    Ok(upto)
}
