-- What is volatile in a session, as its file says: a JSON list of masks.

ALTER TABLE sessions ADD COLUMN masks TEXT NOT NULL DEFAULT '[]';
