-- Credentials with a name. A row is never deleted: its name is not used again.
CREATE TABLE tokens (
    created_seq INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    role        TEXT    NOT NULL,
    thread_ids  BLOB    NOT NULL, -- JSON; those below them are covered too; null = all threads
    hash        BLOB    NOT NULL, -- SHA-256 of the text, which is nowhere
    log_id      TEXT    NOT NULL, -- of the log in which it was made: after a restore it opens nothing
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL, -- 0 = never
    revoked_at  INTEGER NOT NULL  -- 0 = not
) STRICT;

ALTER TABLE turns ADD COLUMN requested_by TEXT NOT NULL DEFAULT ''; -- the named token that asked for it; '' = another client
