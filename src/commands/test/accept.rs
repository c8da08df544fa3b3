//! Takes what a server answers now into a session file: only the frames that changed, the others byte for byte.

use super::one::{self, Playable, Rules};
use crate::analysis::align::align;
use crate::analysis::exchanges::Exchange;
use crate::analysis::report::{Change, ChangeKind, DiffReport, Level};
use crate::commands::judge::{Judged, judge};
use crate::protocol::json::{Tree, leaves};
use crate::replay::bind::{Inside, Resolved, content, resolve};
use crate::replay::edit::{self, Edit, apply};
use crate::replay::script;
use crate::session::frame::{Channel, Direction};
use crate::session::message::Place;
use crate::session::session::Session;
use crate::session::source::{SessionSource, SourceError};
use crate::session_file::encode;
use std::collections::{BTreeMap, HashSet};

/// The shortest value that is looked for anywhere in a message, in bytes.
const LONG: usize = 8;

/// What is accepted as one: an exchange, a list, or the greeting.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    /// The exchange whose request stands there in the recording.
    Exchange(Place),
    /// One that the recording does not have.
    New(Place),
    /// What a list says.
    List(&'static str),
    /// Who the server is, and what it can do.
    Greeting,
}

/// How a file was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// So many frames took another answer.
    Frames(usize, Vec<u8>),
    /// It took the new recording as a whole, since the exchanges themselves are others.
    Whole(Vec<u8>),
}

/// Returns what a change belongs to; `None` for what never needs to be accepted.
#[must_use]
pub(crate) fn unit(change: &Change, report: &DiffReport) -> Option<Unit> {
    if change.level == Level::Soft {
        return None;
    }
    if let Some(pair) = change.pair.and_then(|at| report.pairs.get(at)) {
        return match (&pair.a, &pair.b) {
            (Some(a), _) => Some(Unit::Exchange(a.place)),
            (None, Some(b)) => Some(Unit::New(b.place)),
            (None, None) => None,
        };
    }
    Some(match change.item.as_ref().map(|item| item.kind) {
        Some("tool") => Unit::List("tools/list"),
        Some("prompt") => Unit::List("prompts/list"),
        Some("resource") => Unit::List("resources/list"),
        Some("template") => Unit::List("resources/templates/list"),
        _ => Unit::Greeting,
    })
}

