//! Small sessions with times by hand, in ms.

use super::*;
use crate::session::frame::Direction;
use crate::session::message::{Answer, Outcome};

const MS: i64 = 1_000_000;

/// Builds the messages of a session, one frame each.
#[derive(Default)]
struct Script {
    messages: Vec<Message>,
}

impl Script {
    fn push(&mut self, direction: Direction, kind: Kind, at: i64) -> usize {
        let seq = self.messages.len() as u64;
        self.messages.push(Message {
            place: Place { seq, index: 0 },
            direction,
            channel: Channel::Stdio,
            kind,
            method: None,
            name: None,
            rpc_id: None,
            revision: None,
            received_ns: at * MS,
            forwarded_ns: at * MS,
            offset: 0,
            length: 0,
            flaws: String::new(),
            first_seq: None,
            answers: None,
            concerns: None,
            outcome: None,
            error_code: None,
            gave_up_ns: None,
            answer: None,
        });
        self.messages.len() - 1
    }

    fn ask(&mut self, at: i64, method: &str, name: Option<&str>) -> usize {
        let index = self.push(Direction::ToServer, Kind::Request, at);
        self.messages[index].method = Some(method.into());
        self.messages[index].name = name.map(str::to_owned);
        index
    }

    fn call(&mut self, at: i64, tool: &str) -> usize {
        self.ask(at, "tools/call", Some(tool))
    }

    fn answer(&mut self, at: i64, request: usize, outcome: Outcome) {
        let direction = self.messages[request].direction.other();
        let kind = if outcome == Outcome::RpcError { Kind::Error } else { Kind::Result };
        let index = self.push(direction, kind, at);
        let place = self.messages[index].place;
        self.messages[index].answers = Some(self.messages[request].place);
        self.messages[index].outcome = Some(outcome);
        let asked = &mut self.messages[request];
        asked.answer = Some(Answer { place, received_ns: at * MS, forwarded_ns: at * MS });
        if asked.gave_up_ns.is_none() {
            asked.outcome = Some(outcome);
        }
    }

    fn question(&mut self, at: i64, method: &str, concerns: Option<usize>) -> usize {
        let index = self.push(Direction::ToClient, Kind::Request, at);
        self.messages[index].method = Some(method.into());
        self.messages[index].concerns = concerns.map(|call| self.messages[call].place);
        index
    }

    fn give_up(&mut self, at: i64, request: usize) {
        self.push(Direction::ToServer, Kind::Notification, at);
        self.messages[request].gave_up_ns = Some(at * MS);
        self.messages[request].outcome = Some(Outcome::GaveUp);
    }

    fn report(self) -> Report {
        report(vec![self], None)
    }
}

fn report(scripts: Vec<Script>, only: Option<&str>) -> Report {
    let mut latency = Latency::new(only.map(str::to_owned));
    for script in scripts {
        let mut pass = latency.session();
        script.messages.into_iter().for_each(|message| pass.message(message));
        pass.end(false);
    }
    latency.report()
}

fn group<'r>(report: &'r Report, name: &str) -> &'r Group {
    report.groups.iter().find(|group| group.key.name.as_deref() == Some(name)).expect("the group")
}

#[test]
fn calls_are_grouped_and_their_times_are_those_of_the_peer() {
    let mut script = Script::default();
    let init = script.ask(0, "initialize", None);
    script.answer(10, init, Outcome::Ok);
    for (at, took) in [(100, 30), (200, 10), (300, 20)] {
        let call = script.call(at, "fast");
        script.answer(at + took, call, Outcome::Ok);
    }
    let bad = script.call(400, "fast");
    script.answer(405, bad, Outcome::ToolError);
    let read = script.ask(500, "resources/read", Some("file:///a"));
    script.answer(501, read, Outcome::RpcError);
    let report = script.report();
    let fast = group(&report, "fast");
    assert_eq!((fast.count, fast.errors, fast.figures.count), (4, 1, 4));
    assert_eq!(fast.figures.min, Some(5 * MS));
    assert_eq!(fast.figures.p50, Some(10 * MS));
    assert_eq!(fast.figures.max, Some(30 * MS));
    assert_eq!(fast.figures.p99, None);
    let read = report.groups.iter().find(|group| group.key.method == "resources/read").expect("the group");
    assert_eq!((read.key.name.as_deref(), read.errors), (None, 1));
    let slowest = report.slowest.expect("a call");
    assert_eq!((slowest.ns, slowest.at.place.seq), (30 * MS, 2));
}

#[test]
fn waiting_for_answers_to_the_servers_questions_is_taken_out_once() {
    let mut script = Script::default();
    let call = script.call(0, "plan");
    let person = script.question(100, "elicitation/create", Some(call));
    // Asked and answered while the person thinks: no second time.
    let roots = script.question(200, "roots/list", Some(call));
    script.answer(300, roots, Outcome::Ok);
    script.answer(900, person, Outcome::Ok);
    let model = script.question(1000, "sampling/createMessage", Some(call));
    script.answer(1500, model, Outcome::Ok);
    script.question(1550, "ping", Some(call));
    script.answer(1600, call, Outcome::Ok);
    let report = script.report();
    let plan = group(&report, "plan");
    assert_eq!(plan.figures.max, Some(300 * MS));
    let waits: Vec<(Waited, Option<i64>)> = plan.waits.iter().map(|wait| (wait.who, wait.figures.max)).collect();
    assert_eq!(waits, [(Waited::Person, Some(800 * MS)), (Waited::Model, Some(500 * MS))]);
}

