//! `replay`: plays a recorded client against a server, records that, and compares the two.

use super::diff::{Surface, parse_tolerance};
use super::select::{self, Found};
use super::{Context, masks, replay_verdict};
use crate::capture::launch;
use crate::capture::recorder::{Ending, Notice, Notify, Plan as Recording, Recorder};
use crate::capture::tap::Tap;
use crate::clock::Stopwatch;
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::render::diff::Look;
use crate::output::render::{replay as render, session_show};
use crate::output::sanitize;
use crate::replay::choice::{self, Choice};
use crate::replay::driver::{self, Pace, Settings};
use crate::replay::edit;
use crate::replay::plan::{Plan, plan};
use crate::replay::report::ReplayReport;
use crate::replay::script::{self, Script};
use crate::replay::transport::{ClientTransport, StdioTransport};
use crate::session::session::{ExitStatus, Origin, Session, id_from_bits};
use crate::transport::stdio::{self, SpawnError, Surroundings};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the whole may take.
const LIMIT: Duration = Duration::from_secs(600);

/// How long the last commit may take.
const LAST_COMMIT: Duration = Duration::from_secs(10);

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
    /// Send only requests of this method or name
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Send no requests of this method or name
    #[arg(long, value_name = "NAME")]
    pub skip: Vec<String>,
    /// Call only tools that say they only read
    #[arg(long)]
    pub read_only: bool,
    /// Call tools that say they are destructive, too
    #[arg(long)]
    pub destructive: bool,
    /// Wait so long for an answer [default: 30s, or ten times what it took]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub timeout: Option<Duration>,
    /// Start the server in this folder
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Set a variable for the server
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Run this line of shell before the server starts, to bring it back to a known state
    #[arg(long, value_name = "CMD")]
    pub before: Option<String>,
    /// Show what would be sent, when, and with what replaced; send nothing
    #[arg(long)]
    pub explain: bool,
    /// Compare timestamps, ids, tokens, cursors and what masks name by value, not by shape
    #[arg(long)]
    pub strict: bool,
    /// Take two numbers, not both whole, for the same up to this part of the larger, such as 1e-6
    #[arg(long, value_name = "X", value_parser = parse_tolerance)]
    pub float_tolerance: Option<f64>,
    /// Report another order of an array, but do not fail for it
    #[arg(long)]
    pub ignore_order: bool,
    /// Surface changes that end with 1
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub fail_on: Surface,
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

pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    crate::mock::fault::time(text).ok_or_else(|| "a time is a number with ms, s or m, such as 30s".into())
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
    let choice = Choice {
        only: args.only.clone(),
        skip: args.skip.clone(),
        read_only: args.read_only,
        destructive: args.destructive,
        one,
    };
    choose(&mut plan, &script, &choice, args, &found)?;
    let look = Look { width: ctx.ui.width(), signs: ctx.ui.signs() };
    if args.explain {
        ctx.ui.print(&render::explain(&plan, look))?;
        return Ok(Code::Done);
    }
    if args.command.is_empty() {
        return Err(no_command(&found));
    }
    if !args.strict {
        // What is wrong with a mask is said before anything is sent.
        masks::rules(&[found.source.session()])?;
    }
    let (played, report) = play(ctx, args, &found, &script, &plan)?;
    replay_verdict::compare(ctx, args, &found, &script, &plan, &played, report)
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

