//! The sessions behind one listener: each has a tap and a recorder of its own.

use super::http_router::{Ask, Router};
use super::recorder::{Ending, Notify, Plan, Recorder, Summary};
use super::redact_http::Masker;
use super::tap::{Item, Tap};
use crate::clock::Stopwatch;
use crate::session::http::HttpExchange;
use crate::session::session::{Launch, Origin, Session, id_from_bits};
use crate::store::retention::Retention;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the last commit of a session may take.
const LAST_COMMIT: Duration = Duration::from_millis(1500);

/// How long a session may be without a request until it counts as ended; ns.
const IDLE_NS: i64 = 30 * 60 * 1_000_000_000;

/// How many sessions are recorded at once, but for those that are busy.
const MOST: usize = 128;

/// What a person is told while sessions are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpNotice {
    /// A client has begun a session.
    Began {
        /// The session.
        id: String,
        /// The client, as it names itself.
        client: Option<String>,
        /// The revision it asked for.
        revision: Option<String>,
    },
    /// A session has ended.
    Ended {
        /// The session.
        id: String,
        /// Why.
        reason: String,
        /// What was recorded; `None` if its end was not.
        summary: Option<Box<Summary>>,
    },
    /// A request was refused before it was passed on.
    Refused(String),
    /// The upstream wants credentials.
    Challenged {
        /// The status.
        status: u16,
        /// The scope that it wants.
        scope: Option<String>,
    },
    /// The upstream could not be reached.
    Unreachable(String),
}

/// Tells a person.
pub type TellHttp = Arc<dyn Fn(HttpNotice) + Send + Sync>;

/// What every session of a listener begins with.
#[derive(Debug, Clone)]
pub struct SessionPlan {
    /// The store's file.
    pub store: PathBuf,
    /// What is kept of older recordings when one has ended.
    pub retention: Retention,
    /// How the upstream is reached; secrets are masked.
    pub launch: Launch,
    /// The name, and whether a person chose it.
    pub name: (String, bool),
    /// Masks credentials.
    pub masker: Arc<Masker>,
    /// The id of the first session, in tests.
    pub first_id: Option<u64>,
}

/// A session that is being recorded.
pub(super) struct Live {
    pub(super) key: u64,
    pub(super) id: String,
    pub(super) tap: Arc<Tap>,
    // When it began, on the clock of the listener.
    pub(super) origin_ns: i64,
    next_exchange: AtomicU64,
    recorder: Mutex<Option<Recorder>>,
    ending: Mutex<Option<String>>,
    began: Mutex<bool>,
}

/// All sessions of a listener.
pub(super) struct Sessions {
    plan: SessionPlan,
    clock: Stopwatch,
    tell: TellHttp,
    notify: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    router: Router,
    live: HashMap<u64, Arc<Live>>,
    ending: Vec<JoinHandle<()>>,
    first_was_begun: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    /// Returns the number of the next exchange.
    pub(super) fn next_exchange(&self) -> u64 {
        self.next_exchange.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns a time of the listener's clock as one of the session's.
    pub(super) fn since_begin(&self, ns: i64) -> i64 {
        (ns - self.origin_ns).max(0)
    }

    /// Tells the recorder of an exchange, as far as it has come.
    pub(super) fn tell(&self, exchange: &HttpExchange, masker: &Arc<Masker>) {
        let mut exchange = exchange.clone();
        exchange.started_ns = self.since_begin(exchange.started_ns);
        exchange.answered_ns = exchange.answered_ns.map(|at| self.since_begin(at));
        exchange.ended_ns = exchange.ended_ns.map(|at| self.since_begin(at));
        let mask = masker.is_on().then(|| Arc::clone(masker));
        self.tap.tell(Item::Http { exchange: Box::new(exchange), mask });
    }

    /// Has the session end as soon as nothing of it is open.
    pub(super) fn end_soon(&self, reason: &str) {
        locked(&self.ending).get_or_insert_with(|| reason.to_owned());
    }
}

impl Sessions {
    pub(super) fn new(plan: SessionPlan, clock: Stopwatch, tell: TellHttp, notify: Notify) -> Self {
        Self { plan, clock, tell, notify, state: Mutex::default() }
    }

    pub(super) fn clock(&self) -> Stopwatch {
        self.clock
    }

    pub(super) fn masker(&self) -> &Arc<Masker> {
        &self.plan.masker
    }

    pub(super) fn tell(&self, notice: HttpNotice) {
        (self.tell)(notice);
    }

