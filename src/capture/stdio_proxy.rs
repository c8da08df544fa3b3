//! The tap on stdio: three pumps between a client and a server process, and the process life around them.

use super::pump::{self, Activity, PumpEnd};
use super::recorder::{Ending, Notice, Notify, Plan, Recorder, Summary};
use super::signals;
use super::tap::{Item, Lane, Loss, Tap};
use crate::clock::Stopwatch;
use crate::session::session::ExitStatus;
use crate::transport::shutdown::{DRAIN_SILENCE, LEFTOVER_GRACE, Situation, Step, next_step};
use crate::transport::stdio::{self, Life, Server, SpawnError};
use crate::transport::{process_group, streams};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// How long the last commit may take when the session ended by itself.
const LAST_COMMIT: Duration = Duration::from_millis(1500);

/// The same after a signal: whoever sent TERM sends KILL soon.
const LAST_COMMIT_TERMINATED: Duration = Duration::from_millis(600);

/// How long others may go on writing into the server's pipes after it has ended; ns.
const DRAIN_LIMIT_NS: i64 = 5_000_000_000;

/// A server that has closed its stdout and is still there after this time lives on; ns.
const LIVED_ON_NS: i64 = 100_000_000;

/// How often the ladder looks again once the client has ended: the last answer may have come.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How a recorded session went.
#[derive(Debug)]
pub struct Recorded {
    /// How the server ended, or why it never started.
    pub server: Result<ExitStatus, SpawnError>,
    /// What was recorded; `None` if the last commit did not come in time or nothing could be recorded.
    pub summary: Option<Summary>,
    /// True if the session is in the store at all.
    pub began: bool,
    /// What was dropped on the way.
    pub lost: Loss,
    /// How long the session took.
    pub took: Duration,
}

enum Happening {
    ClientEnded,
    Life(Life),
    StdoutEnded,
    Signal { number: i32, by_kernel: bool },
    PumpDone,
}

/// Runs a server command between our stdin and stdout, and records what passes.
///
/// Called from the main thread: the server dies with the thread that started it.
#[must_use]
pub fn record(argv: &[OsString], plan: Plan, notify: &Notify) -> Recorded {
    let clock = Stopwatch::start();
    let tap = Arc::new(Tap::new(clock));
    let own_group = !process_group::in_foreground();
    if !own_group {
        process_group::adopt_orphans();
    }
    // Caught before the server starts: a signal in between must reach it.
    let caught = signals::catch();
    let server = match stdio::spawn(argv, own_group) {
        Ok(server) => server,
        Err(error) => {
            let recorder = Recorder::start(plan, Arc::clone(&tap), Arc::clone(notify));
            let status = ExitStatus::Code(i32::from(error.exit_status()));
            let reason = format!("the server could not be started: {error}");
            let ending = Ending { at_ns: clock.elapsed_ns(), reason, exit_status: Some(status) };
            let summary = recorder.finish(ending, LAST_COMMIT);
            return Recorded {
                server: Err(error),
                summary,
                began: tap.has_begun(),
                lost: tap.lost(),
                took: clock.elapsed(),
            };
        }
    };
    let (tell, happenings) = channel();
    if let Ok(caught) = caught {
        let tell = tell.clone();
        background("signals", move || {
            signals::each(caught, |number, by_kernel| {
                let _ = tell.send(Happening::Signal { number, by_kernel });
            });
        });
    }
    let Server { pid, stdin, stdout, stderr, .. } = server;
    let activity = start_pumps(stdin, stdout, stderr, &tap, &tell);
    let recorder = Recorder::start(plan, Arc::clone(&tap), Arc::clone(notify));
    background("server", move || {
        while let Some(life) = stdio::wait(pid) {
            if tell.send(Happening::Life(life)).is_err() || matches!(life, Life::Ended(_)) {
                break;
            }
        }
    });

    let mut life = Process {
        pid,
        own_group,
        tap: &tap,
        activity: &activity,
        notify,
        situation: Situation::default(),
        signalled: None,
        stdout_ended_ns: None,
        ended_by_client: false,
    };
    let status = life.until_ended(&happenings);
    let terminated = life.drain(&happenings);
    stdio::reap(pid);
    process_group::end_leftovers(pid, own_group, if terminated { Duration::from_millis(50) } else { LEFTOVER_GRACE });

    let reason = life.reason(status);
    let ending = Ending { at_ns: clock.elapsed_ns(), reason, exit_status: Some(status) };
    let summary = recorder.finish(ending, if terminated { LAST_COMMIT_TERMINATED } else { LAST_COMMIT });
    Recorded { server: Ok(status), summary, began: tap.has_begun(), lost: tap.lost(), took: clock.elapsed() }
}

