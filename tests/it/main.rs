//! One test binary, by user journey.
#![allow(clippy::disallowed_methods, reason = "tests start processes, sleep and look into the store themselves")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod diff;
mod diff_properties;
mod json_properties;
mod record;
mod support;