#[test]
fn a_question_that_may_be_anybodys_leaves_those_calls_out() {
    let mut script = Script::default();
    let a = script.call(0, "a");
    let b = script.call(1, "b");
    let question = script.question(10, "elicitation/create", None);
    let later = script.call(11, "later");
    script.answer(12, later, Outcome::Ok);
    script.answer(5000, question, Outcome::Ok);
    script.answer(5010, a, Outcome::Ok);
    script.answer(5020, b, Outcome::Ok);
    let report = script.report();
    assert_eq!(report.not_counted.question_unclear, 2);
    assert_eq!(report.groups.len(), 1);
    assert_eq!(group(&report, "later").figures.max, Some(MS));
}

#[test]
fn given_up_unanswered_and_long_lived_requests_have_no_time() {
    let mut script = Script::default();
    script.ask(0, "subscriptions/listen", None);
    let radar = script.call(10, "radar");
    script.give_up(60_010, radar);
    script.answer(62_000, radar, Outcome::Ok);
    script.call(70_000, "silent");
    let fast = script.call(70_001, "fast");
    script.answer(70_101, fast, Outcome::Ok);
    let report = script.report();
    assert_eq!(report.groups[0].key.name.as_deref(), Some("radar"));
    let radar = group(&report, "radar");
    assert_eq!((radar.count, radar.errors, radar.figures.count), (1, 1, 0));
    assert_eq!(radar.gave_up, [60_000 * MS]);
    assert_eq!((report.not_counted.no_answer, report.not_counted.long_lived), (1, 1));
    assert_eq!(report.slowest.expect("a call").ns, 100 * MS);
}

#[test]
fn rounds_that_asked_for_input_are_one_call() {
    let mut script = Script::default();
    let first = script.call(0, "plan");
    script.answer(30, first, Outcome::InputRequired);
    let second = script.call(8030, "plan");
    script.answer(8070, second, Outcome::InputRequired);
    let third = script.call(9070, "plan");
    script.answer(9120, third, Outcome::Ok);
    let alone = script.call(10_000, "plan");
    script.answer(10_010, alone, Outcome::InputRequired);
    let report = script.report();
    let plan = group(&report, "plan");
    assert_eq!((plan.count, plan.figures.max), (1, Some(120 * MS)));
    assert_eq!(plan.waits[0].who, Waited::Input);
    assert_eq!(plan.waits[0].figures.max, Some(9000 * MS));
    assert_eq!(report.slowest.as_ref().expect("a call").at.place.seq, 0);
    assert_eq!(report.not_counted.input_not_given, 1);
}

#[test]
fn rounds_of_two_calls_at_once_are_left_out() {
    let mut script = Script::default();
    let a = script.call(0, "plan");
    let b = script.call(1, "plan");
    script.answer(10, a, Outcome::InputRequired);
    script.answer(11, b, Outcome::InputRequired);
    let c = script.call(20, "plan");
    let d = script.call(21, "plan");
    script.answer(30, c, Outcome::Ok);
    script.answer(31, d, Outcome::Ok);
    let report = script.report();
    assert_eq!(report.not_counted.rounds_unclear, 4);
    assert!(report.groups.is_empty());
}

#[test]
fn calls_that_became_tasks_are_left_out_with_what_was_asked_about_them() {
    let mut script = Script::default();
    let task = script.call(0, "slow");
    script.answer(5, task, Outcome::Ok);
    let get = script.ask(10, "tasks/get", None);
    script.answer(11, get, Outcome::Ok);
    let fast = script.call(20, "fast");
    script.answer(25, fast, Outcome::Ok);
    let again = script.call(30, "slow");
    script.answer(35, again, Outcome::Ok);
    let list = script.ask(40, "tools/list", None);
    script.answer(41, list, Outcome::Ok);
    let result = script.ask(50, "tasks/result", None);
    script.answer(90, result, Outcome::Ok);
    let report = script.report();
    assert_eq!((report.not_counted.tasks, report.not_counted.task_requests), (2, 2));
    assert_eq!(group(&report, "fast").count, 1);
    assert_eq!(report.groups.len(), 2);
}

#[test]
fn one_tool_over_sessions() {
    let session = |took: i64| {
        let mut script = Script::default();
        let call = script.call(0, "a");
        script.answer(took, call, Outcome::Ok);
        let other = script.call(5000, "b");
        script.answer(9000, other, Outcome::Ok);
        script
    };
    let report = report(vec![session(10), session(40), session(20)], Some("a"));
    assert_eq!(report.groups.len(), 1);
    assert_eq!(report.groups[0].figures.p50, Some(20 * MS));
    let slowest = report.slowest.expect("a call");
    assert_eq!((slowest.at.session, slowest.ns), (1, 40 * MS));
}
