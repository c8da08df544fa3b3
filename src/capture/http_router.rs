//! Finds the session that an HTTP exchange belongs to. Pure.
//!
//! Up to 2025-11-25 a protocol session is a session (`Mcp-Session-Id`), and with 2024-11-05 a stream with its endpoint.
//! Where the protocol has none (2026-07-28, and servers without sessions) a client is one: the same client info on the
//! same connection. A new connection goes on with the session of equal client info and `User-Agent` whose request ids
//! it does not repeat, for a client counts its ids up over all its connections, and two of them use the same ones.

use crate::session::correlate::IdKey;
use std::collections::{HashSet, VecDeque};

/// How many request ids, and connections, are remembered of a session.
const WINDOW: usize = 1024;

/// What a body tells of its client, as far as it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peek {
    /// The method of its first message.
    pub method: Option<String>,
    /// The id of its first message.
    pub id: Option<IdKey>,
    /// The client info, as JSON text.
    pub client: Option<String>,
}

/// What an exchange tells of its session.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// The protocol session that it names.
    pub mcp_session_id: Option<String>,
    /// The verb.
    pub verb: String,
    /// The path with its query.
    pub path: String,
    /// True if it asks for a stream of events.
    pub wants_events: bool,
    /// The connection it came on.
    pub connection: u64,
    /// The `User-Agent`.
    pub agent: Option<String>,
    /// What its body tells.
    pub peek: Peek,
}

#[derive(Debug)]
struct Entry {
    key: u64,
    mcp_session_id: Option<String>,
    endpoint: Option<String>,
    connections: HashSet<u64>,
    agent: Option<String>,
    client: Option<String>,
    ids: VecDeque<IdKey>,
    last_number: Option<i64>,
    // Something of it was answered with success.
    is_established: bool,
    open: usize,
    used_ns: i64,
}

/// The sessions that are being recorded.
#[derive(Debug, Default)]
pub struct Router {
    entries: Vec<Entry>,
    next: u64,
}

impl Router {
    /// Returns the key of the session that an exchange belongs to, and true if the session is a new one.
    pub fn route(&mut self, ask: &Ask, now_ns: i64) -> (u64, bool) {
        let found = self.find(ask);
        let at = found.unwrap_or_else(|| {
            self.entries.push(Entry {
                key: self.next,
                mcp_session_id: ask.mcp_session_id.clone(),
                endpoint: None,
                connections: HashSet::new(),
                agent: ask.agent.clone(),
                client: None,
                ids: VecDeque::new(),
                last_number: None,
                is_established: false,
                open: 0,
                used_ns: now_ns,
            });
            self.next += 1;
            self.entries.len() - 1
        });
        let Some(entry) = self.entries.get_mut(at) else { return (self.next, true) };
        if entry.connections.len() >= WINDOW {
            // A client that opens one for each request is told by the rest of what it says.
            entry.connections.clear();
        }
        entry.connections.insert(ask.connection);
        entry.open += 1;
        entry.used_ns = now_ns;
        if entry.client.is_none() {
            entry.client.clone_from(&ask.peek.client);
        }
        if let Some(id) = &ask.peek.id {
            entry.used(id);
        }
        (entry.key, found.is_none())
    }

    fn find(&self, ask: &Ask) -> Option<usize> {
        if let Some(id) = &ask.mcp_session_id {
            return self.entries.iter().rposition(|entry| entry.mcp_session_id.as_ref() == Some(id));
        }
        let endpoint = self.entries.iter().rposition(|entry| entry.endpoint.as_ref() == Some(&ask.path));
        if endpoint.is_some() {
            return endpoint;
        }
        if ask.peek.method.as_deref() == Some("initialize") {
            // A client that was refused (no token yet, another era) tries again: that is one session.
            return self.entries.iter().rposition(|entry| {
                !entry.is_established && entry.open == 0 && entry.endpoint.is_none() && entry.is_like(ask)
            });
        }
        let opens_stream = ask.verb == "GET" && ask.wants_events;
        let here = self.entries.iter().rposition(|entry| {
            let fits = !opens_stream || entry.is_established && entry.mcp_session_id.is_none();
            fits && entry.endpoint.is_none() && entry.connections.contains(&ask.connection) && entry.is_client(ask)
        });
        if here.is_some() {
            return here;
        }
        let like = |entry: &Entry| {
            let fits = !opens_stream || entry.is_established;
            fits && entry.mcp_session_id.is_none() && entry.endpoint.is_none() && entry.is_like(ask)
        };
        let fresh = |entry: &Entry| ask.peek.id.as_ref().is_none_or(|id| !entry.has_used(id));
        let next = |entry: &Entry| ask.peek.id.as_ref().is_some_and(|id| entry.is_next(id));
        let counted_on = self.entries.iter().rposition(|entry| like(entry) && fresh(entry) && next(entry));
        counted_on.or_else(|| self.entries.iter().rposition(|entry| like(entry) && fresh(entry)))
    }