/// Returns what changed, in the order of the report.
#[must_use]
pub(crate) fn units(report: &DiffReport) -> Vec<Unit> {
    let mut units = Vec::new();
    for unit in report.changes.iter().filter_map(|change| unit(change, report)) {
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    units
}

/// Returns the file with the answers of `made` where they are wanted.
///
/// # Errors
/// A sentence: why it cannot be done.
pub(crate) fn rewrite(
    file: &Playable,
    made: &dyn SessionSource,
    judged: &Judged,
    rules: &Rules,
    wanted: &HashSet<Unit>,
) -> Result<Rewritten, String> {
    let read = |error: SourceError| error.to_string();
    if let Some((count, data)) = splice(file, made, judged, wanted).map_err(read)? {
        // What was written must be what the server says, or the exchanges do not correspond one to one.
        let again = one::of_data(data.clone(), &Default::default()).map_err(|error| error.message)?;
        let report = judged.report.clone();
        let again = judge(&again.source, made, &again.script, &file.plan, report, rules.options, false)
            .map_err(|error| error.message)?;
        if !units(&again.differences).iter().any(|unit| wanted.contains(unit)) {
            return Ok(Rewritten::Frames(count, data));
        }
    }
    let all = units(&judged.differences).iter().all(|unit| wanted.contains(unit));
    if !all {
        return Err("the exchanges themselves are others now: it can only be accepted as a whole".into());
    }
    if !judged.report.skipped.is_empty() {
        return Err("calls that were not sent would be lost: run it without --only, --skip and --read-only".into());
    }
    whole(file, made).map(Rewritten::Whole).map_err(read)
}

/// Puts answers in the place of answers; `None` where the exchanges are others.
fn splice(
    file: &Playable,
    made: &dyn SessionSource,
    judged: &Judged,
    wanted: &HashSet<Unit>,
) -> Result<Option<(usize, Vec<u8>)>, SourceError> {
    let live = script::read(made)?;
    let pairs = align(&judged.a.exchanges, &judged.b.exchanges);
    let mut values = Values::default();
    let mut replaced: Vec<(&Exchange, Place, Place)> = Vec::new();
    for pair in pairs {
        let ours = pair.a.and_then(|at| judged.a.exchanges.get(at));
        let theirs = pair.b.and_then(|at| judged.b.exchanges.get(at));
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            let place = ours.or(theirs).map(|exchange| exchange.place);
            let unit = if ours.is_some() { place.map(Unit::Exchange) } else { place.map(Unit::New) };
            if unit.is_some_and(|unit| wanted.contains(&unit)) {
                return Ok(None);
            }
            continue;
        };
        if let (Some(a), Some(b)) = (ours.answer, theirs.answer) {
            values.learn(file, ours.place, file.script.text(a), live.text(b));
        }
        let mut units = vec![Unit::Exchange(ours.place)];
        if ours.is_greeting() {
            units.push(Unit::Greeting);
        }
        let lists = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
        units.extend(lists.into_iter().filter(|method| ours.is_list() && *method == ours.method).map(Unit::List));
        if !units.iter().any(|unit| wanted.contains(unit)) {
            continue;
        }
        let places = match (ours.direction, ours.answer, theirs.answer) {
            (Direction::ToClient, ..) => (ours.place, theirs.place),
            (Direction::ToServer, Some(a), Some(b)) => (a, b),
            _ => return Ok(None),
        };
        if !ours.pages.is_empty() || !theirs.pages.is_empty() {
            return Ok(None);
        }
        replaced.push((ours, places.0, places.1));
    }
    let mut edits: BTreeMap<u64, Vec<Edit>> = BTreeMap::new();
    let mut count = 0;
    for (exchange, a, b) in replaced {
        let (old, new) = (file.script.text(a), live.text(b));
        let Some(message) = file.script.message(a).filter(|message| message.first_seq.is_none()) else {
            return Ok(None);
        };
        let Some(text) = message_in_place(judged, &values, exchange, old, new) else { return Ok(None) };
        if text != old {
            count += 1;
            let from = usize::try_from(message.offset).unwrap_or(usize::MAX);
            edits.entry(a.seq).or_default().push(Edit { from, to: from.saturating_add(old.len()), with: text });
        }
    }
    let mut frames = BTreeMap::new();
    for (seq, edits) in edits {
        let Some(bytes) = file.source.bytes(seq)? else { return Ok(None) };
        frames.insert(seq, apply(&bytes, edits));
    }
    let Some(data) = file.source.with_frames(&frames)? else { return Ok(None) };
    let recorded = file.source.session();
    let grown: i64 = frames.iter().try_fold(0_i64, |sum, (seq, bytes)| {
        let old = file.source.bytes(*seq)?.map_or(0, |bytes| bytes.len());
        Ok::<i64, SourceError>(sum + bytes.len() as i64 - old as i64)
    })?;
    let greeted = wanted.contains(&Unit::Greeting);
    let made = made.session();
    let session = Session {
        bytes: recorded.bytes.saturating_add_signed(grown),
        server: if greeted { made.server.clone() } else { recorded.server.clone() },
        revisions: if greeted { made.revisions.clone() } else { recorded.revisions.clone() },
        ..recorded.clone()
    };
    Ok(with_header(&data, recorded, &session).map(|data| (count, data)))
}

/// Values that this server made and the client of the recording sends back, with the recorded ones.
#[derive(Default)]
struct Values {
    anywhere: Vec<(Vec<u8>, Vec<u8>)>,
    at: Vec<(Place, String, Vec<u8>)>,
}

