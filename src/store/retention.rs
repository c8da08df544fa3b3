//! What is kept: recordings for so many days and so many bytes, unless somebody says otherwise.
//!
//! Applied when a recording ends, in a few milliseconds at most: what goes is marked, so that nobody sees it any more,
//! and deleted as far as the time reaches; `sessions` deletes the rest. What is being recorded is never touched, nor is
//! the newest recording of a name that a person chose.

use super::error::StoreError;
use super::{delete, liveness, open, queries as sql};
use crate::clock::Stopwatch;
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

/// A day in ns.
pub const DAY_NS: i64 = 86_400_000_000_000;

/// How long the end of a recording may take for this.
const AT_THE_END: Duration = Duration::from_millis(20);

/// How long a command that lists sessions may take for this.
const WHEN_LISTED: Duration = Duration::from_millis(300);

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// For how long, ns; `None` for ever.
    pub age_ns: Option<i64>,
    /// How much, bytes of the store; `None` for as much as there is.
    pub bytes: Option<u64>,
}

impl Default for Retention {
    /// Returns 90 days, 4 GB.
    fn default() -> Self {
        Self { age_ns: Some(90 * DAY_NS), bytes: Some(4_000_000_000) }
    }
}

/// What decides about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its number in the store.
    pub number: i64,
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// True if a person chose the name.
    pub named: bool,
    /// When it began, ns since 1970 UTC.
    pub started_at_ns: i64,
    /// True if it ended; else it is being recorded or was cut off.
    pub ended: bool,
    /// How many bytes its frames have.
    pub bytes: u64,
    /// True if it was read from a file: somebody put it there, and its age says nothing.
    pub imported: bool,
}

/// Returns which sessions go, by their place in `newest_first`; `size` is what the store takes on the disk.
///
/// The newest of all stays: nobody expects a recording to be gone when it has just been made.
#[must_use]
pub fn choose(newest_first: &[Candidate], keep: Retention, now_ns: i64, size: u64) -> Vec<usize> {
    let mut names: HashSet<&str> = HashSet::new();
    let mut free: Vec<usize> = Vec::new();
    for (at, candidate) in newest_first.iter().enumerate() {
        let baseline = candidate.named && candidate.name.as_deref().is_some_and(|name| names.insert(name));
        if !baseline && at > 0 {
            free.push(at);
        }
    }
    // Oldest first from here on.
    free.reverse();
    let too_old = |at: &usize| {
        let recorded = newest_first.get(*at).filter(|candidate| !candidate.imported);
        let started = recorded.map_or(now_ns, |candidate| candidate.started_at_ns);
        keep.age_ns.is_some_and(|age| now_ns.saturating_sub(started) > age)
    };
    let (mut go, stay): (Vec<usize>, Vec<usize>) = free.into_iter().partition(too_old);
    let Some(limit) = keep.bytes else { return go };
    let bytes = |at: usize| newest_first.get(at).map_or(0, |candidate| candidate.bytes);
    let all: u64 = newest_first.iter().map(|candidate| candidate.bytes).sum();
    // A session takes more of the disk than its frames have bytes: the same share more as all of them do.
    let on_disk = |at: usize| bytes(at) as f64 * size as f64 / all.max(1) as f64;
    let mut left = size as f64 - go.iter().map(|at| on_disk(*at)).sum::<f64>();
    let named = |at: &usize| newest_first.get(*at).is_some_and(|candidate| candidate.named || candidate.imported);
    let (chosen, others): (Vec<usize>, Vec<usize>) = stay.into_iter().partition(named);
    for at in others.into_iter().chain(chosen) {
        if left <= limit as f64 {
            break;
        }
        left -= on_disk(at);
        go.push(at);
    }
    go
}

/// Applies the retention at the end of a recording, for a few milliseconds at most.
///
/// # Errors
/// What kept something from being deleted; a later end tries again.
pub(super) fn at_the_end(
    connection: &Connection,
    store: &Path,
    keep: Retention,
    now_ns: i64,
) -> Result<(), StoreError> {
    let clock = Stopwatch::start();
    if !is_due(connection, keep, now_ns)? {
        return Ok(());
    }
    mark(connection, store, keep, now_ns)?;
    delete::finish_marked(connection, store, &|| clock.elapsed() < AT_THE_END).map(|_| ())
}

/// Deletes what an end of a recording had no time for; returns how many sessions are gone.
///
/// # Errors
/// What kept them from being deleted.
pub fn sweep(store: &Path) -> Result<u64, StoreError> {
    let clock = Stopwatch::start();
    let connection = open::beside(store)?;
    let gone = delete::finish_marked(&connection, store, &|| clock.elapsed() < WHEN_LISTED)?;
    if gone > 0 {
        delete::empty_log(&connection)?;
    }
    Ok(gone)
}

