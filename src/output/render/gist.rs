//! What a message says, in the few words of a table row.

use super::pretty::one_line;
use crate::output::humanize::{counted, size, tokens};
use crate::output::sanitize;
use crate::protocol::json::{Kind as Json, Node, Tree};
use crate::session::message::{Kind, Message, Outcome};

/// Larger payloads are told by their size alone, in bytes.
pub const READ_LIMIT: u64 = 4 << 20;

/// How much of a payload's text is taken into a row, in characters; it is cut to the column later.
const CHARS: usize = 400;

/// Returns what a request or notification says; `text` is the message's own JSON.
#[must_use]
pub fn sent(message: &Message, text: &[u8]) -> String {
    let method = message.method.as_deref().unwrap_or("?");
    let tree = Tree::parse(text);
    let params = tree.as_ref().ok().and_then(|tree| tree.root().get("params"));
    let part = |key: &str| params.and_then(|params| params.get(key));
    let plain = |key: &str| part(key).and_then(Node::as_text).map(|text| sanitize::line(&text));
    let concerned = message.concerns.map(|place| format!(" #{place}")).unwrap_or_default();
    let words = match method {
        "tools/call" | "prompts/get" => {
            let name = message.name.as_deref().map_or_else(|| "?".into(), sanitize::line);
            let prefix = if method == "tools/call" { String::new() } else { "prompts/get ".into() };
            let arguments = part("arguments").map(|node| format!(" {}", one_line(node, CHARS))).unwrap_or_default();
            let retry = if part("inputResponses").is_some() { " with input" } else { "" };
            format!("{prefix}{name}{retry}{arguments}")
        }
        "notifications/progress" => {
            let number = |key: &str| part(key).and_then(Node::as_number).map(str::to_owned);
            let total = number("total").map(|total| format!("/{total}")).unwrap_or_default();
            let done = number("progress").unwrap_or_else(|| "?".into());
            let text = plain("message").map(|text| format!(" {text}")).unwrap_or_default();
            format!("progress{concerned}  {done}{total}{text}")
        }
        "notifications/cancelled" | "cancelled" => {
            format!("cancelled{concerned}{}", plain("reason").map(|text| format!("  {text}")).unwrap_or_default())
        }
        "notifications/message" => {
            let level = plain("level").unwrap_or_else(|| "?".into());
            let data =
                part("data").map(|node| node.as_text().map_or_else(|| one_line(node, CHARS), |t| sanitize::line(&t)));
            format!("log {level}  {}", data.unwrap_or_default())
        }
        "elicitation/create" => format!("elicitation/create  {}", plain("message").unwrap_or_default()),
        "completion/complete" => {
            let argument = part("argument").map(|node| format!(" {}", one_line(node, CHARS))).unwrap_or_default();
            format!("completion/complete{argument}")
        }
        _ => match &message.name {
            Some(name) => format!("{} {}", sanitize::line(method), sanitize::line(name)),
            None => {
                let shown = params
                    .filter(|_| message.revision.as_deref().is_none_or(|r| !crate::protocol::revision::is_modern(r)));
                let shown = shown.filter(|_| method != "initialize").filter(|node| !node.is_empty());
                format!(
                    "{}{}",
                    sanitize::line(method),
                    shown.map(|node| format!(" {}", one_line(node, CHARS))).unwrap_or_default()
                )
            }
        },
    };
    words.trim_end().to_owned()
}

/// Returns what an answer says, its outcome first.
#[must_use]
pub fn answered(message: &Message, text: &[u8], late: bool) -> String {
    let tree = Tree::parse(text);
    let root = tree.as_ref().ok().map(Tree::root);
    let result = root.and_then(|root| root.get("result"));
    let outcome = match message.outcome {
        _ if late => "too late".to_owned(),
        Some(Outcome::ToolError) => "tool error".into(),
        Some(Outcome::InputRequired) => "input required".into(),
        Some(Outcome::RpcError) => {
            format!("error {}", message.error_code.map_or_else(|| "?".into(), |code| code.to_string()))
        }
        _ => "ok".into(),
    };
    let words = if message.kind == Kind::Error {
        let error = root.and_then(|root| root.get("error"));
        error
            .and_then(|error| error.get("message"))
            .and_then(Node::as_text)
            .map(|text| sanitize::line(&text))
            .unwrap_or_default()
    } else {
        result
            .map(|result| result_words(message.method.as_deref().unwrap_or(""), result, message.length))
            .unwrap_or_default()
    };
    match message.method.as_deref() {
        Some("initialize" | "elicitation/create") if message.outcome == Some(Outcome::Ok) && !words.is_empty() => words,
        _ if words.is_empty() => outcome,
        _ => format!("{outcome}  {words}"),
    }
}

