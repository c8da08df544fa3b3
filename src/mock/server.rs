//! Hears the client, and answers as the recorded server did.

use super::fault::Dice;
use super::forward::Forward;
use super::matcher::{Asked, Matcher, Matching, keys};
use super::report::{Missed, MockReport};
use super::rewrite::Made;
use super::score::{Score, what};
use super::stage::{self, Emission, Stage, Take};
use super::transport::{Heard, ServerTransport};
use crate::analysis::normalize::Eye;
use crate::analysis::rules::Rules;
use crate::protocol::envelope::scan;
use crate::protocol::interest::Slot;
use crate::protocol::json::Tree;
use crate::protocol::method;
use crate::session::classify::{Classified, Classifier};
use crate::session::frame::{Channel, Direction, FrameInfo};
use crate::session::message::Kind;
use crate::session::session::ExitStatus;
use std::time::Duration;

/// How often a live server is listened to while its answer is awaited, and while it is not.
const LISTEN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// How long answers of a live server are waited for after the client has left, ns.
const LAST_ANSWERS_NS: i64 = 30_000_000_000;

/// The most bytes of a message that is split over lines.
const SPLIT_LIMIT: usize = 64 << 20;

/// The signal that ends a program.
const TERM: i32 = 15;

/// What is done with a request that the recording has no answer to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMiss {
    /// It is answered with an error that names the nearest recorded call, or by a live server if there is one.
    #[default]
    Error,
    /// It is answered as the nearest recorded call was, with a warning.
    Nearest,
}

/// How a server is played.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'r> {
    /// How the score is played.
    pub stage: stage::Settings,
    /// Which recorded requests may be taken.
    pub matching: Matching,
    /// What is done with the others.
    pub on_miss: OnMiss,
    /// How the client's volatile values are seen.
    pub eye: Eye<'static>,
    /// What else is volatile in what it asks.
    pub rules: &'r Rules,
}

/// Plays the server until the client leaves, or the recorded server ended.
pub fn run(
    transport: &mut dyn ServerTransport,
    scores: &[Score],
    settings: Settings<'_>,
    dice: Dice,
    forward: Option<&mut Forward<'_>>,
    tell: &mut dyn FnMut(&str),
) -> MockReport {
    let mut server = Server {
        transport,
        settings,
        stage: Stage::new(scores, settings.stage),
        matcher: Matcher::new(scores, settings.matching),
        dice,
        forward,
        tell,
        classifier: Classifier::default(),
        begun: Vec::new(),
        greeting: None,
        lines: 0,
        left_ns: None,
        gone: false,
        report: MockReport::default(),
    };
    server.play();
    let Server { mut report, matcher, .. } = server;
    report.unused = matcher.unused().into_iter().map(|spot| matcher.called(spot)).collect();
    report.exit_code = scores.get(matcher.primary()).map_or(0, |score| score.exit_code);
    report
}

/// Returns an error as the answer to a request; `id` is JSON text.
#[must_use]
pub fn error(id: &[u8], code: i64, message: &str) -> Vec<u8> {
    let message = crate::replay::edit::quoted(message);
    let begin = b"{\"jsonrpc\":\"2.0\",\"id\":".as_slice();
    [begin, id, format!(",\"error\":{{\"code\":{code},\"message\":").as_bytes(), &message, b"}}\n"].concat()
}

struct Server<'s, 'f> {
    transport: &'s mut dyn ServerTransport,
    settings: Settings<'s>,
    stage: Stage<'s>,
    matcher: Matcher<'s>,
    dice: Dice,
    forward: Option<&'s mut Forward<'f>>,
    tell: &'s mut dyn FnMut(&str),
    classifier: Classifier,
    /// The lines so far of a message that the client splits over lines.
    begun: Vec<u8>,
    greeting: Option<Vec<u8>>,
    lines: u64,
    left_ns: Option<i64>,
    gone: bool,
    report: MockReport,
}

