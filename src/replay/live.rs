//! What the driver knows of the server it talks to. Pure: it is told what was sent and what came.

use super::plan::Wait;
use crate::protocol::json::{Node, Tree};
use crate::session::correlate::IdKey;
use crate::session::message::Place;
use std::collections::{HashMap, HashSet};

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
    /// Anything else.
    Other,
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
}

impl Live {
    /// Notes that a request is about to be sent.
    pub fn send(&mut self, place: Place, id: &str, sent: Sent) {
        self.open.entry(IdKey::of(id)).or_default().push(place);
        self.sent.insert(place, sent);
    }

    /// Takes a line of the server apart.
    pub fn hear(&mut self, line: &[u8]) -> Vec<Heard> {
        let Ok(tree) = Tree::parse(line) else { return Vec::new() };
        let root = tree.root();
        if root.kind() == crate::protocol::json::Kind::Array {
            return root.children().map(|member| self.message(member)).collect();
        }
        vec![self.message(root)]
    }

    fn message(&mut self, node: Node<'_, '_>) -> Heard {
        let id = node.get("id");
        let method = node.get("method").and_then(Node::as_text).map(std::borrow::Cow::into_owned);
        match (id, method) {
            (Some(id), Some(method)) => Heard::Question {
                id: id.raw().to_vec(),
                method,
                params: node.get("params").map(|params| params.raw().to_vec()).unwrap_or_default(),
            },
            (None, Some(method)) => {
                self.ended_tasks.extend(super::plan::ended_task(Some(&method), node.raw()));
                Heard::Other
            }
            (Some(id), None) => self.answer(&String::from_utf8_lossy(id.raw()), node.raw()),
            (None, None) => Heard::Other,
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
        if let Ok(tree) = Tree::parse(text) {
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
