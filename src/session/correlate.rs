//! Finds the request that a message answers or belongs to.
//!
//! Each side has ids of its own; an answer goes to the unanswered request with that id from the other side. Ids are
//! equal by type and exact value (`1` = `1.0`); a partner whose id has another type (`"1"`) is accepted and reported,
//! since real peers do that. A request that was cancelled can still be answered, too late.
//!
//! Over HTTP an answer goes to the request of its own exchange first; up to 2025-11-25 it may come on another one, from
//! 2026-07-28 on it may not: there the request is bound to its exchange, and several clients may use one id at once.

use super::frame::Direction;
use super::message::Place;
use crate::protocol::number::Decimal;
use std::collections::HashMap;

/// An id by type and exact value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IdKey {
    /// A string, unescaped.
    Text(String),
    /// A number, by its canonical spelling.
    Number(String),
    /// Anything else, by its JSON text.
    Other(String),
}

impl IdKey {
    /// Returns the key of an id's JSON text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if text.starts_with('"') {
            return Self::Text(crate::protocol::json::unescape(text.as_bytes()).into_owned());
        }
        // Nearly every id is a short whole number, whose spelling is canonical already.
        let plain = text.len() < 16 && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        if plain {
            return Self::Number(text.to_owned());
        }
        match Decimal::parse(text) {
            Some(value) => Self::Number(value.canonical()),
            None => Self::Other(text.to_owned()),
        }
    }

    /// Returns the key of the other type with the same characters.
    fn other_type(&self) -> Option<Self> {
        match self {
            Self::Text(text) => Decimal::parse(text).map(|value| Self::Number(value.canonical())),
            Self::Number(number) => Some(Self::Text(number.clone())),
            Self::Other(_) => None,
        }
    }
}

/// A request that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    /// Where it stands.
    pub place: Place,
    /// Its method.
    pub method: String,
    /// Its name.
    pub name: Option<String>,
    /// Its revision.
    pub revision: Option<String>,
    /// The progress token that it gave.
    pub token: Option<IdKey>,
    /// When it was given up, ns since the session began.
    pub gave_up_ns: Option<i64>,
    /// The HTTP exchange it came in.
    pub http: Option<u64>,
    /// True if only that exchange can answer it.
    pub bound: bool,
}

impl OpenRequest {
    /// Returns true if an answer that came in this exchange may be meant for it.
    fn is_reached_from(&self, http: Option<u64>) -> bool {
        !self.bound || self.http == http
    }
}

/// The request that an answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The request.
    pub request: OpenRequest,
    /// True if the id came back in another type.
    pub type_changed: bool,
}

#[derive(Debug, Default)]
struct Side {
    open: HashMap<IdKey, Vec<OpenRequest>>,
    tokens: HashMap<IdKey, Place>,
    // Places of the requests that could own a question or a log line, long-lived ones left out.
    working: std::collections::BTreeMap<Place, Exchange>,
}

/// The HTTP exchange of a request, and whether it is bound to it.
type Exchange = (Option<u64>, bool);

/// Keeps the open requests of both sides.
#[derive(Debug, Default)]
pub struct Correlator {
    client: Side,
    server: Side,
}

impl Correlator {
    fn side(&mut self, sender: Direction) -> &mut Side {
        match sender {
            Direction::ToServer => &mut self.client,
            Direction::ToClient => &mut self.server,
        }
    }

    /// Opens a request; returns false if its id is in use by an earlier one.
    pub fn open(&mut self, sent: Direction, id: &str, request: OpenRequest) -> bool {
        let side = self.side(sent);
        if let Some(token) = &request.token {
            side.tokens.insert(token.clone(), request.place);
        }
        if !crate::protocol::method::is_long_lived(&request.method) {
            side.working.insert(request.place, (request.http, request.bound));
        }
        let same = side.open.entry(IdKey::of(id)).or_default();
        let free = same.iter().all(|earlier| earlier.gave_up_ns.is_some() || !earlier.is_reached_from(request.http));
        same.push(request);
        free
    }

    /// Closes the request that an answer travelling `sent` answers.
    pub fn answer(&mut self, sent: Direction, id: &str, http: Option<u64>) -> Option<Match> {
        let side = self.side(sent.other());
        let key = IdKey::of(id);
        if let Some(request) = side.take(&key, http) {
            return Some(Match { request, type_changed: false });
        }
        // `1.0` and `1e0` are `1`; a number as a string, or a string as a number, is another type.
        let request = side.take(&key.other_type()?, http)?;
        Some(Match { request, type_changed: true })
    }

