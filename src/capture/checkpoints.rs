//! Checkpoints: what moves the write-ahead log into the store, beside the recorder.

use crate::store::open;
use crate::store::writer::Checkpointer;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Moves the log into the store on a thread and a connection of its own, so that no commit waits for an fsync.
pub(super) struct Checkpoints {
    shared: Arc<CheckpointState>,
}

#[derive(Default)]
struct CheckpointState {
    written: AtomicU64,
    stop: AtomicBool,
}

impl Checkpoints {
    /// Starts the thread.
    pub(super) fn start(store: PathBuf) -> Self {
        let shared = Arc::new(CheckpointState::default());
        let state = Arc::clone(&shared);
        // Without this thread the log only grows until the next session.
        let _ = std::thread::Builder::new()
            .name("checkpoints".into())
            .stack_size(512 << 10)
            .spawn(move || run_checkpoints(&store, &state));
        Self { shared }
    }

    /// Notes that so many bytes were committed.
    pub(super) fn wrote(&self, bytes: u64) {
        self.shared.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Ends the thread at its next look.
    pub(super) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run_checkpoints(store: &std::path::Path, state: &CheckpointState) {
    const EVERY: Duration = Duration::from_millis(100);
    const LEFT_BEHIND: u64 = 4 << 20;
    const TOO_LONG: u64 = 256 << 20;
    let mut connection = None;
    // What earlier sessions left is moved first: a long log makes every opening of the store slow.
    let mut done = if open::log_length(store) > LEFT_BEHIND { u64::MAX } else { 0 };
    let mut quiet = 0;
    while !state.stop.load(Ordering::Relaxed) {
        crate::clock::sleep(EVERY);
        let written = state.written.load(Ordering::Relaxed);
        if state.stop.load(Ordering::Relaxed) {
            break;
        }
        if written == done {
            quiet += 1;
            // Idle for a second after something was written: the log is cut to nothing.
            if quiet == 10
                && let Some(open) = &connection
            {
                let _ = Checkpointer::truncate(open);
            }
            continue;
        }
        quiet = 0;
        done = written;
        if connection.is_none() {
            connection = Checkpointer::open(store).ok();
        }
        if let Some(open) = &connection
            && open.passive().is_some_and(|log| log > TOO_LONG)
        {
            // Where commits follow each other closely the log is never used again from its beginning by itself.
            let _ = open.truncate();
        }
    }
}
