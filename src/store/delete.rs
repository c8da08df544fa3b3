//! Renames and deletes sessions.

use super::error::StoreError;
use super::liveness;
use super::queries as sql;
use super::reader::{Reader, Stored, range};
use rusqlite::params;

/// How many frames one transaction deletes: a recorder that shares the store must not wait for long.
const BATCH: i64 = 2000;

/// Gives a session a name.
///
/// # Errors
/// What kept it from being written.
pub fn rename(reader: &Reader, stored: &Stored, name: &str) -> Result<(), StoreError> {
    reader.connection().execute(sql::RENAME, params![stored.number, name])?;
    Ok(())
}

/// Deletes a session with all that belongs to it, and overwrites what it held.
///
/// # Errors
/// [`StoreError::Live`] while it is being recorded; else what kept it from being written.
pub fn session(reader: &Reader, stored: &Stored) -> Result<(), StoreError> {
    if liveness::is_live(reader.path(), &stored.session.id) {
        return Err(StoreError::Live { id: stored.session.id.clone() });
    }
    let connection = reader.connection();
    connection.execute_batch("PRAGMA secure_delete = ON")?;
    connection.execute(sql::MARK_DELETING, [stored.number])?;
    finish(reader, stored.number)
}

/// Finishes deletions that were interrupted.
///
/// # Errors
/// What kept them from being finished.
pub fn finish_interrupted(reader: &Reader) -> Result<(), StoreError> {
    let connection = reader.connection();
    let mut statement = connection.prepare(sql::DELETING)?;
    let numbers: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    numbers.into_iter().try_for_each(|number| finish(reader, number))
}

fn finish(reader: &Reader, number: i64) -> Result<(), StoreError> {
    let connection = reader.connection();
    let (from, to) = range(number, 0..u64::MAX);
    for statement in [sql::DELETE_FRAMES, sql::DELETE_PARTS] {
        while connection.prepare_cached(statement)?.execute([from, to, BATCH])? > 0 {}
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let rest = || -> Result<(), StoreError> {
        for statement in [sql::DELETE_MESSAGES, sql::DELETE_GAPS, sql::DELETE_EVENTS, sql::DELETE_HTTP] {
            connection.execute(statement, [from, to])?;
        }
        connection.execute(sql::DELETE_SESSION, [number])?;
        Ok(())
    };
    let done = rest();
    connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done?;
    // Deleted bytes must not live on in the log, and the space goes back to the disk.
    connection.execute_batch("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")?;
    Ok(())
}
