//! Messages as a table, made row by row so that the first page of a long session is there at once.

use super::{flaws, gist};
use crate::output::humanize::{size, time};
use crate::output::sanitize;
use crate::output::styles::{BAD, DIM, WARN};
use crate::output::table::{Column, Row, render};
use crate::output::ui::Signs;
use crate::session::frame::{Channel, Direction, Gap};
use crate::session::message::{Kind, Message, Outcome, Place};
use crate::session::session::Session;
use std::collections::HashMap;

/// How many findings are listed below a table.
const FINDINGS: usize = 12;

/// What may be shown.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Exchanges of this tool, prompt or resource only.
    pub name: Option<String>,
    /// What went wrong only.
    pub errors: bool,
    /// Exchanges that took so long at least, ns.
    pub slow_ns: Option<i64>,
    /// Messages whose bytes contain one of these only.
    pub grep: Option<Vec<Vec<u8>>>,
    /// Lines of stderr too.
    pub stderr: bool,
    /// Blank lines too.
    pub blank: bool,
}

impl Filter {
    /// Returns true if everything but stderr is shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && !self.errors && self.slow_ns.is_none() && self.grep.is_none()
    }
}

/// Something below the table that wants attention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub place: String,
    /// What.
    pub text: String,
    /// How many more like it come later.
    pub more: u64,
}

#[derive(Debug, Clone)]
struct Open {
    forwarded_ns: i64,
    name: Option<String>,
    gave_up_ns: Option<i64>,
    shown: bool,
}

/// Turns messages into rows, in their order.
#[derive(Debug)]
pub struct MessageRows {
    filter: Filter,
    signs: Signs,
    width: usize,
    seq_width: usize,
    open: HashMap<Place, Open>,
    previous: Option<Place>,
    findings: Vec<Finding>,
    more_findings: usize,
    more_with: String,
    shown: u64,
}

impl MessageRows {
    /// Returns a table without rows for that many columns; `frames` is how many frames there are, as far as is known.
    #[must_use]
    pub fn new(filter: Filter, signs: Signs, width: usize, frames: u64) -> Self {
        Self {
            seq_width: frames.saturating_sub(1).to_string().len().max(4),
            filter,
            signs,
            width,
            open: HashMap::new(),
            previous: None,
            findings: Vec::new(),
            more_findings: 0,
            more_with: String::new(),
            shown: 0,
        }
    }

    /// Names the command that shows the findings for which there is no room.
    #[must_use]
    pub fn more_with(self, command: String) -> Self {
        Self { more_with: command, ..self }
    }

    fn columns(&self) -> Vec<Column> {
        let fixed = self.seq_width + 2 + 8 + 2 + 1 + 2 + 2 + 7 + 2 + 6;
        let text = self.width.saturating_sub(fixed).max(16);
        vec![
            Column::right("seq").wide(self.seq_width),
            Column::right("at").wide(8),
            Column::left("").wide(1),
            Column::left("message").wide(text),
            Column::right("took").wide(7),
            Column::right("size").wide(6),
        ]
    }

    /// Returns the header of the table.
    #[must_use]
    pub fn header(&self) -> String {
        render(&self.columns(), &[], true)
    }

    /// Returns the rows of a page of messages; `bytes` gives the exact text of a message, if it is not too long.
    pub fn page(&mut self, page: &[Message], bytes: &HashMap<u64, Vec<u8>>) -> String {
        let mut rows = Vec::new();
        // A recording that goes on, and places in a batch, may need more room than was known: nothing ever wraps.
        let widest = page.iter().map(|message| message.place.to_string().len()).max().unwrap_or(0);
        self.seq_width = self.seq_width.max(widest);
        let columns = self.columns();
        let text_width = columns.get(3).and_then(|column| column.width).unwrap_or(40);
        for message in page {
            let text = text_of(message, bytes);
            if let Some(row) = self.row(message, text, text_width) {
                rows.push(row);
            }
        }
        self.shown += rows.len() as u64;
        render(&columns, &rows, false)
    }

    /// Returns true if a message is to be shown; answers are known by their requests, which come first.
    pub fn wants(&mut self, message: &Message, text: &[u8]) -> bool {
        let request = message.answers.or(message.concerns).and_then(|place| self.open.get(&place).cloned());
        let wanted = self.matches(message, text, request.as_ref());
        if message.kind == Kind::Request {
            let open = Open {
                forwarded_ns: message.forwarded_ns,
                name: message.name.clone(),
                gave_up_ns: message.gave_up_ns,
                shown: wanted,
            };
            self.open.insert(message.place, open);
        }
        wanted
    }

