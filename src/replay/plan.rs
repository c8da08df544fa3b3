//! The plan of a replay: the client's messages in their order, and what each waits for. Pure.
//!
//! A message waits for what had arrived before it was sent in the recording: answers, questions, and the end of tasks;
//! never for another notification. What an earlier step waits for is not repeated. Messages that overlapped overlap
//! again, since nothing between them had arrived.

use super::answer::Question;
use super::bind::{Binding, Made, Why, content};
use super::script::Script;
use crate::protocol::json::Tree;
use crate::protocol::method;
use crate::session::frame::{Channel, Direction};
use crate::session::message::{Kind, Message, Outcome, Place};
use std::collections::HashMap;

/// What must have come before a step is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The answer to this request of the client.
    Answer(Place),
    /// A question of the server, by its number in [`Plan::questions`].
    Question(usize),
    /// The end of the task that the answer to this request made.
    Task(Place),
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sends a frame.
    Send,
    /// Answers a question, by its number in [`Plan::questions`].
    Answer(usize),
}

/// A message in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Where it stands in the recording.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
    /// Its method; empty for what has none.
    pub method: String,
    /// Its name.
    pub name: Option<String>,
    /// Its id, as JSON text.
    pub id: Option<String>,
    /// Where it begins in the step's bytes.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
    /// The values in it that the server made.
    pub bindings: Vec<Binding>,
}

/// One thing the client does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The number of its frame in the recording.
    pub seq: u64,
    /// When it was sent, ns since the session began.
    pub at_ns: i64,
    /// What it does.
    pub action: Action,
    /// The frame, its terminator included.
    pub bytes: Vec<u8>,
    /// The messages in it; none if it is no message.
    pub members: Vec<Member>,
    /// What it waits for beyond what earlier steps waited for.
    pub waits: Vec<Wait>,
    /// The request that it takes back, and how long the client had waited, ns.
    pub gives_up: Option<(Place, i64)>,
    /// The request that made the task it asks about, and whether this was the last time and the task was done.
    pub poll: Option<(Place, bool)>,
    /// Why it is not sent.
    pub unsent: Option<String>,
    /// What a person changes in the frame.
    pub edits: Vec<super::edit::Edit>,
}

/// A request of the client in the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The time that the server took, ns.
    pub took_ns: Option<i64>,
    /// True if the client was answered and had not given up.
    pub answered: bool,
    /// True if the client gave it up.
    pub gave_up: bool,
    /// How long the recording went on after it without an answer, ns.
    pub unanswered_ns: i64,
    /// True if it is the last page of a list.
    pub last_page: bool,
}

/// The whole plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What the client does, in order.
    pub steps: Vec<Step>,
    /// What the server asks.
    pub questions: Vec<Question>,
    /// The client's requests.
    pub requests: HashMap<Place, Asked>,
    /// What the client had waited for before it left.
    pub at_the_end: Vec<Wait>,
}

/// Makes the plan of a recording.
#[must_use]
pub fn plan(script: &Script) -> Plan {
    let mut work =
        Work { script, made: Made::default(), plan: Plan::default(), waits: Vec::new(), asked: HashMap::new() };
    let answers: HashMap<Place, Place> =
        script.messages.iter().filter_map(|message| Some((message.answers?, message.place))).collect();
    let mut at = 0;
    while let Some(message) = script.messages.get(at) {
        let frame = message.place.seq;
        let end = at + script.messages.iter().skip(at).take_while(|other| other.place.seq == frame).count();
        let members = script.messages.get(at..end).unwrap_or_default();
        at = end;
        if message.channel == Channel::Stderr {
            continue;
        }
        match message.direction {
            Direction::ToServer => work.client_said(members),
            Direction::ToClient => members.iter().for_each(|member| work.server_said(member, &answers)),
        }
    }
    work.plan.at_the_end = std::mem::take(&mut work.waits);
    polls(&mut work.plan, script);
    work.plan
}

struct Work<'s> {
    script: &'s Script,
    made: Made,
    plan: Plan,
    waits: Vec<Wait>,
    asked: HashMap<Place, usize>,
}

