//! Reports from sessions. Pure: no IO, no clock; a store and a session file are the same thing here.

pub mod latency;
pub mod statistics;
