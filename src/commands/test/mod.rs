//! `test`: recordings as regression tests of a server.

pub(super) mod accept;
mod add;
mod files;
mod learn;
pub(super) mod mask;
pub(super) mod one;
mod pool;
mod report;
mod server;
mod update;

use super::Context;
use super::options::{ChoiceArgs, CompareArgs, ServerArgs};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::progress::Progress;
use crate::replay::tested::{Tested, Update, Verdict, count};
use std::ffi::OsString;
use std::path::PathBuf;

/// Replay session files against a server and tell which answers differ
///
/// Every file is replayed against a server of its own, and what it answers is compared with what was recorded, values
/// that differ by nature by their shape. Ends with 1 if a file failed: its answers differ, or a server that had
/// answered hangs or dies; else with 3 if a server did not start or never answered, or a file cannot be read.
#[derive(Debug, clap::Args)]
pub struct TestArgs {
    /// Session files, and folders of them [default: sessions]
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Make a session file of a recording: a name, an id or its beginning, `NAME~1`, or a session file
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["files", "update", "json", "junit"],
          add = clap_complete::engine::ArgValueCompleter::new(super::complete::sessions))]
    pub add: Option<String>,
    /// The file that --add makes [default: sessions/NAME.jsonl]
    #[arg(long, short, value_name = "FILE", requires = "add", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Add a recording although something in it looks like a secret
    #[arg(long, requires = "add")]
    pub allow_secret: bool,
    /// Replay several times against one build, and write masks for what differs into the files; --add does it, too
    #[arg(long, conflicts_with_all = ["add", "update", "json", "junit"])]
    pub learn: bool,
    /// Learn from so many replays
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = parse_runs)]
    pub runs: usize,
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub server: ServerArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub compare: CompareArgs,
    /// Test this server of the project's `mcp-tap.toml`; its only one needs no name
    #[arg(long = "server", value_name = "NAME",
          add = clap_complete::engine::ArgValueCompleter::new(super::complete::servers))]
    pub server_name: Option<String>,
    /// Replay so many files at once; one after the other where something is run before each
    #[arg(long, short = 'j', value_name = "N", default_value_t = 1, value_parser = parse_jobs)]
    pub jobs: usize,
    /// Begin no other file when one has failed
    #[arg(long)]
    pub fail_fast: bool,
    /// Write what the server answers now into the files, where it is something else
    #[arg(long)]
    pub update: bool,
    /// End with 125 in the place of 3, for `git bisect run`
    #[arg(long)]
    pub bisect: bool,
    /// Write a report for build servers to this file, too
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

fn parse_runs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(runs) if (2..=100).contains(&runs) => Ok(runs),
        _ => Err("it is a number from 2 to 100".into()),
    }
}

fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs) if (1..=64).contains(&jobs) => Ok(jobs),
        _ => Err("it is a number from 1 to 64".into()),
    }
}

/// Runs the command.
///
/// # Errors
/// There are no files, or no server, or a report cannot be written.
pub fn run(ctx: &mut Context, args: &TestArgs) -> Result<Code, CommandError> {
    let done = test(ctx, args);
    if !args.bisect {
        return done;
    }
    match done {
        Ok(Code::Failed) => Ok(Code::Skip),
        Err(error) if !error.broken_pipe => Err(CommandError { code: Code::Skip, ..error }),
        other => other,
    }
}

fn test(ctx: &mut Context, args: &TestArgs) -> Result<Code, CommandError> {
    let project = crate::config::project(&std::env::current_dir()?)?;
    let (stage, rules) = server::stage(ctx, args, project.as_ref())?;
    if let Some(session) = &args.add {
        return add::run(ctx, args, session, &stage, &rules);
    }
    let files = files::find(&args.files, project.as_ref().and_then(|project| project.path.parent()))?;
    let files: Vec<(PathBuf, String)> =
        files.into_iter().map(|path| (path.clone(), path.display().to_string())).collect();
    if args.learn {
        return learn::run(ctx, args, &files, &stage, &rules);
    }
    let jobs = if stage.before.is_empty() { args.jobs } else { 1 };
    let going = pool::Going { jobs, fail_fast: args.fail_fast };
    let progress = Progress::count(ctx.ui.shows_progress(), "testing", files.len() as u64);
    let mut tested = pool::run(&files, &stage, &rules, going, &|| progress.add(1));
    drop(progress);
    if args.update {
        update::update(&stage.store, &rules, &files, &mut tested);
    }
    update::keep(ctx, &rules, &files, &tested);
    let code = code(&tested);
    match report::show(ctx, args, &stage, &rules, &tested, code) {
        // A failure wins over a report that could not be written.
        Err(error) if code == Code::No && !error.broken_pipe => ctx.ui.error(&error),
        other => other?,
    }
    Ok(code)
}

/// Returns the answer: a failure wins over what could not be found out.
fn code(tested: &[Tested]) -> Code {
    // What was accepted is right now.
    let accepted = |file: &Tested| matches!(file.update, Some(Update::Frames(_) | Update::Whole));
    if tested.iter().any(|file| file.verdict == Verdict::Failed && !accepted(file)) {
        Code::No
    } else if count(tested, Verdict::Error) > 0 {
        Code::Failed
    } else {
        Code::Done
    }
}
