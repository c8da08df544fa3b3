//! Plays a plan against a server and records that: the engine of `replay` and `test`.
//!
//! It prints nothing, so that several can run at once, each on a thread of its own that outlives its server.

use crate::capture::launch;
use crate::capture::recorder::{Ending, Notice, Notify, Plan as Recording, Recorder};
use crate::capture::tap::Tap;
use crate::clock::Stopwatch;
use crate::error::CommandError;
use crate::output::sanitize;
use crate::replay::driver::{self, Settings};
use crate::replay::plan::Plan;
use crate::replay::report::ReplayReport;
use crate::replay::script::Script;
use crate::replay::transport::{ClientTransport, StdioTransport};
use crate::session::session::{ExitStatus, Origin, Session, id_from_bits};
use crate::store::retention::Retention;
use crate::transport::stdio::{self, SpawnError, Surroundings};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the whole may take.
pub(super) const LIMIT: Duration = Duration::from_secs(600);

/// What is said of a replay that a person ended.
pub(super) const INTERRUPTED: &str = "interrupted";

/// How long the last commit may take.
const LAST_COMMIT: Duration = Duration::from_secs(10);

/// The server to play against, how, and where that is recorded.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    /// The server's command and its arguments.
    pub(super) command: Vec<OsString>,
    /// Where it runs.
    pub(super) surroundings: Surroundings,
    /// Lines of shell that bring it back to a known state.
    pub(super) before: Vec<String>,
    /// How fast, and how long is waited.
    pub(super) settings: Settings,
    /// The file of the store.
    pub(super) store: PathBuf,
    /// What is kept of older recordings.
    pub(super) retention: Retention,
    /// What the sessions are made by.
    pub(super) origin: Origin,
}

/// What playing made.
#[derive(Debug)]
pub(super) struct Played {
    /// The id of the session.
    pub(super) id: String,
    /// What was met.
    pub(super) report: ReplayReport,
}

/// Plays a plan of `recorded` against the server.
///
/// # Errors
/// The server did not start or never answered, or nothing could be recorded.
pub(super) fn play(stage: &Stage, recorded: &Session, script: &Script, plan: &Plan) -> Result<Played, CommandError> {
    for line in &stage.before {
        stdio::run_line(line, &stage.surroundings, LIMIT)
            .map_err(|error| CommandError::failed(format!("--before `{}` failed: {error}", sanitize::line(line))))?;
    }
    let recording = recording(stage, recorded);
    let id = recording.session.id.clone();
    let tap = Arc::new(Tap::new(Stopwatch::start()));
    let mut transport = StdioTransport::start(&stage.command, &stage.surroundings, &tap)
        .map_err(|error| cannot_start(&stage.command, &error))?;
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
    let mut report = driver::run(&mut transport, script, plan, stage.settings);
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
        let ended = report.stopped.as_deref() == Some(INTERRUPTED);
        let why = if ended { INTERRUPTED.to_owned() } else { format!("the server never answered; {how}") };
        let error = CommandError::failed(why);
        return Err(report
            .stderr
            .iter()
            .fold(error, |error, line| error.hint(format!("stderr: {}", sanitize::line(line)))));
    }
    Ok(Played { id, report })
}

/// Returns what is recorded: a session of its own, without a name, linked to the one that is played.
fn recording(stage: &Stage, recorded: &Session) -> Recording {
    let (mut launch, masked) = launch::of_command(&stage.command, &crate::config::environment());
    if let Some(cwd) = &stage.surroundings.cwd {
        launch.cwd = Some(cwd.display().to_string());
    }
    let bits = crate::config::test_seam("MCP_TAP_TEST_ID")
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    let session = Session {
        parent: Some(recorded.id.clone()),
        ..Session::begin(id_from_bits(bits), stage.origin, launch, masked, crate::clock::wall_ns())
    };
    Recording { store: stage.store.clone(), launch_key: None, retention: stage.retention, session }
}

fn cannot_start(command: &[OsString], error: &SpawnError) -> CommandError {
    let program = command.first().map(|word| sanitize::line(&word.to_string_lossy())).unwrap_or_default();
    let failed = CommandError::failed(format!("cannot start `{program}`: {error}"));
    match error {
        SpawnError::NotFound if !program.contains('/') => failed.hint("it was looked for in PATH: give the full path"),
        _ => failed,
    }
}
