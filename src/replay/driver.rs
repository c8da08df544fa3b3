//! Plays the steps of a plan: the client, once more.

mod waits;

use super::answer::{self, Question};
use super::bind::{Resolved, Why, resolve};
use super::edit::{self, Edit};
use super::live::{Heard, Live, Sent};
use super::plan::{Action, Asked, Member, Plan, Step, Wait, task_status};
use super::report::{ReplayReport, Skipped};
use super::script::Script;
use super::transport::ClientTransport;
use crate::protocol::json::Tree;
use crate::session::message::{Kind, Place};
use std::time::Duration;

/// The least time that a step has, ns.
const STEP_NS: i64 = 30_000_000_000;

/// The longest that a fast replay waits before it gives up what the client gave up, or between two polls, ns.
const PATIENCE_NS: i64 = 1_000_000_000;

/// The most pages or polls that are added to what was recorded.
const EXTRA: u64 = 1000;

/// How fast it goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// As fast as the causes allow.
    Fast,
    /// In the recorded time, divided by this.
    Times(f64),
}

/// How a plan is played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// How fast.
    pub pace: Pace,
    /// How long a step may take; without, 30 s or ten times what was recorded.
    pub timeout: Option<Duration>,
    /// How long the whole may take.
    pub limit: Duration,
}

/// Plays a plan; returns what was met, and leaves the server to be ended.
#[must_use]
pub fn run(transport: &mut dyn ClientTransport, script: &Script, plan: &Plan, settings: Settings) -> ReplayReport {
    let limit_ns = transport.now_ns().saturating_add(ns(settings.limit));
    let mut driver = Driver {
        began_ns: transport.now_ns(),
        transport,
        script,
        plan,
        settings,
        limit_ns,
        live: Live::with_room_for(plan.requests.len()),
        report: ReplayReport::default(),
        last: None,
        settle_from: None,
        extra: 0,
        gone: false,
        polled_ns: i64::MIN,
    };
    for step in &plan.steps {
        if driver.is_over() {
            driver.report.unreached.extend(step.members.iter().map(|member| member.place));
        } else {
            driver.step(step);
        }
    }
    driver.end();
    let Driver { mut report, transport, .. } = driver;
    report.stderr = transport.last_words();
    report
}

fn ns(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

struct Driver<'d> {
    transport: &'d mut dyn ClientTransport,
    script: &'d Script,
    plan: &'d Plan,
    settings: Settings,
    began_ns: i64,
    limit_ns: i64,
    live: Live,
    report: ReplayReport,
    last: Option<(Vec<u8>, i64)>,
    settle_from: Option<i64>,
    extra: u64,
    gone: bool,
    polled_ns: i64,
}

