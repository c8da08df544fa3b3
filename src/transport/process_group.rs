//! Who is in which process group, and ending what is left of one.

use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process, kill_process_group, test_kill_process_group};
use std::time::Duration;

/// Returns true if this process is in the foreground of a terminal.
///
/// Then a server must stay in the same group: one that asks for a password on /dev/tty would be stopped for ever in
/// a group of its own.
#[must_use]
pub fn in_foreground() -> bool {
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let Ok(terminal) = rustix::fs::open("/dev/tty", flags, rustix::fs::Mode::empty()) else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|foreground| foreground == getpgrp())
}

/// Sends a signal to a server: to its group if it has one, else to the process.
pub fn send(pid: Pid, own_group: bool, signal: i32) {
    let Some(signal) = Signal::from_named_raw(signal) else { return };
    let _ = if own_group { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
}

/// Makes processes that lose their parent ours, so that those left in the terminal's group can be found.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
    }
}

/// Ends what is left of a server's group after the server itself has ended: TERM, a moment, KILL.
pub fn end_leftovers(pid: Pid, own_group: bool, grace: Duration) {
    if own_group {
        if test_kill_process_group(pid).is_err() {
            return;
        }
        let _ = kill_process_group(pid, Signal::TERM);
        if wait_until(grace, || test_kill_process_group(pid).is_err()) {
            return;
        }
        let _ = kill_process_group(pid, Signal::KILL);
        return;
    }
    let left = descendants_in_our_group();
    for process in &left {
        let _ = kill_process(*process, Signal::TERM);
    }
    if !left.is_empty() && !wait_until(grace, || descendants_in_our_group().is_empty()) {
        for process in descendants_in_our_group() {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

fn wait_until(time: Duration, done: impl Fn() -> bool) -> bool {
    let watch = crate::clock::Stopwatch::start();
    while watch.elapsed() < time {
        if done() {
            return true;
        }
        crate::clock::sleep(Duration::from_millis(5));
    }
    done()
}

/// Returns our living descendants that are in our own process group, ourselves left out.
fn descendants_in_our_group() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let group = getpgrp().as_raw_nonzero().get();
    // (process, parent) of everything alive in the group.
    let mut all: Vec<(i32, i32)> = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((_, after)) = stat.rsplit_once(')') else { continue };
        let mut words = after.split_whitespace();
        let state = words.next().unwrap_or("Z");
        let parent = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let its_group: i32 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        if state != "Z" && its_group == group {
            all.push((pid, parent));
        }
    }
    let me = getpid().as_raw_nonzero().get();
    let mut family = vec![me];
    let mut at = 0;
    while let Some(parent) = family.get(at).copied() {
        at += 1;
        let children = all.iter().filter(|(pid, of)| *of == parent && *pid != me).map(|(pid, _)| *pid);
        let new: Vec<i32> = children.filter(|pid| !family.contains(pid)).collect();
        family.extend(new);
    }
    family.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}
