//! The bounded channel between the traffic and the recorder.
//!
//! It is bounded in bytes and in age. When it is full, a pump waits only while the recorder gets its commits done; otherwise,
//! or after a second for one chunk, the copy is dropped and counted, never the traffic.

use super::buffers::{Bytes, touched};
use super::redact_http::Masker;
use crate::clock::Stopwatch;
use crate::session::frame::{Channel, Direction};
use crate::session::http::HttpExchange;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many bytes of copies may wait.
pub const CAPACITY: usize = 32 << 20;

/// A commit older than this does not count as progress; ns. A loaded disk is silent for a quarter of a second at times.
const PROGRESS_NS: i64 = 1_000_000_000;

/// A copy that has waited for so long slows its sender, too: what a killed tap loses is never older than half a
/// second; ns.
const OLDEST_NS: i64 = 300_000_000;

/// How long one chunk may wait for room.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How many buffers are touched in advance: 6 MB.
const SPARES: usize = 96;

/// How many items the queue has room for before it grows, at most.
const ITEMS_AT_FIRST: usize = 1024;

/// So many bytes within a window are a burst: 200 MB/s.
const BURST: usize = 1 << 20;

/// How long a burst has the processors for itself, as long as there is room: the recorder would take one from the server
/// or from its client just when both are busiest.
const BURST_WINDOW: Duration = Duration::from_millis(25);

/// How much is taken at once, in bytes: what is taken is out of the bound until it is committed.
const MOST_TAKEN: usize = 1 << 20;

/// What a queued chunk costs besides its bytes, roughly.
const OVERHEAD: usize = 96;

/// A stream that is tapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// From the client to the server.
    Stdin,
    /// From the server to the client.
    Stdout,
    /// The server's stderr.
    Stderr,
    /// A body of an HTTP exchange.
    Http {
        /// The exchange's number in its session.
        exchange: u64,
        /// Whose body.
        direction: Direction,
        /// A body, or a stream of events.
        channel: Channel,
    },
}

impl Lane {
    /// Returns which way its bytes travel.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Self::Stdin => Direction::ToServer,
            Self::Stdout | Self::Stderr => Direction::ToClient,
            Self::Http { direction, .. } => direction,
        }
    }

    /// Returns what carries them.
    #[must_use]
    pub fn channel(self) -> Channel {
        match self {
            Self::Stdin | Self::Stdout => Channel::Stdio,
            Self::Stderr => Channel::Stderr,
            Self::Http { channel, .. } => channel,
        }
    }

    /// Returns the HTTP exchange.
    #[must_use]
    pub fn exchange(self) -> Option<u64> {
        match self {
            Self::Stdin | Self::Stdout | Self::Stderr => None,
            Self::Http { exchange, .. } => Some(exchange),
        }
    }
}

/// Bytes whose copies were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loss {
    /// How many.
    pub bytes: u64,
    /// How many line ends are among them.
    pub lines: u64,
}

/// What the recorder is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A chunk was read and is about to be written on.
    Chunk {
        /// Where it came from.
        lane: Lane,
        /// When it was received, ns since the session began.
        received_ns: i64,
        /// When it was about to be written on.
        forwarded_ns: i64,
        /// What was dropped of the lane just before it.
        lost_before: Loss,
        /// The bytes.
        bytes: Bytes,
    },
    /// A stream ended.
    End(Lane),
    /// An HTTP exchange, as far as it has come.
    Http {
        /// What is known of it.
        exchange: Box<HttpExchange>,
        /// Masks its bodies, where they are credentials.
        mask: Option<Arc<Masker>>,
    },
    /// Something happened beside the streams.
    Event {
        /// When, ns since the session began.
        at_ns: i64,
        /// What.
        what: &'static str,
        /// A number that belongs to it.
        value: Option<i64>,
    },
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    lost: HashMap<Lane, Loss>,
    closed: bool,
    discarding: bool,
    // The recorder sleeps until the queue holds so much; usize::MAX while it works.
    wake_at: usize,
}

