//! What goes out for a cue: its bytes with what the live client made, spoiled where a person wants that.

use super::super::{fault, rewrite};
use super::{Emission, Pending, Question, Stage};
use crate::replay::edit::{self, Edit};
use crate::session::message::{Kind, Place};
use crate::session::session::ExitStatus;

impl Stage<'_> {
    /// Returns what is said for a cue; nothing for progress that nobody wants.
    pub(super) fn emit(&mut self, pending: &Pending, now: i64) -> Option<Emission> {
        let cue = self.cue(pending.score, pending.cue)?;
        let plain = Emission { channel: cue.channel, bytes: Vec::new(), end: cue.exit, fault: None };
        if cue.parts.is_empty() {
            return Some(Emission { bytes: cue.bytes.clone(), ..plain });
        }
        let parts: Vec<_> =
            cue.parts.iter().enumerate().filter(|(at, _)| pending.only.is_none_or(|only| only == *at)).collect();
        let mut edits = Vec::new();
        let mut wanted = false;
        for (_, part) in &parts {
            let take = pending.takes.iter().find(|take| self.place_of(**take) == part.owner);
            let take = take.and_then(|take| self.takes.get(*take));
            let request = take.and_then(|take| Some((self.request(take.spot)?, &take.made)));
            let Some(found) = rewrite::edits(rewrite::text(cue, part), part, request, &self.values) else { continue };
            wanted = true;
            let moved = found.into_iter();
            edits.extend(moved.map(|edit| Edit { from: edit.from + part.offset, to: edit.to + part.offset, ..edit }));
        }
        if !wanted {
            return None;
        }
        let mut bytes = match (pending.only, parts.first()) {
            (Some(_), Some((_, part))) => {
                let own = edits.into_iter().map(|edit| Edit {
                    from: edit.from - part.offset,
                    to: edit.to - part.offset,
                    ..edit
                });
                let mut bytes = edit::apply(rewrite::text(cue, part), own.collect());
                bytes.push(b'\n');
                bytes
            }
            _ => edit::apply(&cue.bytes, edits),
        };
        for (_, part) in &parts {
            if part.kind == Kind::Request {
                bytes = self.ask(pending.score, part.place, part.id.as_deref().unwrap_or("null"), bytes, now);
            }
        }
        if parts.iter().any(|(_, part)| part.method == "notifications/progress") {
            self.progress_ns = now;
        }
        let answers = parts.iter().any(|(_, part)| part.kind.is_answer());
        let hit = pending.takes.iter().filter(|_| answers).find_map(|take| {
            let take = self.takes.get(*take)?;
            Some((take.fault.clone()?, self.request(take.spot)?, take.made.id.clone()))
        });
        Some(match hit {
            Some((fault, request, id)) => {
                let fault_told = Some(fault.told(&request.method, request.name.as_deref()));
                self.spoil(fault.kind, &id, Emission { bytes, fault: fault_told, ..plain })
            }
            None => Emission { bytes, ..plain },
        })
    }

    /// Notes a question that goes out; one whose id is still in use gets another.
    fn ask(&mut self, score: usize, place: Place, id: &str, text: Vec<u8>, now: i64) -> Vec<u8> {
        let (id, text) = if self.has_asked(id.as_bytes()) {
            self.renamed += 1;
            let id = format!("\"mcp-tap-{}\"", self.renamed).into_bytes();
            let text = rewrite::with_id(&text, &id);
            (id, text)
        } else {
            (id.as_bytes().to_vec(), text)
        };
        self.questions.push(Question { score, place, id, since_ns: now, answered: false, expired: false });
        text
    }

    /// Does to an answer what a person asked for.
    fn spoil(&mut self, kind: fault::Kind, id: &[u8], answer: Emission) -> Emission {
        let ended = |code| Some(ExitStatus::Code(code));
        match kind {
            fault::Kind::Delay(_) => answer,
            fault::Kind::Drop => Emission { bytes: Vec::new(), ..answer },
            fault::Kind::Error(code) => {
                let error = format!("\"error\":{{\"code\":{code},\"message\":\"a fault that mcp-tap was asked for\"}}");
                let bytes = [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",", error.as_bytes(), b"}\n"].concat();
                Emission { bytes, ..answer }
            }
            fault::Kind::Garbage => {
                let mut bytes = vec![b'#'];
                bytes.extend((0..40).map(|_| self.noise.u8(b' '..b'~')));
                bytes.push(b'\n');
                Emission { bytes, ..answer }
            }
            fault::Kind::Cut => {
                let half = answer.bytes.len() / 2;
                Emission { bytes: answer.bytes.get(..half).unwrap_or_default().to_vec(), end: ended(1), ..answer }
            }
            fault::Kind::Crash(code) => Emission { bytes: Vec::new(), end: ended(i32::from(code)), ..answer },
        }
    }
}
