//! One file a command: its arguments, whose documentation is the help, and then what it does.

pub mod complete;
pub mod completions;
pub mod context;
pub mod demo;
pub mod diff;
pub mod export;
mod file;
pub mod home;
pub mod import;
pub mod inspect;
mod inspect_http;
mod judge;
mod last_test;
pub mod latency;
pub mod man;
pub mod masks;
pub mod messages;
pub mod mock;
mod mock_live;
pub mod options;
mod play;
pub mod record;
pub mod record_bridge;
pub mod record_http;
pub mod replay;
pub mod review;
pub mod select;
pub mod sessions;
pub mod since;
pub mod tail;
pub mod test;

pub use context::Context;
