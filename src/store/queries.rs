//! Every statement of the store.
//!
//! A test asks SQLite for the plan of each one in [`ALL`] and refuses a scan of the large tables.

/// The columns of a session, in the order that the reader takes them.
macro_rules! session_columns {
    () => {
        "id, uid, name, named, origin, parent, probe, transport, upstream, revisions, client, server, started_at, ended, \
         end_reason, exit_status, frames, bytes, messages, calls, bad, lost_frames, redaction, tap_version, classifier, imported, masks"
    };
}

/// The columns of a message, with words in place of their numbers.
macro_rules! message_columns {
    () => {
        "m.frame, m.idx, m.direction, m.channel, m.kind, method.text, name.text, m.rpc_id, revision.text, m.received, \
         m.delay, m.start, m.length, m.outcome, m.answers, m.answers_idx, m.concerns, m.concerns_idx, m.answer, \
         m.answer_idx, m.answer_received, m.answer_delay, m.error_code, m.gave_up, m.first_seq, m.flaws \
         FROM messages m LEFT JOIN words method ON method.id = m.method LEFT JOIN words name ON name.id = m.name \
         LEFT JOIN words revision ON revision.id = m.revision"
    };
}

pub(super) const INSERT_SESSION: &str = "INSERT INTO sessions (uid, name, named, origin, parent, transport, upstream, launch_key, \
    started_at, redaction, tap_version, classifier, imported, deleting, masks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14)";
pub(super) const UPDATE_SESSION: &str = "UPDATE sessions SET name = CASE named WHEN 1 THEN name ELSE ?2 END, revisions = ?3, client = ?4, server = ?5, frames = ?6, \
    bytes = ?7, messages = ?8, calls = ?9, bad = ?10, lost_frames = ?11 WHERE id = ?1";
pub(super) const END_SESSION: &str = "UPDATE sessions SET ended = ?2, end_reason = ?3, exit_status = ?4 WHERE id = ?1";
pub(super) const INSERT_WORD: &str = "INSERT INTO words (text) VALUES (?1) ON CONFLICT (text) DO NOTHING";
pub(super) const FIND_WORD: &str = "SELECT id FROM words WHERE text = ?1";
pub(super) const INSERT_FRAME: &str = "INSERT INTO frames (id, direction, channel, started, received, forwarded, redacted, length, \
    parts_from, parts, raw) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
pub(super) const INSERT_PART: &str = "INSERT INTO frame_parts (id, lane, raw) VALUES (?1, ?2, ?3)";
pub(super) const INSERT_MESSAGE: &str = "INSERT INTO messages (frame, idx, direction, channel, kind, method, name, rpc_id, revision, \
    received, delay, start, length, outcome, answers, answers_idx, concerns, concerns_idx, answer, answer_idx, \
    answer_received, answer_delay, error_code, gave_up, first_seq, flaws) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)";
pub(super) const ANSWER_MESSAGE: &str = "UPDATE messages SET answer = ?3, answer_idx = ?4, answer_received = ?5, answer_delay = ?6, \
    outcome = ?7, error_code = ?8 WHERE frame = ?1 AND idx = ?2";
pub(super) const GIVE_UP_MESSAGE: &str = "UPDATE messages SET outcome = 4, gave_up = ?3 WHERE frame = ?1 AND idx = ?2";
pub(super) const INSERT_GAP: &str =
    "INSERT INTO gaps (id, direction, channel, after_seq, bytes, lines, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
pub(super) const INSERT_EVENT: &str = "INSERT INTO events (id, at, what, value) VALUES (?1, ?2, ?3, ?4)";
pub(super) const RECENT_LAUNCHES: &str = "SELECT id, uid FROM (SELECT id, uid, launch_key, started_at, messages FROM sessions \
    WHERE id < ?1 ORDER BY id DESC LIMIT 64) WHERE launch_key = ?2 AND started_at >= ?3 AND messages >= 2";
