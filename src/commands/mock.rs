//! `mock`: is the recorded server, for any client.

use super::Context;
use super::masks;
use super::mock_live::{self, LiveServer};
use super::options::parse_time;
use super::replay::parse_pace;
use super::select;
use crate::analysis::normalize::Eye;
use crate::analysis::rules::Rules;
use crate::analysis::volatile::Era;
use crate::capture::signals;
use crate::cli::GlobalArgs;
use crate::error::CommandError;
use crate::mock::fault::{self, Dice, Fault};
use crate::mock::forward::Forward;
use crate::mock::matcher::Matching;
use crate::mock::report::MockReport;
use crate::mock::score::{Score, score};
use crate::mock::server::{self, OnMiss, Settings};
use crate::mock::stage;
use crate::mock::transport::StdioServer;
use crate::output::humanize::counted;
use crate::output::json_mock::MockObject;
use crate::output::ui::{StatusUi, Ui};
use crate::output::{json, sanitize};
use crate::replay::driver::Pace;
use crate::replay::script;
use crate::session::session::{ExitStatus, Origin};
use crate::session::source::SessionSource;
use crate::store::Reader;
use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// How many of the calls that were never asked for are named.
const NAMED: usize = 3;

/// Which recorded requests answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Match {
    /// Any of the same method and parameters; the same asked again gets the recorded answers in order, then the last
    #[default]
    Params,
    /// Only the one whose turn it is
    Sequence,
}

/// What is done with a request that the recording has no answer to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Miss {
    /// Answer with an error that names the nearest recorded call and what differs
    #[default]
    Error,
    /// Answer as the nearest recorded call was, and warn
    Nearest,
    /// Ask the live server whose command stands behind --, and record that as a session of its own
    Forward,
}

