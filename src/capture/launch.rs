//! What is kept of how a server was launched: enough to launch it again, nothing that is secret.

use super::redact;
use crate::session::session::Launch;
use std::ffi::{OsStr, OsString};

/// Returns the launch facts of a command, and whether something in them was masked.
#[must_use]
pub fn of_command(argv: &[OsString], environment: &[(OsString, OsString)]) -> (Launch, bool) {
    let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (argv_shown, masked) = redact::argv(&words);
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let program = argv.first().and_then(|program| crate::transport::stdio::resolve(program, path));
    let mut variables: Vec<String> = environment.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    variables.sort();
    let launch = Launch {
        argv: argv_shown,
        url: None,
        program: program.map(|file| file.display().to_string()),
        cwd: std::env::current_dir().ok().map(|folder| folder.display().to_string()),
        path: path.map(OsStr::to_string_lossy).map(std::borrow::Cow::into_owned),
        variables,
    };
    (launch, masked)
}

/// Returns what tells two launches of one command by one parent from others.
#[must_use]
pub fn key(launch: &Launch) -> Option<String> {
    let parent = rustix::process::getppid()?.as_raw_nonzero();
    Some(format!("{parent} {}", serde_json::to_string(&launch.argv).ok()?))
}
