//! The sample server's only door to time.
#![expect(clippy::disallowed_methods, reason = "this is the door")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Sleeps for `duration`.
pub(super) fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Returns milliseconds since the epoch.
pub(super) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}
