//! Opens the store: made private from its first byte, checked to be ours, brought to the newest layout.

use super::error::StoreError;
use super::migrations::{APPLICATION_ID, AS_NEWEST, MIGRATIONS, newest};
use rusqlite::{Connection, OpenFlags};
use std::fs::OpenOptions;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// How long a reader waits for a lock.
const READER_PATIENCE: Duration = Duration::from_secs(5);

/// Opens a store for writing, and makes it if it is not there.
///
/// # Errors
/// Says which file, what is wrong with it, and whether a newer version wrote it.
pub fn for_writing(path: &Path, busy: fn(i32) -> bool) -> Result<Connection, StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_private_folder(folder)?;
    }
    // Made by us before SQLite opens it: SQLite would take the mode from the umask.
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(|e| StoreError::Open { path: path.into(), reason: sentence(&e) })?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_handler(Some(busy))?;
    let found = layout(&connection, path)?;
    if found > newest() {
        return Err(StoreError::Newer { path: path.into(), found, known: newest() });
    }
    if found == 0 {
        // These cannot be changed once the first table stands.
        connection
            .execute_batch("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;")
            .map_err(|e| named(e, path))?;
    }
    // Where the file system has no shared memory, SQLite stays with its rollback journal; that works too.
    let _mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(|e| named(e, path))?;
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON; PRAGMA cache_size = -4096;")
        .map_err(|e| named(e, path))?;
    if found < newest() {
        migrate(&connection, path)?;
    }
    Ok(connection)
}

/// Opens one more connection to a store that this process has open already.
///
/// It must not touch the file otherwise: closing any descriptor of a file drops this process's locks on it.
///
/// # Errors
/// What SQLite said.
pub(super) fn beside(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection
        .execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -256;")?;
    Ok(connection)
}

/// Opens a store for reading.
///
/// # Errors
/// [`StoreError::Missing`] when there is no file; else what is wrong with it.
pub fn for_reading(path: &Path) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing { path: path.into() });
    }
    // Whoever closes a store last takes its log away: for a moment it cannot be opened.
    for _ in 0..4 {
        match as_it_is(path) {
            Err(StoreError::Open { .. }) => crate::clock::sleep(Duration::from_millis(5)),
            opened => return opened,
        }
    }
    // Reading a WAL database writes to its shared memory; where that may not be, an unchanging file is read as such.
    // Only then: a fixed view never sees what is written later.
    let fixed = unchanging(path)?;
    let found = layout(&fixed, path)?;
    checked(fixed, found, path, false)
}

fn as_it_is(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(path, flags).or_else(|_| connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY))?;
    connection.busy_timeout(READER_PATIENCE)?;
    let found = layout(&connection, path)?;
    checked(connection, found, path, true)
}

/// Returns how long the write-ahead log of a store is, in bytes.
#[must_use]
pub fn log_length(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).map_or(0, |log| log.len())
}

/// Opens a store to look at it for a moment: nothing of it is written, not even what SQLite keeps beside it.
///
/// # Errors
/// As [`for_reading`]; it does not wait for a lock.
pub fn for_looking(path: &Path) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing { path: path.into() });
    }
    let connection = if log_length(path) > 0 {
        connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?
    } else {
        // Nobody writes, or what is written is too new to matter: without this a log would be made to be read.
        unchanging(path)?
    };
    let found = layout(&connection, path)?;
    checked(connection, found, path, false)
}

/// Opens a file as one that does not change, without locks.
fn unchanging(path: &Path) -> Result<Connection, StoreError> {
    let uri = format!(
        "file:{}?immutable=1",
        path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
    );
    connect(Path::new(&uri), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

fn checked(connection: Connection, found: i64, path: &Path, may_write: bool) -> Result<Connection, StoreError> {
    if found == 0 {
        return Err(StoreError::Missing { path: path.into() });
    }
    if found > newest() {
        return Err(StoreError::Newer { path: path.into(), found, known: newest() });
    }
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384;")?;
    // Whoever may write brings the layout up to date; whoever may not sees it as if it were.
    if found < newest() && (!may_write || migrate(&connection, path).is_err()) {
        connection.execute_batch(AS_NEWEST)?;
    }
    Ok(connection)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that opens the store")]
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    Connection::open_with_flags(path, flags).map_err(|e| named(e, path))
}

/// Makes a folder, and those above it that are missing, for its owner alone.
///
/// # Errors
/// Says which folder and what the system said.
pub fn make_private_folder(folder: &Path) -> Result<(), StoreError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| StoreError::Folder { path: folder.into(), source })
}

/// Returns the layout of a database that is ours, 0 for an empty one.
fn layout(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let application = pragma("application_id").map_err(|e| named(e, path))?;
    let found = pragma("user_version").map_err(|e| named(e, path))?;
    if application == APPLICATION_ID {
        return Ok(found);
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(|e| named(e, path))?;
    // Another recorder may have made the tables between the two looks: its mark came with them.
    if tables > 0 && application == 0 && pragma("application_id").map_err(|e| named(e, path))? == APPLICATION_ID {
        return pragma("user_version").map_err(|e| named(e, path));
    }
    if application != 0 || found != 0 || tables > 0 {
        return Err(StoreError::NotAStore { path: path.into(), reason: "it is a database of another program".into() });
    }
    Ok(0)
}

fn migrate(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    // Several recorders may start at once: who gets the lock first does it, the others find it done.
    connection.execute_batch("BEGIN IMMEDIATE").map_err(|e| named(e, path))?;
    let work = || -> Result<(), StoreError> {
        let found = layout(connection, path)?;
        for step in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
            connection.execute_batch(step)?;
        }
        connection
            .execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {};", newest()))?;
        Ok(())
    };
    let done = work();
    connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).map_err(|e| named(e, path))?;
    done
}

/// Gives an error of SQLite the name of the file.
fn named(error: rusqlite::Error, path: &Path) -> StoreError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match &error {
        rusqlite::Error::SqliteFailure(e, _) if e.code == NotADatabase => {
            StoreError::NotAStore { path: path.into(), reason: "it is no SQLite database".into() }
        }
        rusqlite::Error::SqliteFailure(e, text) if e.code == DatabaseCorrupt => {
            StoreError::Corrupt { path: path.into(), reason: text.clone().unwrap_or_else(|| error.to_string()) }
        }
        rusqlite::Error::SqliteFailure(e, text)
            if matches!(
                e.code,
                rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::PermissionDenied
            ) =>
        {
            StoreError::Open { path: path.into(), reason: text.clone().unwrap_or_else(|| error.to_string()) }
        }
        _ => StoreError::Sql(error),
    }
}

/// Returns what the system said, without its number.
pub(super) fn sentence(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