impl Work<'_> {
    fn server_said(&mut self, message: &Message, answers: &HashMap<Place, Place>) {
        let text = self.script.text(message.place);
        match message.kind {
            Kind::Result | Kind::Error => {
                let Some(request) = message.answers else { return };
                let Some(asked) = self.plan.requests.get(&request) else { return };
                if asked.answered {
                    self.waits.push(Wait::Answer(request));
                }
                let method = message.method.as_deref().unwrap_or_default();
                self.made.answer(request, method, text);
            }
            Kind::Request => {
                let method = message.method.clone().unwrap_or_default();
                // A ping is answered whenever it comes.
                if method == "ping" {
                    return;
                }
                let params = Tree::parse(text).ok().and_then(|tree| Some(tree.root().get("params")?.raw().to_vec()));
                let answer = answers.get(&message.place).map(|place| self.script.text(*place).to_vec());
                let at = self.plan.questions.len();
                self.plan.questions.push(Question {
                    place: message.place,
                    method,
                    params: params.unwrap_or_default(),
                    answer,
                    concerns: message.concerns,
                });
                self.asked.insert(message.place, at);
                self.waits.push(Wait::Question(at));
            }
            Kind::Notification => {
                if let Some(id) = ended_task(message.method.as_deref(), text)
                    && let Some(request) = self.made.maker_of_task(&id)
                {
                    self.waits.push(Wait::Task(request));
                }
            }
            Kind::Blank | Kind::Stray | Kind::Invalid => {}
        }
    }

    fn client_said(&mut self, members: &[Message]) {
        let Some(first) = members.first() else { return };
        let frame = self.script.frames.get(&first.place.seq).map(Vec::as_slice).unwrap_or_default();
        let question_of = |message: &Message| {
            let answered = message.answers.filter(|_| message.kind.is_answer())?;
            self.asked.get(&answered).copied()
        };
        let (answers, others): (Vec<_>, Vec<_>) =
            members.iter().map(|message| (question_of(message), message)).partition(|(question, _)| question.is_some());
        for (question, message) in answers {
            if let Some(question) = question {
                self.step(message, Action::Answer(question), Vec::new(), Vec::new());
            }
        }
        // Answers to a ping, or to nothing, are not the script's to give.
        let others: Vec<&Message> =
            others.into_iter().map(|(_, message)| message).filter(|message| !message.kind.is_answer()).collect();
        if others.is_empty() {
            return;
        }
        let whole = others.len() == members.len();
        let mut bytes = if whole { frame.to_vec() } else { b"[".to_vec() };
        let mut inside = Vec::new();
        for (at, message) in others.iter().enumerate() {
            let text = self.script.text(message.place);
            let mut offset = usize::try_from(message.offset).unwrap_or(0);
            if !whole {
                if at > 0 {
                    bytes.push(b',');
                }
                offset = bytes.len();
                bytes.extend_from_slice(text);
            }
            inside.push(self.member(message, offset, text));
        }
        if !whole {
            bytes.extend_from_slice(b"]\n");
        }
        self.step(others.first().copied().unwrap_or(first), Action::Send, bytes, inside);
    }

    fn member(&mut self, message: &Message, offset: usize, text: &[u8]) -> Member {
        let method = message.method.clone().unwrap_or_default();
        if message.kind == Kind::Request {
            let gave_up = message.outcome == Some(Outcome::GaveUp);
            let listed = Tree::parse(self.script.text(message.answer.map_or(message.place, |answer| answer.place)))
                .is_ok_and(|tree| tree.root().get("result").is_some_and(|result| result.get("nextCursor").is_none()));
            self.plan.requests.insert(
                message.place,
                Asked {
                    took_ns: message.peer_ns(),
                    answered: message.answer.is_some() && !gave_up,
                    gave_up,
                    unanswered_ns: self.script.last_ns - message.received_ns,
                    last_page: listed && method.ends_with("/list"),
                },
            );
        }
        Member {
            place: message.place,
            kind: message.kind,
            name: message.name.clone(),
            id: message.rpc_id.clone(),
            offset,
            length: text.len(),
            bindings: self.made.said(&method, text),
            method,
        }
    }

    fn step(&mut self, message: &Message, action: Action, bytes: Vec<u8>, members: Vec<Member>) {
        let cancelled = message.concerns.filter(|_| message.method.as_deref().is_some_and(method::is_cancellation));
        let gives_up = cancelled.and_then(|request| {
            let asked = self.script.message(request).filter(|asked| asked.outcome == Some(Outcome::GaveUp))?;
            Some((request, message.received_ns - asked.received_ns))
        });
        let task = members.first().filter(|member| member.method == "tasks/get" && members.len() == 1);
        let maker = task.and_then(|member| {
            member.bindings.iter().find(|binding| binding.why == Why::TaskId).map(|binding| binding.source.request)
        });
        self.plan.steps.push(Step {
            seq: message.place.seq,
            at_ns: message.received_ns,
            action,
            bytes,
            members,
            waits: std::mem::take(&mut self.waits),
            gives_up,
            poll: maker.map(|maker| (maker, false)),
            unsent: None,
            edits: Vec::new(),
        });
    }
}

/// Marks the last question about each task, if the task was done then.
fn polls(plan: &mut Plan, script: &Script) {
    let mut seen = std::collections::HashSet::new();
    for step in plan.steps.iter_mut().rev() {
        let Some((maker, last)) = &mut step.poll else { continue };
        if seen.insert(*maker) {
            let answer = step.members.first().and_then(|member| script.message(member.place)?.answer);
            *last = answer.is_some_and(|answer| task_status(script.text(answer.place)).is_some_and(|s| s != "working"));
        }
    }
}

/// Returns the status of a task that an answer tells.
#[must_use]
pub fn task_status(answer: &[u8]) -> Option<String> {
    let tree = Tree::parse(answer).ok()?;
    Some(tree.root().pointer("/result/status")?.as_text()?.into_owned())
}

/// Returns the id of a task that a notification says is over.
#[must_use]
pub fn ended_task(method: Option<&str>, text: &[u8]) -> Option<Vec<u8>> {
    if !matches!(method, Some("notifications/tasks/status" | "notifications/tasks")) {
        return None;
    }
    let tree = Tree::parse(text).ok()?;
    let task = tree.root().get("params")?;
    let status = task.get("status")?.as_text()?;
    matches!(status.as_ref(), "completed" | "failed" | "cancelled").then(|| task.get("taskId").and_then(content))?
}
