//! `replay`: plays a recorded client against a server, records that, and compares the two.

use super::judge::{Judged, judge};
use super::options::{ChoiceArgs, CompareArgs, ServerArgs};
use super::play::{self, Stage};
use super::select::{self, Found};
use super::{Context, masks};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::render::diff::{Look, Named, render as render_diff};
use crate::output::render::{replay as render, session_show};
use crate::output::{json, json_diff, sanitize};
use crate::replay::choice::{self, Choice};
use crate::replay::driver::{Pace, Settings};
use crate::replay::edit;
use crate::replay::plan::{Plan, plan};
use crate::replay::script::{self, Script};
use crate::session::session::Origin;
use std::ffi::OsString;

/// Play a recorded client against a server and show what differs
///
/// What the client said is said again, in the order of its causes: a message is sent when what had come before it has
/// come. Cursors, task ids, handles and what else the server made are replaced by what this server makes, and its
/// questions are answered as they were. Ends with 1 if the answers differ, 3 if the server did not start or never
/// answered.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// Session to play (a name, an id or its beginning, `NAME~1`, or a session file), and the number of one message
    /// in it: then only the handshake and its exchange are played
    #[arg(value_name = "SESSION [SEQ]", num_args = 0..=2)]
    pub target: Vec<String>,
    /// Change an argument of the one message: a JSON pointer into its arguments and a JSON value
    #[arg(long, value_name = "POINTER=JSON")]
    pub set: Vec<String>,
    /// Take the recorded time between messages, or a part of it: `fast`, `recorded`, or `4x` for four times as fast
    #[arg(long, value_name = "PACE", default_value = "fast", value_parser = parse_pace)]
    pub pace: Pace,
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub server: ServerArgs,
    /// Show what would be sent, when, and with what replaced; send nothing
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub compare: CompareArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

pub(super) fn parse_pace(text: &str) -> Result<Pace, String> {
    let times = match text {
        "fast" => return Ok(Pace::Fast),
        "recorded" => Some(1.0),
        _ => text.strip_suffix('x').and_then(|number| number.parse().ok()),
    };
    match times.filter(|times: &f64| *times > 0.0 && times.is_finite()) {
        Some(times) => Ok(Pace::Times(times)),
        None => Err("a pace is `fast`, `recorded`, or a number with x, such as 4x".into()),
    }
}

/// Runs the command.
///
/// # Errors
/// There is no such session, the server did not start or never answered, or nothing could be recorded.
pub fn run(ctx: &mut Context, args: &ReplayArgs) -> Result<Code, CommandError> {
    let (session, one) = target(args)?;
    let reader = match &session {
        Some(text) if text.contains('/') || text.ends_with(".jsonl") => None,
        _ => ctx.reader()?,
    };
    let session = match (session, &reader) {
        (None, Some(reader)) => {
            let newest = reader.newest(|stored| stored.session.origin == Origin::Record && !stored.imported)?;
            let none = || {
                CommandError::failed(format!("no recording in {} to replay", ctx.location.shown()))
                    .hint("mcp-tap record -- SERVER…       in place of the command in your client")
            };
            Some(newest.ok_or_else(none)?.session.id)
        }
        (session, _) => session,
    };
    let found = select::find(ctx, reader.as_ref(), session.as_deref())?;
    if found.source.session().transport != "stdio" {
        return Err(CommandError::failed("a session over HTTP cannot be replayed yet"));
    }
    let script = script::read(&*found.source)?;
    let mut plan = plan(&script);
    if plan.steps.is_empty() {
        return Err(CommandError::failed(format!("nothing to replay: the client of `{}` said nothing", found.typed)));
    }
    let choice = args.choice.choice(one);
    choose(&mut plan, &script, &choice, args, &found)?;
    let look = Look { width: ctx.ui.width(), signs: ctx.ui.signs() };
    if args.explain {
        ctx.ui.print(&render::explain(&plan, look))?;
        return Ok(Code::Done);
    }
    if args.command.is_empty() {
        return Err(no_command(&found));
    }
    if !args.compare.strict {
        // What is wrong with a mask is said before anything is sent.
        masks::rules(&[found.source.session()])?;
    }
    let stage = Stage {
        command: args.command.clone(),
        surroundings: args.server.surroundings()?,
        before: args.server.before.iter().cloned().collect(),
        settings: Settings {
            pace: args.pace,
            timeout: args.server.timeout,
            limit: args.server.limit.unwrap_or(play::LIMIT),
        },
        store: ctx.location.path.clone(),
        retention: ctx.retention(),
        origin: Origin::Replay,
    };
    let played = play::play(&stage, found.source.session(), &script, &plan)?;
    let reader = ctx.reader()?;
    let made = select::find(ctx, reader.as_ref(), Some(&played.id))?;
    let options = args.compare.options();
    let judged = judge(&*found.source, &*made.source, &script, &plan, played.report, options, one.is_some())?;
    show(ctx, args, &found, &made, &judged)?;
    Ok(if judged.fails { Code::No } else { Code::Done })
}

