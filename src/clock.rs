//! The only reader of time.
//!
//! Durations inside a session come from the monotonic clock and count from the session's start; the
//! wall clock is asked once a session. Everything else takes a time as an argument.
#![expect(clippy::disallowed_methods, reason = "this is the one room that reads time and sleeps")]

use std::time::{Duration, Instant, SystemTime};

/// Measures the time since a session began, in nanoseconds of the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    start: Instant,
}

impl Stopwatch {
    /// Starts at zero.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Returns one that started so many nanoseconds after this one.
    #[must_use]
    pub fn later(self, ns: i64) -> Self {
        Self { start: self.start + Duration::from_nanos(ns.max(0).unsigned_abs()) }
    }

    /// Returns the nanoseconds since the start.
    #[must_use]
    pub fn elapsed_ns(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// Returns the wall clock in nanoseconds since 1970-01-01T00:00:00Z.
///
/// A test may pin it with `MCP_TAP_TEST_NOW` (nanoseconds), so that reports do not change from day to day.
#[must_use]
pub fn wall_ns() -> i64 {
    if let Some(pinned) = crate::config::test_seam("MCP_TAP_TEST_NOW").and_then(|text| text.parse().ok()) {
        return pinned;
    }
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// Puts the calling thread to sleep.
pub fn sleep(time: Duration) {
    std::thread::sleep(time);
}
