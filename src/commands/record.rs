//! `record`: runs a server command and records what passes.

use super::record_bridge;
use super::record_http::{self, HttpArgs};
use crate::capture::launch;
use crate::capture::recorder::{Notice, Notify, Plan, Summary};
use crate::capture::signals;
use crate::capture::stdio_proxy::{self, Recorded};
use crate::cli::GlobalArgs;
use crate::output::humanize::{counted, size, time};
use crate::output::sanitize;
use crate::output::ui::StatusUi;
use crate::session::selector::name_problem;
use crate::session::session::{ExitStatus, Origin, Session, id_from_bits, name_of_command};
use crate::store::Location;
use crate::transport::stdio::{self, SpawnError};
use crate::transport::streams;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Run a server command and record what it and its client say
///
/// Put it before the command in your client's configuration. Nothing is changed for either side: bytes, times, exit
/// status and signals are as without it. MCP_TAP_OFF=1 runs the command alone. With --upstream it stands in front of a
/// server that is reached over HTTP: it says which URL to put into the client, and records until interrupted.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// Name the recording; else the server's own name is taken
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The word of others for a server on HTTP: answered with a hint.
    #[arg(long, hide = true, value_name = "URL")]
    pub url: Option<String>,
    /// How a server over HTTP is reached.
    #[command(flatten)]
    pub http: HttpArgs,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Runs the command and returns the exit status; where the server died by a signal, so does this process.
#[must_use]
pub fn run(global: &GlobalArgs, args: &RecordArgs) -> u8 {
    let ui = StatusUi::new();
    if let Some(url) = &args.url {
        ui.say("the URL of a server on HTTP follows `--upstream`");
        ui.hint(&format!("mcp-tap record --upstream {}", sanitize::line(&crate::capture::redact::url(url))));
        return 2;
    }
    if args.command.is_empty() && args.http.upstream.is_none() {
        ui.say("record needs the command of a server, or its URL");
        ui.hint("mcp-tap record -- node build/index.js");
        ui.hint("mcp-tap record --upstream https://host.example/mcp");
        return 2;
    }
    if args.http.upstream.is_none()
        && let Some(flag) = args.http.first_flag()
    {
        ui.say(&format!("`{flag}` needs `--upstream URL`"));
        return 2;
    }
    if let Some(name) = &args.name
        && let Some(problem) = name_problem(name)
    {
        ui.say(&format!("`{}` cannot be a name: {problem}", sanitize::line(name)));
        return 2;
    }
    if let Some(url) = &args.http.upstream {
        if args.http.stdio {
            return record_bridge::run(ui, &location_of(ui, global), args, url);
        }
        return record_http::run(ui, &location_of(ui, global), args, url);
    }
    if crate::config::is_off() {
        let error = stdio::become_server(&args.command);
        return cannot_start(ui, &args.command, &error);
    }
    let location = location_of(ui, global);
    let plan = plan(&location, args);
    greet(ui, &location, &plan, args);
    let said = Arc::new(AtomicBool::new(false));
    let recorded = stdio_proxy::record(&args.command, plan.clone(), &notify(ui, Arc::clone(&said)));
    finish(ui, args, &location, &plan, &recorded, said.load(Ordering::Relaxed))
}

fn location_of(ui: StatusUi, global: &GlobalArgs) -> Location {
    let (location, config_error) = crate::config::location(global.store.as_deref());
    if let Some(error) = config_error {
        ui.say(&format!("{error}; the default store is used"));
    }
    location
}

fn plan(location: &Location, args: &RecordArgs) -> Plan {
    let (launch, masked) = launch::of_command(&args.command, &crate::config::environment());
    let bits = crate::config::test_seam("MCP_TAP_TEST_ID")
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    let name = args.name.clone().unwrap_or_else(|| name_of_command(&launch.argv));
    let key = launch::key(&launch);
    let session = Session {
        name: Some(name),
        named: args.name.is_some(),
        ..Session::begin(id_from_bits(bits), Origin::Record, launch, masked, crate::clock::wall_ns())
    };
    Plan { store: location.path.clone(), launch_key: key, retention: crate::config::retention(), session }
}

/// Tells a person at a terminal what is going on; a client sees nothing.
fn greet(ui: StatusUi, location: &Location, plan: &Plan, args: &RecordArgs) {
    let name = plan.session.name.as_deref().unwrap_or_default();
    let id = plan.session.id.get(..4).unwrap_or_default();
    ui.tell_person(&format!("recording {name} ({id}) to {}", location.shown()));
    if !(ui.is_terminal() && streams::is_terminal(streams::stdin())) {
        return;
    }
    let tap = std::env::current_exe().map_or_else(|_| "mcp-tap".into(), |path| path.display().to_string());
    let mut words = vec!["record".to_owned()];
    if let Some(name) = &args.name {
        words.extend(["--name".into(), name.clone()]);
    }
    words.push("--".into());
    words.extend(plan.session.launch.argv.iter().cloned());
    let quoted = |word: &String| serde_json::to_string(word).unwrap_or_default();
    let words: Vec<String> = words.iter().map(quoted).collect();
    ui.tell_person("stdin is a terminal: no client is talking yet. Put this into yours:");
    ui.show_person(&format!("\n    \"command\": {},\n    \"args\": [{}]\n\n", quoted(&tap), words.join(", ")));
    ui.tell_person("or type JSON-RPC here, one message a line; Ctrl-D ends it");
}