    /// Marks the request that a cancellation travelling `sent` names; returns where it stands.
    pub fn give_up(&mut self, sent: Direction, id: &str, at_ns: i64) -> Option<OpenRequest> {
        let side = self.side(sent);
        let same = side.open.get_mut(&IdKey::of(id))?;
        let request = same.iter_mut().find(|request| request.gave_up_ns.is_none())?;
        request.gave_up_ns = Some(at_ns);
        let place = request.place;
        let request = request.clone();
        side.working.remove(&place);
        Some(request)
    }

    /// Returns the open request of the receiver that gave this progress token.
    #[must_use]
    pub fn progress_of(&mut self, sent: Direction, token: &str) -> Option<Place> {
        self.side(sent.other()).tokens.get(&IdKey::of(token)).copied()
    }

    /// Returns the open request with that id, without closing it.
    #[must_use]
    pub fn find(&mut self, sender: Direction, id: &str, http: Option<u64>) -> Option<OpenRequest> {
        let same = self.side(sender).open.get(&IdKey::of(id))?;
        same.iter().find(|request| http.is_some() && request.http == http).or(same.first()).cloned()
    }

    /// Takes away the requests that only this exchange could have answered: it has ended.
    pub fn end_exchange(&mut self, http: u64) -> Vec<OpenRequest> {
        let side = &mut self.client;
        let mut ended = Vec::new();
        let is_ended = |request: &OpenRequest| request.bound && request.http == Some(http);
        side.open.retain(|_, same| {
            ended.extend(same.extract_if(.., |request| is_ended(request)));
            !same.is_empty()
        });
        for request in &ended {
            side.working.remove(&request.place);
            if let Some(token) = &request.token
                && side.tokens.get(token) == Some(&request.place)
            {
                side.tokens.remove(token);
            }
        }
        ended
    }

    /// Returns the one request of the client that is being worked on, if there is exactly one.
    ///
    /// On stdio nothing else says which call a question or a log line belongs to; over HTTP the exchange may.
    #[must_use]
    pub fn only_call(&self, http: Option<u64>) -> Option<Place> {
        let only = |wanted: &dyn Fn(&Exchange) -> bool| {
            let mut working = self.client.working.iter().filter(|(_, exchange)| wanted(exchange));
            match (working.next(), working.next()) {
                (Some((place, _)), None) => Some(*place),
                _ => None,
            }
        };
        let here = http.and_then(|_| only(&|exchange| exchange.0 == http));
        here.or_else(|| only(&|exchange| !exchange.1))
    }

    /// Returns how many requests of the client wait for an answer, long-lived ones left out.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.client.working.len()
    }
}

