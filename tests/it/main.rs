//! One test binary, by user journey.
#![allow(clippy::disallowed_methods, reason = "tests start processes, sleep and look into the store themselves")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test that cannot go on fails")]

mod architecture;
mod bounded;
mod diff;
mod diff_properties;
mod errors;
mod faults;
mod generated;
mod hints;
mod http;
mod json_properties;
mod kill;
mod latency;
mod learn_properties;
mod masks;
mod mock;
mod process_life;
mod prune;
mod queries;
mod readme;
mod record;
mod replay;
mod replay_properties;
mod rmcp;
mod session_file;
mod stream_properties;
mod support;
mod tail;
mod test_command;
mod transparent;