fn result_words(method: &str, result: Node<'_, '_>, bytes: u64) -> String {
    for (key, noun) in [
        ("tools", "tool"),
        ("resources", "resource"),
        ("resourceTemplates", "template"),
        ("prompts", "prompt"),
        ("tasks", "task"),
        ("roots", "root"),
    ] {
        if let Some(list) = result.get(key).filter(|node| node.kind() == Json::Array) {
            let size = if key == "tools" { format!(", {} tokens", tokens(bytes)) } else { String::new() };
            let more = if result.get("nextCursor").is_some() { ", more follow" } else { "" };
            return format!("{}{size}{more}", counted(list.len() as u64, noun));
        }
    }
    match method {
        "initialize" => initialized(result),
        "server/discover" => {
            let versions = result.get("supportedVersions").map(|node| one_line(node, CHARS)).unwrap_or_default();
            format!("speaks {versions}")
        }
        "elicitation/create" => {
            let action = result.get("action").and_then(Node::as_text).map(|t| sanitize::line(&t)).unwrap_or_default();
            let content = result.get("content").map(|node| format!(" {}", one_line(node, CHARS))).unwrap_or_default();
            format!("{action}{content}")
        }
        "tools/call" => called(result),
        "resources/read" => result.get("contents").map(|contents| contents_words(contents, "text")).unwrap_or_default(),
        "ping" => String::new(),
        _ if result.is_empty() => String::new(),
        _ => one_line(result, CHARS),
    }
}

fn initialized(result: Node<'_, '_>) -> String {
    let text = |node: Option<Node<'_, '_>>| node.and_then(Node::as_text).map(|text| sanitize::line(&text));
    let info = result.get("serverInfo");
    let name = text(info.and_then(|info| info.get("name"))).unwrap_or_else(|| "?".into());
    let version = text(info.and_then(|info| info.get("version"))).map(|v| format!(" {v}")).unwrap_or_default();
    let offers: Vec<String> = result
        .get("capabilities")
        .map(|c| c.members().map(|(key, _)| sanitize::line(&key)).collect())
        .unwrap_or_default();
    let offers = if offers.is_empty() { String::new() } else { format!(": {}", offers.join(", ")) };
    format!("{name}{version}{offers}")
}

fn called(result: Node<'_, '_>) -> String {
    if let Some(requests) = result.get("inputRequests") {
        return one_line(requests, CHARS);
    }
    if let Some(content) = result.get("content").filter(|content| !content.is_empty()) {
        return contents_words(content, "text");
    }
    if let Some(structured) = result.get("structuredContent") {
        return one_line(structured, CHARS);
    }
    if let Some(task) = result.get("taskId").or_else(|| result.get("task").and_then(|task| task.get("taskId"))) {
        return format!("task {}", task.as_text().map(|t| sanitize::line(&t)).unwrap_or_default());
    }
    if result.get("content").is_some() { "no content".into() } else { one_line(result, CHARS) }
}

fn contents_words(contents: Node<'_, '_>, key: &str) -> String {
    let Some(first) = contents.children().next() else { return String::new() };
    let more = if contents.len() > 1 { format!("  and {} more", contents.len() - 1) } else { String::new() };
    if let Some(text) = first.get(key).and_then(Node::as_text) {
        // JSON inside text is shown as JSON, without its blanks.
        let inner = Tree::parse(text.as_bytes())
            .ok()
            .filter(|tree| tree.root().is_container())
            .map(|tree| one_line(tree.root(), CHARS));
        let short: String = text.chars().take(CHARS).collect();
        return format!("{}{more}", inner.unwrap_or_else(|| sanitize::line(&short)));
    }
    let kind = ["mimeType", "type", "uri"].iter().find_map(|key| first.get(key).and_then(Node::as_text));
    format!("{}{more}", kind.map(|kind| sanitize::line(&kind)).unwrap_or_default())
}

/// Returns what a line says that is no message.
#[must_use]
pub fn line(message: &Message, text: &[u8]) -> String {
    let shown = sanitize::bytes(text.get(..text.len().min(CHARS)).unwrap_or_default().trim_ascii_end());
    if message.channel == crate::session::frame::Channel::Stderr {
        return format!("stderr  {shown}");
    }
    match message.kind {
        Kind::Stray => format!("not JSON: {shown}"),
        Kind::Blank => "blank line".into(),
        _ if message.has_flaw("fragment") => format!("part of a message: {shown}"),
        _ if message.has_flaw("truncated") => format!("broken off after {}: {shown}", size(message.length)),
        _ => format!("no message: {shown}"),
    }
}
