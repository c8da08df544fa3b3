-- What is volatile in a session, as its file says: a JSON list of masks.

ALTER TABLE sessions ADD COLUMN masks TEXT NOT NULL DEFAULT '[]';

-- What an HTTP exchange tells besides its heads: the connection it came on, how it ended, and, as one JSON object,
-- compressed bodies as they were on the wire, trailers, and what was rewritten.

ALTER TABLE http_requests ADD COLUMN connection INTEGER;
ALTER TABLE http_requests ADD COLUMN ending TEXT;
ALTER TABLE http_requests ADD COLUMN more TEXT;
