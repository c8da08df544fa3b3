//! `record --upstream --stdio`: a client that only knows stdio in front of a server on HTTP.

use super::record::{self, RecordArgs};
use super::record_http::{self, Wrong};
use crate::capture::bridge::{self, BridgePlan};
use crate::capture::http_proxy::HttpPlan;
use crate::capture::recorder::Plan;
use crate::output::sanitize;
use crate::output::ui::StatusUi;
use crate::session::session::{Origin, Session, id_from_bits};
use crate::store::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs the bridge until its client has ended, and returns the exit status.
#[must_use]
pub fn run(ui: StatusUi, location: &Location, args: &RecordArgs, url: &str) -> u8 {
    let plan = match record_http::plan(location, args, url) {
        Ok(plan) => plan,
        Err(Wrong(text, hint)) => {
            ui.say(&text);
            if let Some(hint) = hint {
                ui.hint(&hint);
            }
            return 2;
        }
    };
    let HttpPlan { upstream, options, headers, sessions, .. } = plan;
    let bits = sessions.first_id.unwrap_or_else(|| fastrand::u64(..));
    let (name, named) = sessions.name;
    let masked = sessions.launch.url.as_deref() != Some(url);
    let begun = Session::begin(id_from_bits(bits), Origin::Record, sessions.launch, masked, crate::clock::wall_ns());
    let session = Session { name: Some(name), named, ..begun };
    let host = upstream.host().unwrap_or_default();
    ui.tell_person(&format!("recording {} to {}", sanitize::line(host), location.shown()));
    let recording = Plan { store: sessions.store, session, launch_key: None, retention: sessions.retention };
    let notify = record::notify(ui, Arc::new(AtomicBool::new(false)));
    let plan = BridgePlan { upstream, options, headers, recording };
    match bridge::run(plan, notify, Arc::new(move |text: &str| ui.say(&sanitize::line(text)))) {
        Ok(()) => 0,
        Err(error) => {
            ui.say(&error.to_string());
            3
        }
    }
}
