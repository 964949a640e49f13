-- The log and the rows that are folded from it. Rows are keyed by the seq of
-- their first event: they are listed in that order, new ones go to the end of
-- the table, and every other index carries that order with it.

CREATE TABLE meta (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    log_id    TEXT    NOT NULL,
    first_seq INTEGER NOT NULL,
    runtime   BLOB    NOT NULL, -- JSON of turns.Runtime
    probed_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    thread_seq INTEGER NOT NULL, -- 0 for events of the whole log
    thread_id  TEXT,
    item_id    TEXT,
    method     TEXT    NOT NULL,
    time       INTEGER NOT NULL, -- milliseconds since 1970
    params     BLOB    NOT NULL  -- as sent, never encoded again
) STRICT;
CREATE INDEX events_thread ON events (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX events_delta ON events (item_id) WHERE method = 'item/delta';

CREATE TABLE threads (
    created_seq       INTEGER PRIMARY KEY,
    thread_id         TEXT    NOT NULL UNIQUE,
    state             TEXT    NOT NULL,
    agent             TEXT    NOT NULL,
    title             TEXT    NOT NULL,
    cwd               TEXT    NOT NULL,
    metadata          BLOB,
    config            BLOB,
    agent_session_id  TEXT    NOT NULL,
    parent_thread_id  TEXT    NOT NULL,
    parent_turn_id    TEXT    NOT NULL,
    reason            TEXT    NOT NULL,
    started_at        INTEGER NOT NULL,
    closed_at         INTEGER NOT NULL,
    updated_seq       INTEGER NOT NULL,
    latest_seq        INTEGER NOT NULL,
    latest_thread_seq INTEGER NOT NULL
) STRICT;
CREATE INDEX threads_state ON threads (state);

CREATE TABLE turns (
    created_seq      INTEGER PRIMARY KEY,
    turn_id          TEXT    NOT NULL UNIQUE,
    thread_id        TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    attempt          INTEGER NOT NULL,
    rank             INTEGER NOT NULL,
    progress         TEXT    NOT NULL,
    progress_message TEXT    NOT NULL,
    origin           TEXT    NOT NULL,
    message          TEXT    NOT NULL,
    reason           TEXT    NOT NULL,
    stop_reason      TEXT    NOT NULL,
    error            BLOB,
    usage            BLOB,
    undelivered      BLOB,
    metadata         BLOB,
    parent_thread_id TEXT    NOT NULL,
    parent_turn_id   TEXT    NOT NULL,
    timeout_seconds  REAL    NOT NULL,
    queued_at        INTEGER NOT NULL,
    started_at       INTEGER NOT NULL,
    completed_at     INTEGER NOT NULL,
    updated_seq      INTEGER NOT NULL
) STRICT;
CREATE INDEX turns_thread ON turns (thread_id);
CREATE INDEX turns_state ON turns (state);
CREATE INDEX turns_unfinished ON turns (thread_id) WHERE state IN ('queued', 'active');

CREATE TABLE items (
    created_seq INTEGER PRIMARY KEY,
    item_id     TEXT    NOT NULL UNIQUE,
    thread_id   TEXT    NOT NULL,
    turn_id     TEXT    NOT NULL, -- '' outside any turn
    attempt     INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    truncated   INTEGER NOT NULL,
    total_bytes INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    updated_seq INTEGER NOT NULL,
    content     BLOB    NOT NULL  -- last: what is only searched is never read
) STRICT;
-- Also for the items of a turn, which lie close together among its thread's:
-- an index of their own would double the pages that busy threads dirty.
CREATE INDEX items_thread ON items (thread_id, created_seq, turn_id);
CREATE INDEX items_open ON items (turn_id) WHERE status IN ('pending', 'in_progress');
CREATE INDEX items_pending ON items (created_seq) WHERE status = 'pending';

CREATE TABLE idempotency (
    id         INTEGER PRIMARY KEY, -- in the order of use: the oldest are trimmed
    key        TEXT    NOT NULL UNIQUE,
    method     TEXT    NOT NULL,
    hash       BLOB    NOT NULL,
    result     BLOB,
    seq        INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
