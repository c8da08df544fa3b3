//! The environment and the configuration files: the only room that reads them.
#![expect(clippy::disallowed_methods, reason = "this is the one room that reads the environment")]

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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` cannot be read: {reason}")]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
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
    let Some(path) = home.map(|home| home.join(".config/mcp-tap/config.toml")) else { return Ok(UserFile::default()) };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(UserFile::default());
        }
        Err(error) => return Err(ConfigError { path, reason: crate::error::sentence(&error) }),
    };
    // Editors on some systems put a byte order mark in front.
    toml::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| ConfigError { path, reason: error.message().to_owned() })
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
