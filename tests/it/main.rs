//! One test binary, by user journey.
#![allow(clippy::disallowed_methods, reason = "tests start processes, sleep and look into the store themselves")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod generated;
mod json_properties;
mod latency;
mod prune;
mod record;
mod support;
mod tail;
