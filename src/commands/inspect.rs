//! `inspect`: the messages of a session, or one exchange with all that belongs to it.

use super::messages::{Bytes, bytes_of, gather_name, pages, say_names};
use super::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::render::exchange::{self, Look};
use crate::output::render::messages::{Filter, MessageRows, is_bad, text_of, title};
use crate::output::render::pretty::Limit;
use crate::output::styles::{BOLD, paint};
use crate::output::{json, sanitize, ui};
use crate::session::frame::payload;
use crate::session::message::{Kind, Message, Place};
use crate::session::source::{SessionSource, SourceError};
use serde::Serialize;
use serde_json::value::RawValue;

/// Show the messages of a session, or one exchange
///
/// Without arguments: the newest session. A bare number is a message of the newest session; any member of an exchange
/// opens all of it.
#[derive(Debug, clap::Args)]
pub struct InspectArgs {
    /// Session (name, id, `NAME~1`, file; default: the newest) and message number
    #[arg(value_name = "[SESSION] [SEQ]", num_args = 0..=2, add = clap_complete::engine::ArgValueCompleter::new(super::complete::sessions))]
    pub target: Vec<String>,
    /// Show exchanges of this tool, prompt or resource only
    #[arg(long, value_name = "NAME", add = clap_complete::engine::ArgValueCompleter::new(super::complete::names))]
    pub tool: Option<String>,
    /// Show what failed or is odd only
    #[arg(long)]
    pub errors: bool,
    /// Show exchanges that took so long at least, such as 200ms or 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub slow: Option<i64>,
    /// Show messages that contain this text only
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Show the server's stderr too
    #[arg(long)]
    pub stderr: bool,
    /// Show payloads in full
    #[arg(long)]
    pub full: bool,
    /// List the HTTP exchanges instead, as the network panel of a browser does
    #[arg(long, conflicts_with_all = ["tool", "errors", "slow", "grep", "stderr", "full", "raw", "jsonl"])]
    pub http: bool,
    /// Print the exact bytes of one message and nothing else
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    pub raw: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "jsonl")]
    pub json: bool,
    /// Print one JSON object a message
    #[arg(long)]
    pub jsonl: bool,
}

/// Reads a time such as `200ms`, `1.5s`, `2m`; a bare number is milliseconds.
fn parse_time(text: &str) -> Result<i64, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "" | "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        _ => return Err("a time is a number with ns, us, ms, s or m".into()),
    };
    let number: f64 = number.parse().map_err(|_| "a time is a number with ns, us, ms, s or m".to_owned())?;
    Ok((number * factor) as i64)
}

/// Runs the command.
///
/// # Errors
/// There is no such session or message, or it cannot be read.
pub fn run(ctx: &mut Context, args: &InspectArgs) -> Result<Code, CommandError> {
    let (session, place) = target(ctx, &args.target)?;
    if let (Some(place), Some((flag, typed))) = (place, filter_typed(args)) {
        let session = session.map(|session| format!("{session} ")).unwrap_or_default();
        return Err(CommandError::usage(format!(
            "`{flag}` chooses among the messages of a session, and {place} is one of them"
        ))
        .hint(ctx.typed(&format!("inspect {session}{place}")))
        .hint(ctx.typed(&format!("inspect {session}{typed}"))));
    }
    let reader = ctx.reader()?;
    let found = select::find(ctx, reader.as_ref(), session)?;
    let source = &*found.source;
    match place {
        Some(place) if args.http => Err(CommandError::usage(format!(
            "`--http` lists the exchanges of a session, and {place} is a message of it"
        ))
        .hint(ctx.typed(&format!("inspect {} --http", found.typed)))),
        None if args.http => super::inspect_http::list(ctx, source, &found.id, &found.typed, args.json),
        Some(place) if args.raw => raw(ctx, source, place, &found.typed),
        Some(place) => one(ctx, args, source, place, &found.id, &found.typed),
        None if args.raw => Err(CommandError::usage("`--raw` prints one message and needs its number")
            .hint(ctx.typed(&format!("inspect {} 0 --raw", found.typed)))),
        None => all(ctx, args, source, &found.id, &found.typed),
    }
}

