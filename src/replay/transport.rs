//! How the driver reaches a server.

use crate::capture::signals;
use crate::capture::tap::{Item, Lane, Tap};
use crate::protocol::line::{LineFramer, Piece};
use crate::session::session::ExitStatus;
use crate::transport::shutdown::{DRAIN_SILENCE, LEFTOVER_GRACE, PATIENCE, Situation, Step, next_step};
use crate::transport::stdio::{self, Life, SpawnError, Surroundings};
use crate::transport::{process_group, streams};
use rustix::process::Pid;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How many of the last lines on stderr are kept for a report.
const STDERR_LINES: usize = 8;

/// The longest line that is looked into, in bytes; of a longer one the beginning.
const LINE_LIMIT: usize = 64 << 20;

/// What came from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A line, or what stands for one: its JSON text is one message or one batch.
    Line(Vec<u8>),
    /// It says nothing any more.
    Ended,
    /// A person wants it to end.
    Interrupted,
    /// Nothing in that time.
    Nothing,
}

/// A way to a server; what passes is recorded underneath.
pub trait ClientTransport {
    /// Returns the time since the session began, ns.
    fn now_ns(&self) -> i64;

    /// Sends a frame.
    ///
    /// # Errors
    /// Why the server does not take it, as a sentence.
    fn send(&mut self, bytes: &[u8], limit: Duration) -> Result<(), String>;

    /// Says that nothing more is sent.
    fn close(&mut self);

    /// Waits for the next thing to come.
    fn receive(&mut self, wait: Duration) -> Received;

    /// Returns the last lines that the server wrote for people.
    fn last_words(&self) -> Vec<String>;

    /// Leaves as a client does and ends the server if it does not end by itself.
    fn finish(&mut self) -> Option<ExitStatus>;
}

enum Happening {
    Line(Vec<u8>),
    Ended(Lane),
    Exited(ExitStatus),
    Signal,
}

/// A server process on pipes.
pub struct StdioTransport {
    tap: Arc<Tap>,
    pid: Pid,
    own_group: bool,
    stdin: Option<OwnedFd>,
    happenings: Receiver<Happening>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    exited: Option<ExitStatus>,
    open_lanes: usize,
    interrupted: bool,
    signals: Option<signal_hook::iterator::Handle>,
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        // Its thread and its pipe end with it: a run may start hundreds of servers.
        if let Some(signals) = &self.signals {
            signals.close();
        }
    }
}

impl StdioTransport {
    /// Starts the server.
    ///
    /// Called from a thread that outlives it: the server dies with the thread that started it.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn start(argv: &[OsString], surroundings: &Surroundings, tap: &Arc<Tap>) -> Result<Self, SpawnError> {
        let own_group = surroundings.apart || !process_group::in_foreground();
        if !own_group {
            process_group::adopt_orphans();
        }
        let caught = signals::catch();
        let server = stdio::spawn_in(argv, own_group, surroundings)?;
        let (tell, happenings) = channel();
        let signals = caught.as_ref().ok().map(signal_hook::iterator::SignalsInfo::handle);
        if let Ok(caught) = caught {
            let tell = tell.clone();
            background("signals", move || {
                signals::each(caught, |number, _| {
                    if number != signal_hook::consts::SIGCONT {
                        let _ = tell.send(Happening::Signal);
                    }
                });
            });
        }
        // A server that does not read must not hold us up for ever.
        streams::do_not_block(server.stdin.as_fd());
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        listen(Lane::Stdout, server.stdout, tap, &tell, None);
        listen(Lane::Stderr, server.stderr, tap, &tell, Some(Arc::clone(&stderr)));
        let pid = server.pid;
        background("server", move || {
            while let Some(life) = stdio::wait(pid) {
                if let Life::Ended(status) = life {
                    let _ = tell.send(Happening::Exited(status));
                    break;
                }
            }
        });
        Ok(Self {
            tap: Arc::clone(tap),
            pid,
            own_group,
            stdin: Some(server.stdin),
            happenings,
            stderr,
            exited: None,
            open_lanes: 2,
            interrupted: false,
            signals,
        })
    }

    /// Takes what happened into account; returns what the driver should know of it.
    fn take(&mut self, happening: Happening) -> Option<Received> {
        match happening {
            Happening::Line(line) => Some(Received::Line(line)),
            Happening::Ended(lane) => {
                self.open_lanes -= 1;
                (lane == Lane::Stdout).then_some(Received::Ended)
            }
            Happening::Exited(status) => {
                self.exited = Some(status);
                // What it left in its pipe still comes; a grandchild may hold the pipe for ever.
                None
            }
            Happening::Signal => {
                self.interrupted = true;
                Some(Received::Interrupted)
            }
        }
    }
}

impl ClientTransport for StdioTransport {
    fn now_ns(&self) -> i64 {
        self.tap.clock().elapsed_ns()
    }

    fn send(&mut self, bytes: &[u8], limit: Duration) -> Result<(), String> {
        let Some(stdin) = &self.stdin else { return Err("its stdin is closed".into()) };
        let now = self.tap.clock().elapsed_ns();
        // Handed over before it is written, so that no answer can stand before its question.
        self.tap.chunk(Lane::Stdin, now, now, bytes);
        streams::write_all_within(stdin.as_fd(), bytes, limit).map_err(|error| match error {
            rustix::io::Errno::PIPE => "it has closed its stdin".to_owned(),
            rustix::io::Errno::TIMEDOUT => "it does not read its stdin".to_owned(),
            other => other.to_string(),
        })
    }

