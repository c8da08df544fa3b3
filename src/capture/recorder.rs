//! The thread that records: it takes copies from the tap and commits them, and never holds up the traffic.
//!
//! A store that is busy is waited for, a full disk is tried again, a store that was replaced is opened anew; where
//! nothing can be recorded any more the copies are dropped and counted, and one sentence says so.

use super::assemble::Assembler;
use super::checkpoints::Checkpoints;
use super::tap::{Item, Lane, Loss, Tap};
use crate::session::derive::{Derived, Facts};
use crate::session::frame::{Channel, Direction, Gap};
use crate::session::message::Kind;
use crate::session::session::{ExitStatus, Origin, Session, id_from_bits};
use crate::store::liveness::LiveLock;
use crate::store::reader::lane_of;
use crate::store::retention::Retention;
use crate::store::rows::Row;
use crate::store::watch::Watch;
use crate::store::writer::Totals;
use crate::store::{StoreError, Writer};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long commits are put off so that one takes many messages.
const WINDOW: Duration = Duration::from_millis(5);

/// The same while other recorders write to the store.
const SHARED_WINDOW: Duration = Duration::from_millis(50);

/// How many bytes make a commit due at once: a quarter of what may wait.
const ENOUGH: usize = 8 << 20;

/// How many rows make a commit due at once.
const MOST_ROWS: usize = 8192;

/// The largest chunk that is taken apart at once, in bytes.
const PIECE: usize = 8 << 10;

/// When buffers are made ready for a burst: not while the server starts and the store is opened.
const BEFORE_BURSTS: Duration = Duration::from_millis(20);

/// How often the recorder looks around when nothing comes.
const IDLE: Duration = Duration::from_millis(500);

/// How often it looks whether the store is still the same file; ns.
const WATCH_NS: i64 = 1_000_000_000;

const LANES: [Lane; 3] = [Lane::Stdin, Lane::Stdout, Lane::Stderr];

/// What a person should be told while a session runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Nothing can be recorded, and why.
    CannotRecord(String),
    /// The disk is full; recording goes on as soon as there is room.
    DiskFull,
    /// The store was deleted or replaced; the rest goes to a new one.
    Replaced,
    /// The server was stopped by a signal.
    ServerStopped,
    /// Copies were dropped, and how many.
    Lost(Loss),
}

/// Tells a person.
pub type Notify = Arc<dyn Fn(Notice) + Send + Sync>;

/// What is to be recorded, and where.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The store's file.
    pub store: PathBuf,
    /// The session as it begins.
    pub session: Session,
    /// What tells launches of the same command by the same parent.
    pub launch_key: Option<String>,
    /// What is kept of older recordings when this one has ended.
    pub retention: Retention,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// When, ns since it began.
    pub at_ns: i64,
    /// Why.
    pub reason: String,
    /// How the server ended.
    pub exit_status: Option<ExitStatus>,
}

/// What was recorded, for the last words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The session's name in the end.
    pub name: Option<String>,
    /// What is known of it.
    pub facts: Facts,
    /// Lines on the server's stdout that were no JSON.
    pub stray: u64,
}

/// The recorder of one session.
pub struct Recorder {
    tap: Arc<Tap>,
    ending: Arc<Mutex<Option<Ending>>>,
    done: Receiver<Summary>,
}

impl Recorder {
    /// Starts the thread; the store is opened while the traffic already flows.
    #[must_use]
    pub fn start(plan: Plan, tap: Arc<Tap>, notify: Notify) -> Self {
        let ending = Arc::new(Mutex::new(None));
        let (report, done) = channel();
        let work = Work {
            tap: Arc::clone(&tap),
            notify: Arc::clone(&notify),
            ending: Arc::clone(&ending),
            assembler: Assembler::new(),
            name: plan.session.name.clone(),
            stored: Totals::default(),
            stored_lanes: [Loss::default(); 3],
            last_seq: None,
            stray: 0,
            told_full: false,
            plan,
        };
        let for_bursts = Arc::clone(&tap);
        // Without it the first burst is slower.
        let _ = std::thread::Builder::new().name("buffers".into()).stack_size(64 << 10).spawn(move || {
            crate::clock::sleep(BEFORE_BURSTS);
            for_bursts.touch_spares();
        });
        let in_thread = Arc::clone(&tap);
        let started = std::thread::Builder::new().name("recorder".into()).spawn(move || {
            let run = std::panic::AssertUnwindSafe(|| work.run(&report));
            if std::panic::catch_unwind(run).is_err() {
                notify(Notice::CannotRecord("the recorder failed; please report it".into()));
                in_thread.discard();
            }
        });
        if started.is_err() {
            tap.discard();
        }
        Self { tap, ending, done }
    }