impl Driver<'_> {
    fn is_over(&self) -> bool {
        self.gone || self.report.stopped.is_some()
    }

    fn step(&mut self, step: &Step) {
        self.wait_for(&step.waits);
        self.keep_pace(step);
        if self.is_over() {
            self.report.unreached.extend(step.members.iter().map(|member| member.place));
            return;
        }
        let first = step.members.first();
        let what = first.map_or_else(|| "a line".to_owned(), what_is);
        let place = first.map_or(Place { seq: step.seq, index: 0 }, |member| member.place);
        if let Some(why) = &step.unsent {
            self.report.skipped.push(Skipped { place, what, why: why.clone(), fails: false });
            return;
        }
        match step.action {
            Action::Answer(at) => self.answer(at),
            Action::Send => {
                if self.may_send(step) {
                    self.settle();
                    self.send(step, place, what);
                }
            }
        }
    }

    /// Returns false for what this server has made needless: to give up what it has answered, to ask for what is done.
    fn may_send(&mut self, step: &Step) -> bool {
        if let Some((request, waited_ns)) = step.gives_up {
            let Some(sent_ns) = self.live.sent.get(&request).map(|sent| sent.at_ns) else { return false };
            let patience = match self.settings.pace {
                Pace::Fast => waited_ns.min(PATIENCE_NS),
                Pace::Times(times) => (waited_ns as f64 / times) as i64,
            };
            while self.live.answer_to(request).is_none() && !self.is_over() {
                let until = sent_ns.saturating_add(patience);
                if self.transport.now_ns() >= until {
                    break;
                }
                self.listen(until);
            }
            if self.live.answer_to(request).is_some() {
                return false;
            }
            if let Some(sent) = self.live.sent.get_mut(&request) {
                sent.let_go = true;
            }
        }
        if let Some((maker, last)) = step.poll
            && let Some(task) = self.live.task_of(maker)
        {
            self.pause_before_poll();
            // The last poll is sent in any case: what it says is compared.
            return last || !self.live.ended_tasks.contains(&task);
        }
        true
    }

    fn pause_before_poll(&mut self) {
        let until = self.polled_ns.saturating_add(self.poll_interval());
        while self.transport.now_ns() < until && !self.is_over() {
            self.listen(until);
        }
        self.polled_ns = self.transport.now_ns();
    }

    /// Returns how long this server wants to be left alone between polls, a second at most.
    fn poll_interval(&self) -> i64 {
        let said = self.live.sent.values().filter_map(|sent| {
            let tree = Tree::parse(sent.answer.as_deref()?).ok()?;
            let result = tree.root().get("result")?;
            let task = result.get("task").unwrap_or(result);
            let interval = task.get("pollIntervalMs").or_else(|| task.get("pollInterval"))?;
            interval.as_number()?.parse::<i64>().ok()
        });
        said.max().map_or(200_000_000, |ms| ms.saturating_mul(1_000_000)).clamp(10_000_000, PATIENCE_NS)
    }

    fn send(&mut self, step: &Step, place: Place, what: String) {
        let mut edits = step.edits.clone();
        for member in &step.members {
            for binding in &member.bindings {
                let source = binding.source.request;
                let recorded = self.script.message(source).and_then(|message| message.answer);
                let recorded = recorded.map(|answer| self.script.text(answer.place)).unwrap_or_default();
                let live = self.live.answer_to(source);
                match live.map_or(Resolved::Missing, |live| resolve(binding, recorded, live)) {
                    Resolved::Same => {}
                    Resolved::New(with) => {
                        edits.push(Edit { from: member.offset + binding.from, to: member.offset + binding.to, with });
                        self.report.replaced += 1;
                    }
                    Resolved::Missing => {
                        // Of a list that ended earlier no later page has a cursor.
                        let ended = self.report.skipped.iter().any(|skipped| skipped.place == source && !skipped.fails);
                        let page = binding.why == Why::Cursor && (live.is_some() || ended);
                        let why = if page {
                            "the list has fewer pages now".to_owned()
                        } else {
                            format!("{} needs {}, which {source} did not give", binding.at, binding.why.words())
                        };
                        self.report.skipped.push(Skipped { place, what, why, fails: !page });
                        return;
                    }
                }
            }
        }
        let bytes = edit::apply(&step.bytes, edits);
        let at_ns = self.transport.now_ns();
        for member in step.members.iter().filter(|member| member.kind == Kind::Request) {
            let Some(id) = &member.id else { continue };
            let text = step.bytes.get(member.offset..member.offset + member.length).unwrap_or_default();
            let text = if member.method.ends_with("/list") || step.poll.is_some() {
                if step.members.len() == 1 { bytes.clone() } else { text.to_vec() }
            } else {
                Vec::new()
            };
            self.report.requests += 1;
            self.live.send(member.place, id, Sent { at_ns, what: what_is(member), text, answer: None, let_go: false });
        }
        self.write(&bytes);
        if let Some((maker, true)) = step.poll {
            self.poll_until_done(place, maker);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let limit = self.settings.timeout.unwrap_or(Duration::from_nanos(STEP_NS.unsigned_abs()));
        if let Err(why) = self.transport.send(bytes, limit) {
            self.gone = true;
            self.report.stopped.get_or_insert(format!("the server takes nothing any more: {why}"));
        } else if !bytes.ends_with(b"\n") {
            // A line without an end was the client's last: the server reads it when the stream ends.
            self.transport.close();
        }
    }

    /// Asks on about a task that took longer than it did.
    fn poll_until_done(&mut self, first: Place, maker: Place) {
        let until = self.transport.now_ns() + self.settings.timeout.map_or(STEP_NS * 2, ns);
        let mut place = first;
        loop {
            self.wait_for(&[Wait::Answer(place)]);
            let working = self.live.answer_to(place).and_then(task_status).is_some_and(|status| status == "working");
            if !working || self.is_over() || self.extra >= EXTRA {
                return;
            }
            if self.transport.now_ns() >= until {
                self.timed_out(Wait::Task(maker), until);
                return;
            }
            self.pause_before_poll();
            let Some(next) = self.send_again(place, None) else { return };
            place = next;
        }
    }

    /// Sends a request once more under an id of ours, with another cursor if there is one.
    fn send_again(&mut self, place: Place, cursor: Option<&[u8]>) -> Option<Place> {
        let sent = self.live.sent.get(&place)?;
        let (text, what) = (sent.text.clone(), sent.what.clone());
        self.extra += 1;
        let id = format!("\"mcp-tap-{}\"", self.extra);
        let tree = Tree::parse(&text).ok()?;
        let (from, to) = edit::span(&text, tree.root().get("id")?.raw());
        let mut edits = vec![Edit { from, to, with: id.clone().into_bytes() }];
        if let Some(cursor) = cursor {
            edits.push(edit::set(&text, &["params"], "/cursor", cursor).ok()?);
        }
        let mut bytes = edit::apply(&text, edits);
        if bytes.last() != Some(&b'\n') {
            bytes.push(b'\n');
        }
        let new = Place { seq: u64::MAX - self.extra, index: 0 };
        let at_ns = self.transport.now_ns();
        self.live.send(new, &id, Sent { at_ns, what, text: bytes.clone(), answer: None, let_go: false });
        self.write(&bytes);
        Some(new)
    }

    fn hear(&mut self, line: Vec<u8>) {
        let heard = self.live.hear(&line);
        self.report.received += heard.iter().filter(|heard| **heard != Heard::Noise).count() as u64;
        self.last = Some((line, self.transport.now_ns()));
        for message in heard {
            match message {
                Heard::Answer(place) => self.next_page(place),
                Heard::Question { id, method, params } => self.question(id, &method, &params),
                Heard::Other | Heard::Noise => {}
            }
        }
    }

    /// Asks for the next page of a list that has more of them now.
    fn next_page(&mut self, place: Place) {
        let added = place.seq > u64::MAX / 2;
        if self.extra >= EXTRA || !added && !self.plan.requests.get(&place).is_some_and(|asked| asked.last_page) {
            return;
        }
        let Some(text) = self.live.answer_to(place) else { return };
        let Ok(tree) = Tree::parse(text) else { return };
        let cursor = tree.root().pointer("/result/nextCursor").filter(|cursor| !cursor.is_null());
        if let Some(cursor) = cursor.map(|cursor| cursor.raw().to_vec()) {
            let _ = self.send_again(place, Some(&cursor));
        }
    }

    fn question(&mut self, id: Vec<u8>, method: &str, params: &[u8]) {
        if method == "ping" {
            self.reply(&id, b"\"result\":{}");
            return;
        }
        let taken = |at: usize| self.live.asked.contains_key(&at);
        match answer::find(&self.plan.questions, method, params, taken) {
            None => {
                self.report.unanswerable.push(method.to_owned());
                self.reply(&id, b"\"error\":{\"code\":-32603,\"message\":\"the recording has no answer to this\"}");
            }
            Some(at) => {
                let again = self.live.answered.contains(&at);
                self.live.asked.insert(at, (id, self.transport.now_ns()));
                if again {
                    self.live.answered.remove(&at);
                    self.answer(at);
                }
            }
        }
    }

    fn reply(&mut self, id: &[u8], what: &[u8]) {
        let bytes = [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",", what, b"}\n"].concat();
        self.write(&bytes);
    }

    /// Answers a question that was asked as the client did, once.
    fn answer(&mut self, at: usize) {
        let Some((id, _)) = self.live.asked.get(&at).cloned() else { return };
        if !self.live.answered.insert(at) {
            return;
        }
        let Some(Question { answer: Some(text), .. }) = self.plan.questions.get(at) else { return };
        let Ok(tree) = Tree::parse(text) else { return };
        let Some(recorded) = tree.root().get("id") else { return };
        let (from, to) = edit::span(text, recorded.raw());
        let mut bytes = edit::apply(text, vec![Edit { from, to, with: id }]);
        bytes.push(b'\n');
        self.write(&bytes);
        self.settle_from = Some(self.transport.now_ns());
    }

    /// Closes the server's stdin when half the time for the last answers is over: some come only then.
    fn leave(&mut self) {
        let began = self.transport.now_ns();
        let half = |wait: &Wait| began + (self.due(*wait, began) - began) / 2;
        let Some(until) = self.plan.at_the_end.iter().map(half).max() else { return };
        loop {
            let open = |wait: &&Wait| !self.live.has(**wait, self.concerns(**wait));
            if self.is_over() || self.plan.at_the_end.iter().find(open).is_none() {
                return;
            }
            if self.transport.now_ns() >= until {
                self.transport.close();
                return;
            }
            self.listen(until);
        }
    }

    /// Waits for what the client had waited for before it left, and a moment for what never came.
    fn end(&mut self) {
        self.leave();
        self.wait_for(&self.plan.at_the_end);
        let added: Vec<Place> = self.live.sent.keys().copied().filter(|place| place.seq > u64::MAX / 2).collect();
        for place in added {
            self.wait_for(&[Wait::Answer(place)]);
        }
        let unanswered = |(place, asked): (&Place, &Asked)| {
            let sent = self.live.sent.get(place)?;
            let never = !asked.answered && !asked.gave_up && sent.answer.is_none();
            never.then(|| sent.at_ns.saturating_add(asked.unanswered_ns.min(PATIENCE_NS)))
        };
        if let Some(until) = self.plan.requests.iter().filter_map(unanswered).max() {
            while self.transport.now_ns() < until && !self.is_over() {
                self.listen(until);
            }
        }
        // A question may still wait for its turn.
        let open: Vec<usize> = self.live.asked.keys().copied().filter(|at| !self.live.answered.contains(at)).collect();
        for at in open {
            self.answer(at);
        }
        if self.gone && self.report.stopped.is_none() {
            let waiting = self.plan.requests.iter().filter(|(place, asked)| {
                asked.answered && self.live.sent.get(place).is_none_or(|sent| sent.answer.is_none())
            });
            if waiting.count() > 0 {
                self.report.stopped = Some("the server ended before it had answered everything".into());
            }
        }
    }
}

/// Returns a message in a word or two, as `tools/call get_radar`.
#[must_use]
pub fn what_is(member: &Member) -> String {
    match &member.name {
        Some(name) => format!("{} {name}", member.method),
        None if member.method.is_empty() => "a line that is no message".to_owned(),
        None => member.method.clone(),
    }
}
