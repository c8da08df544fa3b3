//! Appends a session to the store, one transaction a batch.

use super::error::StoreError;
use super::open;
use super::queries as sql;
use super::retention::{self, Retention};
use super::rows::{Row, channel_code, direction_code, key, kind_code, outcome_code};
use crate::session::derive::{CLASSIFIER_VERSION, Derived, Facts};
use crate::session::frame::Gap;
use crate::session::message::{Message, Place};
use crate::session::session::{ExitStatus, Session};
use rusqlite::{Connection, params};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Two launches of one command within this time by one parent may be a probe and its session; ns.
const PROBE_WINDOW_NS: i64 = 15_000_000_000;

/// Counts of what was appended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Frames stored.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines lost.
    pub lost_frames: u64,
}

/// Writes one session.
#[derive(Debug)]
pub struct Writer {
    connection: Connection,
    path: PathBuf,
    session: i64,
    launch_key: Option<String>,
    started_at: i64,
    words: HashMap<String, i64>,
    gaps: u64,
    events: u64,
}

impl Writer {
    /// Opens the store and enters the session, so that others see it at once.
    ///
    /// `launch_key` tells two launches of one command by one parent from others.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub fn begin(
        path: &Path,
        session: &Session,
        launch_key: Option<String>,
        busy: fn(i32) -> bool,
    ) -> Result<Self, StoreError> {
        let connection = open::for_writing(path, busy)?;
        Self::enter(connection, path, session, launch_key, false)
    }

    /// Opens the store and enters a session that comes from a file; nobody sees it before [`Self::finish_import`].
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub fn begin_import(path: &Path, session: &Session, busy: fn(i32) -> bool) -> Result<Self, StoreError> {
        let connection = open::for_writing(path, busy)?;
        Self::enter(connection, path, session, None, true)
    }

    fn enter(
        connection: Connection,
        path: &Path,
        session: &Session,
        launch_key: Option<String>,
        imported: bool,
    ) -> Result<Self, StoreError> {
        connection.set_prepared_statement_cache_capacity(64);
        connection.execute(
            sql::INSERT_SESSION,
            params![
                session.id,
                session.name,
                session.named,
                session.origin.as_str(),
                session.parent,
                session.transport,
                to_json(&session.launch)?,
                launch_key,
                session.started_at_ns,
                to_json(&session.redaction)?,
                session.tap_version,
                CLASSIFIER_VERSION,
                imported,
                to_json(&session.masks)?,
            ],
        )?;
        let id = connection.last_insert_rowid();
        let writer = Self {
            connection,
            path: path.into(),
            session: id,
            launch_key,
            started_at: session.started_at_ns,
            words: HashMap::new(),
            gaps: 0,
            events: 0,
        };
        writer.link_probes(&session.id)?;
        Ok(writer)
    }

    /// Appends rows and brings the session's own row up to date, all in one transaction.
    ///
    /// # Errors
    /// Nothing of the batch is stored then; it can be tried again.
    pub fn append(
        &mut self,
        batch: &[Row],
        totals: Totals,
        facts: &Facts,
        name: Option<&str>,
    ) -> Result<(), StoreError> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let (gaps, events) = (self.gaps, self.events);
        let done = self.write(batch, totals, facts, name).and_then(|()| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        });
        if done.is_err() {
            // Words entered by this batch are gone with it.
            self.words.clear();
            (self.gaps, self.events) = (gaps, events);
            if !self.connection.is_autocommit() {
                let _ = self.connection.execute_batch("ROLLBACK");
            }
        }
        done
    }

    fn write(&mut self, batch: &[Row], totals: Totals, facts: &Facts, name: Option<&str>) -> Result<(), StoreError> {
        for row in batch {
            self.row(row)?;
        }
        let peer = |peer: &Option<crate::session::session::Peer>| peer.as_ref().map(to_json).transpose();
        self.connection.prepare_cached(sql::UPDATE_SESSION)?.execute(params![
            self.session,
            name,
            to_json(&facts.revisions)?,
            peer(&facts.client)?,
            peer(&facts.server)?,
            count(totals.frames),
            count(totals.bytes),
            count(facts.messages),
            count(facts.calls),
            count(facts.bad),
            count(totals.lost_frames),
        ])?;
        Ok(())
    }

    fn row(&mut self, row: &Row) -> Result<(), StoreError> {
        match row {
            Row::Part { number, lane, bytes } => {
                self.connection.prepare_cached(sql::INSERT_PART)?.execute(params![
                    key(self.session, *number),
                    lane,
                    bytes
                ])?;
            }
            Row::Frame { info, parts_from, bytes, .. } => {
                let whole = parts_from.is_none();
                self.connection.prepare_cached(sql::INSERT_FRAME)?.execute(params![
                    key(self.session, info.seq),
                    direction_code(info.direction),
                    channel_code(info.channel),
                    info.started_ns,
                    info.received_ns,
                    info.forwarded_ns,
                    info.redacted,
                    (!whole).then(|| count(info.length)),
                    parts_from.map(|from| key(self.session, from)),
                    (!whole).then_some(info.parts),
                    whole.then_some(bytes),
                ])?;
            }
            Row::Derived(derived) => self.derived(derived)?,
            Row::Gap(gap) => self.gap(gap)?,
            Row::Event { at_ns, what, value } => {
                let id = key(self.session, self.events);
                self.connection.prepare_cached(sql::INSERT_EVENT)?.execute(params![id, at_ns, what, value])?;
                self.events += 1;
            }
        }
        Ok(())
    }

    fn derived(&mut self, derived: &Derived) -> Result<(), StoreError> {
        match derived {
            Derived::Message(message) => insert_message(&self.connection, &mut self.words, self.session, message)?,
            Derived::Answered { request, answer, outcome, error_code } => {
                self.connection.prepare_cached(sql::ANSWER_MESSAGE)?.execute(params![
                    key(self.session, request.seq),
                    request.index,
                    key(self.session, answer.place.seq),
                    answer.place.index,
                    answer.received_ns,
                    answer.forwarded_ns - answer.received_ns,
                    outcome_code(*outcome),
                    error_code,
                ])?;
            }
            Derived::GaveUp { request, at_ns } => {
                self.connection.prepare_cached(sql::GIVE_UP_MESSAGE)?.execute(params![
                    key(self.session, request.seq),
                    request.index,
                    at_ns
                ])?;
            }
        }
        Ok(())
    }

    fn gap(&mut self, gap: &Gap) -> Result<(), StoreError> {
        let id = key(self.session, self.gaps);
        self.connection.prepare_cached(sql::INSERT_GAP)?.execute(params![
            id,
            direction_code(gap.dir),
            channel_code(gap.ch),
            gap.after.map(count),
            count(gap.bytes),
            count(gap.lines),
            gap.reason
        ])?;
        self.gaps += 1;
        Ok(())
    }

    /// Shows a session that came from a file, now that all of it is there.
    ///
    /// # Errors
    /// It stays hidden then, and is swept away.
    pub fn finish_import(&mut self) -> Result<(), StoreError> {
        self.connection.execute(sql::FINISH_IMPORT, [self.session])?;
        Ok(())
    }

    /// Notes that the session has ended.
    ///
    /// # Errors
    /// The session reads as incomplete then.
    pub fn end(&mut self, uid: &str, ended_ns: i64, reason: &str, exit: Option<ExitStatus>) -> Result<(), StoreError> {
        let exit = exit.as_ref().map(to_json).transpose()?;
        self.connection.execute(sql::END_SESSION, params![self.session, ended_ns, reason, exit])?;
        self.link_probes(uid)
    }

    /// Deletes what is older or more than what is kept, for a few milliseconds at most and without waiting for a lock.
    pub fn retain(&self, store: &Path, keep: Retention, now_ns: i64) {
        // Whatever goes wrong here is tried again at the next end of a recording.
        if self.connection.busy_timeout(std::time::Duration::ZERO).is_ok() {
            let _ = retention::at_the_end(&self.connection, store, keep, now_ns);
        }
    }

    /// Marks earlier launches of the same command that only asked `server/discover`, and were answered, as probes for
    /// this session.
    ///
    /// One that is still being recorded may only be slow to begin; it is looked at again when this session ends.
    fn link_probes(&self, uid: &str) -> Result<(), StoreError> {
        use rusqlite::OptionalExtension;
        let Some(launch) = &self.launch_key else { return Ok(()) };
        let since = self.started_at - PROBE_WINDOW_NS;
        let mut statement = self.connection.prepare_cached(sql::RECENT_LAUNCHES)?;
        let earlier: Vec<(i64, String)> = statement
            .query_map(params![self.session, launch, since], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (number, earlier_uid) in earlier {
            let range = params![key(number, 0), key(number + 1, 0)];
            let other = self.connection.query_row(sql::HAS_OTHER_THAN_DISCOVER, range, |_| Ok(())).optional()?;
            if other.is_none() && !super::liveness::is_live(&self.path, &earlier_uid) {
                self.connection.execute(sql::MARK_PROBE, params![number, uid])?;
            }
        }
        Ok(())
    }
}

