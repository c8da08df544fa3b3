//! What has been said by whom, and what goes out next. Pure: it is told what came and what time it is.
//!
//! What the server said after a message of the client goes out once the live client has said the same, in the recorded
//! order. It waits for what the client had said in between: answers to questions, and the end of its patience. Calls
//! that overlapped are answered in their order where they overlap again.

mod ready;
mod say;

use super::fault;
use super::matcher::Spot;
use super::rewrite::{self, Made, Values};
use super::score::{Cue, Request, Score};
use crate::replay::driver::Pace;
use crate::session::frame::Channel;
use crate::session::message::Place;
use crate::session::session::ExitStatus;
use ready::Ready;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// How a score is played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// How fast.
    pub pace: Pace,
    /// How long a message of the client is waited for; without, 30 s or twice the recorded time.
    pub timeout: Option<Duration>,
}

/// A live request that is a recorded one.
#[derive(Debug, Clone, PartialEq)]
pub struct Take {
    /// The recorded one.
    pub spot: Spot,
    /// What the live client made for it.
    pub made: Made,
    /// What becomes of its answer.
    pub fault: Option<fault::Fault>,
    /// True if the recorded one was taken before.
    pub again: bool,
    /// When it came, ns.
    pub at_ns: i64,
    /// When the client took it back, ns.
    pub cancelled_ns: Option<i64>,
    /// True if it is not waited for any more that the client takes it back.
    pub kept: bool,
}

/// Something that goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emission {
    /// Where: stdout or stderr.
    pub channel: Channel,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The server's end, if it comes then.
    pub end: Option<ExitStatus>,
    /// The fault that made it so, as a person is told.
    pub fault: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Pending,
    Done,
}

#[derive(Debug)]
struct Pending {
    score: usize,
    cue: usize,
    /// The one part that goes out, where the client did not ask for all of them at once.
    only: Option<usize>,
    takes: Vec<usize>,
    since_ns: i64,
    again: bool,
}

#[derive(Debug)]
struct Question {
    score: usize,
    place: Place,
    id: Vec<u8>,
    since_ns: i64,
    answered: bool,
    expired: bool,
}

/// The state of the conversation.
#[derive(Debug)]
pub struct Stage<'s> {
    scores: &'s [Score],
    settings: Settings,
    states: Vec<Vec<State>>,
    /// The cues after each message of the client.
    after: HashMap<(usize, Option<Place>), Vec<usize>>,
    /// The cues that a request owns, alone or beside others.
    owned: HashMap<(usize, Place), Vec<usize>>,
    /// When the live client said what the recorded one had said, ns.
    said: HashMap<(usize, Option<Place>), i64>,
    takes: Vec<Take>,
    pending: Vec<Pending>,
    questions: Vec<Question>,
    notes: BTreeSet<(usize, usize)>,
    values: Values,
    notices: Vec<String>,
    wake_ns: i64,
    /// When progress was last told, ns.
    progress_ns: i64,
    ended: bool,
    renamed: u64,
    noise: fastrand::Rng,
}