impl Values {
    fn learn(&mut self, file: &Playable, request: Place, recorded: &[u8], live: &[u8]) {
        let members = file.plan.steps.iter().flat_map(|step| &step.members);
        for binding in members.flat_map(|member| &member.bindings).filter(|one| one.source.request == request) {
            let Resolved::New(new) = resolve(binding, recorded, live) else { continue };
            let value = |raw: &[u8]| Tree::parse(raw).ok().and_then(|tree| content(tree.root()));
            let (Some(new), Some(old)) = (value(&new), value(&binding.recorded)) else { continue };
            if new.len() >= LONG {
                self.anywhere.push((new, old));
            } else if binding.source.inside == Inside::Whole {
                self.at.push((request, binding.source.pointer.clone(), binding.recorded.clone()));
            }
        }
    }

    fn put_back(&self, request: Place, text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        for (new, old) in &self.anywhere {
            let places: Vec<usize> = memchr::memmem::find_iter(&text, new).collect();
            let edits = places.into_iter().map(|from| Edit { from, to: from + new.len(), with: old.clone() });
            text = apply(&text, edits.collect());
        }
        for (_, pointer, old) in self.at.iter().filter(|(place, ..)| *place == request) {
            if let Ok(edit) = edit::set(&text, &[], pointer, old) {
                text = apply(&text, vec![edit]);
            }
        }
        text
    }
}

/// Returns a message of this server as it would stand in the recording: with its id, and with the values that a client
/// sends back or that differ by nature as they were.
fn message_in_place(judged: &Judged, values: &Values, exchange: &Exchange, old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let text = values.put_back(exchange.place, new);
    let (before, after) = (Tree::parse(old).ok()?, Tree::parse(&text).ok()?);
    let (id, other) = (before.root().get("id")?, after.root().get("id")?);
    let (from, to) = edit::span(&text, other.raw());
    let text = apply(&text, vec![Edit { from, to, with: id.raw().to_vec() }]);
    let report = &judged.differences;
    let of_this = |change: &&Change| {
        let pair = change.pair.and_then(|at| report.pairs.get(at));
        pair.and_then(|pair| pair.a.as_ref()).is_some_and(|head| head.place == exchange.place)
    };
    let changes: Vec<&Change> = report.changes.iter().filter(of_this).collect();
    // Of a list nothing differs by nature, and what is another outcome is another message.
    if exchange.is_list() || exchange.is_greeting() || changes.iter().any(|change| change.level == Level::Outcome) {
        return Some(text);
    }
    let mut touched: Vec<String> = Vec::new();
    let mut inside: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for change in changes {
        let at = change.pointer.b.clone().or_else(|| change.pointer.a.clone()).unwrap_or_default();
        let at = if at.starts_with("/params") || at.starts_with("/error") { at } else { format!("/result{at}") };
        match &change.inside {
            Some(pointers) => {
                let inner = pointers.b.clone().or_else(|| pointers.a.clone()).unwrap_or_default();
                inside.entry(at).or_default().push(around(inner, change.kind));
            }
            None => touched.push(around(at, change.kind)),
        }
    }
    Some(restored(&text, old, &touched, &inside))
}

/// Returns the place that a change touches: with what came or went, the places of its neighbours are others.
fn around(pointer: String, kind: ChangeKind) -> String {
    match kind {
        ChangeKind::Added | ChangeKind::Removed => {
            pointer.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned())
        }
        _ => pointer,
    }
}