/// Be the recorded server, for any client
///
/// Put it into your client's configuration in place of the server. Requests are known by method and parameters: times,
/// ids and tokens by their shape, whoever the client is and whatever revision it greets in. What the server said goes
/// out byte for byte, with the live client's ids and progress tokens: notifications, progress, questions, log lines and
/// noise where they were, after what the client had said before them. A call that was given up has no answer, unless
/// one came too late. When the client leaves, the status is the recorded server's; where that crashed or was killed, so
/// does this. Ends with 3 if there is no such session.
#[derive(Debug, clap::Args)]
pub struct MockArgs {
    /// Sessions to play (names, ids or their beginnings, `NAME~1`, or session files) [default: the newest recording];
    /// of several all calls are known, and the first that was greeted in the client's revision greets
    #[arg(value_name = "SESSION", num_args = 0.., add = clap_complete::engine::ArgValueCompleter::new(super::complete::sessions))]
    pub sessions: Vec<String>,
    /// Which recorded requests answer
    #[arg(long = "match", value_enum, default_value_t, value_name = "HOW")]
    pub matching: Match,
    /// Take the recorded time, or a part of it: `fast`, `recorded`, or `4x` for four times as fast
    #[arg(long, value_name = "PACE", default_value = "fast", value_parser = parse_pace)]
    pub pace: Pace,
    /// What to do with a request that the recording has no answer to
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub on_miss: Miss,
    /// Wait so long for what the client had answered or given up [default: 30s, or twice what it took]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub timeout: Option<Duration>,
    /// Spoil answers: `delay=TIME`, `error` (`error=CODE`), `drop`, `garbage` (a line that is no JSON), `cut` (half the
    /// answer, then the end) or `crash` (`crash=STATUS`); then `:NAME` for requests of this method or name only, and
    /// `@0.2` for one in five of them; as in `--fault delay=2s:get_forecast --fault error:tools/call@0.2`
    #[arg(long, value_name = "FAULT", value_parser = fault::parse)]
    pub fault: Vec<Fault>,
    /// Throw the same dice for faults again
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write what was missed, what was never asked for and what was spoiled, as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Say at the end what was never asked for, even if nobody looks and nothing was missed
    #[arg(long, short)]
    pub verbose: bool,
    /// The live server's command and its arguments, for --on-miss forward
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Runs the command and returns the exit status: the recorded server's. Where that died by a signal, so does this.
#[must_use]
pub fn run(global: &GlobalArgs, args: &MockArgs) -> u8 {
    let ui = StatusUi::new();
    match play(ui, global, args) {
        Ok(report) => match report.end {
            None => report.exit_code,
            Some(ExitStatus::Code(code)) => u8::try_from(code).unwrap_or(1),
            Some(ExitStatus::Signal(signal)) => {
                signals::die_by(signal);
                u8::try_from(128 + signal).unwrap_or(128)
            }
        },
        Err(error) => {
            ui.say(&error.message);
            error.hints.iter().for_each(|hint| ui.hint(hint));
            u8::from(error.code)
        }
    }
}

fn play(ui: StatusUi, global: &GlobalArgs, args: &MockArgs) -> Result<MockReport, CommandError> {
    match (args.on_miss, args.command.is_empty()) {
        (Miss::Forward, true) => {
            return Err(CommandError::usage("--on-miss forward needs the command of a server")
                .hint("mcp-tap mock SESSION --on-miss forward -- SERVER…"));
        }
        (Miss::Error | Miss::Nearest, false) => {
            return Err(CommandError::usage("a command behind -- is for --on-miss forward")
                .hint("mcp-tap mock SESSION --on-miss forward -- SERVER…"));
        }
        _ => {}
    }
    let (location, problem) = crate::config::location(global.store.as_deref());
    if let Some(problem) = problem {
        return Err(
            CommandError::failed(problem.to_string()).hint("mend the file, or name the store with --store FILE")
        );
    }
    let store = location.path.clone();
    // Borrowed for reading alone: what stands on stdout is the protocol's.
    let (mut scores, rules) = scores(&Context { ui: Ui::new(global.color, true), location }, &args.sessions)?;
    scores.iter_mut().for_each(|score| score.mask(&rules));
    let settings = Settings {
        stage: stage::Settings { pace: args.pace, timeout: args.timeout },
        matching: match args.matching {
            Match::Params => Matching::Params,
            Match::Sequence => Matching::Sequence,
        },
        on_miss: if args.on_miss == Miss::Nearest { OnMiss::Nearest } else { OnMiss::Error },
        eye: Eye { era: Era::of(crate::clock::wall_ns(), 0), strict: false, ..Eye::default() },
        rules: &rules,
    };
    if !global.quiet {
        greet(ui, &scores);
    }
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..u64::from(u32::MAX)));
    if args.seed.is_none() && args.fault.iter().any(|fault| fault.probability < 1.0) {
        ui.say(&format!("faults: --seed {seed} throws the same dice again"));
    }
    let dice = Dice::new(args.fault.clone(), seed);
    let parent = scores.first().map(|score| score.session.clone()).unwrap_or_default();
    let live = LiveServer::new(&args.command, store, parent, ui);
    let mut forward = (args.on_miss == Miss::Forward).then(|| Forward::new(Box::new(|| live.start())));
    let mut client = StdioServer::start();
    let mut tell = |text: &str| ui.say(&sanitize::line(text));
    let report = server::run(&mut client, &scores, settings, dice, forward.as_mut(), &mut tell);
    if let Some(server) = forward.as_mut().and_then(Forward::finish) {
        live.finish(server);
    }
    drop(forward);
    if !global.quiet {
        last_words(ui, &report, args.verbose);
    }
    if let Some(file) = &args.report {
        let sessions: Vec<String> =
            scores.iter().filter(|score| !score.probe).map(|score| score.typed.clone()).collect();
        let mut text = Vec::new();
        json::report(&mut text, "mock", MockObject::of(&report, &sessions))?;
        let mut options = std::fs::OpenOptions::new();
        let opened = options.create(true).truncate(true).write(true).mode(0o600).open(file);
        opened.and_then(|mut opened| opened.write_all(&text)).map_err(|error| {
            let why = crate::error::sentence(&error);
            CommandError::failed(format!("cannot write `{}`: {why}", sanitize::line(&file.display().to_string())))
        })?;
    }
    Ok(report)
}