    /// Notes that an exchange was answered.
    pub fn answered(&mut self, key: u64, success: bool, mcp_session_id: Option<&str>) {
        let Some(entry) = self.entry(key) else { return };
        entry.is_established |= success;
        if entry.mcp_session_id.is_none() {
            entry.mcp_session_id = mcp_session_id.map(str::to_owned);
        }
    }

    /// Notes where the client sends its messages to (2024-11-05).
    pub fn endpoint(&mut self, key: u64, path: &str) {
        if let Some(entry) = self.entry(key) {
            entry.endpoint = Some(path.to_owned());
        }
    }

    /// Notes that an exchange has ended; returns how many of its session are left open.
    pub fn ended(&mut self, key: u64, now_ns: i64) -> usize {
        let Some(entry) = self.entry(key) else { return 0 };
        entry.open = entry.open.saturating_sub(1);
        entry.used_ns = now_ns;
        entry.open
    }

    /// Forgets a session: nothing more belongs to it.
    pub fn forget(&mut self, key: u64) {
        self.entries.retain(|entry| entry.key != key);
    }

    /// Returns the sessions that have nothing open and were not used for so long; with more than `most` sessions, those
    /// that were used least lately, too.
    #[must_use]
    pub fn idle(&self, now_ns: i64, for_ns: i64, most: usize) -> Vec<u64> {
        let mut quiet: Vec<&Entry> = self.entries.iter().filter(|entry| entry.open == 0).collect();
        quiet.sort_by_key(|entry| entry.used_ns);
        let surplus = self.entries.len().saturating_sub(most);
        let is_idle = |(at, entry): &(usize, &Entry)| *at < surplus || now_ns - entry.used_ns >= for_ns;
        quiet.into_iter().enumerate().filter(is_idle).map(|(_, entry)| entry.key).collect()
    }