    fn matches(&self, message: &Message, text: &[u8], request: Option<&Open>) -> bool {
        if message.channel == Channel::Stderr && !self.filter.stderr
            || message.kind == Kind::Blank && !self.filter.blank
        {
            return false;
        }
        if message.has_flaw("fragment") && self.filter.is_empty() {
            // Its lines are told by the message that they make up, if they do.
            return true;
        }
        let name = message.name.as_deref().or_else(|| request.and_then(|request| request.name.as_deref()));
        if self.filter.name.as_deref().is_some_and(|wanted| name != Some(wanted)) {
            return false;
        }
        let belongs = request.is_some_and(|request| request.shown);
        if self.filter.errors && !(is_bad(message) || belongs) {
            return false;
        }
        if let Some(slow) = self.filter.slow_ns {
            let took = message.peer_ns().or_else(|| message.gave_up_ns.map(|at| at - message.forwarded_ns));
            if !(took.is_some_and(|took| took >= slow) || belongs) {
                return false;
            }
        }
        self.filter.grep.as_ref().is_none_or(|needles| needles.iter().any(|needle| contains(text, needle)))
    }

    fn row(&mut self, message: &Message, text: &[u8], width: usize) -> Option<Row> {
        let wanted = self.wants(message, text);
        let request = message.answers.and_then(|place| self.open.get(&place).cloned());
        if let (Some(place), true) = (message.answers, message.kind.is_answer()) {
            self.open.remove(&place);
        }
        if !wanted {
            return None;
        }
        let stray = message.channel == Channel::Stdio && matches!(message.kind, Kind::Stray | Kind::Invalid);
        let arrow = match message.direction {
            _ if stray => "!",
            _ if message.channel == Channel::Stderr => "",
            Direction::ToServer => self.signs.right,
            Direction::ToClient => self.signs.left,
        };
        let late = request.as_ref().is_some_and(|request| request.gave_up_ns.is_some());
        let words = match message.kind {
            Kind::Request | Kind::Notification => gist::sent(message, text),
            Kind::Result | Kind::Error => {
                let adjacent = message.answers.is_some() && message.answers == self.previous;
                let which = match message.answers {
                    Some(_) if adjacent => String::new(),
                    Some(place) => format!("#{place} "),
                    None => "nobody's ".into(),
                };
                format!("{} {which}{}", self.signs.answers, gist::answered(message, text, late))
            }
            _ => gist::line(message, text),
        };
        self.find(message, text, request.as_ref());
        self.take_back(message);
        self.previous = Some(message.place);
        let took = request.map(|request| time(message.received_ns - request.forwarded_ns)).unwrap_or_default();
        let style = match message.kind {
            _ if message.channel == Channel::Stderr => Some(DIM),
            Kind::Stray | Kind::Invalid => Some(WARN),
            Kind::Result | Kind::Error if message.outcome.is_some_and(Outcome::is_bad) => Some(BAD),
            Kind::Notification => Some(DIM),
            _ => None,
        };
        let cells = vec![
            message.place.to_string(),
            format!("{:.3}", message.received_ns as f64 / 1e9),
            arrow.to_owned(),
            sanitize::cut(&words, width, self.signs.cut),
            took,
            size(message.length),
        ];
        Some(Row { cells, style })
    }

    fn find(&mut self, message: &Message, text: &[u8], request: Option<&Open>) {
        let place = message.place.to_string();
        let server = message.direction == Direction::ToClient && message.channel == Channel::Stdio;
        let found = match message.kind {
            Kind::Stray if server => {
                Some("a line on the server's stdout was not JSON: strict clients disconnect".to_owned())
            }
            Kind::Stray if message.channel == Channel::Stdio => Some("a line from the client was not JSON".to_owned()),
            Kind::Invalid if message.has_flaw("fragment") => None,
            Kind::Invalid => Some(format!("not a message: {}", flaws::words(&message.flaws))),
            Kind::Result | Kind::Error if message.outcome.is_some_and(Outcome::is_bad) => {
                Some(gist::answered(message, text, false).replacen("  ", ": ", 1))
            }
            Kind::Request if message.outcome == Some(Outcome::GaveUp) => Some(gave_up(message)),
            _ if message.first_seq.is_some() => {
                Some("one message over several lines: most clients cannot read it".into())
            }
            _ => None,
        };
        let odd = message
            .has_flaw("id-type-changed")
            .then(|| "the id came back in another type: some clients do not find their request".to_owned());
        let unknown = (message.has_flaw("unknown-answer") && request.is_none())
            .then(|| "answers an id that nobody asked, or that was answered before".to_owned());
        let not_json = (message.kind != Kind::Stray && message.kind != Kind::Invalid && message.has_flaw("not-json"))
            .then(|| format!("not quite JSON ({}): some clients read it, others do not", flaws::words(&message.flaws)));
        for text in [found, odd, unknown, not_json].into_iter().flatten() {
            self.add(place.clone(), text);
        }
    }

    /// Notes that a request was given up after its row was made: it was open then, as it is while a session is followed.
    fn take_back(&mut self, message: &Message) {
        let cancels = message.kind == Kind::Notification
            && message.method.as_deref().is_some_and(crate::protocol::method::is_cancellation);
        if let (true, Some(place)) = (cancels, message.concerns)
            && let Some(open) = self.open.get_mut(&place).filter(|open| open.gave_up_ns.is_none())
        {
            open.gave_up_ns = Some(message.received_ns);
            let waited = time(message.received_ns - open.forwarded_ns);
            self.add(place.to_string(), format!("gave up after {waited}"));
        }
    }