/// Puts back what was recorded wherever nothing was found to differ.
fn restored(new: &[u8], old: &[u8], touched: &[String], inside: &BTreeMap<String, Vec<String>>) -> Vec<u8> {
    let (Ok(before), Ok(after)) = (Tree::parse(old), Tree::parse(new)) else { return new.to_vec() };
    let is_touched = |pointer: &str| {
        touched
            .iter()
            .any(|at| pointer.strip_prefix(at.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    let mut edits = Vec::new();
    for (pointer, node) in leaves(after.root()) {
        let Some(was) = before.root().pointer(&pointer) else { continue };
        if was.raw() == node.raw() || was.kind() != node.kind() || is_touched(&pointer) {
            continue;
        }
        let with = match inside.get(&pointer) {
            None => was.raw().to_vec(),
            Some(touched) => {
                let (Some(was), Some(is)) = (was.as_text(), node.as_text()) else { continue };
                let text = restored(is.as_bytes(), was.as_bytes(), touched, &BTreeMap::new());
                edit::quoted(&String::from_utf8_lossy(&text))
            }
        };
        let (from, to) = edit::span(new, node.raw());
        edits.push(Edit { from, to, with });
    }
    apply(new, edits)
}

/// Returns the new recording under the old one's name.
fn whole(file: &Playable, made: &dyn SessionSource) -> Result<Vec<u8>, SourceError> {
    let (recorded, new) = (file.source.session(), made.session());
    let session = Session {
        id: recorded.id.clone(),
        name: recorded.name.clone(),
        named: recorded.named,
        origin: recorded.origin,
        parent: recorded.parent.clone(),
        launch: recorded.launch.clone(),
        client: recorded.client.clone(),
        redaction: recorded.redaction.clone(),
        ..new.clone()
    };
    let end = memchr::memchr(b'\n', file.source.content()).map_or(file.source.content().len(), |at| at + 1);
    let header = file.source.content().get(..end).unwrap_or_default();
    let mut data = with_header(header, recorded, &session)
        .ok_or_else(|| SourceError("its first line cannot be written anew".into()))?;
    if let Ok(edit) = edit::set(&data, &[], "/gaps", b"[]")
        && !file.source.gaps()?.is_empty()
    {
        data = apply(&data, vec![edit]);
    }
    made.frames(0..u64::MAX, u64::MAX, &mut |info, part, bytes| {
        encode::frame(info, part, bytes, Channel::Stdio, &mut data);
        Ok(())
    })?;
    Ok(data)
}

/// Changes what differs between two sessions in the first line, and nothing else.
fn with_header(data: &[u8], before: &Session, after: &Session) -> Option<Vec<u8>> {
    let as_members = |session: &Session| match serde_json::to_value(session) {
        Ok(serde_json::Value::Object(members)) => members,
        _ => serde_json::Map::new(),
    };
    let (before, after) = (as_members(before), as_members(after));
    let end = memchr::memchr(b'\n', data).unwrap_or(data.len());
    let mut line = data.get(..end)?.to_vec();
    for (key, value) in &after {
        if before.get(key) != Some(value) {
            let edit = edit::set(&line, &["session"], &format!("/{key}"), value.to_string().as_bytes()).ok()?;
            line = apply(&line, vec![edit]);
        }
    }
    line.extend_from_slice(data.get(end..)?);
    Some(line)
}

/// Returns true if a replay ran to its end, so that what it made may be taken over.
#[must_use]
pub(crate) fn is_whole(report: &crate::replay::report::ReplayReport) -> bool {
    report.timed_out.is_empty()
        && report.stopped.is_none()
        && report.unreached.is_empty()
        && report.unanswerable.is_empty()
        && !report.skipped.iter().any(|skipped| skipped.fails)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_change_stays_as_it_was_recorded() {
        let old = br#"{"result":{"at":"10:00","high":7.5,"items":[{"t":1}],"text":"{\"at\":\"10:00\",\"x\":1}"}}"#;
        let new = br#"{"result":{"at":"11:00","high":8.1,"items":[{"t":2}],"text":"{\"at\":\"11:00\",\"x\":2}"}}"#;
        let inside = BTreeMap::from([("/result/text".to_owned(), vec!["/x".to_owned()])]);
        let text = restored(new, old, &["/result/high".to_owned()], &inside);
        let expected = br#"{"result":{"at":"10:00","high":8.1,"items":[{"t":1}],"text":"{\"at\":\"10:00\",\"x\":2}"}}"#;
        assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(expected));
        // Where an item came or went, the others may stand at another place.
        let items = around("/result/items/0".into(), ChangeKind::Added);
        assert_eq!(restored(new, old, &[items], &BTreeMap::new()).windows(5).filter(|w| *w == b"\"t\":2").count(), 1);
    }
}
