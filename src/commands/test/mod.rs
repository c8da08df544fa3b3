//! `test`: recordings as regression tests of a server.

mod files;
mod one;
mod pool;
mod report;

use super::Context;
use super::options::{ChoiceArgs, CompareArgs, ServerArgs};
use super::play::{self, Stage};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::progress::Progress;
use crate::replay::driver::{Pace, Settings};
use crate::replay::tested::{Tested, Verdict, count};
use crate::session::session::Origin;
use one::Rules;
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
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub server: ServerArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "it has none of its own in the help")]
    pub compare: CompareArgs,
    /// Replay so many files at once; one after the other where something is run before each
    #[arg(long, short = 'j', value_name = "N", default_value_t = 1, value_parser = parse_jobs)]
    pub jobs: usize,
    /// Begin no other file when one has failed
    #[arg(long)]
    pub fail_fast: bool,
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
    let files = files::find(&args.files)?;
    let (stage, rules) = stage(ctx, args)?;
    let files: Vec<(PathBuf, String)> =
        files.into_iter().map(|path| (path.clone(), path.display().to_string())).collect();
    let jobs = if stage.before.is_empty() { args.jobs } else { 1 };
    let going = pool::Going { jobs, fail_fast: args.fail_fast };
    let progress = Progress::count(ctx.ui.shows_progress(), "testing", files.len() as u64);
    let tested = pool::run(&files, &stage, &rules, going, &|| progress.add(1));
    drop(progress);
    let code = code(&tested);
    report::show(ctx, args, &stage, &rules, &tested, code)?;
    Ok(code)
}

/// Returns the answer: a failure wins over what could not be found out.
fn code(tested: &[Tested]) -> Code {
    if count(tested, Verdict::Failed) > 0 {
        Code::No
    } else if count(tested, Verdict::Error) > 0 {
        Code::Failed
    } else {
        Code::Done
    }
}

/// Returns the server and what is sent to it.
fn stage(ctx: &Context, args: &TestArgs) -> Result<(Stage, Rules), CommandError> {
    let mut choice = args.choice.choice(None);
    let surroundings = crate::transport::stdio::Surroundings { apart: args.jobs > 1, ..args.server.surroundings()? };
    let before: Vec<String> = args.server.before.iter().cloned().collect();
    // What is reset can be destroyed.
    choice.destructive |= !before.is_empty();
    if args.command.is_empty() {
        return Err(CommandError::usage("test plays the clients and needs a server to talk to")
            .hint("mcp-tap test -- SERVER…     the server's command stands after --"));
    }
    let stage = Stage {
        command: args.command.clone(),
        surroundings,
        before,
        settings: Settings { pace: Pace::Fast, timeout: args.server.timeout, limit: play::LIMIT },
        store: ctx.location.path.clone(),
        retention: ctx.retention(),
        origin: Origin::Test,
    };
    Ok((stage, Rules { choice, options: args.compare.options() }))
}
