//! `demo`: a tour that needs nothing else: a scripted client and the sample server, recorded by the real `record`.

use super::Context;
use super::inspect::{self, InspectArgs};
use super::latency::{self, LatencyArgs};
use super::replay::{self, ReplayArgs};
use super::sessions::{ListArgs, list};
use crate::error::{CommandError, sentence};
use crate::exit_code::Code;
use crate::output::styles::{BOLD, DIM, paint};
use crate::session::session::ExitStatus;
use crate::store::location::{Location, NamedBy, lock_folder};
use crate::transport::stdio::{self, Life};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Play a recording and look at it: needs nothing else
///
/// A scripted client talks to a sample server through the real `record`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Divide the times of the story by this
    #[arg(long, value_name = "N", default_value_t = 40.0, hide = true)]
    pub speed: f64,
    /// Play a client of the stateless revision
    #[arg(long, hide = true)]
    pub modern: bool,
    /// Play this build of the server
    #[arg(long, value_name = "BUILD", default_value = "1.4.0", hide = true)]
    pub build: String,
    /// Bytes of a frame of the radar picture
    #[arg(long, value_name = "BYTES", default_value_t = 54_000, hide = true)]
    pub frame_bytes: usize,
}

/// Runs the command.
///
/// # Errors
/// The recording could not be made or read.
pub fn run(ctx: &mut Context, args: &DemoArgs) -> Result<Code, CommandError> {
    // A store of its own beside the user's, made anew each time, unless one was named.
    let own = ctx.location.named_by != NamedBy::Flag;
    if own {
        let path = ctx.location.path.with_file_name("demo.db");
        clear(&path);
        ctx.location = Location { path, named_by: NamedBy::Flag, ..ctx.location.clone() };
    }
    let store = ctx.location.path.clone();
    ctx.ui.line("A client asks a weather server for forecasts; both are played, the recording is real.\n")?;
    ctx.ui.line(&typed("mcp-tap record --name weather -- mcp-tap sample-server --noise"))?;
    ctx.ui.flush()?;
    record(&store, args)?;
    ctx.ui.line(&typed("mcp-tap sessions"))?;
    list(ctx, &ListArgs { limit: 5, ..ListArgs::default() })?;
    ctx.ui.line("")?;
    ctx.ui.line(&typed("mcp-tap inspect weather"))?;
    let found = InspectArgs {
        target: vec!["weather".into()],
        tool: None,
        errors: false,
        slow: None,
        grep: None,
        stderr: false,
        full: false,
        raw: false,
        http: false,
        json: false,
        jsonl: false,
    };
    inspect::run(ctx, &found)?;
    ctx.ui.line("")?;
    if !args.modern && args.build == "1.4.0" {
        compare(ctx, args)?;
    }
    let lines = [
        (ctx.typed("inspect weather 19"), "one call with all that belongs to it"),
        (ctx.typed("export weather"), "the recording as a file"),
    ];
    ctx.ui.line(&paint(BOLD, "Look further:"))?;
    for (command, what) in lines {
        ctx.ui.line(&format!("  {command}    {}", paint(DIM, what)))?;
    }
    ctx.ui.line(&format!(
        "\n{}",
        paint(BOLD, "Your own server: in your client's configuration, put this before its command:")
    ))?;
    ctx.ui.line("  mcp-tap record --")?;
    ctx.ui.line("then use the client, and:")?;
    ctx.ui.line("  mcp-tap inspect")?;
    Ok(Code::Done)
}

/// The second half of the story: the same client against the next build, and how long the calls took.
fn compare(ctx: &mut Context, args: &DemoArgs) -> Result<(), CommandError> {
    ctx.ui.line("The next build of that server changed a few answers. The recorded client is played against it:\n")?;
    ctx.ui.line(&typed("mcp-tap replay weather -- mcp-tap sample-server --build 1.5.0"))?;
    ctx.ui.flush()?;
    let tap = std::env::current_exe().map_err(|error| CommandError::failed(sentence(&error)))?;
    let (speed, bytes) = (args.speed.to_string(), args.frame_bytes.to_string());
    let words: Vec<OsString> = ["replay", "weather", "--"].iter().map(OsString::from).collect();
    let server = ["sample-server", "--build", "1.5.0", "--frame-bytes", &bytes, "--speed", &speed].map(OsString::from);
    let replay: ReplayArgs = arguments(words.into_iter().chain([tap.into()]).chain(server))?;
    // It says no, as it should: the builds differ.
    replay::run(ctx, &replay)?;
    ctx.ui.line("")?;
    ctx.ui.line(&typed("mcp-tap latency weather"))?;
    let latency: LatencyArgs = arguments(["latency", "weather"].map(OsString::from).into_iter())?;
    latency::run(ctx, &latency)?;
    ctx.ui.line("")
}

/// Reads the arguments of a command as if they had been typed.
fn arguments<A: clap::Args>(words: impl Iterator<Item = OsString>) -> Result<A, CommandError> {
    let failed = |error: clap::Error| CommandError::failed(error.to_string());
    let matches = A::augment_args(clap::Command::new("mcp-tap")).try_get_matches_from(words).map_err(failed)?;
    A::from_arg_matches(&matches).map_err(failed)
}

fn typed(command: &str) -> String {
    paint(BOLD, &format!("$ {command}"))
}

/// Removes what an earlier tour left.
fn clear(store: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut file = store.as_os_str().to_owned();
        file.push(end);
        let _ = std::fs::remove_file(file);
    }
    let _ = std::fs::remove_dir_all(lock_folder(store));
}

/// Plays the client against the sample server through `record`.
fn record(store: &Path, args: &DemoArgs) -> Result<(), CommandError> {
    let tap =
        std::env::current_exe().map_err(|error| CommandError::failed(format!("cannot find this program: {error}")))?;
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let mut argv = vec![tap.clone().into_os_string()];
    argv.extend(words(&["record", "--name", "weather", "--store"]));
    argv.push(store.into());
    argv.extend(words(&["--"]));
    argv.push(tap.into());
    let (bytes, speed) = (args.frame_bytes.to_string(), args.speed.to_string());
    argv.extend(words(&[
        "sample-server",
        "--build",
        &args.build,
        "--noise",
        "--frame-bytes",
        &bytes,
        "--speed",
        &speed,
    ]));
    let server = stdio::spawn(&argv, true)
        .map_err(|error| CommandError::failed(format!("cannot start this program again: {error}")))?;
    let mut talk = File::from(server.stderr);
    let listener = std::thread::Builder::new().name("stderr".into()).spawn(move || {
        let mut text = Vec::new();
        let _ = talk.read_to_end(&mut text);
        text
    });
    let play = if args.modern { crate::sample::story_modern } else { crate::sample::story };
    let played = play(File::from(server.stdout), File::from(server.stdin), args.speed);
    let mut status = None;
    while let Some(life) = stdio::wait(server.pid) {
        if let Life::Ended(ended) = life {
            status = Some(ended);
            break;
        }
    }
    stdio::reap(server.pid);
    let said = listener.ok().and_then(|listener| listener.join().ok()).unwrap_or_default();
    match (played, status) {
        (Ok(()), Some(ExitStatus::Code(0))) => Ok(()),
        (played, status) => {
            let why = played.err().map_or_else(|| format!("it ended with {status:?}"), |error| error.to_string());
            let said = crate::output::sanitize::bytes(said.trim_ascii());
            Err(CommandError::failed(format!("the tour could not be recorded: {why}; {said}")))
        }
    }
}
