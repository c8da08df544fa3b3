//! One exchange with all that belongs to it.

use super::gist;
use super::messages::text_of;
use super::pretty::{Limit, pretty};
use crate::output::humanize::{size, time, tokens};
use crate::output::sanitize;
use crate::output::styles::{BAD, BOLD, DIM, paint};
use crate::output::ui::Signs;
use crate::protocol::json::{Node, Tree};
use crate::session::exchange;
use crate::session::frame::{Channel, Direction};
use crate::session::message::{Kind, Message, Outcome, Place};
use std::collections::HashMap;

/// How an exchange is shown.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The columns there are.
    pub width: usize,
    /// The signs.
    pub signs: Signs,
    /// How much of the payloads.
    pub limit: Limit,
}

/// Returns the exchange that `messages` make up; the first of them is its request.
#[must_use]
pub fn render(title: &str, messages: &[&Message], bytes: &HashMap<u64, Vec<u8>>, look: Look) -> String {
    let Some(request) = messages.first() else { return String::new() };
    let mut text = headline(title, request, messages);
    text.push('\n');
    let wide = messages.iter().map(|message| message.place.to_string().len()).max().unwrap_or(1);
    for message in messages {
        one(message, request, bytes, look, wide, &mut text);
    }
    text
}

/// Returns a message that belongs to no exchange.
#[must_use]
pub fn alone(title: &str, message: &Message, bytes: &HashMap<u64, Vec<u8>>, look: Look) -> String {
    let mut text = format!("{}\n\n", paint(BOLD, &format!("{title}  {}", message.place)));
    one(message, message, bytes, look, message.place.to_string().len(), &mut text);
    text
}

fn headline(title: &str, request: &Message, messages: &[&Message]) -> String {
    let method = request.method.as_deref().map(sanitize::line).unwrap_or_default();
    let name = request.name.as_deref().map(|name| format!(" {}", sanitize::line(name))).unwrap_or_default();
    let how = match (request.outcome, request.gave_up_ns, request.peer_ns()) {
        (Some(Outcome::GaveUp), Some(at), _) => format!("gave up after {}", time(at - request.received_ns)),
        (Some(outcome), _, Some(took)) => format!("{}, {}", outcome_words(outcome, request.error_code), time(took)),
        _ => "no answer".into(),
    };
    let mut text = paint(BOLD, &format!("{title}  {} {method}{name}: {how}", request.place));
    text.push('\n');
    if let Some(total) = request.total_ns() {
        let tap = total - request.peer_ns().unwrap_or(total);
        let waited = waiting_for_client(request.place, messages);
        let indent = " ".repeat(15);
        if waited > 0 {
            text.push_str(&format!("{indent}{} of it waiting for a person or a model\n", time(waited)));
        }
        let server = request.peer_ns().unwrap_or(0) - waited;
        let who = if request.direction == Direction::ToServer { "server" } else { "client" };
        text.push_str(&format!("{indent}{who} {}, tap {}\n", time(server), time(tap)));
    }
    text
}

/// Returns how long the server waited for answers to its own questions, ns.
fn waiting_for_client(request: Place, messages: &[&Message]) -> i64 {
    messages
        .iter()
        .filter(|message| message.kind == Kind::Request && message.concerns == Some(request))
        .filter_map(|question| question.peer_ns())
        .sum()
}

fn outcome_words(outcome: Outcome, code: Option<i64>) -> String {
    match outcome {
        Outcome::Ok => "ok".into(),
        Outcome::ToolError => "tool error".into(),
        Outcome::InputRequired => "input required".into(),
        Outcome::RpcError => format!("error {}", code.map_or_else(|| "?".into(), |code| code.to_string())),
        Outcome::GaveUp => "gave up".into(),
    }
}

fn one(
    message: &Message,
    request: &Message,
    bytes: &HashMap<u64, Vec<u8>>,
    look: Look,
    wide: usize,
    text: &mut String,
) {
    let stderr = message.channel == Channel::Stderr;
    let arrow = match message.direction {
        _ if stderr => " ",
        Direction::ToServer => look.signs.right,
        Direction::ToClient => look.signs.left,
    };
    let at = format!("{:>9.3}", message.received_ns as f64 / 1e9);
    let payload = text_of(message, bytes);
    let own = Tree::parse(payload).ok();
    let root = own.as_ref().map(Tree::root);
    let head = format!("{arrow} {:>wide$} {at}  ", message.place.to_string());
    let indent = sanitize::width(&head);
    let room = look.width.saturating_sub(indent).max(20);
    let late = request.outcome == Some(Outcome::GaveUp) && message.answers == Some(request.place);
    let (words, value) = match message.kind {
        Kind::Request if message.place == request.place => ("arguments".to_owned(), request_value(message, root)),
        Kind::Request | Kind::Notification => (gist::sent(message, payload), None),
        Kind::Result if message.answers == Some(request.place) => {
            let late = match (late, request.gave_up_ns) {
                (true, Some(gave_up)) => format!(": {} too late, not read", time(message.received_ns - gave_up)),
                _ => String::new(),
            };
            (
                format!("result, {}{}{late}", size(message.length), estimate(root, message.length)),
                root.and_then(|root| root.get("result")),
            )
        }
        Kind::Error if message.answers == Some(request.place) => {
            ("error".into(), root.and_then(|root| root.get("error")))
        }
        Kind::Result | Kind::Error => (gist::answered(message, payload, false), None),
        _ => (gist::line(message, payload), None),
    };
    let shown = sanitize::cut(&words, room, look.signs.cut);
    let line = format!("{head}{shown}");
    let bad = message.outcome.is_some_and(Outcome::is_bad) && message.kind != Kind::Request;
    text.push_str(&if bad {
        paint(BAD, &line)
    } else if stderr {
        paint(DIM, &line)
    } else {
        line
    });
    text.push('\n');
    if let Some(value) = value {
        let margin = " ".repeat(indent);
        for row in value_lines(value, message, look, room) {
            text.push_str(&margin);
            text.push_str(&row);
            text.push('\n');
        }
    } else if message.length > gist::READ_LIMIT && !stderr {
        text.push_str(&format!("{}{} are not shown here: --raw has them\n", " ".repeat(indent), size(message.length)));
    }
}

