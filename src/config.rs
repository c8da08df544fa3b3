//! The environment and the configuration files: the only room that reads them.
#![expect(clippy::disallowed_methods, reason = "this is the one room that reads the environment")]

mod project;
mod table;

pub use project::{Before, PROJECT_FILE, ProjectFile, ServerEntry, project, user_masks};

use crate::error::CommandError;
use crate::store::location::{Location, NamedBy, default_path};
use crate::store::retention::{DAY_NS, Retention};
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The user's own file, `~/.config/mcp-tap/config.toml`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct UserFile {
    /// The store.
    pub store: Option<PathBuf>,
    /// What is kept.
    #[serde(default)]
    pub retention: RetentionTable,
}

/// The table `[retention]` of the user's file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct RetentionTable {
    /// For how many days; 0 for ever.
    pub days: Option<f64>,
    /// How many gigabytes of store; 0 for as much as there is.
    pub gigabytes: Option<f64>,
}

impl RetentionTable {
    /// Returns what is kept, with the default where nothing is said.
    #[must_use]
    pub fn retention(self) -> Retention {
        let default = Retention::default();
        let or = |said: Option<f64>, unit: f64| said.map(|value| (value > 0.0).then_some(value * unit));
        Retention {
            age_ns: or(self.days, DAY_NS as f64).map_or(default.age_ns, |age| age.map(|ns| ns as i64)),
            bytes: or(self.gigabytes, 1e9).map_or(default.bytes, |bytes| bytes.map(|bytes| bytes as u64)),
        }
    }
}

/// Returns what is kept; a file that cannot be read deletes nothing.
#[must_use]
pub fn retention() -> Retention {
    user_file(home().as_deref()).map_or(Retention { age_ns: None, bytes: None }, |file| file.retention.retention())
}

/// Why a configuration file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1, if it is about one.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub reason: String,
    /// What was probably meant.
    pub hint: Option<String>,
}

impl std::error::Error for ConfigError {}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        match self.line {
            Some(line) => write!(f, "`{path}`, line {line}: {}", self.reason),
            None => write!(f, "`{path}` cannot be read: {}", self.reason),
        }
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let failed = Self::failed(error.to_string());
        error.hint.into_iter().fold(failed, Self::hint)
    }
}

impl ConfigError {
    /// Returns the error of a file that cannot be opened or read.
    fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self { path: path.into(), line: None, reason: crate::error::sentence(error), hint: None }
    }

    /// Returns the error of a text that is no TOML, or not the one that was expected.
    fn of_toml(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| line_of(text, span.start));
        // The parser adds its own view of the text in further lines.
        let reason = error.message().lines().next().unwrap_or_default().to_owned();
        Self { path: path.into(), line, reason, hint: None }
    }
}

/// Returns the line a byte stands in, from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', text.as_bytes().get(..at).unwrap_or(text.as_bytes())).count()
}

/// Returns a file's text; `None` if there is no such file.
fn text_of(path: &Path) -> Result<Option<String>, ConfigError> {
    match std::fs::read_to_string(path) {
        // Editors on some systems put a byte order mark in front.
        Ok(text) => Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(ConfigError::unreadable(path, &error)),
    }
}

/// Returns the user's home, from `HOME` or else from the password database.
#[must_use]
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// Reads the user's file; a missing one is empty.
///
/// # Errors
/// Says which file and what is wrong with it.
pub fn user_file(home: Option<&Path>) -> Result<UserFile, ConfigError> {
    let Some(path) = user_path(home) else { return Ok(UserFile::default()) };
    let Some(text) = text_of(&path)? else { return Ok(UserFile::default()) };
    toml::from_str(&text).map_err(|error| ConfigError::of_toml(&path, &text, &error))
}

/// Returns where the user's file is.
fn user_path(home: Option<&Path>) -> Option<PathBuf> {
    home.map(|home| home.join(".config/mcp-tap/config.toml"))
}

/// Returns where the store is: `--store`, else `MCP_TAP_STORE`, else the user's file, else the default.
///
/// Not from `XDG_STATE_HOME`: clients start servers with a handful of variables, and `record` and the shell must find
/// the same file. A configuration that cannot be read comes back beside the place that is used without it.
#[must_use]
pub fn location(flag: Option<&Path>) -> (Location, Option<ConfigError>) {
    let home = home();
    let at = |path: PathBuf, named_by| Location { path: absolute(&path), named_by, home: home.clone() };
    if let Some(path) = flag {
        return (at(path.into(), NamedBy::Flag), None);
    }
    if let Some(path) = std::env::var_os("MCP_TAP_STORE").filter(|path| !path.is_empty()) {
        return (at(path.into(), NamedBy::Variable), None);
    }
    let (file, error) = match user_file(home.as_deref()) {
        Ok(file) => (file, None),
        Err(error) => (UserFile::default(), Some(error)),
    };
    if let Some(path) = file.store {
        let path = match (path.strip_prefix("~"), &home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        };
        return (at(path, NamedBy::Configuration), error);
    }
    let base = home.clone().unwrap_or_else(std::env::temp_dir);
    (at(default_path(&base), NamedBy::Default), error)
}

/// Returns the default place of the store, whatever names another one.
#[must_use]
pub fn default_store() -> Option<PathBuf> {
    home().map(|home| default_path(&home))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// Returns true if `MCP_TAP_OFF` asks `record` to stand aside.
#[must_use]
pub fn is_off() -> bool {
    std::env::var_os("MCP_TAP_OFF").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns the shell that asks for completions.
#[must_use]
pub fn completing_shell() -> Option<String> {
    std::env::var(crate::commands::completions::VARIABLE).ok().filter(|shell| !shell.is_empty())
}

/// Returns true if `NO_COLOR` is set.
#[must_use]
pub fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Returns the width that `COLUMNS` asks for.
#[must_use]
pub fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|width| (20..=1000).contains(width))
}

/// Returns true if the locale promises UTF-8; no locale at all does, too.
#[must_use]
pub fn is_utf8() -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    match locale {
        Some(locale) => {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        }
        None => true,
    }
}

/// Returns the environment as it is.
#[must_use]
pub fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Returns the proxy for https, and the list of hosts that are reached without one.
#[must_use]
pub fn https_proxy() -> (Option<String>, String) {
    let first = |names: &[&str]| names.iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    (
        first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
        first(&["NO_PROXY", "no_proxy"]).unwrap_or_default(),
    )
}

/// Returns the value of a variable that was named on the command line.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where GitHub Actions runs us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHub {
    /// The file that takes the summary of the step.
    pub summary: Option<PathBuf>,
    /// The folder of the repository.
    pub workspace: Option<PathBuf>,
}

/// Returns where GitHub Actions runs us; `None` if it does not.
#[must_use]
pub fn github() -> Option<GitHub> {
    let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let runs = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    runs.then(|| GitHub { summary: path("GITHUB_STEP_SUMMARY"), workspace: path("GITHUB_WORKSPACE") })
}

/// Returns a hidden seam for tests, such as a pinned clock.
#[must_use]
pub fn test_seam(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