pub(super) fn notify(ui: StatusUi, said: Arc<AtomicBool>) -> Notify {
    Arc::new(move |notice| {
        let (text, counts) = match notice {
            Notice::CannotRecord(why) => (format!("not recording: {}", sanitize::line(&why)), true),
            Notice::DiskFull => {
                ("the disk is full: what does not fit is not recorded; the session goes on".into(), true)
            }
            Notice::Replaced => ("the store was deleted or replaced: recording goes on in a new one".into(), true),
            Notice::ServerStopped => ("the server was stopped by a signal; SIGCONT lets it go on".into(), false),
            Notice::Lost(loss) => {
                (format!("{} ({}) were not recorded", counted(loss.lines, "line"), size(loss.bytes)), true)
            }
        };
        if counts && said.swap(true, Ordering::Relaxed) {
            return;
        }
        ui.say(&text);
    })
}

fn finish(ui: StatusUi, args: &RecordArgs, location: &Location, plan: &Plan, recorded: &Recorded, said: bool) -> u8 {
    if recorded.lost.lines + recorded.lost.bytes > 0 && !said {
        let loss = recorded.lost;
        ui.say(&format!(
            "{} ({}) were not recorded: the store could not keep up",
            counted(loss.lines, "line"),
            size(loss.bytes)
        ));
    } else if recorded.summary.is_none() && !said {
        let what = if recorded.began { "the end of the session" } else { "the session" };
        ui.say(&format!("{what} was not recorded: the store is held by another process"));
    }
    match &recorded.server {
        Err(error) => cannot_start(ui, &args.command, error),
        Ok(status) => {
            if let Some(summary) = &recorded.summary {
                last_words(ui, location, plan, recorded, summary, *status);
            }
            match status {
                ExitStatus::Code(code) => u8::try_from(*code).unwrap_or(1),
                ExitStatus::Signal(signal) => {
                    signals::die_by(*signal);
                    u8::try_from(128 + signal).unwrap_or(128)
                }
            }
        }
    }
}

fn last_words(
    ui: StatusUi,
    location: &Location,
    plan: &Plan,
    recorded: &Recorded,
    summary: &Summary,
    status: ExitStatus,
) {
    let id = plan.session.id.get(..4).unwrap_or_default();
    let name = summary.name.as_deref().map(sanitize::line).unwrap_or_default();
    let took = time(i64::try_from(recorded.took.as_nanos()).unwrap_or(i64::MAX));
    let facts = &summary.facts;
    let bad = if facts.bad > 0 { format!(", {} of them bad", facts.bad) } else { String::new() };
    let counts = format!("{}, {}{bad}", counted(facts.messages, "message"), counted(facts.calls, "call"));
    ui.tell_person(&format!("{name} ({id}): {took}, {counts}"));
    let how = match status {
        ExitStatus::Code(code) => format!("the server exited with {code}"),
        ExitStatus::Signal(signal) => format!("the server was ended by signal {signal}"),
    };
    let stray = if summary.stray > 0 {
        format!("{} on the server's stdout was not JSON; ", counted(summary.stray, "line"))
    } else {
        String::new()
    };
    ui.tell_person(&format!("{stray}{how}"));
    ui.tell_person(&format!("next: {}", super::context::typed(location, &format!("inspect {name}"))));
}

fn cannot_start(ui: StatusUi, command: &[OsString], error: &SpawnError) -> u8 {
    let program = command.first().map(|word| sanitize::line(&word.to_string_lossy())).unwrap_or_default();
    let path = crate::config::environment().into_iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    match error {
        SpawnError::NotFound if program.contains('/') => ui.say(&format!("cannot start `{program}`: no such file")),
        SpawnError::NotFound => {
            let path = path.map_or_else(|| "which is not set".into(), |path| sanitize::line(&path.to_string_lossy()));
            ui.say(&format!("cannot start `{program}`: not found in PATH ({path})"));
            ui.hint("desktop programs do not read your shell's profile: give the full path");
        }
        SpawnError::NotExecutable(why) => {
            ui.say(&format!("cannot start `{program}`: {why}"));
            ui.hint(&format!("chmod +x {program}, or put its interpreter before it"));
        }
        SpawnError::Other(why) => ui.say(&format!("cannot start `{program}`: {why}")),
    }
    error.exit_status()
}
