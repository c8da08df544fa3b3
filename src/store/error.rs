//! What can go wrong with a store, as sentences.

use std::path::PathBuf;

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of the store cannot be made or read.
    #[error("cannot use the folder `{path}`: {}", super::open::sentence(source))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no file at the store's path.
    #[error("there is no store at `{path}`")]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be opened or made.
    #[error("cannot open the store `{path}`: {reason}")]
    Open {
        /// The path.
        path: PathBuf,
        /// What the system or SQLite said.
        reason: String,
    },
    /// The file is a database of another program, or none.
    #[error("`{path}` is not a store of mcp-tap: {reason}")]
    NotAStore {
        /// The path.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file is damaged.
    #[error("the store `{path}` is damaged: {reason}")]
    Corrupt {
        /// The path.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// The file was written by a newer version.
    #[error("the store `{path}` has layout {found}, and this mcp-tap knows {known} at most")]
    Newer {
        /// The path.
        path: PathBuf,
        /// The layout found.
        found: i64,
        /// The newest layout known.
        known: i64,
    },
    /// A statement failed.
    #[error("the store failed: {0}")]
    Sql(#[from] rusqlite::Error),
    /// A row holds what no writer of this program writes.
    #[error("the store holds a row that cannot be read: {0}")]
    Row(String),
    /// The session is being recorded.
    #[error("session `{id}` is being recorded")]
    Live {
        /// Its id.
        id: String,
    },
    /// A frame is too large to be read as a whole.
    #[error("frame {seq} has {length} bytes, more than the {limit} that are read at once")]
    TooLarge {
        /// The frame.
        seq: u64,
        /// Its length in bytes.
        length: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

impl StoreError {
    /// Returns true if another process holds the store, so that a later try may succeed.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        matches!(self, Self::Sql(rusqlite::Error::SqliteFailure(e, _)) if matches!(e.code, DatabaseBusy | DatabaseLocked))
    }

    /// Returns true if the disk is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        use rusqlite::ErrorCode::{DiskFull, SystemIoFailure};
        matches!(self, Self::Sql(rusqlite::Error::SqliteFailure(e, _)) if matches!(e.code, DiskFull | SystemIoFailure))
    }

    /// Returns true if the file itself is damaged.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        matches!(self, Self::Corrupt { .. })
            || matches!(self, Self::Sql(rusqlite::Error::SqliteFailure(e, _)) if matches!(e.code, DatabaseCorrupt | NotADatabase))
    }
}