/// Returns the first filter that was typed, by its name and as it would be typed again.
fn filter_typed(args: &InspectArgs) -> Option<(&'static str, String)> {
    let quoted = |text: &str| shlex::try_quote(text).map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned);
    if let Some(tool) = &args.tool {
        return Some(("--tool", format!("--tool {}", quoted(tool))));
    }
    if args.errors {
        return Some(("--errors", "--errors".into()));
    }
    if let Some(ns) = args.slow {
        let time = if ns % 1_000_000_000 == 0 { format!("{}s", ns / 1_000_000_000) } else { format!("{ns}ns") };
        return Some(("--slow", format!("--slow {time}")));
    }
    args.grep.as_ref().map(|text| ("--grep", format!("--grep {}", quoted(text))))
}

/// Tells the session from the message number.
fn target<'w>(ctx: &Context, words: &'w [String]) -> Result<(Option<&'w str>, Option<Place>), CommandError> {
    match words {
        [] => Ok((None, None)),
        [one] => Ok(match parse_place(one) {
            Some(place) => (None, Some(place)),
            None => (Some(one), None),
        }),
        [session, seq, ..] => match parse_place(seq) {
            Some(place) => Ok((Some(session), Some(place))),
            None => Err(CommandError::usage(format!("`{seq}` is not a message number"))
                .hint(ctx.typed(&format!("inspect {session}")))),
        },
    }
}

fn parse_place(text: &str) -> Option<Place> {
    let (seq, index) = text.split_once('.').map_or((text, "0"), |(seq, index)| (seq, index));
    Some(Place { seq: seq.parse().ok()?, index: index.parse().ok()? })
}

fn raw(ctx: &mut Context, source: &dyn SessionSource, place: Place, typed: &str) -> Result<Code, CommandError> {
    let message = find_message(source, place)?;
    // A batch's member is cut out of its frame; anything else is the frame, streamed as it is stored.
    let member = message.as_ref().filter(|message| message.offset > 0 || place.index > 0);
    if let Some(message) = member {
        let bytes = source.bytes(place.seq)?.unwrap_or_default();
        let map = Bytes::from([(place.seq, payload(message.channel, &bytes).into_owned())]);
        ctx.ui.out().write_all(text_of(message, &map))?;
        return Ok(Code::Done);
    }
    let mut failed = None;
    let mut any = false;
    let out = ctx.ui.out();
    source
        .frames(place.seq..place.seq + 1, u64::MAX, &mut |_, _, piece| {
            any = true;
            out.write_all(piece).map_err(|error| {
                let text = error.to_string();
                failed = Some(error);
                SourceError(text)
            })
        })
        .map_err(|error| failed.take().map_or_else(|| error.into(), CommandError::from))?;
    if any { Ok(Code::Done) } else { Err(no_message(ctx, source, place, typed)) }
}

