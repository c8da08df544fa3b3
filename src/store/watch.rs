//! Notices that the store was deleted or replaced: SQLite itself would go on writing to a file without a name.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The identity of the file that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl Watch {
    /// Notes which file is at the path now.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self { path: path.into(), identity: identity(path) }
    }

    /// Returns true if another file, or none, is at the path now.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        identity(&self.path) != self.identity
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}