    /// Ends the session and waits for the last commit, so long at most after the one before; `None` if it did not come.
    pub fn finish(self, ending: Ending, patience: Duration) -> Option<Summary> {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(ending);
        self.tap.close();
        // As long as commits get done there is something to wait for; a recorder that stalls is left behind.
        loop {
            match self.done.recv_timeout(patience) {
                Ok(summary) => return Some(summary),
                Err(RecvTimeoutError::Timeout) if self.tap.since_commit() < patience => {}
                Err(_) => return None,
            }
        }
    }
}

struct Work {
    plan: Plan,
    tap: Arc<Tap>,
    notify: Notify,
    ending: Arc<Mutex<Option<Ending>>>,
    assembler: Assembler,
    name: Option<String>,
    stored: Totals,
    stored_lanes: [Loss; 3],
    last_seq: Option<u64>,
    stray: u64,
    told_full: bool,
}

/// The open store with what belongs to it.
struct Open {
    writer: Writer,
    lock: Option<LiveLock>,
    watch: Watch,
    watched_ns: i64,
    checkpoints: Checkpoints,
}

impl Open {
    /// Gives up the lock of a store that is not there any more, before the new one's is taken at the same path.
    fn leave(&mut self) {
        self.lock = None;
        self.checkpoints.stop();
        self.watch.remove_old_log();
    }
}

impl Work {
    fn run(mut self, report: &Sender<Summary>) {
        let Some(mut open) = self.open() else { return };
        let mut window = WINDOW;
        let mut contended = contention();
        while let Some(items) = self.tap.take(window, ENOUGH, IDLE) {
            if !self.record(&mut open, items) {
                return;
            }
            let now = contention();
            window = if now == contended { WINDOW } else { SHARED_WINDOW };
            contended = now;
            if !self.look_around(&mut open) {
                return;
            }
        }
        self.end(open, report);
    }

    /// Records what was taken; false if nothing can be recorded any more.
    fn record(&mut self, open: &mut Open, items: Vec<Item>) -> bool {
        for item in items {
            // Lines may be as short as a byte: a large chunk of them must not become a hundred thousand rows at once.
            for piece in pieces(item) {
                self.assembler.item(&piece, "the recorder fell behind");
                if self.assembler.rows() >= MOST_ROWS && !self.commit_rows(open) {
                    return false;
                }
            }
        }
        self.tap.set_waiting_calls(self.assembler.waiting());
        self.commit_rows(open)
    }

    fn commit_rows(&mut self, open: &mut Open) -> bool {
        let rows = self.assembler.take_rows();
        let written = rows.iter().map(Row::weight).sum::<usize>() as u64;
        let done = rows.is_empty() || self.commit(open, rows);
        open.checkpoints.wrote(written);
        done
    }

    /// Opens the store, waiting as long as it takes where others hold it.
    fn open(&mut self) -> Option<Open> {
        loop {
            let lock = LiveLock::take(&self.plan.store, &self.plan.session.id).ok();
            let begun =
                Writer::begin(&self.plan.store, &self.plan.session, self.plan.launch_key.clone(), wait_for_lock);
            match begun {
                Ok(writer) => {
                    crate::store::liveness::sweep(&self.plan.store);
                    self.tap.committed();
                    return Some(Open {
                        writer,
                        lock,
                        watch: Watch::of(&self.plan.store),
                        watched_ns: self.tap.clock().elapsed_ns(),
                        checkpoints: Checkpoints::start(self.plan.store.clone()),
                    });
                }
                Err(error) if error.is_busy() => crate::clock::sleep(Duration::from_millis(5)),
                Err(error) if error.is_full() && !self.tap.is_closed() => {
                    if !std::mem::replace(&mut self.told_full, true) {
                        (self.notify)(Notice::DiskFull);
                    }
                    crate::clock::sleep(Duration::from_millis(100));
                }
                Err(error) => {
                    self.give_up(&error);
                    return None;
                }
            }
        }
    }

    fn give_up(&self, error: &StoreError) {
        self.tap.discard();
        (self.notify)(Notice::CannotRecord(error.to_string()));
    }

    /// Commits a batch, trying as long as it takes; false if nothing can be recorded any more.
    fn commit(&mut self, open: &mut Open, mut rows: Vec<Row>) -> bool {
        self.take_name();
        loop {
            let mut totals = self.stored;
            count(&rows, &mut totals);
            let Err(error) = open.writer.append(&rows, totals, self.assembler.facts(), self.name.as_deref()) else {
                self.stored = totals;
                self.count_lanes(&rows);
                self.tap.committed();
                return true;
            };
            if error.is_busy() {
                continue;
            }
            if open.watch.is_replaced() {
                open.leave();
                match self.reopen() {
                    Some(new) => *open = new,
                    None => return false,
                }
            } else if error.is_full() {
                if !std::mem::replace(&mut self.told_full, true) {
                    (self.notify)(Notice::DiskFull);
                }
                if self.tap.is_closed() {
                    // The last chance: what was held back for this makes room for saying what is missing.
                    if let Some(lock) = &open.lock {
                        lock.release_reserve();
                    }
                    if rows.iter().all(|row| matches!(row, Row::Gap(_))) {
                        self.give_up(&error);
                        return false;
                    }
                    rows = self.only_gaps(&rows);
                } else {
                    crate::clock::sleep(Duration::from_millis(100));
                }
            } else {
                self.give_up(&error);
                return false;
            }
        }
    }