    fn entry(&mut self, key: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

impl Entry {
    /// Returns true unless the exchange says that it is another client's.
    fn is_client(&self, ask: &Ask) -> bool {
        match (&self.client, &ask.peek.client) {
            (Some(known), Some(asks)) => known == asks,
            _ => true,
        }
    }

    fn is_like(&self, ask: &Ask) -> bool {
        self.agent == ask.agent && self.is_client(ask)
    }

    fn used(&mut self, id: &IdKey) {
        if let Some(number) = number_of(id) {
            self.last_number = Some(number);
        }
        self.ids.push_back(id.clone());
        if self.ids.len() > WINDOW {
            self.ids.pop_front();
        }
    }

    fn has_used(&self, id: &IdKey) -> bool {
        let is_long_past = self.ids.len() == WINDOW
            && match (number_of(id), self.ids.front().and_then(number_of)) {
                (Some(id), Some(oldest)) => id < oldest,
                _ => false,
            };
        is_long_past || self.ids.contains(id)
    }

    fn is_next(&self, id: &IdKey) -> bool {
        matches!((number_of(id), self.last_number), (Some(id), Some(last)) if last.checked_add(1) == Some(id))
    }
}

fn number_of(id: &IdKey) -> Option<i64> {
    match id {
        IdKey::Number(text) => text.parse().ok(),
        IdKey::Text(_) | IdKey::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(connection: u64, method: &str, id: &str, client: Option<&str>) -> Ask {
        let peek = Peek { method: Some(method.into()), id: Some(IdKey::of(id)), client: client.map(str::to_owned) };
        Ask { verb: "POST".into(), path: "/mcp".into(), connection, peek, ..Ask::default() }
    }

    fn named(id: &str, connection: u64) -> Ask {
        Ask { mcp_session_id: Some(id.into()), verb: "POST".into(), connection, ..Ask::default() }
    }

    #[test]
    fn a_protocol_session_is_a_session_on_any_connection() {
        let mut router = Router::default();
        assert_eq!(router.route(&post(0, "initialize", "0", Some("a")), 0), (0, true));
        router.answered(0, true, Some("s-1"));
        router.ended(0, 0);
        assert_eq!(router.route(&post(0, "initialize", "0", Some("a")), 0), (1, true));
        router.answered(1, true, Some("s-2"));
        assert_eq!(router.route(&named("s-1", 5), 0), (0, false));
        assert_eq!(router.route(&named("s-2", 0), 0), (1, false));
        assert_eq!(router.route(&named("s-9", 0), 0), (2, true));
        router.forget(0);
        assert_eq!(router.route(&named("s-1", 5), 0), (3, true));
    }

    #[test]
    fn a_client_without_sessions_is_one_over_all_its_connections() {
        let mut router = Router::default();
        assert_eq!(router.route(&post(0, "server/discover", "0", Some("a")), 0), (0, true));
        router.answered(0, true, None);
        assert_eq!(router.route(&post(1, "tools/list", "1", Some("a")), 0), (0, false));
        assert_eq!(router.route(&post(2, "tools/call", "3", Some("a")), 0), (0, false));
        assert_eq!(router.route(&post(3, "tools/call", "2", Some("a")), 0), (0, false));
        assert_eq!(router.route(&post(4, "tools/call", "4", Some("b")), 0), (1, true));
    }

    #[test]
    fn two_clients_that_use_the_same_ids_are_two_sessions() {
        let mut router = Router::default();
        let mut key = |ask: Ask| router.route(&ask, 0).0;
        assert_eq!((key(post(0, "x", "0", Some("a"))), key(post(0, "x", "1", Some("a")))), (0, 0));
        assert_eq!(key(post(1, "x", "0", Some("a"))), 1);
        assert_eq!((key(post(0, "x", "2", Some("a"))), key(post(1, "x", "1", Some("a")))), (0, 1));
        // On new connections each goes on where its numbers do.
        assert_eq!((key(post(2, "x", "3", Some("a"))), key(post(3, "x", "2", Some("a")))), (0, 1));
        // An id said again on the same connection is no second client.
        assert_eq!(key(post(3, "x", "2", Some("a"))), 1);
    }

    #[test]
    fn a_client_that_was_refused_and_tries_again_is_one_session() {
        let mut router = Router::default();
        assert_eq!(router.route(&post(0, "initialize", "0", Some("a")), 0), (0, true));
        router.answered(0, false, None);
        // It is still being refused: whoever comes meanwhile is another.
        assert_eq!(router.route(&post(1, "initialize", "0", Some("a")), 0), (1, true));
        router.ended(0, 0);
        assert_eq!(router.route(&post(2, "initialize", "0", Some("a")), 0), (0, false));
    }

    #[test]
    fn a_stream_with_an_endpoint_is_a_session_of_its_own() {
        let mut router = Router::default();
        let get = |connection| Ask {
            verb: "GET".into(),
            path: "/sse".into(),
            wants_events: true,
            connection,
            ..Ask::default()
        };
        assert_eq!(router.route(&get(0), 0), (0, true));
        router.answered(0, true, None);
        router.endpoint(0, "/messages?session_id=1");
        assert_eq!(router.route(&get(1), 0), (1, true));
        router.endpoint(1, "/messages?session_id=2");
        let to = |path: &str| Ask { path: path.into(), ..post(2, "initialize", "0", None) };
        assert_eq!(router.route(&to("/messages?session_id=1"), 0), (0, false));
        assert_eq!(router.route(&to("/messages?session_id=2"), 0), (1, false));
    }

    #[test]
    fn what_is_not_used_is_idle() {
        let mut router = Router::default();
        for connection in 0..3 {
            router.route(&named(&connection.to_string(), connection), connection as i64);
        }
        assert_eq!(router.ended(0, 10), 0);
        assert_eq!(router.ended(2, 5), 0);
        assert_eq!(router.idle(20, 12, 9), [2]);
        assert_eq!(router.idle(20, 100, 1), [2, 0]);
    }
}
