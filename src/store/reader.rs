//! Reads sessions back.

use super::error::StoreError;
use super::queries as sql;
use super::rows::{channel_of, direction_of, key, kind_of, number, outcome_of};
use super::{liveness, open};
use crate::session::frame::{Channel, Direction, FrameInfo, Gap};
use crate::session::message::{Answer, Message, Place};
use crate::session::session::{Origin, Session};
use crate::session::source::{EachPiece, SessionSource, SourceError};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

/// A session as it stands in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its number in the store.
    pub number: i64,
    /// True if it is the probe of another session.
    pub probe: bool,
    /// True if it was read from a session file.
    pub imported: bool,
    /// The version of the classifier that derived its messages.
    pub classifier: i64,
    /// The session.
    pub session: Session,
}

/// Something that happened beside the streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When, ns since the session began.
    pub at_ns: i64,
    /// What happened.
    pub what: String,
    /// A number that belongs to it.
    pub value: Option<i64>,
}

/// Reads a store.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
    path: PathBuf,
}

impl Reader {
    /// Opens a store.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when nothing was ever recorded there; else what is wrong with it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = open::for_reading(path)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Self { connection, path: path.into() })
    }

    /// Opens a store to look at it for a moment; nothing is written, and no lock is waited for.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn look(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: open::for_looking(path)?, path: path.into() })
    }

    /// Returns the connection, for the other files of this room.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the store's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands on the sessions, newest first, until told to stop.
    ///
    /// # Errors
    /// What kept them from being read.
    pub fn sessions(&self, mut each: impl FnMut(Stored) -> ControlFlow<()>) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(sql::LIST_SESSIONS)?;
        let mut rows = statement.query([i64::MAX])?;
        while let Some(row) = rows.next()? {
            if each(stored(row)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the newest session that is no probe and that `wanted` accepts.
    ///
    /// # Errors
    /// What kept it from being read.
    pub fn newest(&self, wanted: impl Fn(&Stored) -> bool) -> Result<Option<Stored>, StoreError> {
        let mut found = None;
        self.sessions(|stored| {
            if !stored.probe && wanted(&stored) {
                found = Some(stored);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Returns the session with exactly that id.
    ///
    /// # Errors
    /// What kept it from being read.
    pub fn by_id(&self, uid: &str) -> Result<Option<Stored>, StoreError> {
        let found = self.connection.query_row(sql::SESSION_BY_UID, [uid], |row| Ok(stored(row))).optional()?;
        found.transpose()
    }

    /// Returns the sessions whose id begins so, 20 at most.
    ///
    /// # Errors
    /// What kept them from being read.
    pub fn by_prefix(&self, prefix: &str) -> Result<Vec<Stored>, StoreError> {
        // `{` is the character after `z`, the last letter of ids.
        let end = format!("{prefix}{{");
        let mut statement = self.connection.prepare_cached(sql::SESSIONS_BY_PREFIX)?;
        let mut rows = statement.query([prefix, end.as_str()])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(stored(row)?);
        }
        Ok(found)
    }

    /// Returns the `back`-th newest session of that name, 0 for the newest.
    ///
    /// # Errors
    /// What kept it from being read.
    pub fn by_name(&self, name: &str, back: usize) -> Result<Option<Stored>, StoreError> {
        let back = i64::try_from(back).unwrap_or(i64::MAX);
        let found =
            self.connection.query_row(sql::SESSIONS_BY_NAME, params![name, back], |row| Ok(stored(row))).optional()?;
        found.transpose()
    }

    /// Returns how many sessions have that name.
    ///
    /// # Errors
    /// What kept them from being counted.
    pub fn count_by_name(&self, name: &str) -> Result<u64, StoreError> {
        Ok(self.connection.query_row(sql::COUNT_BY_NAME, [name], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    /// Returns how many newer sessions have the same name.
    ///
    /// # Errors
    /// What kept them from being counted.
    pub fn newer_of_name(&self, name: &str, number: i64) -> Result<u64, StoreError> {
        Ok(self
            .connection
            .query_row(sql::NEWER_OF_NAME, params![name, number], |row| row.get::<_, i64>(0))?
            .unsigned_abs())
    }

    /// Returns every name in use.
    ///
    /// # Errors
    /// What kept them from being read.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql::ALL_NAMES)?;
        let names = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(names)
    }

    /// Returns true if a request of the session has that name: it is a tool, prompt or resource.
    ///
    /// # Errors
    /// What kept it from being read.
    pub fn is_name_in(&self, stored: &Stored, name: &str) -> Result<bool, StoreError> {
        let (from, to) = range(stored.number, 0..u64::MAX);
        Ok(self.connection.query_row(sql::IS_NAME_IN, params![from, to, name], |_| Ok(())).optional()?.is_some())
    }

    /// Returns the last lines of the server's stderr, oldest first.
    ///
    /// # Errors
    /// What kept them from being read.
    pub fn last_stderr(&self, stored: &Stored, lines: u32) -> Result<Vec<Vec<u8>>, StoreError> {
        let (from, to) = range(stored.number, 0..u64::MAX);
        let mut statement = self.connection.prepare_cached(sql::LAST_STDERR)?;
        let mut found: Vec<Vec<u8>> =
            statement.query_map(params![from, to, lines], |row| row.get(0))?.collect::<Result<_, _>>()?;
        found.reverse();
        Ok(found)
    }

    /// Returns what happened beside the streams of a session.
    ///
    /// # Errors
    /// What kept it from being read.
    pub fn events(&self, stored: &Stored) -> Result<Vec<Event>, StoreError> {
        let (from, to) = range(stored.number, 0..u64::MAX);
        let mut statement = self.connection.prepare_cached(sql::EVENTS)?;
        let events = statement
            .query_map([from, to], |row| Ok(Event { at_ns: row.get(0)?, what: row.get(1)?, value: row.get(2)? }))?
            .collect::<Result<_, _>>()?;
        Ok(events)
    }

    /// Returns how many bytes the store takes on the disk, its log included.
    #[must_use]
    pub fn size(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |data| data.len()) + open::log_length(&self.path)
    }

    /// Returns true if a process is recording the session.
    #[must_use]
    pub fn is_live(&self, session: &Session) -> bool {
        session.is_incomplete() && liveness::is_live(&self.path, &session.id)
    }

    /// Returns a session as a source, its messages derived anew if an older classifier made them.
    ///
    /// # Errors
    /// What kept it from being read.
    pub fn source(&self, stored: Stored) -> Result<StoredSource<'_>, StoreError> {
        let live = self.is_live(&stored.session);
        if stored.classifier < crate::session::derive::CLASSIFIER_VERSION && !live {
            super::reindex::session(self, &stored)?;
        }
        Ok(StoredSource { reader: self, stored, live })
    }
}

impl Reader {
    /// Returns a session as a source as it stands, even if an older classifier derived its messages.
    #[must_use]
    pub fn look_at(&self, stored: Stored) -> StoredSource<'_> {
        StoredSource { reader: self, stored, live: false }
    }
}

/// A session of a store, as a source.
#[derive(Debug)]
pub struct StoredSource<'r> {
    reader: &'r Reader,
    stored: Stored,
    live: bool,
}

impl StoredSource<'_> {
    /// Returns the session as it stands in the store.
    #[must_use]
    pub fn stored(&self) -> &Stored {
        &self.stored
    }
}

impl SessionSource for StoredSource<'_> {
    fn session(&self) -> &Session {
        &self.stored.session
    }

    fn is_live(&self) -> bool {
        self.live
    }

    fn messages(
        &self,
        frames: Range<u64>,
        each: &mut dyn FnMut(Message) -> ControlFlow<()>,
    ) -> Result<(), SourceError> {
        let (from, to) = range(self.stored.number, frames);
        let mut statement = self.reader.connection.prepare_cached(sql::MESSAGES).map_err(SourceError::of)?;
        let mut rows = statement.query([from, to]).map_err(SourceError::of)?;
        while let Some(row) = rows.next().map_err(SourceError::of)? {
            if each(message(row).map_err(SourceError::of)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn frames(&self, frames: Range<u64>, longest: u64, each: EachPiece<'_>) -> Result<(), SourceError> {
        self.reader.pieces(self.stored.number, frames, longest, each)
    }

    fn gaps(&self) -> Result<Vec<Gap>, SourceError> {
        let (from, to) = range(self.stored.number, 0..u64::MAX);
        let read = || -> rusqlite::Result<Vec<Gap>> {
            let mut statement = self.reader.connection.prepare_cached(sql::GAPS)?;
            statement
                .query_map([from, to], |row| {
                    Ok(Gap {
                        dir: direction_of(row.get(0)?),
                        ch: channel_of(row.get(1)?),
                        after: row.get::<_, Option<i64>>(2)?.map(i64::unsigned_abs),
                        bytes: row.get::<_, i64>(3)?.unsigned_abs(),
                        lines: row.get::<_, i64>(4)?.unsigned_abs(),
                        reason: row.get(5)?,
                    })
                })?
                .collect()
        };
        read().map_err(SourceError::of)
    }
}

impl Reader {
    /// Hands on the frames of a session, whole or in parts.
    pub(super) fn pieces(
        &self,
        session: i64,
        frames: Range<u64>,
        longest: u64,
        each: EachPiece<'_>,
    ) -> Result<(), SourceError> {
        let whole_session = frames.start == 0 && frames.end > 0xFFFF_FFFF;
        let (from, to) = range(session, frames);
        let mut next = 0;
        let mut used = [0_u64; 3];
        {
            let mut statement = self.connection.prepare_cached(sql::FRAMES).map_err(SourceError::of)?;
            let mut rows = statement.query([from, to]).map_err(SourceError::of)?;
            while let Some(row) = rows.next().map_err(SourceError::of)? {
                let (info, parts_from) = frame_info(row).map_err(SourceError::of)?;
                next = info.seq + 1;
                if info.length > longest {
                    continue;
                }
                if info.parts == 0 {
                    let raw = row.get_ref(11).map_err(SourceError::of)?;
                    each(&info, 0, raw.as_blob().map_err(SourceError::of)?)?;
                    continue;
                }
                let lane = lane_of(&info);
                used[usize::from(lane)] += u64::from(info.parts);
                self.parts(session, lane, parts_from, info.parts, &mut |part, bytes| each(&info, part, bytes))?;
            }
        }
        if whole_session && longest == u64::MAX { self.open_lines(session, next, used, each) } else { Ok(()) }
    }

    fn parts(&self, session: i64, lane: u8, from: i64, count: u32, each: EachPart<'_>) -> Result<(), SourceError> {
        let mut statement = self.connection.prepare_cached(sql::PARTS).map_err(SourceError::of)?;
        let mut rows = statement.query(params![from, key(session + 1, 0), lane, count]).map_err(SourceError::of)?;
        let mut part = 0;
        while let Some(row) = rows.next().map_err(SourceError::of)? {
            let raw = row.get_ref(0).map_err(SourceError::of)?;
            each(part, raw.as_blob().map_err(SourceError::of)?)?;
            part += 1;
        }
        Ok(())
    }

    /// Hands on the parts of long lines that had not ended when the recording was cut off.
    fn open_lines(&self, session: i64, mut next: u64, used: [u64; 3], each: EachPiece<'_>) -> Result<(), SourceError> {
        let (from, to) = range(session, 0..u64::MAX);
        let mut open: [Vec<(i64, u64)>; 3] = Default::default();
        let mut seen = [0_u64; 3];
        {
            let mut statement = self.connection.prepare_cached(sql::ORPHAN_PARTS).map_err(SourceError::of)?;
            let mut rows = statement.query([from, to]).map_err(SourceError::of)?;
            while let Some(row) = rows.next().map_err(SourceError::of)? {
                let lane = row.get::<_, i64>(1).map_err(SourceError::of)?.unsigned_abs() as usize % 3;
                seen[lane] += 1;
                if seen[lane] > used[lane] {
                    let length = row.get::<_, i64>(2).map_err(SourceError::of)?.unsigned_abs();
                    open[lane].push((row.get(0).map_err(SourceError::of)?, length));
                }
            }
        }
        for (lane, parts) in open.iter().enumerate() {
            let Some((first, _)) = parts.first() else { continue };
            let info = FrameInfo {
                seq: next,
                direction: if lane == 0 { Direction::ToServer } else { Direction::ToClient },
                channel: if lane == 2 { Channel::Stderr } else { Channel::Stdio },
                started_ns: None,
                received_ns: 0,
                forwarded_ns: 0,
                length: parts.iter().map(|(_, length)| length).sum(),
                parts: u32::try_from(parts.len()).unwrap_or(u32::MAX),
                redacted: false,
            };
            next += 1;
            self.parts(session, lane as u8, *first, info.parts, &mut |part, bytes| each(&info, part, bytes))?;
        }
        Ok(())
    }
}

/// Takes the parts of one frame: the part's number and its bytes.
type EachPart<'a> = &'a mut dyn FnMut(u32, &[u8]) -> Result<(), SourceError>;

/// Returns the stream that a frame came on.
#[must_use]
pub fn lane_of(info: &FrameInfo) -> u8 {
    match (info.direction, info.channel) {
        (_, Channel::Stderr) => 2,
        (Direction::ToClient, _) => 1,
        (Direction::ToServer, _) => 0,
    }
}

/// Returns the keys of the frames of a session.
pub(super) fn range(session: i64, frames: Range<u64>) -> (i64, i64) {
    let limit = 0xFFFF_FFFF;
    let end = if frames.end > limit { key(session + 1, 0) } else { key(session, frames.end) };
    (key(session, frames.start.min(limit)), end)
}

fn unsigned(value: i64) -> u64 {
    value.unsigned_abs()
}

fn frame_info(row: &Row<'_>) -> rusqlite::Result<(FrameInfo, i64)> {
    let parts = row.get::<_, Option<i64>>(9)?.unwrap_or(0);
    let length = match row.get::<_, Option<i64>>(7)? {
        Some(length) => unsigned(length),
        None => row.get_ref(11)?.as_blob().map_or(0, <[u8]>::len) as u64,
    };
    let info = FrameInfo {
        seq: number(row.get(0)?),
        direction: direction_of(row.get(1)?),
        channel: channel_of(row.get(2)?),
        started_ns: row.get(3)?,
        received_ns: row.get(4)?,
        forwarded_ns: row.get(5)?,
        redacted: row.get(6)?,
        length,
        parts: u32::try_from(parts).unwrap_or(0),
    };
    Ok((info, row.get::<_, Option<i64>>(8)?.unwrap_or(0)))
}

fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let place = |seq: usize, index: usize| -> rusqlite::Result<Option<Place>> {
        let Some(seq) = row.get::<_, Option<i64>>(seq)? else { return Ok(None) };
        Ok(Some(Place { seq: number(seq), index: row.get::<_, Option<u32>>(index)?.unwrap_or(0) }))
    };
    let received_ns: i64 = row.get(9)?;
    let answer = match (place(18, 19)?, row.get::<_, Option<i64>>(20)?) {
        (Some(place), Some(received_ns)) => {
            Some(Answer { place, received_ns, forwarded_ns: received_ns + row.get::<_, Option<i64>>(21)?.unwrap_or(0) })
        }
        _ => None,
    };
    Ok(Message {
        place: Place { seq: number(row.get(0)?), index: row.get(1)? },
        direction: direction_of(row.get(2)?),
        channel: channel_of(row.get(3)?),
        kind: kind_of(row.get(4)?),
        method: row.get(5)?,
        name: row.get(6)?,
        rpc_id: row.get(7)?,
        revision: row.get(8)?,
        received_ns,
        forwarded_ns: received_ns + row.get::<_, i64>(10)?,
        offset: unsigned(row.get(11)?),
        length: unsigned(row.get(12)?),
        outcome: row.get::<_, Option<i64>>(13)?.and_then(outcome_of),
        answers: place(14, 15)?,
        concerns: place(16, 17)?,
        answer,
        error_code: row.get(22)?,
        gave_up_ns: row.get(23)?,
        first_seq: row.get::<_, Option<i64>>(24)?.map(unsigned),
        flaws: row.get::<_, Option<String>>(25)?.unwrap_or_default(),
    })
}

/// Reads a session's row.
pub(super) fn stored(row: &Row<'_>) -> Result<Stored, StoreError> {
    let json = |at: usize| -> Result<Option<String>, StoreError> { Ok(row.get::<_, Option<String>>(at)?) };
    let list = |at: usize| -> Result<Vec<String>, StoreError> { from_json(&json(at)?.unwrap_or_else(|| "[]".into())) };
    let origin: String = row.get(4)?;
    let count = |at: usize| -> Result<u64, StoreError> { Ok(unsigned(row.get(at)?)) };
    Ok(Stored {
        number: row.get(0)?,
        probe: row.get(6)?,
        classifier: row.get(24)?,
        imported: row.get(25)?,
        session: Session {
            id: row.get(1)?,
            name: row.get(2)?,
            named: row.get(3)?,
            origin: Origin::from_name(&origin).unwrap_or(Origin::Record),
            parent: row.get(5)?,
            transport: row.get(7)?,
            launch: from_json(&row.get::<_, String>(8)?)?,
            revisions: list(9)?,
            client: json(10)?.map(|text| from_json(&text)).transpose()?,
            server: json(11)?.map(|text| from_json(&text)).transpose()?,
            started_at_ns: row.get(12)?,
            ended_ns: row.get(13)?,
            end_reason: row.get(14)?,
            exit_status: json(15)?.map(|text| from_json(&text)).transpose()?,
            frames: count(16)?,
            bytes: count(17)?,
            messages: count(18)?,
            calls: count(19)?,
            bad: count(20)?,
            lost_frames: count(21)?,
            redaction: list(22)?,
            masks: from_json(&row.get::<_, String>(26)?)?,
            tap_version: row.get(23)?,
        },
    })
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| StoreError::Row(e.to_string()))
}
