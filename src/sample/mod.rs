//! The sample server: the imaginary `weather` server that the tour, the snapshots and the tests talk to.
//!
//! It speaks every revision on stdio, misbehaves on request (`--case`) and plays a changed build
//! (`--build 1.5.0`, `--mutate`). It shares no code with the product's own protocol layer, so that a
//! mistake there cannot hide behind the same mistake here.
//!
//! - `server`: state and main loop; `dispatch`: the way of a line; `wire`: the only place that writes stdout
//! - `weather`: what it answers; `misbehave`: how it answers badly; `mutate`: the new build
//! - `script`: the client of the demo
//! - `clock`, `spawn`: the only places that read time, and that start processes or read their facts

mod args;
mod clock;
mod dispatch;
mod misbehave;
mod mutate;
mod revision;
mod script;
mod server;
mod spawn;
mod values;
mod weather;
mod wire;

pub use args::{Build, SampleArgs};
pub use misbehave::case_names;
pub use mutate::Mutation;
pub use script::{story, story_modern};

/// Serves one client on stdin and stdout and returns the exit status.
///
/// Some misbehaviours end the process by a signal instead.
#[must_use]
pub fn serve(args: &SampleArgs) -> u8 {
    if args.list_cases {
        wire::Output::default().write(misbehave::listing().as_bytes());
        return 0;
    }
    let name = args.case.as_deref().unwrap_or("ok");
    match misbehave::find(name, args.n) {
        Some(quirk) => server::run(args, quirk),
        None => {
            wire::complain(&format!("sample-server: no case `{name}`\nhint: --list-cases\n"));
            2
        }
    }
}
