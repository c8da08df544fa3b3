//! Reads the messages of a session page by page, with the bytes they stand in.

use super::Context;
use crate::error::CommandError;
use crate::output::render::gist::READ_LIMIT;
use crate::output::sanitize;
use crate::session::frame::{Channel, payload};
use crate::session::message::{Kind, Message};
use crate::session::source::{SessionSource, SourceError};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// How many messages make a page.
const PAGE: usize = 512;

/// How many names are gathered to be told to somebody who asked for another, and how many are told.
const NAMES: usize = 500;
const NAMES_SHOWN: usize = 12;

/// The bytes of frames, by their number.
pub type Bytes = HashMap<u64, Vec<u8>>;

/// Hands on all messages in pages; frames that are too long to be shown have no bytes.
///
/// # Errors
/// What kept them from being read, or what `each` said.
pub fn pages(
    source: &dyn SessionSource,
    each: impl FnMut(&[Message], &Bytes) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    pages_from(source, 0, each)
}

/// Hands on the messages from one frame on, in pages.
///
/// # Errors
/// What kept them from being read, or what `each` said.
pub fn pages_from(
    source: &dyn SessionSource,
    first: u64,
    mut each: impl FnMut(&[Message], &Bytes) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut page = Vec::with_capacity(PAGE);
    let mut failed = None;
    source.messages(first..u64::MAX, &mut |message| {
        page.push(message);
        if page.len() < PAGE {
            return ControlFlow::Continue(());
        }
        let done = bytes_of(source, &page).and_then(|bytes| each(&page, &bytes));
        page.clear();
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    if page.is_empty() { Ok(()) } else { each(&page, &bytes_of(source, &page)?) }
}

/// Returns what the frames say that messages stand in: their bytes, or of an event its data.
///
/// # Errors
/// What kept them from being read.
pub fn bytes_of(source: &dyn SessionSource, messages: &[Message]) -> Result<Bytes, CommandError> {
    let (Some(first), Some(last)) =
        (messages.iter().map(|m| m.place.seq).min(), messages.iter().map(|m| m.place.seq).max())
    else {
        return Ok(Bytes::new());
    };
    let mut bytes = Bytes::new();
    source.frames(first..last + 1, READ_LIMIT, &mut |info, part, piece| -> Result<(), SourceError> {
        bytes.entry(info.seq).or_default().extend_from_slice(piece);
        if info.channel == Channel::Sse && part + 1 >= info.parts {
            let event = bytes.remove(&info.seq).unwrap_or_default();
            bytes.insert(info.seq, payload(info.channel, &event).into_owned());
        }
        Ok(())
    })?;
    Ok(bytes)
}

/// Keeps the name that a request asks for, once.
pub(super) fn gather_name(message: &Message, names: &mut Vec<String>) {
    if let (Some(name), Kind::Request) = (&message.name, message.kind)
        && names.len() < NAMES
        && !names.contains(name)
    {
        names.push(name.clone());
    }
}

/// Says which names there are, where one was asked for that is not among them.
pub(super) fn say_names(ctx: &mut Context, asked: &str, names: &[String], sessions: usize) {
    if names.is_empty() || names.iter().any(|name| name == asked) {
        return;
    }
    let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| sanitize::line(name)).collect();
    let more = if names.len() > NAMES_SHOWN { ", and more" } else { "" };
    let has = if sessions == 1 { "this session has" } else { "these sessions have" };
    ctx.ui.say(&format!("hint: {has} {}{more}", shown.join(", ")));
}