/// Returns true if anything may be too old or too much, without looking at every session.
fn is_due(connection: &Connection, keep: Retention, now_ns: i64) -> Result<bool, StoreError> {
    if keep.bytes.is_some_and(|bytes| size(connection).is_ok_and(|size| size > bytes)) {
        return Ok(true);
    }
    let Some(age) = keep.age_ns else { return Ok(false) };
    let oldest: Option<i64> = connection.query_row(sql::OLDEST, [], |row| row.get(0)).optional()?;
    Ok(oldest.is_some_and(|started| now_ns.saturating_sub(started) > age))
}

/// Marks what goes; returns how many sessions.
fn mark(connection: &Connection, store: &Path, keep: Retention, now_ns: i64) -> Result<u64, StoreError> {
    let candidates = candidates(connection)?;
    let size = size(connection)?;
    let mut marked = 0;
    for at in choose(&candidates, keep, now_ns, size) {
        let Some(candidate) = candidates.get(at) else { continue };
        if candidate.ended || !liveness::is_live(store, &candidate.id) {
            connection.execute(sql::MARK_DELETING, [candidate.number])?;
            marked += 1;
        }
    }
    Ok(marked)
}

/// Returns what decides about each session, newest first.
///
/// # Errors
/// What kept them from being read.
pub(super) fn candidates(connection: &Connection) -> Result<Vec<Candidate>, StoreError> {
    let mut statement = connection.prepare_cached(sql::RETENTION)?;
    let found = statement.query_map([], |row| {
        Ok(Candidate {
            number: row.get(0)?,
            id: row.get(1)?,
            name: row.get(2)?,
            named: row.get(3)?,
            started_at_ns: row.get(4)?,
            ended: row.get(5)?,
            bytes: row.get::<_, i64>(6)?.unsigned_abs(),
            imported: row.get(7)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns how many bytes of the store are in use.
pub(super) fn size(connection: &Connection) -> Result<u64, StoreError> {
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok(pages.unsigned_abs() * pragma("page_size")?.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000 * DAY_NS;

    fn candidate(number: i64, name: &str, named: bool, days_ago: i64, bytes: u64) -> Candidate {
        Candidate {
            number,
            id: format!("s{number}"),
            name: Some(name.into()),
            named,
            started_at_ns: NOW - days_ago * DAY_NS,
            ended: true,
            bytes,
            imported: false,
        }
    }

    /// The numbers of those that go, in that order.
    fn gone(candidates: &[Candidate], keep: Retention, size: u64) -> Vec<i64> {
        choose(candidates, keep, NOW, size).into_iter().map(|at| candidates[at].number).collect()
    }

    #[test]
    fn what_is_too_old_goes_but_for_the_newest_of_a_chosen_name() {
        let candidates = [
            candidate(6, "server", false, 1, 10),
            candidate(5, "server", false, 91, 10),
            candidate(4, "weather", true, 92, 10),
            candidate(3, "weather", true, 93, 10),
            candidate(2, "other", true, 400, 10),
            candidate(1, "server", false, 401, 10),
        ];
        assert_eq!(gone(&candidates, Retention::default(), 60), [1, 3, 5]);
        assert_eq!(gone(&candidates, Retention { age_ns: None, bytes: None }, u64::MAX), [0; 0]);
        assert_eq!(gone(&[], Retention::default(), 0), [0; 0]);
    }

    #[test]
    fn what_is_too_much_goes_unnamed_and_oldest_first() {
        let candidates = [
            candidate(6, "server", false, 1, 100),
            candidate(5, "weather", true, 2, 100),
            candidate(4, "weather", true, 3, 100),
            candidate(3, "server", false, 4, 100),
            candidate(2, "server", false, 5, 100),
            candidate(1, "weather", true, 6, 100),
        ];
        // Each takes 200 of the disk.
        let keep = |bytes| Retention { age_ns: None, bytes: Some(bytes) };
        assert_eq!(gone(&candidates, keep(1200), 1200), [0; 0]);
        assert_eq!(gone(&candidates, keep(1199), 1200), [2]);
        assert_eq!(gone(&candidates, keep(700), 1200), [2, 3, 1]);
        assert_eq!(gone(&candidates, keep(0), 1200), [2, 3, 1, 4], "the newest, and the newest of a chosen name, stay");
    }

    #[test]
    fn what_was_imported_is_never_too_old() {
        let imported = Candidate { imported: true, ..candidate(1, "server", false, 1000, 100) };
        let both = [candidate(2, "server", false, 1, 100), imported];
        assert_eq!(gone(&both, Retention::default(), 200), [0; 0]);
        assert_eq!(gone(&both, Retention { age_ns: None, bytes: Some(1) }, 200), [1]);
    }

    #[test]
    fn what_went_for_its_age_counts_for_the_size() {
        let candidates = [candidate(2, "server", false, 1, 100), candidate(1, "server", false, 100, 100)];
        let keep = Retention { age_ns: Some(90 * DAY_NS), bytes: Some(100) };
        assert_eq!(gone(&candidates, keep, 200), [1]);
    }
}
