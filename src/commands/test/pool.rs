//! Several replays at once: each on a thread of its own, which outlives the server that it starts.

use super::one::{self, Rules};
use crate::capture::signals;
use crate::commands::play::{INTERRUPTED, Stage};
use crate::replay::tested::{Tested, Verdict};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How the files are gone through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Going {
    /// How many at once.
    pub(super) jobs: usize,
    /// True if nothing more is begun when one has failed.
    pub(super) fail_fast: bool,
}

/// Tests the files, in their order as far as possible; `done` is told of each that is.
pub(super) fn run(
    files: &[(PathBuf, String)],
    stage: &Stage,
    rules: &Rules,
    going: Going,
    done: &(dyn Fn() + Sync),
) -> Vec<Tested> {
    let stop = stop_on_signals();
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Tested>> = Mutex::new(files.iter().map(|(_, shown)| Tested::new(shown.clone())).collect());
    let work = || {
        while !stop.load(Ordering::SeqCst) {
            let at = next.fetch_add(1, Ordering::SeqCst);
            let Some((path, shown)) = files.get(at) else { return };
            let tested = one::test(path, shown, stage, rules);
            let interrupted = tested.trouble.as_ref().is_some_and(|trouble| trouble.message == INTERRUPTED);
            if interrupted || going.fail_fast && tested.verdict != Verdict::Ok {
                stop.store(true, Ordering::SeqCst);
            }
            if let Some(slot) = found.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *slot = tested;
            }
            done();
        }
    };
    std::thread::scope(|scope| {
        let jobs = going.jobs.clamp(1, files.len().max(1));
        for _ in 0..jobs {
            // One thread at least is there, or nothing would be tested.
            if std::thread::Builder::new().name("test".into()).spawn_scoped(scope, work).is_err() {
                work();
            }
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what becomes true when a person wants it to end: between two servers nobody else would hear of it.
fn stop_on_signals() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    if let Ok(caught) = signals::catch() {
        let told = Arc::clone(&stop);
        // Without its thread a signal ends the run as it ends any program.
        let _ = std::thread::Builder::new().name("signals".into()).stack_size(256 << 10).spawn(move || {
            signals::each(caught, |number, _| {
                if number != signals::CONTINUE {
                    told.store(true, Ordering::SeqCst);
                }
            });
        });
    }
    stop
}
