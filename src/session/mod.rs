//! The vocabulary of a recording: sessions, frames, messages, exchanges. Pure: no IO, no clock.
//!
//! A frame is evidence, one wire unit with its exact bytes. Messages and exchanges are derived from frames by
//! [`mod@derive`], and can be derived again.

pub mod classify;
pub mod correlate;
pub mod derive;
pub mod events;
pub mod exchange;
pub mod frame;
pub mod http;
pub mod mask;
pub mod message;
pub mod needle;
pub mod secret;
pub mod selector;
#[expect(clippy::module_inception, reason = "the word of the house for one recording")]
pub mod session;
pub mod source;