impl Server<'_, '_> {
    fn play(&mut self) {
        loop {
            self.say();
            if self.gone || self.report.end.is_some() {
                return;
            }
            self.relay();
            if self.report.end.is_some() {
                return;
            }
            let now = self.transport.now_ns();
            if let Some(left) = self.left_ns
                && self.stage.is_idle()
                && !(self.awaited() && now - left < LAST_ANSWERS_NS)
            {
                return;
            }
            let due = self.stage.wake_ns();
            let mut wait = (due < i64::MAX).then(|| Duration::from_nanos((due - now).max(0).unsigned_abs()));
            if self.forward.as_ref().is_some_and(|forward| forward.is_running()) {
                let often = if self.awaited() { LISTEN.0 } else { LISTEN.1 };
                wait = Some(wait.map_or(often, |wait| wait.min(often)));
            }
            if self.left_ns.is_some() {
                // Nothing comes any more; what is due has its time.
                crate::clock::sleep(wait.unwrap_or(LISTEN.0));
                continue;
            }
            match self.transport.receive(wait) {
                Heard::Line(line) => self.hear(&line),
                Heard::Ended => {
                    self.left_ns = Some(self.transport.now_ns());
                    self.stage.end();
                }
                Heard::Nothing => {}
            }
        }
    }

    fn awaited(&self) -> bool {
        self.forward.as_ref().is_some_and(|forward| forward.is_awaited())
    }

    /// Says what is due.
    fn say(&mut self) {
        let now = self.transport.now_ns();
        let due = self.stage.advance(now);
        for notice in self.stage.notices() {
            (self.tell)(&notice);
            self.report.given_up.push(notice);
        }
        for Emission { channel, bytes, end, fault } in due {
            if let Some(told) = fault {
                (self.tell)(&format!("fault: {told}"));
                self.report.faults.push(told);
            }
            self.gone |= !bytes.is_empty() && !self.transport.send(channel, &bytes);
            self.report.end = self.report.end.or(end);
        }
    }

    /// Passes on what a live server says.
    fn relay(&mut self) {
        while let Some(line) = self.forward.as_mut().and_then(|forward| forward.heard()) {
            self.gone |= !self.transport.send(Channel::Stdio, &line);
        }
        if self.forward.as_ref().is_some_and(|forward| forward.is_interrupted()) {
            self.report.end.get_or_insert(ExitStatus::Signal(TERM));
        }
    }

    fn hear(&mut self, line: &[u8]) {
        let info = FrameInfo {
            seq: self.lines,
            direction: Direction::ToServer,
            channel: Channel::Stdio,
            started_ns: None,
            received_ns: 0,
            forwarded_ns: 0,
            length: line.len() as u64,
            parts: 0,
            redacted: false,
            http: None,
        };
        self.lines += 1;
        let now = self.transport.now_ns();
        let mut taken = Vec::new();
        let messages = self.classifier.classify(&info, scan(line), Some(line), true);
        let whole = messages.iter().any(|message| message.first_seq.is_some());
        let joined = if whole { [self.begun.as_slice(), line].concat() } else { Vec::new() };
        if !messages.iter().any(|message| message.kind == Kind::Invalid) {
            self.begun.clear();
        } else if self.begun.len() < SPLIT_LIMIT {
            self.begun.extend_from_slice(line);
        }
        for message in messages {
            if message.first_seq.is_some() {
                self.message(now, &message, &joined, &mut taken);
                continue;
            }
            let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(line.len());
            let text = line.get(offset(message.envelope.start)..offset(message.envelope.end)).unwrap_or_default();
            self.message(now, &message, text, &mut taken);
        }
        self.stage.requests(now, taken);
    }

