//! The state of a sample server, its main loop, and how calls reach their workers.

use std::{
    collections::{BTreeMap, HashSet},
    io::{self, Read, Write},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        mpsc::{self, SyncSender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    args::SampleArgs,
    clock,
    misbehave::{Notes, Quirk},
    revision::Revision,
    spawn,
    values::Values,
    weather::{subscriptions::Subscriptions, tasks::Tasks},
    wire::{self, Output},
};

/// Collects the answers to the members of one batch.
pub(crate) type Batch = Arc<Mutex<Vec<Vec<u8>>>>;

/// A request, with the revision that is in force for it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The id as the client spelled it.
    pub(crate) id: String,
    /// The method.
    pub(crate) method: String,
    /// The parameters, null if there were none.
    pub(crate) params: Value,
    /// The line it came in.
    pub(crate) line: Arc<[u8]>,
    /// The revision in force.
    pub(crate) revision: Revision,
    /// Where the answer goes if the request was a member of a batch.
    pub(crate) batch: Option<Batch>,
}

impl Request {
    /// Returns a member of `params._meta`, null if absent.
    pub(crate) fn meta(&self, key: &str) -> &Value {
        &self.params["_meta"][key]
    }

    /// Returns an argument of a tool call, null if absent.
    pub(crate) fn argument(&self, name: &str) -> &Value {
        &self.params["arguments"][name]
    }

    /// Returns the name of the tool or prompt asked for.
    pub(crate) fn name(&self) -> &str {
        self.params["name"].as_str().unwrap_or("")
    }
}

/// What changes while the server runs.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The revision agreed on by `initialize`.
    pub(crate) revision: Option<Revision>,
    /// The client's capabilities as of `initialize`.
    pub(crate) capabilities: Value,
    /// The least severe log level wanted, as a place in the order of severity.
    pub(crate) log_level: usize,
    /// The ids of requests that were cancelled.
    pub(crate) cancelled: HashSet<String>,
    /// The client's answers to questions of the server.
    pub(crate) answers: BTreeMap<u64, Value>,
    /// How many questions were asked.
    pub(crate) asked: u64,
    /// How often the tool `counter` was called.
    pub(crate) counter: u64,
    /// The contents of baskets by handle.
    pub(crate) baskets: BTreeMap<String, Vec<String>>,
    /// What the client watches.
    pub(crate) subscriptions: Subscriptions,
    /// The tasks.
    pub(crate) tasks: Tasks,
    /// What the misbehaviour in play remembers.
    pub(crate) notes: Notes,
    /// Whether stdin has ended.
    pub(crate) ended: bool,
}

enum Event {
    Bytes(Vec<u8>),
    End,
    Exit(u8),
}

/// A running sample server.
#[derive(Debug)]
pub(crate) struct Server {
    /// What was asked for on the command line.
    pub(crate) args: SampleArgs,
    /// How it misbehaves.
    pub(crate) quirk: &'static Quirk,
    /// The number of the case.
    pub(crate) n: u64,
    /// Ids and timestamps.
    pub(crate) values: Values,
    /// Where messages go.
    pub(crate) output: Output,
    /// The names of the tools, once they are known.
    pub(crate) tool_names: OnceLock<Vec<String>>,
    state: Mutex<State>,
    changed: Condvar,
    workers: Mutex<Vec<JoinHandle<()>>>,
    events: SyncSender<Event>,
}

/// Locks; a panic elsewhere is no reason to stop.
pub(crate) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves stdin and stdout to the end and returns the exit status.
pub(crate) fn run(args: &SampleArgs, (quirk, n): (&'static Quirk, u64)) -> u8 {
    // Without a place to wait in, a server that stops reading really stops: its client's writes block.
    let (events, received) = mpsc::sync_channel(0);
    let server = Arc::new(Server {
        args: args.clone(),
        quirk,
        n,
        values: Values::new(args.seed),
        output: Output::default(),
        tool_names: OnceLock::new(),
        state: Mutex::new(State { capabilities: json!({}), ..State::default() }),
        changed: Condvar::new(),
        workers: Mutex::default(),
        events: events.clone(),
    });
    spawn::note_pid(args.pid_file.as_deref(), "server", std::process::id());
    if let Some(status) = quirk.start.and_then(|start| start(&server)) {
        return status;
    }
    let tee = args.tee_in.clone();
    thread::spawn(move || read_stdin(tee.as_deref(), &events));

    let mut pending = Vec::new();
    loop {
        match received.recv() {
            Ok(Event::Bytes(bytes)) => {
                // Only the new bytes are searched: a line of megabytes must not cost its square.
                let mut rest = bytes.as_slice();
                while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                    pending.extend_from_slice(&rest[..end]);
                    server.line(&std::mem::take(&mut pending));
                    rest = &rest[end + 1..];
                }
                pending.extend_from_slice(rest);
            }
            Ok(Event::Exit(status)) => return status,
            Ok(Event::End) | Err(_) => break,
        }
    }
    server.line(&pending);
    server.update(|state| state.ended = true);
    if let Some(status) = quirk.end.and_then(|end| end(&server)) {
        return status;
    }
    drain(&server, &received)
}

