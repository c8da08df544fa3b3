//! A server process on pipes.
//!
//! Its stdout is read on the thread that waits for it: a thread in between would cost every call a wake-up. What else
//! happens comes from threads of its own, which ring a bell that the same wait hears.

use super::lines::Lines;
use super::{ClientTransport, Received};
use crate::capture::signals;
use crate::capture::tap::{Item, Lane, Tap};
use crate::clock::Stopwatch;
use crate::session::session::ExitStatus;
use crate::transport::shutdown::{DRAIN_SILENCE, LEFTOVER_GRACE, PATIENCE, Situation, Step, next_step};
use crate::transport::stdio::{self, Life, SpawnError, Surroundings};
use crate::transport::{process_group, streams};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How many of the last lines on stderr are kept for a report.
const STDERR_LINES: usize = 8;

/// How long a server that does not read is left before its output is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Tells the waiting thread what happened on another one.
#[derive(Clone)]
struct Teller {
    happenings: Sender<Happening>,
    bell: Arc<PipeWriter>,
}

impl Teller {
    fn tell(&self, happening: Happening) {
        let _ = self.happenings.send(happening);
        let _ = (&*self.bell).write(&[1]);
    }
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
    stdout: Lines,
    stdout_ended: bool,
    happenings: Receiver<Happening>,
    bell: PipeReader,
    // Kept, so that the bell is never hung up.
    _teller: Teller,
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
        let (bell, ringer) = std::io::pipe().map_err(|error| SpawnError::Other(error.to_string()))?;
        let server = stdio::spawn_in(argv, own_group, surroundings)?;
        let (tell, happenings) = channel();
        let signals = caught.as_ref().ok().map(signal_hook::iterator::SignalsInfo::handle);
        let teller = Teller { happenings: tell, bell: Arc::new(ringer) };
        if let Ok(caught) = caught {
            let teller = teller.clone();
            background("signals", move || {
                signals::each(caught, |number, _| {
                    if number != signal_hook::consts::SIGCONT {
                        teller.tell(Happening::Signal);
                    }
                });
            });
        }
        // A server that does not read must not hold us up for ever.
        streams::do_not_block(server.stdin.as_fd());
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        listen(Lines::of(Lane::Stderr, server.stderr, tap), teller.clone(), Arc::clone(&stderr));
        let pid = server.pid;
        let about_end = teller.clone();
        background("server", move || {
            while let Some(life) = stdio::wait(pid) {
                if let Life::Ended(status) = life {
                    about_end.tell(Happening::Exited(status));
                    break;
                }
            }
        });
        Ok(Self {
            tap: Arc::clone(tap),
            pid,
            own_group,
            stdin: Some(server.stdin),
            stdout: Lines::of(Lane::Stdout, server.stdout, tap),
            stdout_ended: false,
            happenings,
            bell,
            _teller: teller,
            stderr,
            exited: None,
            open_lanes: 2,
            interrupted: false,
            signals,
        })
    }

    /// Waits for the next thing to happen; `None` if nothing did.
    fn next(&mut self, wait: Duration) -> Option<Happening> {
        let watch = Stopwatch::start();
        loop {
            if let Some(line) = self.stdout.next() {
                return Some(Happening::Line(line));
            }
            if self.stdout.descriptor().is_none() && !std::mem::replace(&mut self.stdout_ended, true) {
                return Some(Happening::Ended(Lane::Stdout));
            }
            if let Ok(happening) = self.happenings.try_recv() {
                return Some(happening);
            }
            let left = wait.saturating_sub(watch.elapsed());
            let bell = Some((self.bell.as_fd(), PollFlags::IN));
            let talks = self.stdout.descriptor().map(|stdout| (stdout, PollFlags::IN));
            let [talks, rings] = streams::ready([talks, bell], left);
            if !talks && !rings && left.is_zero() {
                return None;
            }
            if talks {
                self.stdout.read();
            }
            if rings {
                // What it rings for was sent before.
                let _ = self.bell.read(&mut [0; 64]);
            }
        }
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
        if self.stdin.is_none() {
            return Err("its stdin is closed".into());
        }
        let now = self.tap.clock().elapsed_ns();
        // Handed over before it is written, so that no answer can stand before its question.
        self.tap.chunk(Lane::Stdin, now, now, bytes);
        let watch = Stopwatch::start();
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = match self.stdin.as_ref().map(|stdin| streams::write_some(stdin.as_fd(), rest)) {
                Some(Ok(written)) => written,
                Some(Err(Errno::PIPE)) | None => return Err("it has closed its stdin".into()),
                Some(Err(error)) => return Err(error.to_string()),
            };
            rest = rest.get(written..).unwrap_or_default();
            if written == 0 {
                if watch.elapsed() >= limit {
                    return Err("it does not read its stdin".into());
                }
                // It may not read before what it says is read.
                let takes = self.stdin.as_ref().map(|stdin| (stdin.as_fd(), PollFlags::OUT));
                let talks = self.stdout.descriptor().map(|stdout| (stdout, PollFlags::IN));
                if let [_, true] = streams::ready([takes, talks], LOOK_AGAIN) {
                    self.stdout.read();
                }
            }
        }
        Ok(())
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
            match self.next(patience) {
                Some(happening) => {
                    if let Some(received) = self.take(happening) {
                        return received;
                    }
                }
                None if self.exited.is_some() && patience < left => return Received::Ended,
                None => return Received::Nothing,
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
            match self.next(wait) {
                Some(happening) => {
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
                None if !situation.killed => {}
                None => break,
            }
        }
        while self.open_lanes > 0 {
            match self.next(DRAIN_SILENCE) {
                Some(happening) => drop(self.take(happening)),
                None => break,
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

/// Reads what a server writes for people on a thread, and keeps the last lines.
fn listen(mut from: Lines, teller: Teller, words: Arc<Mutex<VecDeque<String>>>) {
    background("stderr", move || {
        loop {
            let goes_on = from.read();
            while let Some(line) = from.next() {
                let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
                if words.len() == STDERR_LINES {
                    words.pop_front();
                }
                let kept = line.get(..line.len().min(400)).unwrap_or_default();
                words.push_back(String::from_utf8_lossy(kept).trim_end().to_owned());
            }
            if !goes_on {
                teller.tell(Happening::Ended(Lane::Stderr));
                return;
            }
        }
    });
}
