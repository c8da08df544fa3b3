//! How the tap lives and dies with its server.
//!
//! - `start`: how it is started, and what it hands on to the server; `signals`: signals and the ways to end;
//!   `streams`: pipes, files and descriptors; `terminal`: the same under a terminal

mod signals;
mod start;
mod streams;
pub(crate) mod terminal;

use crate::support::{Output, is_alive};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Waits for something that should be so at once; returns false if it did not come.
fn soon(mut done: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + crate::support::PATIENCE;
    while Instant::now() < until {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    done()
}

/// Returns the processes that the sample server has noted.
fn noted(file: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect()
}

/// Fails the test if one of the noted processes lives on.
fn nothing_is_left(file: &Path, count: usize) {
    let processes = noted(file);
    assert_eq!(processes.len(), count, "the server noted its processes");
    assert!(soon(|| !processes.iter().any(|pid| is_alive(*pid))), "left behind: {processes:?}");
}

/// Runs a command to its end.
fn output(mut command: Command) -> Output {
    let output = command.output().expect("the program runs");
    Output { stdout: output.stdout, stderr: output.stderr, status: output.status }
}