impl Queue {
    /// Returns how much of the window is left; `None` if something has waited for all of it, or nothing is there.
    fn left_of(&self, window: Duration, now_ns: i64) -> Option<Duration> {
        let waited = match self.items.front()? {
            Item::Chunk { forwarded_ns, .. } => now_ns - forwarded_ns,
            _ => 0,
        };
        window.checked_sub(Duration::from_nanos(waited.max(0).unsigned_abs())).filter(|left| !left.is_zero())
    }

    /// Returns true if the oldest copy has waited for too long.
    fn is_late(&self, now_ns: i64) -> bool {
        match self.items.front() {
            Some(Item::Chunk { forwarded_ns, .. }) => now_ns - forwarded_ns > OLDEST_NS,
            _ => false,
        }
    }
}

/// The channel.
#[derive(Debug)]
pub struct Tap {
    queue: Mutex<Queue>,
    filled: Condvar,
    room: Condvar,
    clock: Stopwatch,
    last_commit_ns: AtomicI64,
    lost_bytes: AtomicU64,
    lost_lines: AtomicU64,
    waiting_calls: AtomicUsize,
    spares: Mutex<Vec<Arc<[u8]>>>,
}

impl Tap {
    /// Returns an empty channel; the time of the session runs with `clock`.
    #[must_use]
    pub fn new(clock: Stopwatch) -> Self {
        Self {
            queue: Mutex::new(Queue { wake_at: usize::MAX, ..Queue::default() }),
            filled: Condvar::new(),
            room: Condvar::new(),
            clock,
            last_commit_ns: AtomicI64::new(0),
            lost_bytes: AtomicU64::new(0),
            lost_lines: AtomicU64::new(0),
            waiting_calls: AtomicUsize::new(0),
            spares: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A recorder that panicked must not take the traffic with it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over the copy of a chunk.
    pub fn chunk(&self, lane: Lane, received_ns: i64, forwarded_ns: i64, bytes: &[u8]) {
        self.share(lane, received_ns, forwarded_ns, &Bytes::from(bytes));
    }

    /// Hands over a chunk that stays in its memory until it is recorded.
    pub fn share(&self, lane: Lane, received_ns: i64, forwarded_ns: i64, bytes: &Bytes) {
        let cost = bytes.len() + OVERHEAD;
        let mut queue = self.lock();
        if !queue.discarding && (queue.bytes + cost > CAPACITY || queue.is_late(forwarded_ns)) {
            queue = self.wait_for_room(queue, cost);
        }
        self.put(queue, lane, received_ns, forwarded_ns, bytes);
    }

    fn put(&self, mut queue: MutexGuard<'_, Queue>, lane: Lane, received_ns: i64, forwarded_ns: i64, bytes: &Bytes) {
        let cost = bytes.len() + OVERHEAD;
        if queue.discarding || queue.bytes + cost > CAPACITY {
            let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
            let loss = queue.lost.entry(lane).or_default();
            loss.bytes += bytes.len() as u64;
            loss.lines += lines;
            self.lost_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            self.lost_lines.fetch_add(lines, Ordering::Relaxed);
            return;
        }
        let lost_before = queue.lost.remove(&lane).unwrap_or_default();
        queue.items.push_back(Item::Chunk { lane, received_ns, forwarded_ns, lost_before, bytes: bytes.clone() });
        queue.bytes += cost;
        self.wake(&queue);
    }

    /// Returns true if the copy of a chunk must wait for room, for somebody who cannot be put to sleep; `since` is when
    /// it began to wait.
    #[must_use]
    pub fn must_wait(&self, forwarded_ns: i64, length: usize, since: Duration) -> bool {
        let queue = self.lock();
        let cost = length + OVERHEAD;
        let wants = !queue.discarding && (queue.bytes + cost > CAPACITY || queue.is_late(forwarded_ns));
        wants && self.is_worth_waiting(&queue, cost, since)
    }

    /// Hands over the copy of a chunk without waiting for room.
    pub fn chunk_now(&self, lane: Lane, received_ns: i64, forwarded_ns: i64, bytes: &[u8]) {
        self.put(self.lock(), lane, received_ns, forwarded_ns, &Bytes::from(bytes));
    }

    /// Tells of the end of a stream, or of an event.
    pub fn tell(&self, item: Item) {
        let mut queue = self.lock();
        if queue.discarding {
            return;
        }
        queue.bytes += OVERHEAD;
        queue.items.push_back(item);
        self.wake(&queue);
    }

    fn wake(&self, queue: &Queue) {
        // Notifying is a system call: it is left out while the recorder is at work.
        if queue.bytes >= queue.wake_at {
            self.filled.notify_one();
        }
    }

    fn wait_for_room<'q>(&self, mut queue: MutexGuard<'q, Queue>, cost: usize) -> MutexGuard<'q, Queue> {
        let begun = self.clock.elapsed();
        loop {
            if !self.is_worth_waiting(&queue, cost, begun) {
                return queue;
            }
            queue = match self.room.wait_timeout(queue, Duration::from_millis(20)) {
                Ok((queue, _)) => queue,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Returns a buffer that was touched in advance.
    #[must_use]
    pub fn spare_buffer(&self) -> Option<Arc<[u8]>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Touches some buffers, so that the first burst does not have to.
    pub fn touch_spares(&self) {
        for _ in 0..SPARES {
            let buffer = touched();
            self.spares.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
    }

    fn is_worth_waiting(&self, queue: &Queue, cost: usize, since: Duration) -> bool {
        let now = self.clock.elapsed_ns();
        let idle = now - self.last_commit_ns.load(Ordering::Relaxed);
        let waited = self.clock.elapsed().saturating_sub(since);
        let full = queue.bytes + cost > CAPACITY && idle <= PROGRESS_NS;
        let late = queue.is_late(now) && idle <= PROGRESS_NS / 4;
        !queue.discarding && (full || late) && waited < LONGEST_WAIT
    }

    /// Ends the session: the recorder takes what is there and stops.
    pub fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    /// Drops every copy from now on, and those that wait: nothing can be recorded any more.
    pub fn discard(&self) {
        let mut queue = self.lock();
        queue.discarding = true;
        let items = std::mem::take(&mut queue.items);
        queue.bytes = 0;
        for item in items {
            if let Item::Chunk { bytes, lost_before, .. } = item {
                let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
                self.lost_bytes.fetch_add(bytes.len() as u64 + lost_before.bytes, Ordering::Relaxed);
                self.lost_lines.fetch_add(lines + lost_before.lines, Ordering::Relaxed);
            }
        }
        drop(queue);
        self.room.notify_all();
    }

    /// Waits for items, and then a little longer so that one transaction takes many.
    ///
    /// Returns `None` once the session is closed and everything was taken; an empty list after `idle` without items.
    pub fn take(&self, window: Duration, enough: usize, idle: Duration) -> Option<Vec<Item>> {
        let mut queue = self.lock();
        if queue.items.is_empty() {
            if queue.closed {
                return None;
            }
            queue.wake_at = 0;
            queue = self.sleep(queue, idle);
        }
        for (window, least) in [(window, 0), (BURST_WINDOW.max(window), BURST)] {
            let bytes = queue.bytes;
            if !queue.closed
                && (least..enough).contains(&bytes)
                && let Some(left) = queue.left_of(window, self.clock.elapsed_ns())
            {
                queue.wake_at = enough;
                queue = self.sleep(queue, left);
            }
        }
        queue.wake_at = usize::MAX;
        // Nearly always all of it, which takes no longer than one: a sender waits meanwhile.
        if queue.bytes <= MOST_TAKEN {
            let room = VecDeque::with_capacity(queue.items.len().min(ITEMS_AT_FIRST));
            let taken = std::mem::replace(&mut queue.items, room);
            queue.bytes = 0;
            drop(queue);
            self.room.notify_all();
            return Some(taken.into());
        }
        let mut taken = Vec::new();
        let mut bytes = 0;
        while bytes < MOST_TAKEN {
            let Some(item) = queue.items.pop_front() else { break };
            let cost = OVERHEAD + if let Item::Chunk { bytes, .. } = &item { bytes.len() } else { 0 };
            bytes += cost;
            queue.bytes = queue.bytes.saturating_sub(cost);
            taken.push(item);
        }
        drop(queue);
        self.room.notify_all();
        Some(taken)
    }

    fn sleep<'q>(&self, queue: MutexGuard<'q, Queue>, time: Duration) -> MutexGuard<'q, Queue> {
        match self.filled.wait_timeout(queue, time) {
            Ok((queue, _)) => queue,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }

    /// Returns true once the session was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Notes that a commit was done.
    pub fn committed(&self) {
        // Later than the beginning, even where the clock has not moved on.
        self.last_commit_ns.store(self.clock.elapsed_ns().max(1), Ordering::Relaxed);
    }

    /// Returns how long ago the last commit was done.
    #[must_use]
    pub fn since_commit(&self) -> Duration {
        let ns = self.clock.elapsed_ns() - self.last_commit_ns.load(Ordering::Relaxed);
        Duration::from_nanos(ns.max(0).unsigned_abs())
    }

    /// Returns true once the session is in the store.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.last_commit_ns.load(Ordering::Relaxed) > 0
    }

    /// Takes what was dropped of each lane and is not yet part of a chunk.
    #[must_use]
    pub fn take_lost(&self) -> HashMap<Lane, Loss> {
        std::mem::take(&mut self.lock().lost)
    }

    /// Returns how much was dropped in all.
    #[must_use]
    pub fn lost(&self) -> Loss {
        Loss { bytes: self.lost_bytes.load(Ordering::Relaxed), lines: self.lost_lines.load(Ordering::Relaxed) }
    }

    /// Returns the clock of the session.
    #[must_use]
    pub fn clock(&self) -> Stopwatch {
        self.clock
    }

    /// Notes how many calls wait for an answer.
    pub fn set_waiting_calls(&self, calls: usize) {
        self.waiting_calls.store(calls, Ordering::Relaxed);
    }

    /// Returns how many calls wait for an answer, as far as the recorder has come.
    #[must_use]
    pub fn waiting_calls(&self) -> usize {
        self.waiting_calls.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_dropped_and_counted_with_the_next_chunk() {
        let tap = Tap::new(Stopwatch::start());
        let big = vec![b'x'; CAPACITY - OVERHEAD];
        tap.chunk(Lane::Stdin, 0, 0, &big);
        // No commit was ever done: nothing is waited for beyond the first second of the session.
        tap.chunk(Lane::Stdin, 1, 1, b"a\nb\n");
        tap.chunk(Lane::Stdout, 2, 2, b"c\n");
        assert_eq!(tap.lost(), Loss { bytes: 6, lines: 3 });
        let first = tap.take(Duration::ZERO, 1, Duration::ZERO);
        assert_eq!(first.map(|items| items.len()), Some(1));
        tap.chunk(Lane::Stdin, 3, 3, b"d\n");
        tap.close();
        let Some(items) = tap.take(Duration::ZERO, 1, Duration::ZERO) else { panic!("closed too early") };
        let lost: Vec<Loss> = items
            .iter()
            .filter_map(|item| if let Item::Chunk { lost_before, .. } = item { Some(*lost_before) } else { None })
            .collect();
        assert_eq!(lost, [Loss { bytes: 4, lines: 2 }]);
        assert_eq!(tap.take_lost().remove(&Lane::Stdout), Some(Loss { bytes: 2, lines: 1 }));
        assert_eq!(tap.take(Duration::ZERO, 1, Duration::ZERO), None);
    }

    #[test]
    fn a_recorder_that_is_gone_costs_nothing_but_the_copy() {
        let tap = Tap::new(Stopwatch::start());
        tap.chunk(Lane::Stdin, 0, 0, b"a\n");
        tap.discard();
        tap.chunk(Lane::Stdin, 0, 0, b"bb\n");
        assert_eq!(tap.lost(), Loss { bytes: 5, lines: 2 });
    }
}