/// Prints the verdict.
fn show(
    ctx: &mut Context,
    args: &ReplayArgs,
    found: &Found<'_>,
    made: &Found<'_>,
    judged: &Judged,
) -> Result<(), CommandError> {
    let Judged { a, b, differences, report, fails } = judged;
    if args.json {
        let fail_on = args.compare.options().fail_on;
        let body = json_diff::ReplayBody {
            a: json::SessionObject::of(&a.session, found.source.is_live(), false, false),
            b: json::SessionObject::of(&b.session, false, false, false),
            diff: json_diff::DiffObject::of(differences, fail_on),
            failed: *fails,
            replay: json_diff::ReplayObject::of(report),
        };
        return json::report(ctx.ui.out(), "replay", body);
    }
    let named = |session, id: &str| Named { session, id: id.to_owned() };
    let look = Look { width: ctx.ui.width(), signs: ctx.ui.signs() };
    ctx.ui.print(&render_diff(&named(&a.session, &found.id), &named(&b.session, &made.id), differences, look))?;
    let met = render::met(report, look);
    if !met.is_empty() {
        ctx.ui.print(&format!("\n{met}"))?;
    }
    ctx.ui.next(&format!("mcp-tap inspect {}", made.id));
    Ok(())
}

/// Returns the session and the message that were typed; a bare number is a message.
fn target(args: &ReplayArgs) -> Result<(Option<String>, Option<u64>), CommandError> {
    match args.target.as_slice() {
        [] => Ok((None, None)),
        [one] => match one.parse() {
            Ok(seq) => Ok((None, Some(seq))),
            Err(_) => Ok((Some(one.clone()).filter(|text| text != "latest"), None)),
        },
        [session, seq, ..] => match seq.parse() {
            Ok(seq) => Ok((Some(session.clone()).filter(|text| text != "latest"), Some(seq))),
            Err(_) => Err(CommandError::usage(format!("`{seq}` is no number of a message"))
                .hint("mcp-tap replay SESSION -- SERVER…      the server's command stands after --")),
        },
    }
}

/// Marks what is not sent, and changes what a person wants changed.
fn choose(
    plan: &mut Plan,
    script: &Script,
    choice: &Choice,
    args: &ReplayArgs,
    found: &Found<'_>,
) -> Result<(), CommandError> {
    if let Some(seq) = choice.one
        && !script.messages.iter().any(|message| message.place.seq == seq)
    {
        return Err(CommandError::failed(format!("no message {seq} in `{}`", found.typed))
            .hint(format!("mcp-tap inspect {}", found.typed)));
    }
    choice::choose(plan, script, choice);
    let nothing_else = |step: &crate::replay::plan::Step| {
        step.unsent.is_some() || step.members.iter().all(|member| choice::is_greeting(&member.method))
    };
    if let Some(seq) = choice.one {
        let inside = plan.steps.iter().all(nothing_else);
        let greeting = plan.steps.iter().any(|step| step.seq == seq && step.unsent.is_none());
        if inside && !greeting {
            return Err(CommandError::failed(format!("{seq} belongs to no request of the client")));
        }
    }
    if args.set.is_empty() {
        return Ok(());
    }
    let Some(seq) = choice.one else {
        return Err(CommandError::usage("--set changes one message: say which")
            .hint(format!("mcp-tap replay {} SEQ --set /city='\"Oslo\"' -- SERVER…", found.typed)));
    };
    let opened = script.messages.iter().filter(|message| message.place.seq == seq);
    let place = opened.filter_map(crate::session::exchange::request_of).next();
    let step = plan.steps.iter_mut().find(|step| step.members.iter().any(|member| Some(member.place) == place));
    let member = step.as_ref().and_then(|step| step.members.iter().find(|member| Some(member.place) == place)).cloned();
    let (Some(step), Some(member)) = (step, member) else {
        return Err(CommandError::failed(format!("{seq} belongs to no request of the client")));
    };
    for set in &args.set {
        let Some((pointer, value)) = set.split_once('=').filter(|(pointer, _)| pointer.starts_with('/')) else {
            return Err(CommandError::usage(format!("`{}` is not POINTER=JSON", sanitize::line(set)))
                .hint("--set /days=3, --set /city='\"Oslo\"'"));
        };
        if crate::protocol::json::Tree::parse(value.as_bytes()).is_err() {
            return Err(CommandError::usage(format!("`{}` is not JSON", sanitize::line(value)))
                .hint(format!("a text needs quotes: --set {pointer}='\"{}\"'", sanitize::line(value))));
        }
        let under: &[&str] = match member.method.as_str() {
            "tools/call" | "prompts/get" => &["params", "arguments"],
            _ => &["params"],
        };
        let text = step.bytes.get(member.offset..member.offset + member.length).unwrap_or_default();
        let edit = edit::set(text, under, pointer, value.as_bytes()).map_err(CommandError::failed)?;
        step.edits.push(edit::Edit { from: edit.from + member.offset, to: edit.to + member.offset, ..edit });
    }
    Ok(())
}

fn no_command(found: &Found<'_>) -> CommandError {
    let error = CommandError::usage("replay plays the client and needs a server to talk to");
    let session = found.source.session();
    if session.launch.argv.is_empty() {
        return error.hint(format!("mcp-tap replay {} -- SERVER…", found.typed));
    }
    let recorded = sanitize::line(&session_show::command(session));
    error
        .hint(format!("the recorded one:     mcp-tap replay {} -- {recorded}", found.typed))
        .hint(format!("to play the server:   mcp-tap mock {}", found.typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces() {
        assert_eq!(parse_pace("fast"), Ok(Pace::Fast));
        assert_eq!(parse_pace("recorded"), Ok(Pace::Times(1.0)));
        assert_eq!(parse_pace("2.5x"), Ok(Pace::Times(2.5)));
        for text in ["0x", "-1x", "x", "4", "infx"] {
            assert!(parse_pace(text).is_err(), "{text}");
        }
    }
}