    fn add(&mut self, place: String, text: String) {
        // What is wrong a hundred times is said once.
        if let Some(same) = self.findings.iter_mut().find(|finding| finding.text == text) {
            same.more += 1;
            return;
        }
        if self.findings.len() < FINDINGS {
            self.findings.push(Finding { place, text, more: 0 });
        } else {
            self.more_findings += 1;
        }
    }

    /// Returns what stands below the table: findings, what is missing, and what was never answered.
    pub fn findings(&mut self, session: &Session, gaps: &[Gap], live: bool) -> String {
        let mut unanswered: Vec<(Place, String)> = Vec::new();
        if !live && self.filter.is_empty() {
            for (place, open) in &self.open {
                if open.gave_up_ns.is_none() {
                    unanswered.push((*place, open.name.clone().unwrap_or_default()));
                }
            }
            unanswered.sort();
        }
        for (place, _) in unanswered {
            self.add(place.to_string(), "was never answered".into());
        }
        for gap in gaps {
            let what = match (gap.dir, gap.ch) {
                (Direction::ToClient, Channel::HttpBody | Channel::Sse) => "the server's answers",
                (Direction::ToServer, Channel::HttpBody | Channel::Sse) => "the client's requests",
                (_, Channel::Stderr) => "the server's stderr",
                (Direction::ToClient, _) => "the server's stdout",
                (Direction::ToServer, _) => "the client's stdin",
            };
            let text = format!(
                "{} of {what} ({}) are not in the recording: {}",
                lines(gap.lines),
                size(gap.bytes),
                gap.reason
            );
            let place = gap.after.map_or_else(|| "0".into(), |after| after.to_string());
            self.findings.push(Finding { place, text, more: 0 });
        }
        let mut text = String::new();
        let widest = self.findings.iter().map(|finding| finding.place.len()).max().unwrap_or(0);
        let wide = self.width.saturating_sub(widest + 4).max(30);
        for finding in &self.findings {
            let more = if finding.more > 0 { format!(" (and {} more)", finding.more) } else { String::new() };
            let shown = sanitize::cut(&finding.text, wide.saturating_sub(more.len()), self.signs.cut) + &more;
            text.push_str(&format!("! {:<widest$}  {shown}\n", finding.place));
        }
        if self.more_findings > 0 {
            let with = if self.more_with.is_empty() { String::new() } else { format!(": {}", self.more_with) };
            text.push_str(&format!("! {} more{with}\n", self.more_findings));
        }
        if session.is_incomplete() && !live {
            text.push_str("! the recording was cut off: what is there is exact, what came after is missing\n");
        }
        text
    }

    /// Returns how many rows were made.
    #[must_use]
    pub fn shown(&self) -> u64 {
        self.shown
    }
}

fn lines(count: u64) -> String {
    crate::output::humanize::counted(count, "line")
}

fn gave_up(message: &Message) -> String {
    let waited = message.gave_up_ns.map(|at| time(at - message.received_ns)).unwrap_or_default();
    match (message.answer, message.gave_up_ns) {
        (Some(answer), Some(at)) => {
            format!("gave up after {waited}; answered {} too late", time(answer.received_ns - at))
        }
        _ => format!("gave up after {waited}; never answered"),
    }
}

/// Returns true if a message is worth a look: it failed, or it is odd.
#[must_use]
pub fn is_bad(message: &Message) -> bool {
    let odd = message.channel == Channel::Stdio && matches!(message.kind, Kind::Stray | Kind::Invalid);
    odd || !message.flaws.is_empty() && message.channel == Channel::Stdio
        || message.outcome.is_some_and(Outcome::is_bad)
        || message.kind == Kind::Request && message.outcome.is_none()
}

/// Returns a message's own bytes out of its frame's.
#[must_use]
pub fn text_of<'b>(message: &Message, bytes: &'b HashMap<u64, Vec<u8>>) -> &'b [u8] {
    let frame = bytes.get(&message.place.seq).map(Vec::as_slice).unwrap_or_default();
    let from = usize::try_from(message.offset).unwrap_or(usize::MAX);
    let to = usize::try_from(message.offset + message.length).unwrap_or(usize::MAX);
    frame.get(from..to).unwrap_or(frame)
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(text, needle).is_some()
}

/// Returns the line that says what is being looked at.
#[must_use]
pub fn title(session: &Session, id: &str) -> String {
    let mut parts = Vec::new();
    if let Some(server) = &session.server {
        parts.push(sanitize::line(&server.to_string()));
    }
    if let Some(client) = &session.client {
        parts.push(sanitize::line(&client.to_string()));
    }
    parts.push(session.transport.clone());
    if !session.revisions.is_empty() {
        parts.push(sanitize::line(&session.revisions.join(", ")));
    }
    parts.push(crate::output::humanize::moment(session.started_at_ns));
    let name = session.name.as_deref().map(|name| format!("{}  ", sanitize::line(name))).unwrap_or_default();
    format!("{name}{id}  {}", parts.join(", "))
}
