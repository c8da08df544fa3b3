//! One session: all that is known of it.

use super::session_list::Listed;
use crate::output::humanize::{counted, moment, size, time};
use crate::output::sanitize;
use crate::output::styles::{BOLD, DIM, paint};
use crate::session::frame::Gap;
use crate::session::session::{ExitStatus, Session};

/// Returns a session as a list of facts.
#[must_use]
pub fn render(listed: &Listed, gaps: &[Gap], slow_writes: u64) -> String {
    let session = &listed.session;
    let name = session.name.as_deref().map(|name| format!("{}  ", sanitize::line(name))).unwrap_or_default();
    let mut text = format!("{}\n\n", paint(BOLD, &format!("{name}{}", session.id)));
    let mut fact = |what: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("{}  {}\n", paint(DIM, &format!("{what:<9}")), sanitize::line(value)));
        }
    };
    fact("server", &session.server.as_ref().map(ToString::to_string).unwrap_or_default());
    fact("client", &session.client.as_ref().map(ToString::to_string).unwrap_or_default());
    fact("speaks", &session.revisions.join(", "));
    fact("command", &command(session));
    fact("program", session.launch.program.as_deref().unwrap_or_default());
    fact("in", session.launch.cwd.as_deref().unwrap_or_default());
    fact("path", session.launch.path.as_deref().unwrap_or_default());
    fact("variables", &session.launch.variables.join(" "));
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

/// Returns the command as it would be typed.
#[must_use]
pub fn command(session: &Session) -> String {
    let words: Vec<&str> = session.launch.argv.iter().map(String::as_str).collect();
    match shlex::try_join(words) {
        Ok(text) => text,
        Err(_) => session.launch.argv.join(" "),
    }
}
