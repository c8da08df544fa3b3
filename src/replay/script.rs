//! A recording, read for being played: its messages with their texts, and the client's frames.

use crate::session::frame::{Channel, Direction};
use crate::session::message::{Kind, Message, Place};
use crate::session::source::{LOOK_LIMIT, SessionSource, SourceError};
use std::collections::{BTreeMap, HashMap};

/// A recording, read for being played.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The messages, in the order of the session.
    pub messages: Vec<Message>,
    /// The client's frames, by their number.
    pub frames: BTreeMap<u64, Vec<u8>>,
    /// The server's frames, those on stderr among them, by their number; only of a script that [`read_both`] read.
    pub answers: BTreeMap<u64, Vec<u8>>,
    /// When the last message came, ns since the session began.
    pub last_ns: i64,
    texts: HashMap<Place, Box<[u8]>>,
}

impl Script {
    /// Returns the text of a message; empty if it was not kept.
    #[must_use]
    pub fn text(&self, place: Place) -> &[u8] {
        self.texts.get(&place).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Returns the message at a place.
    #[must_use]
    pub fn message(&self, place: Place) -> Option<&Message> {
        self.messages.binary_search_by(|message| message.place.cmp(&place)).ok().and_then(|at| self.messages.get(at))
    }
}

/// Reads a recording for being its client.
///
/// # Errors
/// What kept it from being read; a message of the client that is too long to be sent again.
pub fn read(source: &dyn SessionSource) -> Result<Script, SourceError> {
    let script = read_frames(source, false)?;
    whole(&script, Direction::ToServer, &script.frames)?;
    Ok(script)
}

/// Reads a recording for being its server: with the server's frames.
///
/// # Errors
/// What kept it from being read; a message of the server that is too long to be sent again.
pub fn read_both(source: &dyn SessionSource) -> Result<Script, SourceError> {
    let script = read_frames(source, true)?;
    whole(&script, Direction::ToClient, &script.answers)?;
    Ok(script)
}

fn whole(script: &Script, sender: Direction, frames: &BTreeMap<u64, Vec<u8>>) -> Result<(), SourceError> {
    let mut said = script.messages.iter().filter(|message| message.direction == sender);
    match said.find(|message| !frames.contains_key(&message.place.seq)) {
        Some(message) => Err(SourceError(format!("message {} is too long to be sent again", message.place))),
        None => Ok(()),
    }
}

fn read_frames(source: &dyn SessionSource, with_answers: bool) -> Result<Script, SourceError> {
    let mut script = Script { messages: source.all_messages()?, ..Script::default() };
    script.messages.sort_by_key(|message| message.place);
    script.last_ns = script.messages.last().map_or(0, |message| message.received_ns);
    let mut whole = Vec::new();
    let Script { messages, frames, answers, texts, .. } = &mut script;
    source.frames(0..u64::MAX, LOOK_LIMIT, &mut |info, part, bytes| {
        if info.channel == Channel::Stderr && !with_answers {
            return Ok(());
        }
        if part == 0 {
            whole.clear();
        }
        whole.extend_from_slice(bytes);
        if part + 1 < info.parts {
            return Ok(());
        }
        let first = messages.partition_point(|message| message.place.seq < info.seq);
        for message in messages.iter().skip(first).take_while(|message| message.place.seq == info.seq) {
            if matches!(message.kind, Kind::Blank | Kind::Stray | Kind::Invalid) || message.first_seq.is_some() {
                continue;
            }
            let from = usize::try_from(message.offset).unwrap_or(usize::MAX);
            let to = from.saturating_add(usize::try_from(message.length).unwrap_or(usize::MAX)).min(whole.len());
            texts.insert(message.place, whole.get(from..to).unwrap_or_default().into());
        }
        match info.direction {
            Direction::ToServer => drop(frames.insert(info.seq, whole.clone())),
            Direction::ToClient if with_answers => drop(answers.insert(info.seq, whole.clone())),
            Direction::ToClient => {}
        }
        Ok(())
    })?;
    Ok(script)
}