fn read_stdin(tee: Option<&std::path::Path>, events: &SyncSender<Event>) {
    let mut tee = tee.and_then(|path| std::fs::OpenOptions::new().append(true).create(true).open(path).ok());
    let mut chunk = vec![0; 1 << 16];
    loop {
        let count = match io::stdin().lock().read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        if let Some(tee) = &mut tee {
            let _ = tee.write_all(&chunk[..count]);
        }
        let event = if count == 0 { Event::End } else { Event::Bytes(chunk[..count].to_vec()) };
        if events.send(event).is_err() || count == 0 {
            return;
        }
    }
}

/// Waits for what is in flight, unless a worker decides to end the process.
fn drain(server: &Arc<Server>, received: &mpsc::Receiver<Event>) -> u8 {
    let waiting = Arc::clone(server);
    thread::spawn(move || {
        waiting.join_workers();
        waiting.close_subscriptions();
        let _ = waiting.events.send(Event::Exit(0));
    });
    while let Ok(event) = received.recv() {
        if let Event::Exit(status) = event {
            return status;
        }
    }
    0
}

impl Server {
    /// Tells whether the tools and capabilities beyond the story are offered.
    pub(crate) fn has_extras(&self) -> bool {
        self.args.extra_tools || self.args.case.is_some()
    }

    /// Changes the state and wakes whoever waits for a change.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let outcome = change(&mut hold(&self.state));
        self.changed.notify_all();
        outcome
    }

    /// Waits until `ready` finds what it looks for.
    pub(crate) fn wait_for<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = hold(&self.state);
        loop {
            if let Some(found) = ready(&mut state) {
                return found;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits `ms` of story time, or until the call is cancelled; tells whether it was.
    pub(crate) fn pause(&self, request: &Request, ms: f64) -> bool {
        let state = hold(&self.state);
        let id = &request.id;
        let (state, _) = self
            .changed
            .wait_timeout_while(state, self.scaled(ms), |state| !state.cancelled.contains(id))
            .unwrap_or_else(PoisonError::into_inner);
        state.cancelled.contains(id)
    }

    /// Waits `ms` of story time, whatever happens.
    pub(crate) fn pause_firmly(&self, ms: f64) {
        clock::sleep(self.scaled(ms));
    }

    fn scaled(&self, ms: f64) -> Duration {
        Duration::try_from_secs_f64(ms / 1000.0 / self.args.speed.max(0.001)).unwrap_or_default()
    }

    /// Tells whether the request was cancelled.
    pub(crate) fn is_cancelled(&self, request: &Request) -> bool {
        hold(&self.state).cancelled.contains(&request.id)
    }

    /// Runs `work` beside the main loop; the server does not end before it.
    pub(crate) fn work(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let server = Arc::clone(self);
        let worker = thread::Builder::new().spawn(move || work(&server));
        let mut workers = hold(&self.workers);
        // Those that are done are let go, or a long session would keep all their stacks.
        workers.retain(|worker| !worker.is_finished());
        workers.extend(worker);
    }

    /// Waits for all workers.
    pub(crate) fn join_workers(&self) {
        loop {
            let Some(worker) = hold(&self.workers).pop() else {
                return;
            };
            let _ = worker.join();
        }
    }

    /// Ends the process from a worker; returns only if it is ending already.
    pub(crate) fn exit(&self, status: u8) {
        let _ = self.events.send(Event::Exit(status));
        // What this worker would do next must not happen any more.
        clock::sleep(Duration::from_secs(60));
    }

    /// Writes one message in the frame of the misbehaviour in play.
    pub(crate) fn send(&self, payload: Vec<u8>) {
        let line = match self.quirk.frame {
            Some(frame) => frame(payload),
            None => [payload.as_slice(), b"\n"].concat(),
        };
        self.output.write(&line);
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.send(wire::notification(method, params));
    }

    /// Sends the answer to a request, alone or as a part of its batch's answer.
    pub(crate) fn send_answer(&self, request: &Request, payload: Vec<u8>) {
        match &request.batch {
            Some(batch) => hold(batch).push(payload),
            None => self.send(payload),
        }
    }

    /// Asks the client and waits; `None` if it refused, left, or took its own request back.
    pub(crate) fn ask(&self, request: Option<&Request>, method: &str, params: &Value) -> Option<Value> {
        let id = self.update(|state| {
            state.asked += 1;
            state.asked
        });
        let question = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(question.to_string().into_bytes());
        let answer = self.wait_for(|state| {
            let gone = request.is_some_and(|request| state.cancelled.contains(&request.id));
            let answer = state.answers.remove(&id);
            answer.or_else(|| (gone || state.ended).then_some(Value::Null))
        });
        (!answer.is_null()).then_some(answer)
    }
}
