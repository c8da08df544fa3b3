//! Starts a server command with pipes on stdin, stdout and stderr, and waits for it.

use crate::session::session::ExitStatus;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A server process that was started.
#[derive(Debug)]
pub struct Server {
    /// Its process.
    pub pid: Pid,
    /// True if it leads a process group of its own.
    pub own_group: bool,
    /// The writing end of its stdin.
    pub stdin: OwnedFd,
    /// The reading end of its stdout.
    pub stdout: OwnedFd,
    /// The reading end of its stderr.
    pub stderr: OwnedFd,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No program of that name.
    #[error("not found")]
    NotFound,
    /// The file is there, but it cannot be executed.
    #[error("not executable: {0}")]
    NotExecutable(String),
    /// The system refused for another reason.
    #[error("{0}")]
    Other(String),
}

impl SpawnError {
    /// Returns the exit status a shell would give: 127 not found, 126 not executable.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::NotFound => 127,
            Self::NotExecutable(_) | Self::Other(_) => 126,
        }
    }
}

/// Starts a server.
///
/// Called from the main thread only: the parent-death signal fires when the thread that spawned ends.
///
/// # Errors
/// Why it could not be started.
pub fn spawn(argv: &[OsString], own_group: bool) -> Result<Server, SpawnError> {
    spawn_in(argv, own_group, &Surroundings::default())
}

/// Where a server runs, as far as that is not where we do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The working directory.
    pub cwd: Option<PathBuf>,
    /// Variables that are set besides ours.
    pub variables: Vec<(OsString, OsString)>,
    /// True if it leads a process group of its own even in the foreground of a terminal, as one of several at once must.
    pub apart: bool,
}

/// Starts a server somewhere; see [`spawn`].
///
/// # Errors
/// Why it could not be started.
pub fn spawn_in(argv: &[OsString], own_group: bool, surroundings: &Surroundings) -> Result<Server, SpawnError> {
    let mut command = command(argv)?;
    surround(&mut command, surroundings)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if own_group {
        command.process_group(0);
    }
    die_with_parent(&mut command);
    let mut child = command.spawn().map_err(|error| spawn_error(&error))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    match (pid, child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(pid), Some(stdin), Some(stdout), Some(stderr)) => {
            Ok(Server { pid, own_group, stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() })
        }
        _ => Err(SpawnError::Other("the pipes of the server are missing".into())),
    }
}

/// Becomes the server: nothing is recorded, nothing stands between.
///
/// # Errors
/// Why it could not be started; otherwise it does not return.
pub fn become_server(argv: &[OsString]) -> SpawnError {
    match command(argv) {
        Ok(mut command) => spawn_error(&command.exec()),
        Err(error) => error,
    }
}

fn surround(command: &mut Command, surroundings: &Surroundings) -> Result<(), SpawnError> {
    if let Some(cwd) = &surroundings.cwd {
        // Said here: the system would blame the program.
        if !cwd.is_dir() {
            return Err(SpawnError::Other(format!("no such folder: {}", cwd.display())));
        }
        command.current_dir(cwd);
    }
    command.envs(surroundings.variables.iter().map(|(name, value)| (name, value)));
    Ok(())
}

/// Runs a line of the shell to its end; its stdout is thrown away, its stderr is ours.
///
/// # Errors
/// How it failed, or that it did not end in time.
pub fn run_line(line: &str, surroundings: &Surroundings, limit: std::time::Duration) -> Result<(), SpawnError> {
    let mut command = command(&["/bin/sh".into(), "-c".into(), line.into()])?;
    surround(&mut command, surroundings)?;
    command.stdin(Stdio::null()).stdout(Stdio::null());
    die_with_parent(&mut command);
    let mut child = command.spawn().map_err(|error| spawn_error(&error))?;
    let watch = crate::clock::Stopwatch::start();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(SpawnError::Other(status.to_string())),
            Ok(None) if watch.elapsed() < limit => crate::clock::sleep(std::time::Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(SpawnError::Other(format!("it did not end within {} s", limit.as_secs())));
            }
            Err(error) => return Err(spawn_error(&error)),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the room that starts processes")]
fn command(argv: &[OsString]) -> Result<Command, SpawnError> {
    let Some((program, arguments)) = argv.split_first() else { return Err(SpawnError::NotFound) };
    if program.is_empty() {
        return Err(SpawnError::NotFound);
    }
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn spawn_error(error: &std::io::Error) -> SpawnError {
    match error.kind() {
        std::io::ErrorKind::NotFound => SpawnError::NotFound,
        std::io::ErrorKind::PermissionDenied => SpawnError::NotExecutable("permission denied".into()),
        _ => SpawnError::Other(error.to_string()),
    }
}

/// A tap that is killed leaves no server behind, at least not its direct child.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "pre_exec is the only way; both calls are async-signal-safe and allocate nothing")]
fn die_with_parent(command: &mut Command) {
    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
    let parent = getpid();
    let hook = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the line above: then nobody would send the signal.
        if getppid() == Some(parent) { Ok(()) } else { Err(std::io::Error::from_raw_os_error(3)) }
    };
    // SAFETY: the hook makes two plain system calls between fork and exec; it neither allocates nor locks.
    unsafe {
        command.pre_exec(hook);
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}

/// A change in the life of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It was stopped by a signal and waits to be continued.
    Stopped,
    /// It ended.
    Ended(ExitStatus),
}

/// Waits for the next change in the life of a server; an ended one stays a zombie until [`reap`].
#[must_use]
pub fn wait(pid: Pid) -> Option<Life> {
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(status)) if status.stopped() => {
                // Taken off the list, or it would be reported for ever.
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
                return Some(Life::Stopped);
            }
            Ok(Some(status)) => {
                let code = status.exit_status().map(ExitStatus::Code);
                let signal = status.terminating_signal().map(ExitStatus::Signal);
                return code.or(signal).map(Life::Ended);
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Takes an ended server off the process table.
pub fn reap(pid: Pid) {
    let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
}

/// Returns the file that a command's name leads to, looked up as the system does.
#[must_use]
pub fn resolve(program: &std::ffi::OsStr, path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let named = Path::new(program);
    if named.components().count() > 1 {
        return named.canonicalize().ok();
    }
    std::env::split_paths(path?)
        .map(|folder| folder.join(named))
        .find(|candidate| rustix::fs::access(candidate, rustix::fs::Access::EXEC_OK).is_ok() && candidate.is_file())
}
