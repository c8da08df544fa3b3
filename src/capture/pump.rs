//! One direction of the traffic: read, stamp, hand a copy to the tap, write on.

use super::buffers::Buffers;
use super::tap::{Item, Lane, Tap};
use crate::transport::streams;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// A write that takes longer is noted; ns.
const SLOW_WRITE_NS: i64 = 1_000_000;

/// Why a pump stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PumpEnd {
    /// The stream ended.
    Ended,
    /// The other side does not take bytes any more.
    Refused,
}

/// What others may know of a pump while it runs.
#[derive(Debug, Default)]
pub struct Activity {
    last_ns: AtomicI64,
    writing: AtomicBool,
    done: AtomicBool,
}

impl Activity {
    /// Returns when the last chunk was read, ns since the session began.
    pub fn last_ns(&self) -> i64 {
        self.last_ns.load(Ordering::Relaxed)
    }

    /// Returns true while a chunk is being written on.
    pub fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Acquire)
    }

    /// Returns true if the pump has nothing in hand: it has stopped, or has read nothing for that long.
    pub fn is_silent(&self, now_ns: i64, for_ns: i64) -> bool {
        self.done.load(Ordering::Acquire) || !self.writing.load(Ordering::Acquire) && now_ns - self.last_ns() >= for_ns
    }
}

/// Moves bytes until one side ends.
pub fn run(lane: Lane, from: BorrowedFd<'_>, to: BorrowedFd<'_>, tap: &Tap, activity: &Activity) -> PumpEnd {
    let clock = tap.clock();
    let mut buffers = Buffers::default();
    let end = loop {
        let read = buffers.fill(|| tap.spare_buffer(), |room| streams::read(from, room));
        let bytes = match read {
            Ok(bytes) if bytes.is_empty() => break PumpEnd::Ended,
            Ok(bytes) => bytes,
            Err(error) => {
                // A terminal or socket that went away ends its stream like any other.
                tap.tell(Item::Event {
                    at_ns: clock.elapsed_ns(),
                    what: "read-failed",
                    value: Some(i64::from(error.raw_os_error())),
                });
                break PumpEnd::Ended;
            }
        };
        let received_ns = clock.elapsed_ns();
        activity.writing.store(true, Ordering::Release);
        activity.last_ns.store(received_ns, Ordering::Relaxed);
        let forwarded_ns = clock.elapsed_ns();
        tap.share(lane, received_ns, forwarded_ns, &bytes);
        let written = streams::write_all(to, &bytes);
        let took = clock.elapsed_ns() - forwarded_ns;
        activity.writing.store(false, Ordering::Release);
        if let Err(error) = written {
            tap.tell(Item::Event {
                at_ns: forwarded_ns,
                what: "write-failed",
                value: Some(i64::from(error.raw_os_error())),
            });
            break PumpEnd::Refused;
        }
        if took > SLOW_WRITE_NS {
            tap.tell(Item::Event { at_ns: forwarded_ns, what: "slow-write", value: Some(took) });
        }
    };
    tap.tell(Item::End(lane));
    activity.done.store(true, Ordering::Release);
    end
}
