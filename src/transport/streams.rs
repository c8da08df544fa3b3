//! Our own stdin, stdout and stderr as plain descriptors, and blocking reads and writes on them.
//!
//! They may be pipes, socket pairs, files or terminals, and are shared with our parent: they are never made
//! non-blocking. A parent may have done so itself, which is why `WouldBlock` waits.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};

/// Reads once; 0 is the end of the stream.
///
/// # Errors
/// What the system said; interruptions are not errors.
pub fn read(from: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(from, &mut *buffer) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait(from, PollFlags::IN),
            other => return other,
        }
    }
}

/// Writes everything.
///
/// # Errors
/// What the system said; interruptions are not errors.
pub fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(0) => return Err(Errno::PIPE),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait(to, PollFlags::OUT),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes a descriptor of our own, shared with nobody, return at once where it would wait.
pub fn do_not_block(descriptor: BorrowedFd<'_>) {
    if let Ok(flags) = rustix::fs::fcntl_getfl(descriptor) {
        let _ = rustix::fs::fcntl_setfl(descriptor, flags | rustix::fs::OFlags::NONBLOCK);
    }
}

/// Writes as much as is taken at once, which may be nothing; see [`do_not_block`].
///
/// # Errors
/// What the system said; interruptions and a full pipe are not errors.
pub fn write_some(to: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::write(to, bytes) {
            Ok(0) => return Err(Errno::PIPE),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(0),
            other => return other,
        }
    }
}

/// Waits until one of several descriptors is ready, or was hung up; tells which are.
pub fn ready<const N: usize>(on: [Option<(BorrowedFd<'_>, PollFlags)>; N], limit: std::time::Duration) -> [bool; N] {
    // Where one is left out another is asked for twice.
    let Some(other) = on.iter().flatten().next().copied() else { return [false; N] };
    let mut watched = on.map(|on| {
        let (on, what) = on.unwrap_or(other);
        PollFd::from_borrowed_fd(on, what)
    });
    let limit = rustix::event::Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(limit.subsec_nanos()),
    };
    let _ = poll(&mut watched, Some(&limit));
    let mut found = watched.iter().map(|watched| !watched.revents().is_empty());
    on.map(|on| found.next().unwrap_or(false) && on.is_some())
}

fn wait(on: BorrowedFd<'_>, what: PollFlags) {
    let _ = poll(&mut [PollFd::from_borrowed_fd(on, what)], None);
}

/// Returns true if nobody reads a pipe or socket that we write to.
#[must_use]
pub fn is_reader_gone(to: BorrowedFd<'_>) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(to, PollFlags::empty())];
    poll(&mut watched, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok()
        && watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}

/// Returns our stdin.
#[must_use]
pub fn stdin() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

/// Returns our stdout.
#[must_use]
pub fn stdout() -> BorrowedFd<'static> {
    rustix::stdio::stdout()
}

/// Returns our stderr.
#[must_use]
pub fn stderr() -> BorrowedFd<'static> {
    rustix::stdio::stderr()
}

/// Closes our stdin for our parent, without freeing its number for something else.
pub fn close_stdin() {
    if let Some(null) = null() {
        let _ = rustix::stdio::dup2_stdin(&null);
    }
}

/// Closes our stdout for our parent, without freeing its number for something else.
pub fn close_stdout() {
    if let Some(null) = null() {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

fn null() -> Option<std::os::fd::OwnedFd> {
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty()).ok()
}

/// Returns true if a descriptor is a terminal.
#[must_use]
pub fn is_terminal(descriptor: impl AsFd) -> bool {
    rustix::termios::isatty(descriptor)
}
