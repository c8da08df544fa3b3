-- The first layout. Append a new file for a change; never edit this one once it is released.
--
-- Rows of a session are keyed by one integer, session << 32 | number: no second index, and a session is a range.
-- Times are ns: started_at since 1970 UTC, all others since the session began.

CREATE TABLE sessions (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  uid           TEXT NOT NULL UNIQUE,
  name          TEXT,
  named         INTEGER NOT NULL DEFAULT 0,
  origin        TEXT NOT NULL,
  parent        TEXT,
  probe         INTEGER NOT NULL DEFAULT 0,
  transport     TEXT NOT NULL,
  upstream      TEXT NOT NULL,
  launch_key    TEXT,
  revisions     TEXT NOT NULL DEFAULT '[]',
  client        TEXT,
  server        TEXT,
  started_at    INTEGER NOT NULL,
  ended         INTEGER,
  end_reason    TEXT,
  exit_status   TEXT,
  frames        INTEGER NOT NULL DEFAULT 0,
  bytes         INTEGER NOT NULL DEFAULT 0,
  messages      INTEGER NOT NULL DEFAULT 0,
  calls         INTEGER NOT NULL DEFAULT 0,
  bad           INTEGER NOT NULL DEFAULT 0,
  lost_frames   INTEGER NOT NULL DEFAULT 0,
  redaction     TEXT NOT NULL DEFAULT '[]',
  tap_version   TEXT NOT NULL,
  classifier    INTEGER NOT NULL,
  imported      INTEGER NOT NULL DEFAULT 0,
  deleting      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sessions_by_name ON sessions (name, id);

-- Method and tool names, revisions and the like, once each.
CREATE TABLE words (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE http_requests (
  id             INTEGER PRIMARY KEY,
  verb           TEXT NOT NULL,
  path           TEXT NOT NULL,
  request_heads  TEXT NOT NULL,
  status         INTEGER,
  response_heads TEXT,
  mcp_session_id TEXT,
  started        INTEGER NOT NULL,
  answered       INTEGER,
  ended          INTEGER
) STRICT;

-- Evidence. direction: 0 to_server, 1 to_client; channel: 0 stdio, 1 stderr, 2 http_body, 3 sse.
-- encoding 0 = plain. raw is NULL where the frame is stored in parts.
CREATE TABLE frames (
  id          INTEGER PRIMARY KEY,
  direction   INTEGER NOT NULL,
  channel     INTEGER NOT NULL,
  http        INTEGER,
  started     INTEGER,
  received    INTEGER NOT NULL,
  forwarded   INTEGER NOT NULL,
  redacted    INTEGER NOT NULL DEFAULT 0,
  encoding    INTEGER NOT NULL DEFAULT 0,
  length      INTEGER,
  parts_from  INTEGER,
  parts       INTEGER,
  raw         BLOB
) STRICT;

-- lane is the stream a part came on (0 stdin, 1 stdout, 2 stderr): one long frame at a time on each.
CREATE TABLE frame_parts (
  id   INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  raw  BLOB NOT NULL
) STRICT;

CREATE TABLE gaps (
  id         INTEGER PRIMARY KEY,
  direction  INTEGER NOT NULL,
  channel    INTEGER NOT NULL,
  after_seq  INTEGER,
  bytes      INTEGER NOT NULL,
  lines      INTEGER NOT NULL,
  reason     TEXT NOT NULL
) STRICT;

-- What happened beside the streams: slow or failed writes, ends, signals.
CREATE TABLE events (
  id     INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  what   TEXT NOT NULL,
  value  INTEGER
) STRICT;

-- Derived from frames; kind: 0 request, 1 notification, 2 result, 3 error, 4 blank, 5 stray, 6 invalid.
-- outcome: 0 ok, 1 tool_error, 2 input_required, 3 rpc_error, 4 gave_up. answer_* stand on a request's own row.
CREATE TABLE messages (
  frame            INTEGER NOT NULL,
  idx              INTEGER NOT NULL,
  direction        INTEGER NOT NULL,
  channel          INTEGER NOT NULL,
  kind             INTEGER NOT NULL,
  method           INTEGER,
  name             INTEGER,
  rpc_id           TEXT,
  revision         INTEGER,
  received         INTEGER NOT NULL,
  delay            INTEGER NOT NULL,
  start            INTEGER NOT NULL,
  length           INTEGER NOT NULL,
  outcome          INTEGER,
  answers          INTEGER,
  answers_idx      INTEGER,
  concerns         INTEGER,
  concerns_idx     INTEGER,
  answer           INTEGER,
  answer_idx       INTEGER,
  answer_received  INTEGER,
  answer_delay     INTEGER,
  error_code       INTEGER,
  gave_up          INTEGER,
  first_seq        INTEGER,
  flaws            TEXT,
  PRIMARY KEY (frame, idx)
) STRICT, WITHOUT ROWID;

CREATE VIEW session_frames AS
  SELECT s.uid AS session, f.id & 4294967295 AS seq,
         CASE f.direction WHEN 0 THEN 'to_server' ELSE 'to_client' END AS dir,
         CASE f.channel WHEN 0 THEN 'stdio' WHEN 1 THEN 'stderr' WHEN 2 THEN 'http_body' ELSE 'sse' END AS channel,
         f.received AS received_ns, f.forwarded AS forwarded_ns, f.raw
  FROM frames f JOIN sessions s ON s.id = f.id >> 32;

CREATE VIEW exchanges AS
  SELECT s.uid AS session, m.frame & 4294967295 AS seq, m.idx,
         method.text AS method, name.text AS name,
         CASE m.outcome WHEN 0 THEN 'ok' WHEN 1 THEN 'tool_error' WHEN 2 THEN 'input_required'
                        WHEN 3 THEN 'rpc_error' WHEN 4 THEN 'gave_up' END AS outcome,
         m.answer AS answer_seq,
         m.answer_received - (m.received + m.delay) AS peer_ns,
         m.answer_received + m.answer_delay - m.received AS total_ns,
         m.delay + m.answer_delay AS overhead_ns
  FROM messages m JOIN sessions s ON s.id = m.frame >> 32
  LEFT JOIN words method ON method.id = m.method LEFT JOIN words name ON name.id = m.name
  WHERE m.kind = 0;

-- Evidence is never changed: frames may be re-encoded (raw and encoding only), and deleted with a session marked for it.
CREATE TRIGGER frames_are_evidence BEFORE UPDATE ON frames
WHEN NEW.id IS NOT OLD.id OR NEW.direction IS NOT OLD.direction OR NEW.channel IS NOT OLD.channel OR NEW.http IS NOT OLD.http
  OR NEW.started IS NOT OLD.started OR NEW.received IS NOT OLD.received OR NEW.forwarded IS NOT OLD.forwarded
  OR NEW.redacted IS NOT OLD.redacted OR NEW.parts_from IS NOT OLD.parts_from OR NEW.parts IS NOT OLD.parts
  OR NEW.encoding IS OLD.encoding
BEGIN SELECT RAISE(ABORT, 'frames are evidence and are not changed'); END;

CREATE TRIGGER frames_go_with_their_session BEFORE DELETE ON frames
WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE id = OLD.id >> 32 AND deleting = 1)
BEGIN SELECT RAISE(ABORT, 'frames are deleted with their session only'); END;

CREATE TRIGGER parts_are_evidence BEFORE UPDATE ON frame_parts
BEGIN SELECT RAISE(ABORT, 'frames are evidence and are not changed'); END;

CREATE TRIGGER parts_go_with_their_session BEFORE DELETE ON frame_parts
WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE id = OLD.id >> 32 AND deleting = 1)
BEGIN SELECT RAISE(ABORT, 'frames are deleted with their session only'); END;
