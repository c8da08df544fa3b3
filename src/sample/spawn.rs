//! Processes: the only place that starts them or reads the facts of this one.
#![expect(clippy::disallowed_methods, reason = "the sample server is a process of its own, not the tap")]

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::{Signal, getpgrp, getpid, kill_process};
use serde_json::{Value, json};

/// Appends "name pid" to the file that tests read, if there is one.
pub(crate) fn note_pid(file: Option<&Path>, name: &str, pid: u32) {
    let Some(file) = file else { return };
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(file) {
        let _ = file.write_all(format!("{name} {pid}\n").as_bytes());
    }
}

/// Starts a helper with its own streams that lives for five minutes.
pub(crate) fn start_sleeper() -> Option<u32> {
    Command::new("sleep")
        .arg("300")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(|child| child.id())
        .ok()
}

/// Runs this program again with another case, on the same streams, and returns its exit status.
pub(crate) fn run_as_wrapper(case: &str, started: impl FnOnce(u32)) -> io::Result<u8> {
    let mut child = Command::new(env::current_exe()?).args(arguments_with(case)).spawn()?;
    started(child.id());
    let status = child.wait()?;
    Ok(status.code().map_or(1, |code| u8::try_from(code & 0xff).unwrap_or(1)))
}

/// Replaces this process by the same program with another case, deaf to the polite signals.
///
/// Ignored signals survive an exec: a shell that ignores them first needs no signal handler of ours.
pub(crate) fn become_deaf(case: &str) -> io::Error {
    match env::current_exe() {
        Ok(program) => Command::new("sh")
            .args(["-c", r#"trap "" TERM INT HUP; exec "$0" "$@""#])
            .arg(program)
            .args(arguments_with(case))
            .exec(),
        Err(error) => error,
    }
}

/// Returns this process's arguments with the value of `--case` replaced and no `--pid-file`.
fn arguments_with(case: &str) -> Vec<OsString> {
    replace_case(env::args_os().skip(1), case)
}

fn replace_case(arguments: impl Iterator<Item = OsString>, case: &str) -> Vec<OsString> {
    let mut changed = Vec::new();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "--case" || text == "--pid-file" {
            arguments.next();
        } else if text == "--" {
            changed.push(argument);
            changed.extend(arguments.by_ref());
        } else if !text.starts_with("--case=") && !text.starts_with("--pid-file=") {
            changed.push(argument);
        }
    }
    // In front of a `--`, behind the subcommand.
    let place = changed.iter().position(|argument| argument == "--").unwrap_or(changed.len());
    changed.insert(place, OsString::from(format!("--case={case}")));
    changed
}

/// Sends this process a signal until it dies of it.
///
/// More than once, because the first SIGSEGV only makes Rust's run time take its handler away.
pub(crate) fn die_of(signal: i32) {
    let Some(signal) = Signal::from_named_raw(signal) else {
        return;
    };
    for _ in 0..50 {
        let _ = kill_process(getpid(), signal);
        super::clock::sleep(std::time::Duration::from_millis(20));
    }
}

/// Describes this process as a tool result does: never the value of a variable, only its name.
pub(crate) fn facts() -> Value {
    let lossy = |text: OsString| text.to_string_lossy().into_owned();
    let mut names: Vec<String> = env::vars_os().map(|(name, _)| lossy(name)).collect();
    names.sort();
    json!({
        "argv": env::args_os().map(lossy).collect::<Vec<_>>(),
        "cwd": env::current_dir().map(|path| path.display().to_string()).ok(),
        "env": names,
        "isatty": [
            io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal(),
        ],
        "pid": getpid().as_raw_nonzero().get(),
        "pgid": getpgrp().as_raw_nonzero().get(),
    })
}

#[cfg(test)]
mod tests {
    use super::replace_case;
    use std::ffi::OsString;

    fn replaced(line: &str) -> String {
        let words = line.split(' ').map(OsString::from);
        let changed = replace_case(words, "new");
        changed.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_case_is_replaced_wherever_it_stands() {
        assert_eq!(replaced("sample-server --case old --seed 1"), "sample-server --seed 1 --case=new");
        assert_eq!(replaced("s --case=old --pid-file p -- --case x"), "s --case=new -- --case x");
    }
}
