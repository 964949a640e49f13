-- How far the durable readers of the log have come. The row without a name is
-- that of their dispatcher: it counts for all followers that are not behind.
CREATE TABLE followers (
    name     TEXT    NOT NULL UNIQUE,
    log_id   TEXT    NOT NULL, -- of the log that the row was written in
    position INTEGER NOT NULL, -- moved by the follower, with its own rows
    scanned  INTEGER NOT NULL, -- moved by the dispatcher, now and then
    behind   INTEGER NOT NULL  -- 1: what the dispatcher has scanned does not count
) STRICT;