/// Returns how many tokens an answer takes, estimated; nothing for pictures and sounds, whose letters no model reads.
fn estimate(root: Option<Node<'_, '_>>, bytes: u64) -> String {
    let content = root.and_then(|root| root.pointer("/result/content"));
    let is_text = |block: Node<'_, '_>| block.get("data").is_none() && block.pointer("/resource/blob").is_none();
    if root.is_none() || content.is_some_and(|content| !content.children().all(is_text)) {
        return String::new();
    }
    format!(", {} tokens", tokens(bytes))
}

fn request_value<'t, 'a>(message: &Message, root: Option<Node<'t, 'a>>) -> Option<Node<'t, 'a>> {
    let params = root?.get("params")?;
    match message.method.as_deref() {
        Some("tools/call" | "prompts/get") => params.get("arguments").or(Some(params)),
        _ => Some(params),
    }
}

/// Returns a payload: a tool's result by its parts, JSON inside text as JSON, anything else as it is.
fn value_lines(value: Node<'_, '_>, message: &Message, look: Look, room: usize) -> Vec<String> {
    let content = value.get("content").filter(|_| message.method.as_deref() == Some("tools/call"));
    let Some(content) = content else { return safe(pretty(value, room, look.limit)) };
    let mut lines = Vec::new();
    let mut inner_texts = Vec::new();
    for (at, block) in content.children().enumerate() {
        let Some(text) = block.get("text").and_then(Node::as_text) else {
            lines.push(format!("content[{at}]"));
            lines.extend(safe(pretty(block, room, look.limit)));
            continue;
        };
        match Tree::parse(text.as_bytes()) {
            Ok(tree) if tree.root().is_container() => {
                lines.push(format!("content[{at}] is text, JSON in it:"));
                lines.extend(safe(pretty(tree.root(), room, look.limit)));
            }
            _ => {
                lines.push(format!("content[{at}] is text:"));
                let all: Vec<&str> = text.lines().collect();
                let most = if look.limit.is_full() { usize::MAX } else { 12 };
                lines.extend(all.iter().take(most).map(|line| {
                    let line = sanitize::line(line);
                    if look.limit.is_full() { line } else { sanitize::cut(&line, room, look.signs.cut) }
                }));
                if all.len() > most {
                    lines.push(format!("{} {} more lines (--full)", look.signs.cut, all.len() - most));
                }
            }
        }
        inner_texts.push(text);
    }
    if let Some(structured) = value.get("structuredContent") {
        let same = inner_texts.len() == 1
            && inner_texts.first().is_some_and(|text| {
                Tree::parse(text.as_bytes()).is_ok_and(|tree| tree.root().same_spelling(structured))
            });
        if same {
            lines.push("structuredContent says the same".into());
        } else {
            lines.push("structuredContent".into());
            lines.extend(safe(pretty(structured, room, look.limit)));
        }
    }
    for (key, node) in value.members().filter(|(key, _)| !matches!(key.as_ref(), "content" | "structuredContent")) {
        lines.push(format!(
            "{}: {}",
            sanitize::line(&key),
            super::pretty::one_line(node, room.saturating_sub(key.len() + 2))
        ));
    }
    lines
}

fn safe(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| sanitize::line(&line)).collect()
}

/// Returns the places of an exchange's members: those of the message at `place` and all that belong with it.
#[must_use]
pub fn places(messages: &[Message], place: Place) -> Vec<&Message> {
    let Some(message) = messages.iter().find(|message| message.place == place) else { return Vec::new() };
    match exchange::request_of(message) {
        Some(request) => {
            // An answer to a question opens the call during which it was asked.
            let owner = messages.iter().find(|m| m.place == request).and_then(exchange::request_of).unwrap_or(request);
            exchange::members(messages, owner)
        }
        None => vec![message],
    }
}