fn background(name: &str, work: impl FnOnce() + Send + 'static) {
    // A thread that cannot be started is missed by nobody but its own task; the session goes on.
    let _ = std::thread::Builder::new().name(name.into()).stack_size(256 << 10).spawn(work);
}

struct Activities {
    stdout: Arc<Activity>,
    stderr: Arc<Activity>,
}

fn start_pumps(
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    tap: &Arc<Tap>,
    tell: &Sender<Happening>,
) -> Activities {
    let (in_tap, in_tell) = (Arc::clone(tap), tell.clone());
    background("stdin", move || {
        let end = pump::run(Lane::Stdin, streams::stdin(), stdin.as_fd(), &in_tap, &Activity::default());
        match end {
            // Told before it is passed on: what the server does then comes after it.
            PumpEnd::Ended => drop(in_tell.send(Happening::ClientEnded)),
            // The server has closed its stdin: the client must find out as it would without us.
            PumpEnd::Refused => streams::close_stdin(),
        }
        drop(stdin);
    });
    let activities = Activities { stdout: Arc::default(), stderr: Arc::default() };
    let (out_tap, out_tell, activity) = (Arc::clone(tap), tell.clone(), Arc::clone(&activities.stdout));
    background("stdout", move || {
        let end = pump::run(Lane::Stdout, stdout.as_fd(), streams::stdout(), &out_tap, &activity);
        // Closed either way: an end is passed on to the client, a refusal to the server.
        drop(stdout);
        if end == PumpEnd::Ended {
            let _ = out_tell.send(Happening::StdoutEnded);
            streams::close_stdout();
        }
        let _ = out_tell.send(Happening::PumpDone);
    });
    let (err_tap, err_tell, activity) = (Arc::clone(tap), tell.clone(), Arc::clone(&activities.stderr));
    background("stderr", move || {
        let _ = pump::run(Lane::Stderr, stderr.as_fd(), streams::stderr(), &err_tap, &activity);
        drop(stderr);
        let _ = err_tell.send(Happening::PumpDone);
    });
    activities
}

/// The life of the server process, as far as we have a hand in it.
struct Process<'a> {
    pid: rustix::process::Pid,
    own_group: bool,
    tap: &'a Tap,
    activity: &'a Activities,
    notify: &'a Notify,
    situation: Situation,
    signalled: Option<i32>,
    stdout_ended_ns: Option<i64>,
    ended_by_client: bool,
}