/// Plays the plan against the server; returns the id of the session that made.
fn play(
    ctx: &mut Context,
    args: &ReplayArgs,
    found: &Found<'_>,
    script: &Script,
    plan: &Plan,
) -> Result<(String, ReplayReport), CommandError> {
    let surroundings = surroundings(args)?;
    if let Some(line) = &args.before {
        stdio::run_line(line, &surroundings, LIMIT)
            .map_err(|error| CommandError::failed(format!("--before `{}` failed: {error}", sanitize::line(line))))?;
    }
    let recording = recording(ctx, args, found.source.session());
    let id = recording.session.id.clone();
    let tap = Arc::new(Tap::new(Stopwatch::start()));
    let mut transport =
        StdioTransport::start(&args.command, &surroundings, &tap).map_err(|error| cannot_start(args, &error))?;
    let problem: Arc<Mutex<Option<String>>> = Arc::default();
    let told = Arc::clone(&problem);
    let notify: Notify = Arc::new(move |notice| {
        let text = match notice {
            Notice::CannotRecord(why) => why,
            Notice::DiskFull => "the disk is full".into(),
            Notice::Replaced => "the store was replaced".into(),
            Notice::Lost(_) => "the store could not keep up".into(),
            Notice::ServerStopped => return,
        };
        told.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
    });
    let recorder = Recorder::start(recording, Arc::clone(&tap), notify);
    let settings = Settings { pace: args.pace, timeout: args.timeout, limit: LIMIT };
    let mut report = driver::run(&mut transport, script, plan, settings);
    let status = transport.finish();
    report.exit = status;
    report.stderr = transport.last_words();
    let how = match status {
        Some(ExitStatus::Code(code)) => format!("the server exited with {code}"),
        Some(ExitStatus::Signal(signal)) => format!("the server was ended by signal {signal}"),
        None => "the server did not end".into(),
    };
    let reason = match &report.stopped {
        Some(why) => format!("{why}; {how}"),
        None => format!("ended by the replay; {how}"),
    };
    let ending = Ending { at_ns: tap.clock().elapsed_ns(), reason, exit_status: status };
    let summary = recorder.finish(ending, LAST_COMMIT);
    let problem = problem.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(why) = problem.or_else(|| summary.is_none().then(|| "the store is held by another process".into())) {
        return Err(CommandError::failed(format!("the replay could not be recorded: {why}")));
    }
    if report.is_mute() {
        let error = CommandError::failed(format!("the server never answered; {how}"));
        return Err(report
            .stderr
            .iter()
            .fold(error, |error, line| error.hint(format!("stderr: {}", sanitize::line(line)))));
    }
    Ok((id, report))
}

fn surroundings(args: &ReplayArgs) -> Result<Surroundings, CommandError> {
    let mut variables = Vec::new();
    for pair in &args.env {
        match pair.split_once('=').filter(|(name, _)| !name.is_empty()) {
            Some((name, value)) => variables.push((name.into(), value.into())),
            None => return Err(CommandError::usage(format!("`{}` is not NAME=VALUE", sanitize::line(pair)))),
        }
    }
    Ok(Surroundings { cwd: args.cwd.clone(), variables })
}

/// Returns what is recorded: a session of its own, without a name, linked to the one that is played.
fn recording(ctx: &Context, args: &ReplayArgs, played: &Session) -> Recording {
    let (mut launch, masked) = launch::of_command(&args.command, &crate::config::environment());
    if let Some(cwd) = &args.cwd {
        launch.cwd = Some(cwd.display().to_string());
    }
    let bits = crate::config::test_seam("MCP_TAP_TEST_ID")
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    let session = Session {
        parent: Some(played.id.clone()),
        ..Session::begin(id_from_bits(bits), Origin::Replay, launch, masked, crate::clock::wall_ns())
    };
    Recording { store: ctx.location.path.clone(), launch_key: None, retention: ctx.retention(), session }
}

fn cannot_start(args: &ReplayArgs, error: &SpawnError) -> CommandError {
    let program = args.command.first().map(|word| sanitize::line(&word.to_string_lossy())).unwrap_or_default();
    let failed = CommandError::failed(format!("cannot start `{program}`: {error}"));
    match error {
        SpawnError::NotFound if !program.contains('/') => failed.hint("it was looked for in PATH: give the full path"),
        _ => failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_and_times() {
        assert_eq!(parse_pace("fast"), Ok(Pace::Fast));
        assert_eq!(parse_pace("recorded"), Ok(Pace::Times(1.0)));
        assert_eq!(parse_pace("2.5x"), Ok(Pace::Times(2.5)));
        for text in ["0x", "-1x", "x", "4", "infx"] {
            assert!(parse_pace(text).is_err(), "{text}");
        }
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_time("3"), Ok(Duration::from_secs(3)));
        assert!(parse_time("0s").is_err() && parse_time("1h").is_err() && parse_time("").is_err());
    }
}