impl<'s> Stage<'s> {
    /// Returns a stage at the beginning: what the first server said before anybody spoke is due.
    #[must_use]
    pub fn new(scores: &'s [Score], settings: Settings) -> Self {
        let mut after: HashMap<_, Vec<usize>> = HashMap::new();
        let mut owned: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, score) in scores.iter().enumerate() {
            for (number, cue) in score.cues.iter().enumerate() {
                after.entry((at, cue.cause)).or_default().push(number);
                let owners: BTreeSet<Place> = cue.parts.iter().filter_map(|part| part.owner).collect();
                owners.into_iter().for_each(|owner| owned.entry((at, owner)).or_default().push(number));
            }
        }
        let states = scores.iter().map(|score| vec![State::Waiting; score.cues.len()]).collect();
        let mut stage = Self {
            scores,
            settings,
            states,
            after,
            owned,
            said: HashMap::new(),
            takes: Vec::new(),
            pending: Vec::new(),
            questions: Vec::new(),
            notes: BTreeSet::new(),
            values: Values::new(),
            notices: Vec::new(),
            wake_ns: i64::MAX,
            progress_ns: i64::MIN,
            ended: false,
            renamed: 0,
            noise: fastrand::Rng::with_seed(0),
        };
        stage.said(0, None, 0);
        stage
    }

    fn cue(&self, score: usize, cue: usize) -> Option<&'s Cue> {
        self.scores.get(score)?.cues.get(cue)
    }

    fn request(&self, spot: Spot) -> Option<&'s Request> {
        self.scores.get(spot.score)?.requests.get(spot.request)
    }

    fn place_of(&self, take: usize) -> Option<Place> {
        Some(self.request(self.takes.get(take)?.spot)?.place)
    }

    /// Takes the requests of one line of the client, with their parameters.
    pub fn requests(&mut self, now: i64, asked: Vec<(Take, Vec<u8>)>) {
        let mut new: HashMap<(usize, Place), usize> = HashMap::new();
        for (take, params) in asked {
            let Some(request) = self.request(take.spot) else { continue };
            rewrite::note(&request.params, &params, &mut self.values);
            new.insert((take.spot.score, request.place), self.takes.len());
            self.takes.push(take);
        }
        let mut requests: Vec<(usize, Place, usize)> =
            new.iter().map(|((s, place), take)| (*s, *place, *take)).collect();
        requests.sort_unstable();
        for (score, place, take) in requests {
            let again = self.takes.get(take).is_some_and(|take| take.again);
            self.owned(now, score, place, take, again, &new);
            if !again {
                self.said(score, Some(place), now);
            }
        }
    }

    /// Makes what a request owns alone, or beside others, due.
    fn owned(
        &mut self,
        now: i64,
        score: usize,
        place: Place,
        take: usize,
        again: bool,
        new: &HashMap<(usize, Place), usize>,
    ) {
        for number in self.owned.get(&(score, place)).cloned().unwrap_or_default() {
            let Some(cue) = self.cue(score, number) else { continue };
            let owners: BTreeSet<Place> = cue.parts.iter().filter_map(|part| part.owner).collect();
            let all: Option<Vec<usize>> = owners.iter().map(|owner| new.get(&(score, *owner)).copied()).collect();
            let mut push = |only, takes| {
                self.pending.push(Pending { score, cue: number, only, takes, since_ns: now, again });
            };
            match all {
                // One cue for all of them, when the last comes.
                Some(takes) if !again || owners.len() == 1 => {
                    if owners.last() == Some(&place) {
                        push(None, takes);
                    }
                }
                _ => {
                    let mine = cue.parts.iter().enumerate().filter(|(_, part)| part.owner == Some(place));
                    mine.for_each(|(part, _)| push(Some(part), vec![take]));
                }
            }
            if let Some(state) = self.states.get_mut(score).and_then(|states| states.get_mut(number))
                && !again
            {
                *state = State::Pending;
            }
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.pending.sort_by_key(|pending| (pending.score, pending.cue, pending.only));
    }

    /// Notes that the live client has said what the recorded one had said, and makes due what nobody owns after it.
    fn said(&mut self, score: usize, message: Option<Place>, now: i64) {
        self.said.entry((score, message)).or_insert(now);
        for number in self.after.get(&(score, message)).cloned().unwrap_or_default() {
            let owned = self.cue(score, number).is_some_and(|cue| cue.parts.iter().any(|part| part.owner.is_some()));
            let Some(state) = self.states.get_mut(score).and_then(|states| states.get_mut(number)) else { continue };
            if !owned && *state == State::Waiting {
                *state = State::Pending;
                let takes = Vec::new();
                self.pending.push(Pending { score, cue: number, only: None, takes, since_ns: now, again: false });
            }
        }
        self.sort();
    }

    /// Takes a notification of the client, or a line that is no message (without a method).
    pub fn note(&mut self, now: i64, score: usize, method: &str) {
        let Some(notes) = self.scores.get(score).map(|score| &score.notes) else { return };
        let next = notes.iter().enumerate().find(|(at, (_, m))| m == method && !self.notes.contains(&(score, *at)));
        if let Some((at, (place, _))) = next {
            self.notes.insert((score, at));
            self.said(score, Some(*place), now);
        }
    }

    /// Takes back the request with this id; returns false if it is none of ours.
    pub fn cancel(&mut self, now: i64, id: &[u8]) -> bool {
        let open = self.takes.iter_mut().rev().find(|take| take.made.id == id && take.cancelled_ns.is_none());
        let Some(take) = open else { return false };
        take.cancelled_ns = Some(now);
        let spot = take.spot;
        if let Some(place) = self.request(spot).and_then(|request| request.cancel) {
            let notes = self.scores.get(spot.score).map(|score| score.notes.as_slice()).unwrap_or_default();
            if let Some(at) = notes.iter().position(|(note, _)| *note == place) {
                self.notes.insert((spot.score, at));
            }
            self.said(spot.score, Some(place), now);
        }
        true
    }

    /// Takes an answer of the client; returns false if nobody had asked.
    pub fn answer(&mut self, now: i64, id: &[u8]) -> bool {
        let bare = |id: &[u8]| id.iter().copied().filter(|byte| *byte != b'"').collect::<Vec<u8>>();
        let open = |question: &&mut Question| !question.answered && bare(&question.id) == bare(id);
        let Some(question) = self.questions.iter_mut().find(open) else { return false };
        question.answered = true;
        let (score, place) = (question.score, question.place);
        self.answered(now, score, place);
        true
    }

    fn answered(&mut self, now: i64, score: usize, question: Place) {
        let answer = self.scores.get(score).and_then(|score| score.questions.get(&question).copied().flatten());
        if answer.is_some() {
            self.said(score, answer, now);
        }
    }

    /// Takes the end of the client: nothing more comes from it.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Returns true if nothing is due any more.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns true if a question of the recording with this id waits for its answer.
    #[must_use]
    pub fn has_asked(&self, id: &[u8]) -> bool {
        self.questions.iter().any(|question| !question.answered && question.id == id)
    }

    /// Returns when something may be due next, ns; `i64::MAX` for never.
    #[must_use]
    pub fn wake_ns(&self) -> i64 {
        self.wake_ns
    }

    /// Returns the waits that were given up since the last time, as sentences.
    pub fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Returns what goes out now, in its order.
    pub fn advance(&mut self, now: i64) -> Vec<Emission> {
        let mut out = Vec::new();
        self.expire(now);
        while let Some((at, ready)) = self.next(now) {
            let pending = self.pending.remove(at);
            let whole = !self.pending.iter().any(|p| p.score == pending.score && p.cue == pending.cue && !p.again);
            if let Some(state) = self.states.get_mut(pending.score).and_then(|states| states.get_mut(pending.cue))
                && !pending.again
                && whole
            {
                *state = State::Done;
            }
            if ready == Ready::Now {
                out.extend(self.emit(&pending, now));
            }
            if out.last().is_some_and(|emission| emission.end.is_some()) {
                self.pending.clear();
            }
        }
        out
    }
}

#[cfg(test)]
mod tests;