/// Inserts one message; `words` remembers the numbers of words.
pub(super) fn insert_message(
    connection: &Connection,
    words: &mut HashMap<String, i64>,
    session: i64,
    message: &Message,
) -> Result<(), StoreError> {
    let method = word(connection, words, message.method.as_deref())?;
    let name = word(connection, words, message.name.as_deref())?;
    let revision = word(connection, words, message.revision.as_deref())?;
    let at = |place: Option<Place>| place.map(|place| key(session, place.seq));
    let index = |place: Option<Place>| place.map(|place| place.index).filter(|index| *index > 0);
    let answer = message.answer;
    connection.prepare_cached(sql::INSERT_MESSAGE)?.execute(params![
        key(session, message.place.seq),
        message.place.index,
        direction_code(message.direction),
        channel_code(message.channel),
        kind_code(message.kind),
        method,
        name,
        message.rpc_id,
        revision,
        message.received_ns,
        message.forwarded_ns - message.received_ns,
        count(message.offset),
        count(message.length),
        message.outcome.map(outcome_code),
        at(message.answers),
        index(message.answers),
        at(message.concerns),
        index(message.concerns),
        at(answer.map(|answer| answer.place)),
        index(answer.map(|answer| answer.place)),
        answer.map(|answer| answer.received_ns),
        answer.map(|answer| answer.forwarded_ns - answer.received_ns),
        message.error_code,
        message.gave_up_ns,
        message.first_seq.map(count),
        (!message.flaws.is_empty()).then_some(&message.flaws),
    ])?;
    Ok(())
}

