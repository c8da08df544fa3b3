//! Asks a live server what the recording has no answer to, and keeps apart whose message is whose.

use super::rewrite::with_id;
use crate::protocol::envelope::scan;
use crate::protocol::interest::Slot;
use crate::protocol::json::Tree;
use crate::replay::transport::{ClientTransport, Received};
use std::time::Duration;

/// How long a live server may take to greet, and to take a line.
const LIMIT: Duration = Duration::from_secs(30);

/// Starts a live server.
pub type Start<'f> = Box<dyn FnMut() -> Result<Box<dyn ClientTransport>, String> + 'f>;

/// A live server, started when it is first asked.
pub struct Forward<'f> {
    start: Start<'f>,
    server: Option<Box<dyn ClientTransport>>,
    refused: Option<String>,
    interrupted: bool,
    /// The ids of requests that it has not answered yet.
    open: Vec<Vec<u8>>,
    /// The ids of its questions, as the client sees them and as it gave them.
    asked: Vec<(Vec<u8>, Vec<u8>)>,
    questions: u64,
    early: Vec<Vec<u8>>,
}

impl<'f> Forward<'f> {
    /// Returns a way to a server that `start` starts.
    #[must_use]
    pub fn new(start: Start<'f>) -> Self {
        let (open, asked, early) = (Vec::new(), Vec::new(), Vec::new());
        Self { start, server: None, refused: None, interrupted: false, open, asked, questions: 0, early }
    }

    /// Asks; `greeting` is the client's own `initialize`, if it sent one.
    ///
    /// # Errors
    /// Why it cannot be asked, as a sentence.
    pub fn ask(&mut self, id: &[u8], text: &[u8], greeting: Option<&[u8]>) -> Result<(), String> {
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        if self.server.is_none()
            && let Err(why) = self.greet(greeting)
        {
            self.refused = Some(why.clone());
            return Err(why);
        }
        self.send(text)?;
        self.open.push(id.to_vec());
        Ok(())
    }

    fn send(&mut self, text: &[u8]) -> Result<(), String> {
        let Some(server) = &mut self.server else { return Err("the live server is not there".into()) };
        let line = [text.trim_ascii_end(), b"\n"].concat();
        server.send(&line, LIMIT).map_err(|why| format!("the live server takes nothing: {why}"))
    }

    fn greet(&mut self, greeting: Option<&[u8]>) -> Result<(), String> {
        self.server = Some((self.start)()?);
        let Some(greeting) = greeting else { return Ok(()) };
        let asked = id_of(greeting);
        self.send(greeting)?;
        let Some(server) = &mut self.server else { return Ok(()) };
        let until = server.now_ns() + 30_000_000_000;
        loop {
            let left = (until - server.now_ns()).max(0).unsigned_abs();
            match server.receive(Duration::from_nanos(left)) {
                Received::Line(line) if is_answer(&line) && id_of(&line) == asked => break,
                Received::Line(line) => self.early.push(line),
                Received::Nothing if left > 0 => {}
                _ => return Err(format!("the live server did not answer the greeting{}", self.last_words())),
            }
        }
        self.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")
    }

    /// Returns true if answers are awaited.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns true if the live server runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.server.is_some()
    }

    /// Returns true if a person wants all of it to end: the live server catches our signals.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Passes a cancellation on; returns false if it is about none of its requests.
    pub fn cancel(&mut self, id: &[u8], text: &[u8]) -> bool {
        let Some(at) = self.open.iter().position(|open| open == id) else { return false };
        self.open.remove(at);
        self.send(text).is_ok()
    }

    /// Passes an answer of the client on, if it is to one of its questions.
    pub fn answer(&mut self, id: &[u8], text: &[u8]) -> bool {
        let Some(at) = self.asked.iter().position(|(shown, _)| shown == id) else { return false };
        let (_, own) = self.asked.remove(at);
        self.send(&with_id(text, &own)).is_ok()
    }

    /// Returns the next line of the live server for the client, if there is one at once.
    pub fn heard(&mut self) -> Option<Vec<u8>> {
        let line = match self.early.is_empty() {
            false => self.early.remove(0),
            true => match self.server.as_mut()?.receive(Duration::ZERO) {
                Received::Line(line) => line,
                Received::Nothing => return None,
                Received::Ended => return self.gone(),
                Received::Interrupted => {
                    self.interrupted = true;
                    return None;
                }
            },
        };
        if is_answer(&line) {
            let id = id_of(&line);
            self.open.retain(|open| *open != id);
        } else if is_question(&line) {
            self.questions += 1;
            let shown = format!("\"mcp-tap-live-{}\"", self.questions).into_bytes();
            self.asked.push((shown.clone(), id_of(&line)));
            return Some(with_id(&line, &shown));
        }
        Some(line)
    }

    /// Answers for a server that has ended.
    fn gone(&mut self) -> Option<Vec<u8>> {
        let why = format!("the live server has ended{}", self.last_words());
        self.refused = Some(why.clone());
        if self.open.is_empty() {
            return None;
        }
        let id = self.open.remove(0);
        Some(super::server::error(&id, -32603, &why))
    }

    fn last_words(&self) -> String {
        let words = self.server.as_ref().and_then(|server| server.last_words().pop());
        words.map(|words| format!("; its last words: {words}")).unwrap_or_default()
    }

    /// Leaves the live server and waits for its end.
    pub fn finish(&mut self) -> Option<Box<dyn ClientTransport>> {
        self.server.take()
    }
}

fn id_of(text: &[u8]) -> Vec<u8> {
    let tree = Tree::parse(text).ok();
    tree.as_ref().and_then(|tree| tree.root().get("id")).map(|id| id.raw().to_vec()).unwrap_or_default()
}

fn is_answer(text: &[u8]) -> bool {
    let scanned = scan(text);
    scanned.envelopes.first().is_some_and(|envelope| envelope.has_result || envelope.has_error)
}

fn is_question(text: &[u8]) -> bool {
    let scanned = scan(text);
    let asks = |slot| scanned.envelopes.first().is_some_and(|envelope| envelope.text(slot).is_some());
    asks(Slot::Method) && asks(Slot::Id)
}
