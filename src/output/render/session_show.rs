//! One session: all that is known of it.

use super::session_list::Listed;
use crate::output::humanize::{counted, moment, size, time};
use crate::output::sanitize;
use crate::output::styles::{BOLD, DIM, paint};
use crate::output::ui::Signs;
use crate::session::frame::Gap;
use crate::session::session::{ExitStatus, Peer, Session};

/// How wide the label before a value is, its two blanks included.
const LABEL: usize = 11;

/// Returns a session as a list of facts: what others call themselves is cut to the width, long lists go over lines.
#[must_use]
pub fn render(listed: &Listed, gaps: &[Gap], slow_writes: u64, width: usize, signs: Signs) -> String {
    let session = &listed.session;
    let name = session.name.as_deref().map(|name| format!("{}  ", sanitize::line(name))).unwrap_or_default();
    let mut text = format!("{}\n\n", paint(BOLD, &format!("{name}{}", session.id)));
    let room = width.saturating_sub(LABEL).max(20);
    let peer = |peer: &Option<Peer>| {
        peer.as_ref().map(|peer| sanitize::cut(&sanitize::line(&peer.to_string()), room, signs.cut)).unwrap_or_default()
    };
    let mut fact = |what: &str, value: &str| {
        if !value.is_empty() {
            let mut label = format!("{what:<9}  ");
            for line in value.lines() {
                text.push_str(&format!("{}{}\n", paint(DIM, &label), sanitize::line(line)));
                label = " ".repeat(LABEL);
            }
        }
    };
    fact("server", &peer(&session.server));
    fact("client", &peer(&session.client));
    fact("speaks", &session.revisions.join(", "));
    fact("url", session.launch.url.as_deref().unwrap_or_default());
    fact("command", &command(session));
    fact("program", session.launch.program.as_deref().unwrap_or_default());
    fact("in", session.launch.cwd.as_deref().unwrap_or_default());
    fact("path", &wrapped(session.launch.path.as_deref().unwrap_or_default(), ':', room));
    fact("variables", &wrapped(&session.launch.variables.join(" "), ' ', room));
    fact("started", &moment(session.started_at_ns));
    let ended = match (session.ended_ns, listed.live) {
        (Some(ended), _) => {
            format!("after {}: {}", time(ended), session.end_reason.as_deref().unwrap_or("no reason was kept"))
        }
        (None, true) => "not yet: it is being recorded".into(),
        (None, false) => "the recording was cut off".into(),
    };
    fact("ended", &ended);
    let status = match session.exit_status {
        Some(ExitStatus::Code(code)) => format!("code {code}"),
        Some(ExitStatus::Signal(signal)) => format!("signal {signal}"),
        None => String::new(),
    };
    fact("exit", &status);
    fact(
        "holds",
        &format!(
            "{} of {}, {}, {}",
            counted(session.frames, "frame"),
            size(session.bytes),
            counted(session.messages, "message"),
            counted(session.calls, "call")
        ),
    );
    if slow_writes > 0 {
        fact("slow", &format!("{} took more than 1 ms to be written on", counted(slow_writes, "chunk")));
    }
    for gap in gaps {
        let lines = counted(gap.lines, "line");
        fact(
            "missing",
            &format!("{lines} ({}) {} {}: {}", size(gap.bytes), gap.dir.as_str(), gap.ch.as_str(), gap.reason),
        );
    }
    fact("masked", &session.redaction.join(", "));
    fact("by", &format!("mcp-tap {}", session.tap_version));
    text
}

/// Returns a list with its items on as many lines as they need; one that is longer than a line is broken.
fn wrapped(list: &str, between: char, room: usize) -> String {
    let mut lines = vec![String::new()];
    for item in sanitize::line(list).split_inclusive(between) {
        let mut used = lines.last().map_or(0, |line| sanitize::width(line));
        if used > 0 && used + sanitize::width(item.trim_end()) > room {
            lines.push(String::new());
            used = 0;
        }
        for character in item.chars() {
            let wide = sanitize::width(character.encode_utf8(&mut [0; 4]));
            if used + wide > room && character != ' ' {
                lines.push(String::new());
                used = 0;
            }
            used += wide;
            if let Some(line) = lines.last_mut() {
                line.push(character);
            }
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// Returns the command as it would be typed.
#[must_use]
pub fn command(session: &Session) -> String {
    let words: Vec<&str> = session.launch.argv.iter().map(String::as_str).collect();
    match shlex::try_join(words) {
        Ok(text) => text,
        Err(_) => session.launch.argv.join(" "),
    }
}