fn word(
    connection: &Connection,
    words: &mut HashMap<String, i64>,
    text: Option<&str>,
) -> Result<Option<i64>, StoreError> {
    let Some(text) = text else { return Ok(None) };
    if let Some(id) = words.get(text) {
        return Ok(Some(*id));
    }
    connection.prepare_cached(sql::INSERT_WORD)?.execute([text])?;
    let id = connection.prepare_cached(sql::FIND_WORD)?.query_row([text], |row| row.get(0))?;
    // A server that makes up a name for each call must not fill the memory.
    if words.len() > 10_000 {
        words.clear();
    }
    words.insert(text.to_owned(), id);
    Ok(Some(id))
}

fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Row(e.to_string()))
}

/// A connection that only moves the write-ahead log into the store, so that its fsync never holds a commit.
#[derive(Debug)]
pub struct Checkpointer {
    connection: Connection,
}

impl Checkpointer {
    /// Opens a second connection to a store that a [`Writer`] of this process has open.
    ///
    /// # Errors
    /// Without it the log only grows until the session ends.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: open::beside(path)? })
    }

    /// Moves what no reader holds back; returns how long the log is, in bytes.
    pub fn passive(&self) -> Option<u64> {
        self.run("PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// Moves everything and cuts the log to nothing, if nobody else uses it; commits wait for that.
    pub fn truncate(&self) -> Option<u64> {
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    fn run(&self, statement: &str) -> Option<u64> {
        let pages: i64 = self.connection.query_row(statement, [], |row| row.get(1)).ok()?;
        Some(pages.max(0).unsigned_abs() * 4096)
    }
}
