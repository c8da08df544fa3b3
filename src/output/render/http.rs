//! HTTP exchanges: as a table, like the network panel of a browser, and the envelope of one.

use crate::output::humanize::time;
use crate::output::sanitize;
use crate::output::styles::{BAD, DIM, paint};
use crate::output::table::{Column, Row, render, widest};
use crate::output::ui::Signs;
use crate::session::http::{HttpEnding, HttpExchange};

/// An exchange with what its frames say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The exchange.
    pub exchange: HttpExchange,
    /// What the first message of its request says: a method and a name.
    pub says: Option<String>,
    /// The numbers of its frames, the first and the last.
    pub frames: Option<(u64, u64)>,
    /// How many events its answer has.
    pub events: u64,
}

/// Returns the exchanges as a table.
#[must_use]
pub fn table(all: &[Listed], width: usize, signs: Signs) -> String {
    let columns = [
        Column::right("n"),
        Column::right("at"),
        Column::left("request"),
        Column::left("says"),
        Column::right("status"),
        Column::left("answer"),
        Column::right("first"),
        Column::right("took"),
        Column::right("seq"),
    ];
    let none = || signs.none.to_owned();
    // What is left of a line by the other columns is shared by the path and what it says.
    let room = width.saturating_sub(57).max(23);
    let asked = |listed: &Listed| {
        format!("{} {}", sanitize::line(&listed.exchange.verb), sanitize::line(&listed.exchange.path))
    };
    let path_room = widest("request", all.iter().map(asked)).min(room - 10);
    let rows: Vec<Row> = all
        .iter()
        .map(|listed| {
            let exchange = &listed.exchange;
            let says = listed.says.as_deref().map(sanitize::line).unwrap_or_default();
            let cells = vec![
                exchange.n.to_string(),
                format!("{:.3}", exchange.started_ns as f64 / 1e9),
                sanitize::cut(&asked(listed), path_room, signs.cut),
                sanitize::cut(&says, room - path_room, signs.cut),
                exchange.status.map_or_else(none, |status| status.to_string()),
                answer(listed),
                exchange.answered_ns.map_or_else(none, |at| time(at - exchange.started_ns)),
                exchange.ended_ns.map_or_else(none, |at| time(at - exchange.started_ns)),
                match listed.frames {
                    None => none(),
                    Some((first, last)) if first == last => first.to_string(),
                    Some((first, last)) => format!("{first}-{last}"),
                },
            ];
            Row { cells, style: is_bad(exchange).then_some(BAD) }
        })
        .collect();
    let mut text = render(&columns, &rows, true);
    let told: Vec<String> = all.iter().flat_map(|listed| findings(&listed.exchange)).collect();
    if !told.is_empty() {
        text.push('\n');
        for line in &told {
            text.push_str(&format!("! {}\n", sanitize::cut(line, width.saturating_sub(2).max(30), signs.cut)));
        }
    }
    text
}

fn is_bad(exchange: &HttpExchange) -> bool {
    let broke = matches!(exchange.ending, Some(HttpEnding::UpstreamBroke | HttpEnding::NoAnswer));
    broke || exchange.status.is_some_and(|status| status >= 400 && status != 405)
}

fn answer(listed: &Listed) -> String {
    let exchange = &listed.exchange;
    if exchange.is_event_stream() {
        return format!("events {}", listed.events);
    }
    let kind = exchange.response_header("content-type").map(|kind| kind.split(';').next().unwrap_or_default().trim());
    let kind = kind.map(|kind| kind.rsplit('/').next().unwrap_or_default().to_ascii_lowercase());
    let kind = sanitize::cut(&sanitize::line(&kind.unwrap_or_default()), 10, "");
    match &exchange.response_body {
        Some(body) => format!("{kind} {}", sanitize::line(&body.coding)),
        None => kind,
    }
}

/// Returns what is worth saying of an exchange.
fn findings(exchange: &HttpExchange) -> Vec<String> {
    let mut found = Vec::new();
    let how = match exchange.ending {
        Some(HttpEnding::ClientLeft) => Some("the client left first"),
        Some(HttpEnding::UpstreamBroke) => Some("the upstream broke its answer off"),
        Some(HttpEnding::NoAnswer) => Some("the upstream gave no answer"),
        Some(HttpEnding::CutOff) => Some("the recording ended first"),
        Some(HttpEnding::Complete) | None => None,
    };
    found.extend(how.map(|how| format!("{}  {how}", exchange.n)));
    found.extend(exchange.rewritten.iter().map(|what| format!("{}  rewritten: {}", exchange.n, sanitize::line(what))));
    found
}

/// Headers that say something of the protocol.
fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("mcp-")
        || matches!(name.as_str(), "last-event-id" | "www-authenticate" | "location" | "retry-after")
}

/// Returns the envelope of an exchange; `events` are the ids of its events, with their numbers.
#[must_use]
pub fn envelope(exchange: &HttpExchange, events: &[(u64, String)], width: usize, signs: Signs) -> String {
    let status = exchange.status.map_or_else(|| signs.none.to_owned(), |status| status.to_string());
    let mut head =
        format!("http {}  {} {}  {status}", exchange.n, sanitize::line(&exchange.verb), sanitize::line(&exchange.path));
    if exchange.is_event_stream() {
        head.push_str("  events");
    }
    if let Some(at) = exchange.answered_ns {
        head.push_str(&format!("  first byte {}", time(at - exchange.started_ns)));
    }
    if let Some(at) = exchange.ended_ns {
        head.push_str(&format!("  took {}", time(at - exchange.started_ns)));
    }
    let mut lines = vec![head];
    for (arrow, headers) in [(signs.right, &exchange.request), (signs.left, &exchange.response)] {
        for (name, value) in headers.iter().filter(|(name, _)| is_telling(name)) {
            lines.push(format!("  {arrow} {}: {}", sanitize::line(name), sanitize::line(value)));
        }
    }
    for (arrow, body) in [(signs.right, &exchange.request_body), (signs.left, &exchange.response_body)] {
        if let Some(body) = body {
            let broken = if body.broken { ", could not be decoded" } else { "" };
            lines.push(format!(
                "  {arrow} {} of {} on the wire{broken}",
                crate::output::humanize::size(body.length),
                sanitize::line(&body.coding)
            ));
        }
    }
    lines.extend(events.iter().map(|(seq, id)| format!("  {} event id {}: {seq}", signs.left, sanitize::line(id))));
    lines.extend(
        findings(exchange).iter().map(|finding| format!("  {}", finding.split_once("  ").map_or("", |(_, what)| what))),
    );
    lines.iter().map(|line| format!("{}\n", paint(DIM, &sanitize::cut(line, width, signs.cut)))).collect()
}