    fn close(&mut self) {
        if self.stdin.take().is_some() {
            self.tap.tell(Item::End(Lane::Stdin));
        }
    }

    fn receive(&mut self, wait: Duration) -> Received {
        let until = self.tap.clock().elapsed() + wait;
        loop {
            let left = until.saturating_sub(self.tap.clock().elapsed());
            // An ended server's pipe that a grandchild holds is listened to for a moment only.
            let patience = if self.exited.is_some() { left.min(DRAIN_SILENCE) } else { left };
            match self.happenings.recv_timeout(patience) {
                Ok(happening) => {
                    if let Some(received) = self.take(happening) {
                        return received;
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.exited.is_some() && patience < left => return Received::Ended,
                Err(RecvTimeoutError::Timeout) => return Received::Nothing,
                Err(RecvTimeoutError::Disconnected) => return Received::Ended,
            }
        }
    }

    fn last_words(&self) -> Vec<String> {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn finish(&mut self) -> Option<ExitStatus> {
        self.close();
        let ended = self.now_ns();
        let mut situation = Situation { client_ended_ns: Some(ended), ..Situation::default() };
        if self.interrupted {
            process_group::send(self.pid, self.own_group, signal_hook::consts::SIGTERM);
            situation.terminated_ns = Some(ended);
        }
        while self.exited.is_none() {
            let now = self.now_ns();
            let wait = match next_step(&situation, now) {
                Step::Wait(until) => {
                    until.map_or(PATIENCE, |until| Duration::from_nanos((until - now).max(0).unsigned_abs()))
                }
                Step::Terminate => {
                    process_group::send(self.pid, self.own_group, signal_hook::consts::SIGTERM);
                    situation.terminated_ns = Some(now);
                    continue;
                }
                Step::Kill => {
                    process_group::send(self.pid, self.own_group, signal_hook::consts::SIGKILL);
                    situation.killed = true;
                    continue;
                }
            };
            match self.happenings.recv_timeout(wait) {
                Ok(happening) => {
                    // A server that talks on for ever is not waited for for ever.
                    if matches!(happening, Happening::Line(_)) && now - ended < 10_000_000_000 {
                        situation.last_output_ns = now;
                    }
                    if matches!(happening, Happening::Signal) && situation.terminated_ns.is_none() {
                        process_group::send(self.pid, self.own_group, signal_hook::consts::SIGTERM);
                        situation.terminated_ns = Some(now);
                    }
                    self.take(happening);
                }
                Err(RecvTimeoutError::Timeout) if !situation.killed => {}
                Err(_) => break,
            }
        }
        while self.open_lanes > 0 {
            match self.happenings.recv_timeout(DRAIN_SILENCE) {
                Ok(happening) => drop(self.take(happening)),
                Err(_) => break,
            }
        }
        stdio::reap(self.pid);
        process_group::end_leftovers(self.pid, self.own_group, LEFTOVER_GRACE);
        self.exited
    }
}

fn background(name: &str, work: impl FnOnce() + Send + 'static) {
    // Without its thread a stream is silent, and that is reported as any silence.
    let _ = std::thread::Builder::new().name(name.into()).stack_size(256 << 10).spawn(work);
}

/// Reads a stream on a thread: a copy for the recording first, then its lines.
fn listen(
    lane: Lane,
    from: OwnedFd,
    tap: &Arc<Tap>,
    tell: &Sender<Happening>,
    words: Option<Arc<Mutex<VecDeque<String>>>>,
) {
    let (tap, tell) = (Arc::clone(tap), tell.clone());
    background(if words.is_some() { "stderr" } else { "stdout" }, move || {
        let clock = tap.clock();
        let mut buffer = vec![0; 64 << 10];
        let mut framer = LineFramer::new();
        let mut long = Vec::new();
        loop {
            let read = streams::read(from.as_fd(), &mut buffer).unwrap_or(0);
            let bytes = buffer.get(..read).unwrap_or_default();
            let mut lines = Vec::new();
            let each = |piece: Piece<'_>| match piece {
                Piece::Whole(line) => lines.push(line.to_vec()),
                Piece::Part { bytes, last } => {
                    if long.len() + bytes.len() <= LINE_LIMIT {
                        long.extend_from_slice(bytes);
                    }
                    if last {
                        lines.push(std::mem::take(&mut long));
                    }
                }
            };
            if read == 0 {
                framer.finish(each);
            } else {
                let now = clock.elapsed_ns();
                tap.chunk(lane, now, now, bytes);
                framer.push(bytes, each);
            }
            for line in lines {
                match &words {
                    None => drop(tell.send(Happening::Line(line))),
                    Some(words) => {
                        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
                        if words.len() == STDERR_LINES {
                            words.pop_front();
                        }
                        let kept = line.get(..line.len().min(400)).unwrap_or_default();
                        words.push_back(String::from_utf8_lossy(kept).trim_end().to_owned());
                    }
                }
            }
            if read == 0 {
                tap.tell(Item::End(lane));
                let _ = tell.send(Happening::Ended(lane));
                return;
            }
        }
    });
}
