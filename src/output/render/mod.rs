//! Views: each a function from plain data to text.

pub mod diff;
pub mod exchange;
pub mod flaws;
pub mod gist;
pub mod http;
pub mod latency;
pub mod messages;
pub mod pretty;
pub mod replay;
pub mod session_list;
pub mod session_show;
pub mod test;