/// Reads the sessions.
fn scores(ctx: &Context, typed: &[String]) -> Result<(Vec<Score>, Rules), CommandError> {
    let is_file = |text: &String| text.contains('/') || text.ends_with(".jsonl");
    let reader = if !typed.is_empty() && typed.iter().all(is_file) { None } else { ctx.reader()? };
    let mut sessions: Vec<Option<String>> = typed.iter().map(|text| Some(text.clone())).collect();
    if sessions.is_empty() {
        sessions.push(None);
    }
    let mut scores = Vec::new();
    let mut played = Vec::new();
    for session in sessions {
        let session = match (session.filter(|text| text != "latest"), &reader) {
            (None, Some(reader)) => {
                let newest = reader.newest(|stored| stored.session.origin == Origin::Record && !stored.imported)?;
                let none = || {
                    CommandError::failed(format!("no recording in {} to play", ctx.location.shown()))
                        .hint("mcp-tap record -- SERVER…       in place of the command in your client")
                };
                Some(newest.ok_or_else(none)?.session.id)
            }
            (session, _) => session,
        };
        let found = select::find(ctx, reader.as_ref(), session.as_deref())?;
        if found.source.session().transport != "stdio" {
            return Err(CommandError::failed("a session over HTTP cannot be played yet"));
        }
        let probe = match &reader {
            Some(reader) => probe(reader, &found.source.session().id)?,
            None => None,
        };
        let script = script::read_both(&*found.source)?;
        let shown = if found.typed.contains('/') { &found.id } else { &found.typed };
        let score = score(&script, found.source.session(), shown);
        if score.requests.is_empty() {
            return Err(CommandError::failed(format!("nothing to play: nobody asked anything in `{}`", found.typed)));
        }
        scores.push(score);
        scores.extend(probe);
        played.push(found.source.session().clone());
    }
    let rules = masks::rules(&played.iter().collect::<Vec<_>>())?;
    Ok((scores, rules))
}

/// Returns the session in which the client had asked for the revision before it began the one with this id.
fn probe(reader: &Reader, id: &str) -> Result<Option<Score>, CommandError> {
    let mut found = None;
    reader.sessions(|stored| {
        if stored.probe && stored.session.parent.as_deref() == Some(id) {
            found = Some(stored);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    let Some(stored) = found else { return Ok(None) };
    let source = reader.source(stored)?;
    let session = source.session();
    let score = score(&script::read_both(&source)?, session, session.id.get(..4).unwrap_or_default());
    Ok(Some(Score { probe: true, ..score }))
}

/// Tells a person at a terminal what is going on; a client sees nothing.
fn greet(ui: StatusUi, scores: &[Score]) {
    let requests: usize = scores.iter().map(|score| score.requests.len()).sum();
    let names: Vec<String> =
        scores.iter().filter(|score| !score.probe).map(|score| sanitize::line(&score.typed)).collect();
    ui.tell_person(&format!("playing {}: {}", names.join(", "), counted(requests as u64, "recorded request")));
    if ui.is_terminal() && mock_live::is_alone() {
        ui.tell_person("type JSON-RPC here, one message a line; Ctrl-D ends it");
    }
}

/// Says what was never asked for: to a person, or where something was missed.
fn last_words(ui: StatusUi, report: &MockReport, verbose: bool) {
    if report.unused.is_empty() || !(verbose || ui.is_terminal() || !report.misses.is_empty()) {
        return;
    }
    let mut names: Vec<String> = report.unused.iter().take(NAMED).map(|name| sanitize::line(name)).collect();
    if report.unused.len() > NAMED {
        names.push("…".into());
    }
    let (count, were) = (report.unused.len() as u64, if report.unused.len() == 1 { "was" } else { "were" });
    ui.say(&format!("{} {were} never asked: {}", counted(count, "recorded request"), names.join(", ")));
}