pub(super) const HAS_OTHER_THAN_DISCOVER: &str = "SELECT 1 FROM messages m LEFT JOIN words w ON w.id = m.method \
    WHERE m.frame >= ?1 AND m.frame < ?2 AND m.kind = 0 AND w.text IS NOT 'server/discover' LIMIT 1";
pub(super) const MARK_PROBE: &str = "UPDATE sessions SET probe = 1, parent = ?2 WHERE id = ?1";

pub(super) const LIST_SESSIONS: &str =
    concat!("SELECT ", session_columns!(), " FROM sessions WHERE deleting = 0 AND id < ?1 ORDER BY id DESC");
pub(super) const SESSION_BY_ID: &str = concat!("SELECT ", session_columns!(), " FROM sessions WHERE id = ?1");
pub(super) const SESSION_BY_UID: &str =
    concat!("SELECT ", session_columns!(), " FROM sessions WHERE uid = ?1 AND deleting = 0");
pub(super) const SESSIONS_BY_PREFIX: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM sessions WHERE uid >= ?1 AND uid < ?2 AND deleting = 0 ORDER BY uid LIMIT 20"
);
pub(super) const SESSIONS_BY_NAME: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM sessions WHERE name = ?1 AND deleting = 0 AND probe = 0 ORDER BY id DESC LIMIT 1 OFFSET ?2"
);
pub(super) const COUNT_BY_NAME: &str = "SELECT count(*) FROM sessions WHERE name = ?1 AND deleting = 0 AND probe = 0";
pub(super) const NEWER_OF_NAME: &str =
    "SELECT count(*) FROM sessions WHERE name = ?1 AND id > ?2 AND deleting = 0 AND probe = 0";
pub(super) const MESSAGES: &str =
    concat!("SELECT ", message_columns!(), " WHERE m.frame >= ?1 AND m.frame < ?2 ORDER BY m.frame, m.idx");
pub(super) const FRAMES: &str = "SELECT id, direction, channel, started, received, forwarded, redacted, length, parts_from, parts, \
    encoding, raw FROM frames WHERE id >= ?1 AND id < ?2 ORDER BY id";
pub(super) const PARTS: &str =
    "SELECT raw FROM frame_parts WHERE id >= ?1 AND id < ?2 AND lane = ?3 ORDER BY id LIMIT ?4";
pub(super) const ORPHAN_PARTS: &str =
    "SELECT id, lane, length(raw) FROM frame_parts WHERE id >= ?1 AND id < ?2 ORDER BY id";
pub(super) const FRAMES_IN_PARTS: &str = "SELECT direction, channel, parts_from, parts FROM frames WHERE id >= ?1 AND id < ?2 AND parts_from IS NOT NULL ORDER BY id";
pub(super) const GAPS: &str =
    "SELECT direction, channel, after_seq, bytes, lines, reason FROM gaps WHERE id >= ?1 AND id < ?2 ORDER BY id";
pub(super) const EVENTS: &str = "SELECT at, what, value FROM events WHERE id >= ?1 AND id < ?2 ORDER BY id";
pub(super) const IS_NAME_IN: &str = "SELECT 1 FROM messages m JOIN words w ON w.id = m.name \
    WHERE m.frame >= ?1 AND m.frame < ?2 AND w.text = ?3 LIMIT 1";
pub(super) const LAST_STDERR: &str =
    "SELECT raw FROM frames WHERE id >= ?1 AND id < ?2 AND channel = 1 AND raw IS NOT NULL ORDER BY id DESC LIMIT ?3";
pub(super) const ALL_NAMES: &str = "SELECT DISTINCT name FROM sessions WHERE name IS NOT NULL AND deleting = 0";

pub(super) const RENAME: &str = "UPDATE sessions SET name = ?2, named = 1 WHERE id = ?1";
pub(super) const MARK_DELETING: &str = "UPDATE sessions SET deleting = 1 WHERE id = ?1";
pub(super) const DELETE_FRAMES: &str =
    "DELETE FROM frames WHERE id IN (SELECT id FROM frames WHERE id >= ?1 AND id < ?2 LIMIT ?3)";