fn find_message(source: &dyn SessionSource, place: Place) -> Result<Option<Message>, CommandError> {
    let mut found = None;
    source.messages(place.seq..place.seq + 1, &mut |message| {
        if message.place == place {
            found = Some(message);
        }
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn no_message(ctx: &Context, source: &dyn SessionSource, place: Place, typed: &str) -> CommandError {
    let frames = source.session().frames;
    let error = CommandError::failed(format!("no message {place} in this session"));
    match frames.checked_sub(1) {
        Some(last) => error.hint(format!("its messages are 0 to {last}: {}", ctx.typed(&format!("inspect {typed}")))),
        None => error.hint("nothing was said in it"),
    }
}

#[derive(Serialize)]
struct ExchangeReport<'a> {
    session: json::SessionObject<'a>,
    messages: Vec<MessageWithPayload<'a>>,
}

#[derive(Serialize)]
struct MessageWithPayload<'a> {
    #[serde(flatten)]
    message: json::MessageObject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

fn one(
    ctx: &mut Context,
    args: &InspectArgs,
    source: &dyn SessionSource,
    place: Place,
    id: &str,
    typed: &str,
) -> Result<Code, CommandError> {
    let messages = around(source, place)?;
    let members = exchange::places(&messages, place);
    if members.is_empty() {
        return Err(no_message(ctx, source, place, typed));
    }
    let owned: Vec<Message> = members.iter().map(|message| (*message).clone()).collect();
    let mut bytes = Bytes::new();
    for message in &owned {
        bytes.extend(bytes_of(source, std::slice::from_ref(message))?);
    }
    let live = source.is_live();
    if args.json {
        let messages = owned.iter().map(|message| with_payload(message, &bytes)).collect();
        let session = json::SessionObject::of(source.session(), live, false, false);
        json::report(ctx.ui.out(), "exchange", ExchangeReport { session, messages })?;
        return Ok(Code::Done);
    }
    if args.jsonl {
        for message in &owned {
            json::line(ctx.ui.out(), &with_payload(message, &bytes))?;
        }
        return Ok(Code::Done);
    }
    let look = Look {
        width: ctx.ui.width(),
        signs: ctx.ui.signs(),
        limit: if args.full { Limit::full() } else { Limit::short() },
    };
    let name = source.session().name.as_deref().map(|name| format!("{}  ", sanitize::line(name))).unwrap_or_default();
    let title = format!("{name}{id}");
    let text = match owned.as_slice() {
        [alone] if alone.kind != Kind::Request => exchange::alone(&title, alone, &bytes, look),
        _ => exchange::render(&title, &members, &bytes, look),
    };
    ctx.ui.print(&text)?;
    let envelopes = super::inspect_http::envelopes(ctx, source, &owned)?;
    ctx.ui.print(&envelopes)?;
    let raw = ctx.typed(&format!("inspect {typed} {place} --raw"));
    ctx.ui.next(&format!("{raw}    the exact bytes"));
    Ok(Code::Done)
}

fn with_payload<'a>(message: &'a Message, bytes: &Bytes) -> MessageWithPayload<'a> {
    let text = text_of(message, bytes);
    // Only what is JSON to everybody goes in as JSON; anything else as text.
    let payload = std::str::from_utf8(text).ok().and_then(|text| serde_json::from_str::<Box<RawValue>>(text).ok());
    let shown = payload.is_none().then(|| String::from_utf8_lossy(text).into_owned());
    MessageWithPayload { message: json::MessageObject::of(message), payload, text: shown }
}