    /// Returns gaps that stand for everything in `rows` and in the tap.
    fn only_gaps(&mut self, rows: &[Row]) -> Vec<Row> {
        const REASON: &str = "the disk was full";
        let mut lost = [Loss::default(); 3];
        for row in rows {
            match row {
                Row::Frame { info, lane, .. } => {
                    let lost = &mut lost[usize::from(*lane)];
                    lost.bytes += info.length;
                    lost.lines += 1;
                }
                Row::Gap(gap) => {
                    let lost = &mut lost[lane_of_gap(gap)];
                    lost.bytes += gap.bytes;
                    lost.lines += gap.lines;
                }
                _ => {}
            }
        }
        // What is open of a line was taken from the tap, too.
        for lane in LANES {
            self.assembler.end(lane);
        }
        for row in self.assembler.take_rows() {
            match row {
                Row::Frame { info, bytes, lane, .. } => {
                    lost[usize::from(lane)].bytes += info.length;
                    lost[usize::from(lane)].lines += u64::from(bytes.ends_with(b"\n"));
                }
                Row::Gap(gap) => {
                    let lost = &mut lost[lane_of_gap(&gap)];
                    lost.bytes += gap.bytes;
                    lost.lines += gap.lines;
                }
                _ => {}
            }
        }
        // Only counted: whoever ends a session does not wait for megabytes to be understood.
        while let Some(items) = self.tap.take(Duration::ZERO, 8 << 20, Duration::ZERO) {
            for item in items {
                if let Item::Chunk { lane, lost_before, bytes, .. } = item {
                    let lost = &mut lost[lane.index()];
                    lost.bytes += lost_before.bytes + bytes.len() as u64;
                    lost.lines += lost_before.lines + memchr::memchr_iter(b'\n', &bytes).count() as u64;
                }
            }
        }
        for (lost, dropped) in lost.iter_mut().zip(self.tap.take_lost()) {
            lost.bytes += dropped.bytes;
            lost.lines += dropped.lines;
        }
        let after = self.last_seq;
        let gaps = LANES.iter().zip(lost).filter(|(_, loss)| *loss != Loss::default());
        gaps.map(|(lane, loss)| Row::Gap(gap_of(*lane, after, loss, REASON))).collect()
    }

    /// Goes on in the store that is at the path now.
    fn reopen(&mut self) -> Option<Open> {
        // The new file may be a copy of the old one, where the session stands already: this is its continuation.
        let id = id_from_bits(fastrand::u64(..));
        self.plan.session.parent = Some(std::mem::replace(&mut self.plan.session.id, id));
        let mut open = self.open()?;
        (self.notify)(Notice::Replaced);
        let lanes = [Lane::Stdin, Lane::Stdout, Lane::Stderr];
        let gaps: Vec<Row> = lanes
            .iter()
            .zip(self.stored_lanes)
            .filter(|(_, loss)| *loss != Loss::default())
            .map(|(lane, loss)| Row::Gap(gap_of(*lane, None, loss, "the store was replaced")))
            .collect();
        self.stored = Totals::default();
        self.stored_lanes = [Loss::default(); 3];
        let mut totals = Totals::default();
        count(&gaps, &mut totals);
        let facts = self.assembler.facts();
        while let Err(error) = open.writer.append(&gaps, totals, facts, self.name.as_deref()) {
            if !error.is_busy() {
                self.give_up(&error);
                return None;
            }
        }
        self.stored = totals;
        Some(open)
    }

    /// Looks once a second whether the store is still there; false if recording has ended.
    fn look_around(&mut self, open: &mut Open) -> bool {
        let now = self.tap.clock().elapsed_ns();
        if now - open.watched_ns < WATCH_NS {
            return true;
        }
        open.watched_ns = now;
        if !open.watch.is_replaced() {
            return true;
        }
        open.leave();
        match self.reopen() {
            Some(new) => {
                *open = new;
                true
            }
            None => false,
        }
    }