pub(super) const DELETE_PARTS: &str =
    "DELETE FROM frame_parts WHERE id IN (SELECT id FROM frame_parts WHERE id >= ?1 AND id < ?2 LIMIT ?3)";
pub(super) const DELETE_MESSAGES: &str = "DELETE FROM messages WHERE frame >= ?1 AND frame < ?2";
pub(super) const DELETE_SOME_MESSAGES: &str = "DELETE FROM messages WHERE (frame, idx) IN \
    (SELECT frame, idx FROM messages WHERE frame >= ?1 AND frame < ?2 LIMIT ?3)";
pub(super) const DELETE_GAPS: &str = "DELETE FROM gaps WHERE id >= ?1 AND id < ?2";
pub(super) const DELETE_EVENTS: &str = "DELETE FROM events WHERE id >= ?1 AND id < ?2";
pub(super) const DELETE_HTTP: &str = "DELETE FROM http_requests WHERE id >= ?1 AND id < ?2";
pub(super) const DELETE_SESSION: &str = "DELETE FROM sessions WHERE id = ?1";
pub(super) const SET_CLASSIFIER: &str = "UPDATE sessions SET classifier = ?2 WHERE id = ?1";
pub(super) const RETENTION: &str = "SELECT id, uid, name, named, started_at, ended IS NOT NULL, bytes, imported FROM sessions \
    WHERE deleting = 0 ORDER BY id DESC";
pub(super) const OLDEST: &str =
    "SELECT started_at FROM sessions WHERE deleting = 0 AND imported = 0 ORDER BY id LIMIT 1";
pub(super) const DELETING: &str = "SELECT id, uid FROM sessions WHERE deleting = 1";
pub(super) const FINISH_IMPORT: &str = "UPDATE sessions SET deleting = 0 WHERE id = ?1";

/// Every statement by its name.
pub const ALL: [(&str, &str); 47] = [
    ("insert session", INSERT_SESSION),
    ("update session", UPDATE_SESSION),
    ("end session", END_SESSION),
    ("insert word", INSERT_WORD),
    ("find word", FIND_WORD),
    ("insert frame", INSERT_FRAME),
    ("insert part", INSERT_PART),
    ("insert message", INSERT_MESSAGE),
    ("answer message", ANSWER_MESSAGE),
    ("give up message", GIVE_UP_MESSAGE),
    ("insert gap", INSERT_GAP),
    ("insert event", INSERT_EVENT),
    ("recent launches", RECENT_LAUNCHES),
    ("has other than discover", HAS_OTHER_THAN_DISCOVER),
    ("mark probe", MARK_PROBE),
    ("list sessions", LIST_SESSIONS),
    ("session by id", SESSION_BY_ID),
    ("session by uid", SESSION_BY_UID),
    ("sessions by prefix", SESSIONS_BY_PREFIX),
    ("sessions by name", SESSIONS_BY_NAME),
    ("count by name", COUNT_BY_NAME),
    ("newer of name", NEWER_OF_NAME),
    ("messages", MESSAGES),
    ("frames", FRAMES),
    ("parts", PARTS),
    ("orphan parts", ORPHAN_PARTS),
    ("frames in parts", FRAMES_IN_PARTS),
    ("gaps", GAPS),
    ("events", EVENTS),
    ("is name in", IS_NAME_IN),
    ("last stderr", LAST_STDERR),
    ("all names", ALL_NAMES),
    ("rename", RENAME),
    ("mark deleting", MARK_DELETING),
    ("delete frames", DELETE_FRAMES),
    ("delete parts", DELETE_PARTS),
    ("delete messages", DELETE_MESSAGES),
    ("delete some messages", DELETE_SOME_MESSAGES),
    ("delete gaps", DELETE_GAPS),
    ("delete events", DELETE_EVENTS),
    ("delete http", DELETE_HTTP),
    ("delete session", DELETE_SESSION),
    ("set classifier", SET_CLASSIFIER),
    ("retention", RETENTION),
    ("oldest", OLDEST),
    ("deleting", DELETING),
    ("finish import", FINISH_IMPORT),
];