/// Returns the messages that may belong to the exchange of the one at `place`.
fn around(source: &dyn SessionSource, place: Place) -> Result<Vec<Message>, CommandError> {
    let Some(message) = find_message(source, place)? else { return Ok(Vec::new()) };
    let mut first = crate::session::exchange::request_of(&message).unwrap_or(place).min(place);
    if let Some(owner) = find_message(source, first)?.and_then(|message| crate::session::exchange::request_of(&message))
    {
        first = first.min(owner);
    }
    // Whatever belongs to a request stands after it: up to its answer, or to the end.
    let last =
        find_message(source, first)?.and_then(|request| request.answer).map_or(u64::MAX, |answer| answer.place.seq + 1);
    let mut all = Vec::new();
    source.messages(first.seq..last.max(place.seq.saturating_add(1)), &mut |message| {
        all.push(message);
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(all)
}

fn filter(args: &InspectArgs) -> Filter {
    Filter {
        name: args.tool.clone(),
        errors: args.errors,
        slow_ns: args.slow,
        grep: args.grep.as_deref().map(crate::session::needle::spellings),
        stderr: args.stderr,
        // People see lines with something on them; machines see every line.
        blank: args.json || args.jsonl,
    }
}

fn all(
    ctx: &mut Context,
    args: &InspectArgs,
    source: &dyn SessionSource,
    id: &str,
    typed: &str,
) -> Result<Code, CommandError> {
    let mut rows = MessageRows::new(filter(args), ctx.ui.signs(), ctx.ui.width(), source.session().frames)
        .more_with(ctx.typed(&format!("inspect {typed} --errors")));
    let session = source.session();
    let live = source.is_live();
    if args.json || args.jsonl {
        return for_machines(ctx, args, source, rows);
    }
    ctx.ui.line(&paint(BOLD, &sanitize::cut(&title(session, id), ctx.ui.width(), ctx.ui.signs().cut)))?;
    ctx.ui.print("\n")?;
    // A table without rows has no header either.
    let mut header = Some(rows.header());
    let mut names: Vec<String> = Vec::new();
    let mut worst: Option<(i64, Place)> = None;
    let mut first_bad = None;
    pages(source, |page, bytes| {
        for message in page {
            if args.tool.is_some() {
                gather_name(message, &mut names);
            }
            if first_bad.is_none() && is_bad(message) {
                first_bad = Some(message.place);
            }
            if let Some(took) = message.peer_ns().filter(|took| worst.is_none_or(|(most, _)| *took > most)) {
                worst = Some((took, message.place));
            }
        }
        let text = rows.page(page, bytes);
        if let Some(header) = header.take_if(|_| !text.is_empty()) {
            ctx.ui.print(&header)?;
        }
        ctx.ui.print(&text)?;
        ctx.ui.flush()
    })?;
    let gaps = source.gaps()?;
    let below = rows.findings(session, &gaps, live);
    if rows.shown() == 0 {
        ctx.ui.line(if rows_empty(session) { "nothing was said" } else { "nothing matches" })?;
    }
    if !below.is_empty() {
        ctx.ui.print("\n")?;
        ctx.ui.print(&below)?;
    }
    if let Some(tool) = args.tool.as_ref().filter(|tool| rows.shown() == 0 && !names.contains(tool)) {
        say_names(ctx, tool, &names, 1);
        return Ok(Code::Done);
    }
    if let Some(place) = first_bad.or(worst.map(|(_, place)| place)) {
        let next = ctx.typed(&format!("inspect {typed} {place}"));
        ctx.ui.next(&next);
    }
    Ok(Code::Done)
}

fn rows_empty(session: &crate::session::session::Session) -> bool {
    session.frames == 0
}

fn for_machines(
    ctx: &mut Context,
    args: &InspectArgs,
    source: &dyn SessionSource,
    mut rows: MessageRows,
) -> Result<Code, CommandError> {
    let out: &mut ui::Ui = &mut ctx.ui;
    // One object, written as it is read: a long session must not be held in memory.
    if args.json {
        let session = json::SessionObject::of(source.session(), source.is_live(), false, false);
        let head = json::text(&session)?;
        out.data(&format!(
            "{{\"mcp_tap_report\":{},\"report\":\"messages\",\"session\":{head},\"gaps\":{},\"messages\":[",
            json::REPORT,
            serde_json::to_string(&source.gaps()?)?
        ))?;
    }
    let mut first = true;
    pages(source, |page, bytes| {
        for message in page {
            if !rows.wants(message, text_of(message, bytes)) {
                continue;
            }
            if args.json {
                out.data(if first { "\n" } else { ",\n" })?;
                first = false;
                out.data(&json::text(&json::MessageObject::of(message))?)?;
            } else {
                json::line(out.out(), &json::MessageObject::of(message))?;
            }
        }
        out.flush()
    })?;
    if args.json {
        out.data("\n]}\n")?;
    }
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(parse_time("200ms"), Ok(200_000_000));
        assert_eq!(parse_time("1.5s"), Ok(1_500_000_000));
        assert_eq!(parse_time("2m"), Ok(120_000_000_000));
        assert_eq!(parse_time("40"), Ok(40_000_000));
        assert!(parse_time("fast").is_err());
        assert!(parse_time("3h").is_err());
    }
}
