//! How the server that is played reaches its client.

use crate::clock::Stopwatch;
use crate::protocol::line::{LineFramer, Piece};
use crate::session::frame::Channel;
use crate::transport::streams;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The longest line that is looked into, in bytes; of a longer one the beginning.
const LINE_LIMIT: usize = 64 << 20;

/// What came from the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A line, or what stands for one: its JSON text is one message or one batch.
    Line(Vec<u8>),
    /// It says nothing any more.
    Ended,
    /// Nothing in that time.
    Nothing,
}

/// A way to a client.
pub trait ServerTransport {
    /// Returns the time since the session began, ns.
    fn now_ns(&self) -> i64;

    /// Waits for the next thing to come; without a time for as long as it takes.
    fn receive(&mut self, wait: Option<Duration>) -> Heard;

    /// Sends bytes as they are; returns false if nobody takes them any more.
    fn send(&mut self, channel: Channel, bytes: &[u8]) -> bool;
}

/// Our own stdin, stdout and stderr.
pub struct StdioServer {
    clock: Stopwatch,
    lines: Receiver<Vec<u8>>,
}

impl StdioServer {
    /// Begins to read our stdin.
    #[must_use]
    pub fn start() -> Self {
        let (tell, lines) = channel();
        let read = move || {
            let mut buffer = vec![0; 64 << 10];
            let mut framer = LineFramer::new();
            let mut long = Vec::new();
            loop {
                let read = streams::read(streams::stdin(), &mut buffer).unwrap_or(0);
                let each = |piece: Piece<'_>| match piece {
                    Piece::Whole(line) => drop(tell.send(line.to_vec())),
                    Piece::Part { bytes, last } => {
                        if long.len() + bytes.len() <= LINE_LIMIT {
                            long.extend_from_slice(bytes);
                        }
                        if last {
                            let _ = tell.send(std::mem::take(&mut long));
                        }
                    }
                };
                if read == 0 {
                    framer.finish(each);
                    return;
                }
                framer.push(buffer.get(..read).unwrap_or_default(), each);
            }
        };
        // Without its thread the client is silent, which looks as if it had left.
        let _ = std::thread::Builder::new().name("stdin".into()).spawn(read);
        Self { clock: Stopwatch::start(), lines }
    }
}

impl ServerTransport for StdioServer {
    fn now_ns(&self) -> i64 {
        self.clock.elapsed_ns()
    }

    fn receive(&mut self, wait: Option<Duration>) -> Heard {
        let Some(wait) = wait else { return self.lines.recv().map_or(Heard::Ended, Heard::Line) };
        match self.lines.recv_timeout(wait) {
            Ok(line) => Heard::Line(line),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Ended,
        }
    }

    fn send(&mut self, channel: Channel, bytes: &[u8]) -> bool {
        match channel {
            // Nobody has to read what is written for people.
            Channel::Stderr => {
                let _ = streams::write_all(streams::stderr(), bytes);
                true
            }
            _ => streams::write_all(streams::stdout(), bytes).is_ok(),
        }
    }
}
