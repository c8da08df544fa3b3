//! Renames and deletes sessions.

use super::error::StoreError;
use super::liveness;
use super::queries as sql;
use super::reader::{Reader, Stored, range};
use rusqlite::{Connection, params};
use std::path::Path;

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

/// Deletes a session with all that belongs to it, overwrites what it held, and gives the space back to the disk.
///
/// # Errors
/// [`StoreError::Live`] while it is being recorded; else what kept it from being written.
pub fn session(reader: &Reader, stored: &Stored) -> Result<(), StoreError> {
    if liveness::is_live(reader.path(), &stored.session.id) {
        return Err(StoreError::Live { id: stored.session.id.clone() });
    }
    let connection = reader.connection();
    connection.execute(sql::MARK_DELETING, [stored.number])?;
    finish(connection, stored.number, &|| true)?;
    give_back(connection, &|| true)?;
    empty_log(connection)
}

/// Finishes deletions that were interrupted.
///
/// # Errors
/// What kept them from being finished.
pub fn finish_interrupted(reader: &Reader) -> Result<(), StoreError> {
    match finish_marked(reader.connection(), reader.path(), &|| true)? {
        0 => Ok(()),
        _ => empty_log(reader.connection()),
    }
}

/// Deletes sessions that are marked for it, as long as `may_go_on` says so; returns how many are gone.
///
/// One that is live is being imported: it is marked until all of it is there.
///
/// # Errors
/// What kept them from being deleted.
pub fn finish_marked(connection: &Connection, store: &Path, may_go_on: &dyn Fn() -> bool) -> Result<u64, StoreError> {
    let mut statement = connection.prepare(sql::DELETING)?;
    let marked: Vec<(i64, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut gone = 0;
    for (number, uid) in marked {
        if liveness::is_live(store, &uid) {
            continue;
        }
        gone += u64::from(finish(connection, number, may_go_on)?);
    }
    if gone > 0 {
        give_back(connection, may_go_on)?;
    }
    Ok(gone)
}

/// Deletes what is left of a marked session; false if there was no time for all of it.
fn finish(connection: &Connection, number: i64, may_go_on: &dyn Fn() -> bool) -> Result<bool, StoreError> {
    // What was recorded must not be read out of the free pages.
    connection.execute_batch("PRAGMA secure_delete = ON")?;
    let (from, to) = range(number, 0..u64::MAX);
    for statement in [sql::DELETE_FRAMES, sql::DELETE_PARTS, sql::DELETE_SOME_MESSAGES] {
        loop {
            if !may_go_on() {
                return Ok(false);
            }
            if connection.prepare_cached(statement)?.execute([from, to, BATCH])? == 0 {
                break;
            }
        }
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
    done.map(|()| true)
}

/// Gives free pages back to the disk, a batch at a time so that a recorder need not wait for long.
fn give_back(connection: &Connection, may_go_on: &dyn Fn() -> bool) -> Result<(), StoreError> {
    let free = || connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
    let mut left = free()?;
    while left > 0 && may_go_on() {
        {
            // Each step of this statement frees one page.
            let mut statement = connection.prepare_cached("PRAGMA incremental_vacuum(2000)")?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
        }
        let now = free()?;
        if now >= left {
            break;
        }
        left = now;
    }
    Ok(())
}

/// Moves the log into the store: deleted bytes must not live on in it. Where somebody else reads, a later one does it.
///
/// # Errors
/// What SQLite said.
pub(super) fn empty_log(connection: &Connection) -> Result<(), StoreError> {
    Ok(connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?)
}
