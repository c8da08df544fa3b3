//! Misbehaviours, one a case: what servers in the field really do to their clients.
//!
//! A case is a row of hooks into the well-behaved server; what a row leaves out is done properly.
//! - `framing`: what stdout looks like; `content`: what a message holds
//! - `correlation`: who answers whom, and when; `process`: how a process lives and ends

mod content;
mod correlation;
mod framing;
mod process;

use std::sync::Arc;

use serde_json::Value;

use super::server::{Request, Server};

/// Acts at a border of the server's life; may end the process with a status.
pub(crate) type Moment = fn(&Arc<Server>) -> Option<u8>;
/// Turns a result into its JSON text.
pub(crate) type Bend = fn(&Arc<Server>, &Request, &Value) -> Vec<u8>;
/// Sends an answer: request, id, JSON text of the result.
pub(crate) type Send = fn(&Arc<Server>, &Request, &str, &[u8]);

/// Bends one behaviour by hooks; `None` is the proper behaviour.
#[derive(Debug)]
pub(crate) struct Quirk {
    /// The name on the command line.
    name: &'static str,
    /// One line about it.
    about: &'static str,
    /// The size, count or delay unless `--n` says otherwise.
    n: u64,
    /// Acts before the first read.
    pub(crate) start: Option<Moment>,
    /// Turns a message into what is written.
    pub(crate) frame: Option<fn(Vec<u8>) -> Vec<u8>>,
    /// Deals with a request in place of the server, if it returns true.
    pub(crate) request: Option<fn(&Arc<Server>, &Request) -> bool>,
    /// Hears a notification after the server.
    pub(crate) notification: Option<fn(&Arc<Server>, &str, &Value)>,
    /// Makes the JSON text of a call's result, whatever the tool.
    pub(crate) body: Option<fn(&Server) -> Vec<u8>>,
    /// Turns a result into its JSON text.
    pub(crate) result: Option<Bend>,
    /// Sends an answer: request, id, JSON text of the result.
    pub(crate) answer: Option<Send>,
    /// Spells the id of an answer.
    pub(crate) id: Option<fn(&str) -> String>,
    /// Acts when stdin has ended.
    pub(crate) end: Option<Moment>,
    /// Whether a cancelled request is answered all the same.
    pub(crate) answers_cancelled: bool,
    /// Whether there is no handshake.
    pub(crate) modern_only: bool,
}

/// Begins the row of a case that as yet behaves well.
const fn case(name: &'static str, about: &'static str) -> Quirk {
    Quirk {
        name,
        about,
        n: 0,
        start: None,
        frame: None,
        request: None,
        notification: None,
        body: None,
        result: None,
        answer: None,
        id: None,
        end: None,
        answers_cancelled: false,
        modern_only: false,
    }
}

/// Makes a method of each hook, so that a case is a sentence.
macro_rules! hooks {
    ($($hook:ident: $kind:ty,)*) => {
        impl Quirk {
            $(const fn $hook(mut self, hook: $kind) -> Self {
                self.$hook = Some(hook);
                self
            })*
        }
    };
}

hooks! {
    start: Moment,
    frame: fn(Vec<u8>) -> Vec<u8>,
    request: fn(&Arc<Server>, &Request) -> bool,
    notification: fn(&Arc<Server>, &str, &Value),
    body: fn(&Server) -> Vec<u8>,
    result: Bend,
    answer: Send,
    id: fn(&str) -> String,
    end: Moment,
}

impl Quirk {
    const fn n(mut self, n: u64) -> Self {
        self.n = n;
        self
    }

    const fn answers_cancelled(mut self) -> Self {
        self.answers_cancelled = true;
        self
    }

    const fn modern_only(mut self) -> Self {
        self.modern_only = true;
        self
    }
}

/// What cases remember while the server runs.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// A tool that is gone.
    pub(crate) dropped: Option<&'static str>,
    /// Answers that are held back.
    held: Vec<(Request, Vec<u8>)>,
    /// What the client answered.
    got: Vec<Value>,
    /// How often the client has polled.
    polls: u64,
}

const FAMILIES: [&[Quirk]; 4] = [framing::CASES, content::CASES, correlation::CASES, process::CASES];

/// Tells whether a request is a tool call.
pub(crate) fn is_call(request: &Request) -> bool {
    request.method == "tools/call"
}

fn cases() -> impl Iterator<Item = &'static Quirk> {
    FAMILIES.into_iter().flatten()
}

/// Returns the names of all cases.
#[must_use]
pub fn case_names() -> Vec<&'static str> {
    cases().map(|case| case.name).collect()
}

/// Returns a case and its number: the one in its name, else the one asked for, else its own.
///
/// `exit-code-N`, `exit-now-N` and `die-N` exist for every N.
pub(crate) fn find(name: &str, asked: Option<u64>) -> Option<(&'static Quirk, u64)> {
    if name == process::DEAF.name {
        return Some((&process::DEAF, 0));
    }
    let family = |name: &str| -> Option<(String, u64)> {
        let (family, number) = name.rsplit_once('-')?;
        Some((family.to_owned(), number.parse().ok()?))
    };
    let Some((wanted, number)) = family(name) else {
        let case = cases().find(|case| case.name == name)?;
        return Some((case, asked.unwrap_or(case.n)));
    };
    let case = cases().find(|case| family(case.name).is_some_and(|(family, _)| family == wanted))?;
    Some((case, number))
}

/// Lists the cases, one a line.
pub(crate) fn listing() -> String {
    cases().map(|case| format!("{:<18} {}\n", case.name, case.about)).collect()
}

#[cfg(test)]
mod tests {
    use super::{case_names, find};

    #[test]
    fn names_are_unique_and_families_open() {
        let mut names = case_names();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(find("exit-code-7", Some(1)).map(|(_, n)| n), Some(7));
        assert_eq!(find("exit-code-42", None).map(|(_, n)| n), Some(42));
        assert_eq!(find("die-15", None).map(|(case, n)| (case.name, n)), Some(("die-9", 15)));
        assert_eq!(find("deep", Some(9)).map(|(_, n)| n), Some(9));
        assert!(find("no-such", None).is_none());
        assert!(find("crlf-3", None).is_none());
    }
}