    /// Returns the session that an exchange belongs to; a new one begins when the exchange did.
    pub(super) fn of(&self, ask: &Ask, started_ns: i64) -> Arc<Live> {
        let mut state = locked(&self.state);
        let (key, is_new) = state.router.route(ask, started_ns);
        if !is_new && let Some(live) = state.live.get(&key) {
            return Arc::clone(live);
        }
        let bits = self.plan.first_id.filter(|_| !state.first_was_begun).unwrap_or_else(|| fastrand::u64(..));
        state.first_was_begun = true;
        let live = Arc::new(self.begin(key, bits, started_ns));
        state.live.insert(key, Arc::clone(&live));
        live
    }

    fn begin(&self, key: u64, bits: u64, started_ns: i64) -> Live {
        let ago = self.clock.elapsed_ns() - started_ns;
        let started_at = crate::clock::wall_ns() - ago;
        let masks = self.plan.masker.is_on();
        let begun = Session::begin(id_from_bits(bits), Origin::Record, self.plan.launch.clone(), false, started_at);
        let session = Session {
            name: Some(self.plan.name.0.clone()),
            named: self.plan.name.1,
            transport: "http".into(),
            redaction: if masks { vec!["credentials".into()] } else { Vec::new() },
            ..begun
        };
        let id = session.id.clone();
        let tap = Arc::new(Tap::new(self.clock.later(started_ns)));
        let plan = Plan { store: self.plan.store.clone(), session, launch_key: None, retention: self.plan.retention };
        let recorder = Recorder::start(plan, Arc::clone(&tap), Arc::clone(&self.notify));
        Live {
            key,
            id,
            tap,
            origin_ns: started_ns,
            next_exchange: AtomicU64::new(0),
            recorder: Mutex::new(Some(recorder)),
            ending: Mutex::default(),
            began: Mutex::default(),
        }
    }

    /// Notes how an exchange was answered.
    pub(super) fn answered(
        &self,
        live: &Live,
        success: bool,
        mcp_session_id: Option<&str>,
        ask: &Ask,
        revision: Option<&str>,
    ) {
        locked(&self.state).router.answered(live.key, success, mcp_session_id);
        if success && !std::mem::replace(&mut *locked(&live.began), true) {
            self.tell(HttpNotice::Began {
                id: live.id.clone(),
                client: ask.peek.client.clone(),
                revision: revision.map(str::to_owned),
            });
        }
    }

    /// Notes that something of a session was answered with success.
    pub(super) fn established(&self, live: &Live) {
        locked(&self.state).router.answered(live.key, true, None);
    }

    /// Notes where the client of a session sends its messages to.
    pub(super) fn endpoint(&self, live: &Live, path: &str) {
        locked(&self.state).router.endpoint(live.key, path);
    }

    /// Notes that an exchange has ended; with it, its session may.
    pub(super) fn exchange_ended(&self, live: &Arc<Live>) {
        let mut state = locked(&self.state);
        let open = state.router.ended(live.key, self.clock.elapsed_ns());
        let reason = locked(&live.ending).clone();
        if let Some(reason) = reason {
            // Whatever names it from now on is none of it.
            if open == 0 {
                self.end(&mut state, live.key, &reason);
            }
        }
    }

    fn end(&self, state: &mut State, key: u64, reason: &str) {
        state.router.forget(key);
        let Some(live) = state.live.remove(&key) else { return };
        state.ending.retain(|thread| !thread.is_finished());
        let (tell, reason) = (Arc::clone(&self.tell), reason.to_owned());
        let at_ns = live.since_begin(self.clock.elapsed_ns());
        let finish = move || {
            let Some(recorder) = locked(&live.recorder).take() else { return };
            let ending = Ending { at_ns, reason: reason.clone(), exit_status: None };
            let summary = recorder.finish(ending, LAST_COMMIT).map(Box::new);
            tell(HttpNotice::Ended { id: live.id.clone(), reason, summary });
        };
        // Waiting for a commit is nothing for those who carry the traffic.
        if let Ok(thread) = std::thread::Builder::new().name("ending".into()).spawn(finish) {
            state.ending.push(thread);
        }
    }

    /// Ends the sessions that were not used for long.
    pub(super) fn sweep(&self) {
        let mut state = locked(&self.state);
        for key in state.router.idle(self.clock.elapsed_ns(), IDLE_NS, MOST) {
            self.end(&mut state, key, "nothing was said for long");
        }
    }

    /// Ends all sessions and waits for it.
    pub(super) fn end_all(&self, reason: &str) {
        let threads = {
            let mut state = locked(&self.state);
            let keys: Vec<u64> = state.live.keys().copied().collect();
            for key in keys {
                self.end(&mut state, key, reason);
            }
            std::mem::take(&mut state.ending)
        };
        for thread in threads {
            let _ = thread.join();
        }
    }
}
