//! `inspect --http`: the HTTP exchanges of a session, and the envelopes of one exchange of messages.

use super::Context;
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::json;
use crate::output::render::http::{self, Listed};
use crate::output::styles::{BOLD, paint};
use crate::output::{render::messages::title, sanitize};
use crate::protocol::sse::Event;
use crate::session::frame::{Channel, Direction};
use crate::session::http::HttpExchange;
use crate::session::message::{Kind, Message};
use crate::session::source::{SessionSource, SourceError};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

#[derive(Serialize)]
struct Report<'a> {
    session: json::SessionObject<'a>,
    exchanges: Vec<Object<'a>>,
}

#[derive(Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    exchange: &'a HttpExchange,
    /// The time to the head of the answer.
    first_byte_ns: Option<i64>,
    says: Option<&'a str>,
    first_seq: Option<u64>,
    last_seq: Option<u64>,
    events: u64,
}

/// Lists the exchanges of a session.
///
/// # Errors
/// The session cannot be read, or was not recorded over HTTP.
pub(super) fn list(
    ctx: &mut Context,
    source: &dyn SessionSource,
    id: &str,
    typed: &str,
    for_machines: bool,
) -> Result<Code, CommandError> {
    let session = source.session();
    if session.transport != "http" {
        return Err(CommandError::failed(format!(
            "this session was recorded on {}, not over HTTP",
            sanitize::line(&session.transport)
        ))
        .hint(ctx.typed(&format!("inspect {typed}"))));
    }
    let all = listed(source)?;
    if for_machines {
        let exchanges = all
            .iter()
            .map(|listed| Object {
                exchange: &listed.exchange,
                first_byte_ns: listed.exchange.answered_ns.map(|at| at - listed.exchange.started_ns),
                says: listed.says.as_deref(),
                first_seq: listed.frames.map(|(first, _)| first),
                last_seq: listed.frames.map(|(_, last)| last),
                events: listed.events,
            })
            .collect();
        let session = json::SessionObject::of(session, source.is_live(), false, false);
        json::report(ctx.ui.out(), "http", Report { session, exchanges })?;
        return Ok(Code::Done);
    }
    let (width, signs) = (ctx.ui.width(), ctx.ui.signs());
    ctx.ui.line(&paint(BOLD, &sanitize::cut(&title(session, id), width, signs.cut)))?;
    if all.is_empty() {
        ctx.ui.line("\nnothing was asked")?;
        return Ok(Code::Done);
    }
    ctx.ui.print(&format!("\n{}", http::table(&all, width, signs)))?;
    if let Some((first, _)) = all.iter().find_map(|listed| listed.frames) {
        let next = ctx.typed(&format!("inspect {typed} {first}"));
        ctx.ui.next(&next);
    }
    Ok(Code::Done)
}

/// Returns the exchanges with what their frames say.
fn listed(source: &dyn SessionSource) -> Result<Vec<Listed>, CommandError> {
    let mut all: BTreeMap<u64, Listed> = source
        .exchanges()?
        .into_iter()
        .map(|exchange| (exchange.n, Listed { exchange, says: None, frames: None, events: 0 }))
        .collect();
    let mut exchange_of: HashMap<u64, u64> = HashMap::new();
    source.frames(0..u64::MAX, u64::MAX, &mut |info, part, _| {
        let Some(listed) = info.http.and_then(|number| all.get_mut(&number)).filter(|_| part == 0) else {
            return Ok(());
        };
        let first = listed.frames.map_or(info.seq, |(first, _)| first);
        listed.frames = Some((first, info.seq));
        listed.events += u64::from(info.channel == Channel::Sse);
        if info.direction == Direction::ToServer {
            exchange_of.insert(info.seq, listed.exchange.n);
        }
        Ok(())
    })?;
    source.messages(0..u64::MAX, &mut |message| {
        let listed = exchange_of.get(&message.place.seq).and_then(|number| all.get_mut(number));
        if let Some(listed) = listed.filter(|listed| listed.says.is_none()) {
            listed.says = said(&message);
        }
        ControlFlow::Continue(())
    })?;
    Ok(all.into_values().collect())
}

fn said(message: &Message) -> Option<String> {
    match message.kind {
        Kind::Request | Kind::Notification => {
            let method = message.method.clone()?;
            Some(message.name.as_ref().map_or_else(|| method.clone(), |name| format!("{method} {name}")))
        }
        Kind::Result | Kind::Error => Some(format!("answer to {}", message.method.as_deref().unwrap_or("?"))),
        Kind::Blank | Kind::Stray | Kind::Invalid => None,
    }
}

/// Returns the envelopes that messages travelled in; empty for a session that was not recorded over HTTP.
///
/// # Errors
/// The session cannot be read.
pub(super) fn envelopes(
    ctx: &Context,
    source: &dyn SessionSource,
    messages: &[Message],
) -> Result<String, CommandError> {
    if source.session().transport != "http" {
        return Ok(String::new());
    }
    let mut events: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
    for message in messages {
        let seq = message.place.seq;
        source.frames(seq..seq + 1, u64::MAX, &mut |info, part, bytes| -> Result<(), SourceError> {
            let Some(number) = info.http.filter(|_| part == 0) else { return Ok(()) };
            let events = events.entry(number).or_default();
            let id = if info.channel == Channel::Sse { Event::parse(bytes).id } else { None };
            if let Some(id) = id.filter(|id| !id.is_empty()) {
                events.push((seq, String::from_utf8_lossy(id).into_owned()));
            }
            Ok(())
        })?;
    }
    let mut text = String::new();
    for exchange in source.exchanges()? {
        if let Some(events) = events.get(&exchange.n) {
            text.push('\n');
            text.push_str(&http::envelope(&exchange, events, ctx.ui.width(), ctx.ui.signs()));
        }
    }
    Ok(text)
}
