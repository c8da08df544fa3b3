//! A replay: its plan before, and what it met besides the differences after.

use super::super::humanize::{counted, time};
use super::super::sanitize;
use super::super::styles::{BOLD, DIM, paint};
use super::diff::Look;
use crate::replay::bind::Inside;
use crate::replay::driver::what_is;
use crate::replay::plan::{Action, Plan, Step, Wait};
use crate::replay::report::ReplayReport;

/// Returns the plan: what would be sent, what it waits for, and what would be replaced and why.
#[must_use]
pub fn explain(plan: &Plan, look: Look) -> String {
    let mut text = String::new();
    for step in &plan.steps {
        step_lines(plan, step, look, &mut text);
    }
    let sent = plan.steps.iter().filter(|step| step.unsent.is_none()).count();
    let unsent = plan.steps.len() - sent;
    let left = if unsent > 0 { format!(", {unsent} not sent") } else { String::new() };
    text.push_str(&format!("\n{}{left}; nothing was sent\n", counted(sent as u64, "step")));
    text
}

fn step_lines(plan: &Plan, step: &Step, look: Look, text: &mut String) {
    let what = match step.action {
        Action::Answer(at) => {
            let asked = plan.questions.get(at).map_or("a question", |question| question.method.as_str());
            format!("{} answers {asked}", look.signs.answers)
        }
        Action::Send => match step.members.as_slice() {
            [] => "a line that is no message".to_owned(),
            [one] => what_is(one),
            many => {
                let inside: Vec<String> = many.iter().map(what_is).collect();
                format!("batch of {}: {}", many.len(), inside.join(", "))
            }
        },
    };
    let waits = waits(plan, step);
    let waits = if waits.is_empty() { String::new() } else { format!("  after {}", waits.join(", ")) };
    let line = format!("{:>4}  {}{}", step.seq, sanitize::line(&what), paint(DIM, &waits));
    text.push_str(&line);
    text.push('\n');
    let mut note = |words: &str| {
        let words = sanitize::cut(&sanitize::line(words), look.width.saturating_sub(8), look.signs.cut);
        text.push_str(&format!("        {words}\n"));
    };
    if let Some(why) = &step.unsent {
        note(&format!("not sent: {why}"));
    }
    for binding in step.members.iter().flat_map(|member| &member.bindings) {
        let inside = match &binding.source.inside {
            Inside::Whole => String::new(),
            Inside::Json(at) => format!(", in the JSON there at {at}"),
            Inside::Text { .. } => ", in the text there".to_owned(),
        };
        let recorded = String::from_utf8_lossy(&binding.recorded);
        note(&format!("replaced: {} {recorded}", binding.at));
        note(&format!("  {}", binding.why.words()));
        note(&format!("  from the answer to {}, {}{inside}", binding.source.request, binding.source.pointer));
    }
}

fn waits(plan: &Plan, step: &Step) -> Vec<String> {
    let words = step.waits.iter().map(|wait| match wait {
        Wait::Answer(place) => format!("the answer to {place}"),
        Wait::Question(at) => plan.questions.get(*at).map_or_else(String::new, |q| format!("the question {}", q.place)),
        Wait::Task(place) => format!("the end of the task of {place}"),
    });
    words.collect()
}

/// Returns what a replay met: time-outs, questions without an answer, what was not sent and not judged.
#[must_use]
pub fn met(report: &ReplayReport, look: Look) -> String {
    let mut text = String::new();
    let mut line = |indent: usize, words: &str| {
        let room = look.width.saturating_sub(indent);
        let words = sanitize::cut(&sanitize::line(words), room, look.signs.cut);
        text.push_str(&format!("{}{words}\n", " ".repeat(indent)));
    };
    for late in &report.timed_out {
        line(0, &format!("NO ANSWER  {}  {}: none within {}", late.place, late.what, time(late.waited_ns)));
        match &late.last {
            Some((last, at)) => line(2, &format!("last from the server, {} earlier: {last}", time(*at))),
            None => line(2, "the server had said nothing"),
        }
        if let Some(last) = late.stderr.last() {
            line(2, &format!("last on stderr: {last}"));
        }
    }
    if let Some(why) = &report.stopped {
        line(0, &format!("STOPPED  {why}"));
        for last in report.stderr.iter().rev().take(3).rev() {
            line(2, &format!("stderr: {last}"));
        }
    }
    if let Some(first) = report.unreached.first() {
        let what = counted(report.unreached.len() as u64, "message");
        line(0, &format!("not reached: {what} of the client, from {first} on"));
    }
    for method in &report.unanswerable {
        line(0, &format!("no answer in the recording to the question {method}: answered with an error"));
    }
    for step in &report.skipped {
        line(0, &format!("not sent: {}  {}: {}", step.place, step.what, step.why));
    }
    if let Some((count, after)) = report.not_judged {
        let what = counted(count as u64, "exchange");
        line(0, &format!("not judged: {what} after {after}, which was not sent and may have changed something"));
    }
    let marked = |text: String| {
        text.lines()
            .map(|line| match line.split_once("  ").filter(|(word, _)| matches!(*word, "NO ANSWER" | "STOPPED")) {
                Some((word, rest)) => format!("{}  {rest}\n", paint(BOLD, word)),
                None => format!("{line}\n"),
            })
            .collect()
    };
    marked(text)
}