impl Process<'_> {
    /// Passes signals on and climbs the ladder until the server has ended.
    fn until_ended(&mut self, happenings: &Receiver<Happening>) -> ExitStatus {
        loop {
            let now = self.tap.clock().elapsed_ns();
            self.situation.last_output_ns = self.activity.stdout.last_ns();
            self.situation.answers_awaited = self.situation.client_ended_ns.is_some()
                && self.tap.waiting_calls() > 0
                && !streams::is_reader_gone(streams::stdout());
            let wait = match next_step(&self.situation, now) {
                Step::Wait(until) => until.map(|until| {
                    let due = Duration::from_nanos((until - now).max(0).unsigned_abs());
                    due.min(LOOK_AGAIN)
                }),
                Step::Terminate => {
                    self.note("terminated", None);
                    process_group::send(self.pid, self.own_group, signal_hook::consts::SIGTERM);
                    self.situation.terminated_ns = Some(now);
                    continue;
                }
                Step::Kill => {
                    self.note("killed", None);
                    process_group::send(self.pid, self.own_group, signal_hook::consts::SIGKILL);
                    self.situation.killed = true;
                    continue;
                }
            };
            match receive(happenings, wait) {
                Some(Happening::Life(Life::Ended(status))) => return status,
                Some(Happening::Life(Life::Stopped)) => (self.notify)(Notice::ServerStopped),
                Some(Happening::ClientEnded) => self.client_ended(),
                Some(Happening::StdoutEnded) => self.stdout_ended_ns = Some(self.tap.clock().elapsed_ns()),
                Some(Happening::Signal { number, by_kernel }) => self.signal(number, by_kernel),
                Some(Happening::PumpDone) | None => {}
            }
        }
    }

    fn client_ended(&mut self) {
        let now = self.tap.clock().elapsed_ns();
        self.situation.client_ended_ns = Some(now);
        // A client that leaves because the server has closed its stdout did not end the session.
        self.ended_by_client = self.stdout_ended_ns.is_none_or(|at| now - at > LIVED_ON_NS);
        self.note("client-ended", None);
    }

    fn signal(&mut self, number: i32, by_kernel: bool) {
        self.note("signal", Some(i64::from(number)));
        self.signalled = Some(number);
        // In the terminal's group the kernel has sent it to the server already.
        if self.own_group || !by_kernel {
            process_group::send(self.pid, self.own_group, number);
        }
        if number == signal_hook::consts::SIGTERM && self.situation.terminated_ns.is_none() {
            self.situation.terminated_ns = Some(self.tap.clock().elapsed_ns());
        }
    }

    /// Reads what the server left in its pipes; returns true if somebody is in a hurry.
    fn drain(&mut self, happenings: &Receiver<Happening>) -> bool {
        let mut hurry = self.situation.terminated_ns.is_some();
        let silence = i64::try_from(DRAIN_SILENCE.as_nanos()).unwrap_or(0);
        let since = self.tap.clock().elapsed_ns();
        loop {
            let now = self.tap.clock().elapsed_ns();
            let quiet = now - since >= silence;
            let done = |activity: &Activity| activity.is_silent(now, if quiet { silence } else { i64::MAX });
            if done(&self.activity.stdout) && done(&self.activity.stderr) {
                return hurry;
            }
            // What still writes now is no longer the server.
            let overdue = now - since >= DRAIN_LIMIT_NS;
            if overdue && !self.activity.stdout.is_writing() && !self.activity.stderr.is_writing() {
                return hurry;
            }
            match receive(happenings, Some(Duration::from_millis(20))) {
                Some(Happening::Signal { number, .. }) if number != signal_hook::consts::SIGCONT => {
                    self.signalled = Some(number);
                    hurry = true;
                    if now - since >= silence {
                        return hurry;
                    }
                }
                _ => {}
            }
        }
    }

    fn note(&self, what: &'static str, value: Option<i64>) {
        self.tap.tell(Item::Event { at_ns: self.tap.clock().elapsed_ns(), what, value });
    }

    fn reason(&self, status: ExitStatus) -> String {
        let how = match status {
            ExitStatus::Code(code) => format!("the server exited with {code}"),
            ExitStatus::Signal(signal) => format!("the server was ended by signal {signal}"),
        };
        match self.signalled {
            _ if self.situation.killed => format!("{how}: it did not end by itself"),
            Some(signal) => format!("{how} after signal {signal}"),
            None if self.ended_by_client => format!("ended by the client; {how}"),
            None => how,
        }
    }
}

fn receive(happenings: &Receiver<Happening>, wait: Option<Duration>) -> Option<Happening> {
    match wait {
        None => happenings.recv().ok(),
        Some(wait) => happenings.recv_timeout(wait).ok(),
    }
}
