//! What the driver knows of the server it talks to. Pure: it is told what was sent and what came.

use super::plan::Wait;
use crate::protocol::envelope::{Envelope, scan};
use crate::protocol::interest::Slot;
use crate::protocol::json::{Node, Tree};
use crate::session::classify::{Classified, Classifier};
use crate::session::correlate::IdKey;
use crate::session::frame::{Channel, Direction, FrameInfo};
use crate::session::message::{Kind, Place};
use std::collections::{HashMap, HashSet};

/// The most bytes of a message that is split over lines.
const SPLIT_LIMIT: usize = 1 << 20;

/// A request that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// When, ns since the session began.
    pub at_ns: i64,
    /// What it was.
    pub what: String,
    /// Its text as it was sent.
    pub text: Vec<u8>,
    /// Its answer.
    pub answer: Option<Vec<u8>>,
    /// True if nobody waits for it any more.
    pub let_go: bool,
}

/// A message of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The answer to a request.
    Answer(Place),
    /// A question.
    Question {
        /// Its id, as JSON text.
        id: Vec<u8>,
        /// Its method.
        method: String,
        /// Its parameters, as JSON text.
        params: Vec<u8>,
    },
    /// Any other message.
    Other,
    /// No message.
    Noise,
}

/// The state of the conversation.
#[derive(Debug, Default)]
pub struct Live {
    /// The requests that were sent, by their places in the recording.
    pub sent: HashMap<Place, Sent>,
    /// The ids of questions that were asked, by their numbers in the plan, and when.
    pub asked: HashMap<usize, (Vec<u8>, i64)>,
    /// The questions that were answered.
    pub answered: HashSet<usize>,
    /// Tasks that are over, by their ids.
    pub ended_tasks: HashSet<Vec<u8>>,
    /// Waits that were given up.
    pub given_up: HashSet<Wait>,
    open: HashMap<IdKey, Vec<Place>>,
    classifier: Classifier,
    lines: u64,
    /// The lines so far of a message that is split over lines.
    begun: Vec<u8>,
}

impl Live {
    /// Returns a conversation that has not begun, with room for so many requests.
    #[must_use]
    pub fn with_room_for(requests: usize) -> Self {
        Self { sent: HashMap::with_capacity(requests), open: HashMap::with_capacity(requests), ..Self::default() }
    }

    /// Notes that a request is about to be sent.
    pub fn send(&mut self, place: Place, id: &str, sent: Sent) {
        self.open.entry(IdKey::of(id)).or_default().push(place);
        self.sent.insert(place, sent);
    }

    /// Takes a line of the server apart, as the recorder does.
    pub fn hear(&mut self, line: &[u8]) -> Vec<Heard> {
        let info = FrameInfo {
            seq: self.lines,
            direction: Direction::ToClient,
            channel: Channel::Stdio,
            http: None,
            started_ns: None,
            received_ns: 0,
            forwarded_ns: 0,
            length: line.len() as u64,
            parts: 0,
            redacted: false,
        };
        self.lines += 1;
        let classified = self.classifier.classify(&info, scan(line), Some(line), line.ends_with(b"\n"));
        let mut heard = Vec::new();
        let mut is_fragment = false;
        for Classified { kind, envelope, first_seq, .. } in classified {
            is_fragment |= kind == Kind::Invalid;
            if first_seq.is_some() {
                let whole = [self.begun.as_slice(), line].concat();
                heard.push(self.message(kind, &envelope, &whole));
            } else {
                let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(line.len());
                let text = line.get(offset(envelope.start)..offset(envelope.end)).unwrap_or_default();
                heard.push(self.message(kind, &envelope, text));
            }
        }
        if !is_fragment {
            self.begun.clear();
        } else if self.begun.len() < SPLIT_LIMIT {
            self.begun.extend_from_slice(line);
        }
        heard
    }

    fn message(&mut self, kind: Kind, envelope: &Envelope, text: &[u8]) -> Heard {
        match kind {
            Kind::Request => {
                let tree = Tree::parse(text).ok();
                let params = tree.as_ref().and_then(|tree| Some(tree.root().get("params")?.raw().to_vec()));
                Heard::Question {
                    id: envelope.text(Slot::Id).unwrap_or("null").as_bytes().to_vec(),
                    method: envelope.string(Slot::Method).unwrap_or_default(),
                    params: params.unwrap_or_default(),
                }
            }
            Kind::Notification => {
                self.ended_tasks.extend(super::plan::ended_task(envelope.string(Slot::Method).as_deref(), text));
                Heard::Other
            }
            Kind::Result | Kind::Error => self.answer(envelope.text(Slot::Id).unwrap_or("null"), text),
            Kind::Blank | Kind::Stray | Kind::Invalid => Heard::Noise,
        }
    }

    fn answer(&mut self, id: &str, text: &[u8]) -> Heard {
        let other_type =
            id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).map_or_else(|| format!("\"{id}\""), str::to_owned);
        let keys = [IdKey::of(id), IdKey::of(&other_type)];
        let found = keys.iter().find_map(|key| {
            let places = self.open.get_mut(key)?;
            (!places.is_empty()).then(|| places.remove(0))
        });
        let Some(place) = found else { return Heard::Other };
        if let Some(sent) = self.sent.get_mut(&place) {
            sent.answer = Some(text.to_vec());
        }
        // Nearly no answer tells of a task: a look at the bytes is cheaper than a tree.
        if memchr::memmem::find(text, b"taskId").is_some()
            && let Ok(tree) = Tree::parse(text)
        {
            let result = tree.root().get("result");
            let task = |node: Node<'_, '_>| {
                let status = node.get("status")?.as_text()?;
                let over = matches!(status.as_ref(), "completed" | "failed" | "cancelled");
                over.then(|| node.get("taskId").and_then(super::bind::content))?
            };
            let tasks = result.into_iter().flat_map(|result| {
                let listed = result.get("tasks").into_iter().flat_map(Node::children);
                listed.chain(result.get("task")).chain([result])
            });
            self.ended_tasks.extend(tasks.filter_map(task));
        }
        Heard::Answer(place)
    }

    /// Returns the answer to a request, if it came.
    #[must_use]
    pub fn answer_to(&self, place: Place) -> Option<&[u8]> {
        self.sent.get(&place)?.answer.as_deref()
    }

    /// Returns the task that the answer to a request made.
    #[must_use]
    pub fn task_of(&self, place: Place) -> Option<Vec<u8>> {
        let tree = Tree::parse(self.answer_to(place)?).ok()?;
        let root = tree.root();
        root.pointer("/result/taskId").or_else(|| root.pointer("/result/task/taskId")).and_then(super::bind::content)
    }

    /// Returns true if a wait is over; `concerns` is the call during which a question is asked.
    #[must_use]
    pub fn has(&self, wait: Wait, concerns: Option<Place>) -> bool {
        if self.given_up.contains(&wait) {
            return true;
        }
        let done = |place: Place| self.sent.get(&place).is_none_or(|sent| sent.answer.is_some() || sent.let_go);
        match wait {
            Wait::Answer(place) => done(place),
            Wait::Question(at) => self.asked.contains_key(&at) || concerns.is_some_and(done),
            Wait::Task(place) => match self.task_of(place) {
                Some(task) => self.ended_tasks.contains(&task),
                None => done(place),
            },
        }
    }
}