impl Side {
    fn take(&mut self, key: &IdKey, http: Option<u64>) -> Option<OpenRequest> {
        let same = self.open.get_mut(key)?;
        let here = |request: &OpenRequest| http.is_some() && request.http == http;
        let alive = |request: &OpenRequest| request.gave_up_ns.is_none();
        let at = same
            .iter()
            .position(|request| here(request) && alive(request))
            .or_else(|| same.iter().position(|request| !request.bound && alive(request)))
            .or_else(|| same.iter().position(|request| request.is_reached_from(http)))?;
        let request = same.remove(at);
        if same.is_empty() {
            self.open.remove(key);
        }
        self.working.remove(&request.place);
        if let Some(token) = &request.token
            && self.tokens.get(token) == Some(&request.place)
        {
            self.tokens.remove(token);
        }
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(seq: u64) -> OpenRequest {
        OpenRequest {
            place: Place { seq, index: 0 },
            method: "tools/call".into(),
            name: None,
            revision: None,
            token: None,
            gave_up_ns: None,
            http: None,
            bound: false,
        }
    }

    fn answered(correlator: &mut Correlator, sent: Direction, id: &str) -> Option<(u64, bool)> {
        correlator.answer(sent, id, None).map(|found| (found.request.place.seq, found.type_changed))
    }

    #[test]
    fn both_sides_may_use_the_same_id() {
        let mut correlator = Correlator::default();
        correlator.open(Direction::ToServer, "1", request(0));
        correlator.open(Direction::ToClient, "1", request(1));
        assert_eq!(answered(&mut correlator, Direction::ToServer, "1"), Some((1, false)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "1"), Some((0, false)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "1"), None);
    }

    #[test]
    fn numbers_are_equal_by_value_and_types_are_told_apart() {
        let mut correlator = Correlator::default();
        for (seq, id) in ["1", "\"1\"", "100", "9007199254740993", "\"a\\u00e9\""].iter().enumerate() {
            assert!(correlator.open(Direction::ToServer, id, request(seq as u64)));
        }
        assert_eq!(answered(&mut correlator, Direction::ToClient, "9007199254740992"), None);
        assert_eq!(answered(&mut correlator, Direction::ToClient, "9007199254740993"), Some((3, false)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "1e2"), Some((2, false)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "1.0"), Some((0, false)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "1"), Some((1, true)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "\"a\u{e9}\""), Some((4, false)));
    }

    #[test]
    fn an_id_in_use_is_said_and_a_free_one_is_not() {
        let mut correlator = Correlator::default();
        assert!(correlator.open(Direction::ToServer, "5", request(0)));
        assert!(!correlator.open(Direction::ToServer, "5", request(1)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "5"), Some((0, false)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "5"), Some((1, false)));
        assert!(correlator.open(Direction::ToServer, "5", request(2)));
    }

    #[test]
    fn a_cancelled_request_is_answered_after_the_living_one() {
        let mut correlator = Correlator::default();
        correlator.open(Direction::ToServer, "7", request(0));
        assert_eq!(correlator.give_up(Direction::ToServer, "7", 50).map(|r| r.place.seq), Some(0));
        assert_eq!(correlator.give_up(Direction::ToServer, "7", 60), None);
        assert_eq!(correlator.give_up(Direction::ToClient, "7", 60), None);
        assert!(correlator.open(Direction::ToServer, "7", request(1)));
        assert_eq!(answered(&mut correlator, Direction::ToClient, "7"), Some((1, false)));
        let late = correlator.answer(Direction::ToClient, "7", None).map(|found| found.request);
        assert_eq!(late.map(|r| (r.place.seq, r.gave_up_ns)), Some((0, Some(50))));
    }

    #[test]
    fn only_a_call_that_is_alone_can_own_a_question() {
        let mut correlator = Correlator::default();
        assert_eq!(correlator.only_call(None), None);
        correlator.open(Direction::ToServer, "1", request(0));
        let listen = OpenRequest { method: "subscriptions/listen".into(), ..request(1) };
        correlator.open(Direction::ToServer, "2", listen);
        assert_eq!(correlator.only_call(None).map(|place| place.seq), Some(0));
        correlator.open(Direction::ToServer, "3", request(2));
        assert_eq!(correlator.only_call(None), None);
    }

    #[test]
    fn a_bound_request_is_answered_by_its_own_exchange_only() {
        let mut correlator = Correlator::default();
        let bound = |seq, http| OpenRequest { http: Some(http), bound: true, ..request(seq) };
        assert!(correlator.open(Direction::ToServer, "1", bound(0, 0)));
        assert!(correlator.open(Direction::ToServer, "1", bound(1, 1)));
        let mut answer = |http| correlator.answer(Direction::ToClient, "1", Some(http)).map(|m| m.request.place.seq);
        assert_eq!((answer(2), answer(1), answer(1), answer(0)), (None, Some(1), None, Some(0)));
    }

    #[test]
    fn up_to_2025_an_answer_may_come_on_another_exchange() {
        let mut correlator = Correlator::default();
        let free = |seq, http| OpenRequest { http: Some(http), ..request(seq) };
        correlator.open(Direction::ToServer, "1", free(0, 0));
        correlator.open(Direction::ToServer, "2", free(1, 1));
        let found = correlator.answer(Direction::ToClient, "1", Some(7)).map(|found| found.request.place.seq);
        assert_eq!(found, Some(0));
        assert_eq!(correlator.end_exchange(1), []);
        assert!(correlator.answer(Direction::ToClient, "2", Some(8)).is_some());
    }

    #[test]
    fn an_exchange_that_ends_takes_its_bound_requests_with_it() {
        let mut correlator = Correlator::default();
        correlator.open(Direction::ToServer, "1", OpenRequest { http: Some(3), bound: true, ..request(0) });
        assert_eq!((correlator.end_exchange(3).len(), correlator.waiting()), (1, 0));
        assert_eq!(correlator.answer(Direction::ToClient, "1", Some(3)), None);
    }
}
