//! What the shell is offered when somebody presses the tabulator key: names and ids of sessions, names of tools.
//!
//! The shell starts this program for every key, so it looks at the newest sessions only, writes nothing, and says
//! nothing where there is nothing to offer.

use crate::session::message::{Kind, Message};
use crate::session::source::SessionSource;
use crate::store::Reader;
use crate::store::reader::Stored;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;

/// How many of the newest sessions are offered.
const SESSIONS: usize = 200;

/// How many of them are offered by id too.
const IDS: usize = 40;

/// How many of them are searched for tools, and how many frames at the end of each.
const SEARCHED: (usize, u64) = (8, 4000);

/// The store that the unfinished command line names, if it names one.
static STORE: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Answers a shell: `words` are its command line, the program's name first.
///
/// Returns what is printed; empty where there is nothing to offer, or the shell is unknown.
#[must_use]
pub fn answer(shell: &str, command: &clap::Command, words: Vec<OsString>) -> Vec<u8> {
    let _ = STORE.set(named_store(&words));
    let mut found = Vec::new();
    let shells = clap_complete::env::Shells::builtins();
    let Some(shell) = shells.completer(shell) else { return found };
    // What is hidden is offered where nothing else fits, so it is taken out.
    let mut visible = clap::Command::new("mcp-tap")
        .args(command.get_arguments().cloned())
        .subcommands(command.get_subcommands().filter(|below| !below.is_hide_set()).cloned());
    visible.build();
    let here = std::env::current_dir().ok();
    match shell.write_complete(&mut visible, words, here.as_deref(), &mut found) {
        Ok(()) => found,
        Err(_) => Vec::new(),
    }
}

/// Returns the file that `--store` names.
#[must_use]
pub fn named_store(words: &[OsString]) -> Option<PathBuf> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            return None;
        }
        if text == "--store" {
            return words.next().map(PathBuf::from);
        }
        if let Some(file) = text.strip_prefix("--store=") {
            return Some(file.into());
        }
    }
    None
}

/// Opens the store without writing to it; `None` where there is none, or it cannot be read.
fn reader() -> Option<Reader> {
    let named = STORE.get().and_then(Option::as_deref);
    let (location, _) = crate::config::location(named);
    Reader::look(&location.path).ok()
}

fn newest(reader: &Reader) -> Vec<Stored> {
    let mut newest = Vec::new();
    let read = reader.sessions(|stored| {
        if !stored.probe {
            newest.push(stored);
        }
        if newest.len() < SESSIONS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if read.is_ok() { newest } else { Vec::new() }
}

/// Offers names and ids of stored sessions.
#[must_use]
pub fn stored_sessions(current: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(current), Some(reader)) = (current.to_str(), reader()) else { return Vec::new() };
    let mut offered: Vec<CompletionCandidate> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let sessions = newest(&reader);
    let what = |stored: &Stored| {
        let session = &stored.session;
        let server = session.server.as_ref().map(|server| format!("{server}, ")).unwrap_or_default();
        crate::output::sanitize::line(&format!("{server}{}", crate::output::humanize::moment(session.started_at_ns)))
    };
    for stored in &sessions {
        let Some(name) = stored.session.name.as_ref().filter(|name| is_plain(name)) else { continue };
        if name.starts_with(current) && !seen.contains(name) {
            seen.push(name.clone());
            offered.push(CompletionCandidate::new(name).help(Some(what(stored).into())));
        }
    }
    if !sessions.is_empty() && "latest".starts_with(current) {
        offered.push(CompletionCandidate::new("latest").help(Some("the newest session".into())));
    }
    for stored in sessions.iter().take(IDS) {
        let id = &stored.session.id;
        // As much of the id as names it alone, or as was typed already.
        let short = super::select::short_id(&reader, id).unwrap_or_else(|_| id.clone());
        let shown = if short.len() < current.len() { id } else { &short };
        if shown.starts_with(current) {
            let name = stored.session.name.as_deref().unwrap_or("no name");
            let help = format!("{}, {}", crate::output::sanitize::line(name), what(stored));
            offered.push(CompletionCandidate::new(shown).help(Some(help.into())));
        }
    }
    offered
}

/// Offers names and ids of stored sessions, and session files.
#[must_use]
pub fn sessions(current: &OsStr) -> Vec<CompletionCandidate> {
    let looks_like_a_path = current.to_str().is_some_and(|text| text.contains('/') || text.starts_with('.'));
    if looks_like_a_path { PathCompleter::file().complete(current) } else { stored_sessions(current) }
}

/// Offers the servers of the project's file.
#[must_use]
pub fn servers(current: &OsStr) -> Vec<CompletionCandidate> {
    let here = std::env::current_dir().unwrap_or_default();
    let (Some(current), Ok(Some(project))) = (current.to_str(), crate::config::project(&here)) else {
        return Vec::new();
    };
    let names = project.servers.into_keys().filter(|name| name.starts_with(current) && is_plain(name));
    names.map(CompletionCandidate::new).collect()
}

/// Offers the tools, prompts and resources that were asked for in the newest sessions.
#[must_use]
pub fn names(current: &OsStr) -> Vec<CompletionCandidate> {
    offer(current, |message| message.name.is_some())
}

/// Offers the tools and prompts that were called in the newest sessions.
#[must_use]
pub fn tools(current: &OsStr) -> Vec<CompletionCandidate> {
    offer(current, |message| matches!(message.method.as_deref(), Some("tools/call" | "prompts/get")))
}

fn offer(current: &OsStr, wanted: impl Fn(&Message) -> bool) -> Vec<CompletionCandidate> {
    let (Some(current), Some(reader)) = (current.to_str(), reader()) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for stored in newest(&reader).into_iter().take(SEARCHED.0) {
        let from = stored.session.frames.saturating_sub(SEARCHED.1);
        // What cannot be read is not offered.
        let _ = reader.look_at(stored).messages(from..u64::MAX, &mut |message| {
            if message.kind == Kind::Request
                && wanted(&message)
                && let Some(name) = message.name
                && name.starts_with(current)
                && is_plain(&name)
                && !found.contains(&name)
            {
                found.push(name);
            }
            if found.len() < SESSIONS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    found.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns true if a text needs no quotes: shells insert what is offered as it is.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_./@+%".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_the_command_line_is_found() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(named_store(&words(&["t", "--store", "a.db", "inspect", ""])), Some("a.db".into()));
        assert_eq!(named_store(&words(&["t", "inspect", "--store=b.db", ""])), Some("b.db".into()));
        assert_eq!(named_store(&words(&["t", "record", "--", "x", "--store", "c.db"])), None);
        assert_eq!(named_store(&words(&["t", "inspect"])), None);
    }
}
