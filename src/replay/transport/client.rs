//! What the driver wants of a way to a server, whatever it is.

use crate::session::session::ExitStatus;
use std::time::Duration;

/// What came from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A line, or what stands for one: its JSON text is one message or one batch.
    Line(Vec<u8>),
    /// It says nothing any more.
    Ended,
    /// A person wants it to end.
    Interrupted,
    /// Nothing in that time.
    Nothing,
}

/// A way to a server; what passes is recorded underneath.
pub trait ClientTransport {
    /// Returns the time since the session began, ns.
    fn now_ns(&self) -> i64;

    /// Sends a frame.
    ///
    /// # Errors
    /// Why the server does not take it, as a sentence.
    fn send(&mut self, bytes: &[u8], limit: Duration) -> Result<(), String>;

    /// Says that nothing more is sent.
    fn close(&mut self);

    /// Waits for the next thing to come.
    fn receive(&mut self, wait: Duration) -> Received;

    /// Returns the last lines that the server wrote for people.
    fn last_words(&self) -> Vec<String>;

    /// Leaves as a client does and ends the server if it does not end by itself.
    fn finish(&mut self) -> Option<ExitStatus>;
}
