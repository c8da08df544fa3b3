//! The live server behind `mock --on-miss forward`, and the recording of what it is asked.

use crate::capture::launch;
use crate::capture::recorder::{Ending, Notice, Notify, Plan, Recorder};
use crate::capture::tap::Tap;
use crate::clock::Stopwatch;
use crate::output::sanitize;
use crate::output::ui::StatusUi;
use crate::replay::transport::{ClientTransport, StdioTransport};
use crate::session::session::{ExitStatus, Origin, Session, id_from_bits};
use crate::transport::stdio::Surroundings;
use crate::transport::streams;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long the last commit may take: clients end a server two seconds after they left.
const LAST_COMMIT: Duration = Duration::from_millis(1500);

/// A server that is started when the recording has no answer.
pub(super) struct LiveServer<'a> {
    command: &'a [OsString],
    store: PathBuf,
    parent: String,
    ui: StatusUi,
    recorded: RefCell<Option<(Arc<Tap>, Recorder)>>,
}

impl<'a> LiveServer<'a> {
    /// Returns a server that is not started yet; what it is asked is recorded as a child of `parent`.
    pub(super) fn new(command: &'a [OsString], store: PathBuf, parent: String, ui: StatusUi) -> Self {
        Self { command, store, parent, ui, recorded: RefCell::new(None) }
    }

    /// Starts the server and its recording. Called from the main thread.
    ///
    /// # Errors
    /// Why it could not be started.
    pub(super) fn start(&self) -> Result<Box<dyn ClientTransport>, String> {
        let tap = Arc::new(Tap::new(Stopwatch::start()));
        let transport = StdioTransport::start(self.command, &Surroundings::default(), &tap).map_err(|error| {
            let program = self.command.first().map(|word| sanitize::line(&word.to_string_lossy())).unwrap_or_default();
            format!("cannot start `{program}`: {error}")
        });
        let transport = transport.inspect_err(|why| self.ui.say(why))?;
        let (launch, masked) = launch::of_command(self.command, &crate::config::environment());
        let bits = crate::config::test_seam("MCP_TAP_TEST_ID")
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| fastrand::u64(..));
        let session = Session {
            parent: Some(self.parent.clone()),
            ..Session::begin(id_from_bits(bits), Origin::Mock, launch, masked, crate::clock::wall_ns())
        };
        let plan = Plan { store: self.store.clone(), launch_key: None, retention: crate::config::retention(), session };
        let ui = self.ui;
        let notify: Notify = Arc::new(move |notice| match notice {
            Notice::CannotRecord(why) => ui.say(&format!("not recording: {}", sanitize::line(&why))),
            Notice::DiskFull => ui.say("the disk is full: what does not fit is not recorded"),
            Notice::Replaced | Notice::Lost(_) | Notice::ServerStopped => {}
        });
        let recorder = Recorder::start(plan, Arc::clone(&tap), notify);
        self.recorded.replace(Some((tap, recorder)));
        Ok(Box::new(transport))
    }

    /// Ends the server and its recording.
    pub(super) fn finish(&self, mut server: Box<dyn ClientTransport>) {
        let exit_status = server.finish();
        let Some((tap, recorder)) = self.recorded.take() else { return };
        let how = match exit_status {
            Some(ExitStatus::Code(code)) => format!("the server exited with {code}"),
            Some(ExitStatus::Signal(signal)) => format!("the server was ended by signal {signal}"),
            None => "the server did not end".into(),
        };
        let reason = format!("ended by the mock; {how}");
        let ending = Ending { at_ns: tap.clock().elapsed_ns(), reason, exit_status };
        if recorder.finish(ending, LAST_COMMIT).is_none() {
            self.ui.say("what the live server was asked was not recorded: the store is held by another process");
        }
    }
}

/// Returns true if no client is there but a person.
pub(super) fn is_alone() -> bool {
    streams::is_terminal(streams::stdin())
}