    fn message(&mut self, now: i64, message: &Classified, text: &[u8], taken: &mut Vec<(Take, Vec<u8>)>) {
        let envelope = &message.envelope;
        let id = envelope.text(Slot::Id).unwrap_or("null").as_bytes();
        let method = envelope.string(Slot::Method).unwrap_or_default();
        match message.kind {
            Kind::Request => {
                self.report.requests += 1;
                let name = envelope.string(Slot::Name).or_else(|| envelope.string(Slot::Uri));
                if let Some(request) = self.request(now, id, &method, name.as_deref(), text) {
                    taken.push(request);
                }
            }
            Kind::Notification if method::is_cancellation(&method) => {
                let cancelled = envelope.text(Slot::CancelledId).unwrap_or("null").as_bytes();
                let forwarded = self.forward.as_mut().is_some_and(|forward| forward.cancel(cancelled, text));
                if !forwarded {
                    self.stage.cancel(now, cancelled);
                }
            }
            Kind::Notification => self.stage.note(now, self.matcher.primary(), &method),
            Kind::Result | Kind::Error => {
                let forwarded = self.forward.as_mut().is_some_and(|forward| forward.answer(id, text));
                if !forwarded {
                    self.stage.answer(now, id);
                }
            }
            Kind::Stray | Kind::Invalid => self.stage.note(now, self.matcher.primary(), ""),
            Kind::Blank => {}
        }
    }

    /// Returns the recorded request that a live one is; answers by itself if it is none.
    fn request(
        &mut self,
        now: i64,
        id: &[u8],
        method: &str,
        name: Option<&str>,
        text: &[u8],
    ) -> Option<(Take, Vec<u8>)> {
        if method == "initialize" {
            self.greeting = Some(text.to_vec());
        }
        let tree = Tree::parse(text).ok();
        let at = |pointer: &str| Some(tree.as_ref()?.root().pointer(pointer)?.raw().to_vec());
        let params = at("/params").unwrap_or_default();
        let made = Made { id: id.to_vec(), token: at("/params/_meta/progressToken") };
        let asked = Asked {
            method,
            name,
            params: &params,
            keys: keys(method, name, &params, self.settings.eye, self.settings.rules),
        };
        let (found, params) = match self.matcher.take(&asked) {
            Ok(found) => (found, params),
            Err(_) if method == "ping" => {
                let pong = [b"{\"jsonrpc\":\"2.0\",\"id\":".as_slice(), id, b",\"result\":{}}\n"].concat();
                self.gone |= !self.transport.send(Channel::Stdio, &pong);
                return None;
            }
            Err(miss) => {
                let spot = miss.nearest;
                let missed = Missed {
                    method: method.to_owned(),
                    name: name.map(str::to_owned),
                    nearest: spot.map(|spot| self.matcher.called(spot)),
                    miss: *miss,
                };
                let spot = spot.filter(|_| self.settings.on_miss == OnMiss::Nearest);
                self.missed(id, text, missed, spot.is_some());
                // Its own parameters: what differs is no other name for the same thing.
                (self.matcher.mark(spot?), Vec::new())
            }
        };
        let fault = self.dice.throw(method, name);
        let (spot, again) = (found.spot, found.again);
        Some((Take { spot, made, fault, again, at_ns: now, cancelled_ns: None, kept: false }, params))
    }

    fn missed(&mut self, id: &[u8], text: &[u8], missed: Missed, answered: bool) {
        let called = what(&missed.method, missed.name.as_deref());
        let (why, unknown) = (missed.miss.why.clone(), missed.miss.unknown);
        self.report.misses.push(missed);
        if answered {
            (self.tell)(&format!("{called}: {why}; answered with that"));
            return;
        }
        let asked = match &mut self.forward {
            Some(forward) => {
                (self.tell)(&format!("{called}: {why}; the live server is asked"));
                forward.ask(id, text, self.greeting.as_deref())
            }
            None => {
                (self.tell)(&format!("{called}: {why}"));
                Err(format!("mcp-tap mock: {why}"))
            }
        };
        if let Err(why) = asked {
            let code = if unknown { -32601 } else { -32603 };
            self.gone |= !self.transport.send(Channel::Stdio, &error(id, code, &why));
        }
    }
}
