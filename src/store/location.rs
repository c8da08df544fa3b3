//! Where the store is, and how it came to be there.

use std::path::{Path, PathBuf};

/// What named the store's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// `--store`.
    Flag,
    /// The variable `MCP_TAP_STORE`.
    Variable,
    /// The user's configuration file.
    Configuration,
    /// Nothing: the default.
    Default,
}

/// The path of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub path: PathBuf,
    /// What named it.
    pub named_by: NamedBy,
    /// The user's home, to shorten paths that are shown.
    pub home: Option<PathBuf>,
}

impl Location {
    /// Returns the folder of the lock files of live sessions.
    #[must_use]
    pub fn lock_folder(&self) -> PathBuf {
        lock_folder(&self.path)
    }

    /// Returns the path as a person would write it, with `~` and with the variable that named it.
    #[must_use]
    pub fn shown(&self) -> String {
        let path = shorten(&self.path, self.home.as_deref());
        if self.named_by == NamedBy::Variable { format!("{path} (MCP_TAP_STORE)") } else { path }
    }
}

/// Returns the folder of the lock files of live sessions.
#[must_use]
pub fn lock_folder(store: &Path) -> PathBuf {
    store.with_extension("d")
}

/// Returns a path with the home folder written as `~`.
#[must_use]
pub fn shorten(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// Returns the default path below a home folder.
#[must_use]
pub fn default_path(home: &Path) -> PathBuf {
    home.join(".local/state/mcp-tap/store.db")
}
