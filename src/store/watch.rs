//! Notices that the store was deleted or replaced: SQLite itself would go on writing to a file without a name.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The identity of the file that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    path: PathBuf,
    identity: Option<(u64, u64)>,
    log: [(PathBuf, Option<(u64, u64)>); 2],
}

impl Watch {
    /// Notes which file is at the path now.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let log = ["-wal", "-shm"].map(|end| {
            let mut beside = path.as_os_str().to_owned();
            beside.push(end);
            let beside = PathBuf::from(beside);
            let identity = identity(&beside);
            (beside, identity)
        });
        Self { path: path.into(), identity: identity(path), log }
    }

    /// Removes the log of the file that was opened, where it still lies beside another one.
    ///
    /// SQLite would read it into the new file: old pages over a store that is not theirs.
    pub fn remove_old_log(&self) {
        for (path, known) in &self.log {
            if known.is_some() && identity(path) == *known {
                let _ = std::fs::remove_file(path);
            }
        }
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
