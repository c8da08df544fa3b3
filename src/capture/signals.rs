//! Signals that are sent to us and are meant for the server.

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

/// The signal after which a stopped process goes on: it ends nothing.
pub const CONTINUE: i32 = SIGCONT;

/// The signals that are passed on.
const PASSED_ON: [i32; 7] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT];

/// Catches the signals that are passed on, but for those that our parent had us ignore.
///
/// # Errors
/// What the system said; the session runs without then.
pub fn catch() -> std::io::Result<SignalsInfo<WithOrigin>> {
    let ignored = ignored_signals();
    SignalsInfo::new(PASSED_ON.iter().filter(|signal| ignored >> (**signal - 1) & 1 == 0))
}

/// Calls `each` with every signal, and with whether the kernel raised it (a key on the terminal, a lost one).
pub fn each(mut signals: SignalsInfo<WithOrigin>, mut each: impl FnMut(i32, bool)) {
    for origin in &mut signals {
        each(origin.signal, matches!(origin.cause, Cause::Kernel));
    }
}

/// Dies as the server did, so that our parent sees the same.
pub fn die_by(signal: i32) {
    // The server has left its core, if it wanted one; a second one of ours would be noise.
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: rustix::process::getrlimit(rustix::process::Resource::Core).maximum,
    };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
}

/// Returns the set of ignored signals, bit 0 for signal 1.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(mask.trim(), 16).unwrap_or(0)
}