    fn end(mut self, mut open: Open, report: &Sender<Summary>) {
        for lane in [Lane::Stdin, Lane::Stdout, Lane::Stderr] {
            self.assembler.end(lane);
        }
        for (lane, loss) in [Lane::Stdin, Lane::Stdout, Lane::Stderr].into_iter().zip(self.tap.take_lost()) {
            if loss != Loss::default() {
                self.assembler.lost(lane, loss, "the recorder fell behind");
                self.assembler.end(lane);
            }
        }
        let rows = self.assembler.take_rows();
        if !rows.is_empty() && !self.commit(&mut open, rows) {
            return;
        }
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(lock) = &open.lock {
            lock.release_reserve();
        }
        let ended_ns = ending.as_ref().map_or(0, |ending| ending.at_ns);
        if let Some(ending) = ending {
            while let Err(error) =
                open.writer.end(&self.plan.session.id, ending.at_ns, &ending.reason, ending.exit_status)
            {
                if !error.is_busy() {
                    self.give_up(&error);
                    return;
                }
            }
        }
        // On the connection that is open, and for a few milliseconds at most: whoever gets the report ends the process.
        let now_ns = self.plan.session.started_at_ns.saturating_add(ended_ns);
        open.writer.retain(&self.plan.store, self.plan.retention, now_ns);
        drop(open.lock.take());
        let _ =
            report.send(Summary { name: self.name.clone(), facts: self.assembler.facts().clone(), stray: self.stray });
        open.checkpoints.stop();
    }

    /// The server's own name becomes the session's, unless a person chose one.
    fn take_name(&mut self) {
        // What is no recording of a client keeps no name: it is reached by its id.
        if !self.plan.session.named
            && self.plan.session.origin == Origin::Record
            && let Some(server) = &self.assembler.facts().server
        {
            let name: String =
                server.name.chars().map(|c| if c.is_control() || "/\\~".contains(c) { '-' } else { c }).collect();
            if crate::session::selector::name_problem(&name).is_none() {
                self.name = Some(name);
            }
        }
    }

    fn count_lanes(&mut self, rows: &[Row]) {
        for row in rows {
            match row {
                Row::Frame { info, .. } => {
                    self.last_seq = Some(info.seq);
                    let lane = &mut self.stored_lanes[usize::from(lane_of(info))];
                    lane.bytes += info.length;
                    lane.lines += 1;
                }
                Row::Derived(Derived::Message(message)) => {
                    let stray = message.kind == Kind::Stray
                        && message.channel == Channel::Stdio
                        && message.direction == Direction::ToClient;
                    self.stray += u64::from(stray);
                }
                _ => {}
            }
        }
    }
}

fn has_many_lines(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).nth(PIECE / 16).is_some()
}

/// Cuts a large chunk of short lines into smaller ones of the same time.
fn pieces(item: Item) -> Vec<Item> {
    match item {
        Item::Chunk { lane, received_ns, forwarded_ns, lost_before, bytes }
            if bytes.len() > PIECE && has_many_lines(&bytes) =>
        {
            (0..bytes.len())
                .step_by(PIECE)
                .map(|at| Item::Chunk {
                    lane,
                    received_ns,
                    forwarded_ns,
                    lost_before: if at == 0 { lost_before } else { Loss::default() },
                    bytes: bytes.part(at, at + PIECE),
                })
                .collect()
        }
        item => vec![item],
    }
}

fn count(rows: &[Row], totals: &mut Totals) {
    for row in rows {
        match row {
            Row::Frame { info, .. } => {
                totals.frames += 1;
                totals.bytes += info.length;
            }
            Row::Gap(gap) => totals.lost_frames += gap.lines,
            _ => {}
        }
    }
}

fn gap_of(lane: Lane, after: Option<u64>, loss: Loss, reason: &str) -> Gap {
    let (dir, ch) = match lane {
        Lane::Stdin => (Direction::ToServer, Channel::Stdio),
        Lane::Stdout => (Direction::ToClient, Channel::Stdio),
        Lane::Stderr => (Direction::ToClient, Channel::Stderr),
    };
    Gap { dir, ch, after, bytes: loss.bytes, lines: loss.lines, reason: reason.to_owned() }
}

fn lane_of_gap(gap: &Gap) -> usize {
    match (gap.dir, gap.ch) {
        (_, Channel::Stderr) => 2,
        (Direction::ToClient, _) => 1,
        (Direction::ToServer, _) => 0,
    }
}

static CONTENTION: AtomicU64 = AtomicU64::new(0);

/// Returns how often another process held the store.
fn contention() -> u64 {
    CONTENTION.load(Ordering::Relaxed)
}

/// Waits a moment for a store that another process holds; SQLite calls it.
#[must_use]
pub fn wait_for_lock(tries: i32) -> bool {
    CONTENTION.fetch_add(1, Ordering::Relaxed);
    // 1 ms and a jitter, so that several recorders do not wake together.
    crate::clock::sleep(Duration::from_micros(700 + fastrand::u64(0..600)));
    tries < 100
}
