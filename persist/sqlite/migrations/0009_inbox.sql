-- Inboxes: what arrived for a thread, the digests and entries that were made of
-- it, and where more comes from. Payloads are in the events alone. A table's
-- first UNIQUE is the one by which its rows are looked up.

ALTER TABLE threads ADD COLUMN held  INTEGER NOT NULL DEFAULT 0; -- 1: nothing wakes it
ALTER TABLE turns   ADD COLUMN chain INTEGER NOT NULL DEFAULT 0; -- wakes that caused each other before it
ALTER TABLE turns   ADD COLUMN wake  INTEGER NOT NULL DEFAULT 0; -- 1: new entries of the inbox have started it
ALTER TABLE turns   ADD COLUMN interrupted_by TEXT NOT NULL DEFAULT ''; -- client or server

CREATE TABLE inboxes (
    thread_id       TEXT    NOT NULL PRIMARY KEY,
    due_at          INTEGER, -- the lesser of flush_at and timer_at; NULL = it has nothing to do by itself
    has_new         INTEGER NOT NULL,
    pending_items   INTEGER NOT NULL,
    unacked_items   INTEGER NOT NULL,
    unacked_bytes   INTEGER NOT NULL,
    unacked_entries INTEGER NOT NULL,
    new_entries     INTEGER NOT NULL,
    flush_at        INTEGER NOT NULL,
    timer_at        INTEGER NOT NULL,
    acked_at        INTEGER, -- of the oldest acknowledged item that is kept; NULL = none
    expired         INTEGER NOT NULL,
    silent          INTEGER NOT NULL,
    wake_at         INTEGER NOT NULL,
    stalled         TEXT    NOT NULL,
    told_turn       TEXT    NOT NULL,
    untold          INTEGER NOT NULL,
    timers          INTEGER NOT NULL,
    updated_seq     INTEGER NOT NULL,
    policy          BLOB    NOT NULL, -- JSON of inbox.Policy
    wakes           BLOB, -- JSON of times
    lagged          BLOB, -- JSON of counts by source
    lifted          INTEGER NOT NULL
) STRICT;
CREATE INDEX inboxes_due ON inboxes (due_at);
CREATE INDEX inboxes_acked ON inboxes (acked_at);
CREATE INDEX inboxes_new ON inboxes (thread_id) WHERE has_new = 1;

CREATE TABLE inbox_items (
    created_seq INTEGER PRIMARY KEY,
    thread_id   TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    native_id   TEXT    NOT NULL,
    digest      INTEGER NOT NULL, -- 0 = not grouped
    occurred_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    sender      TEXT    NOT NULL,
    size        INTEGER NOT NULL,
    acked_seq   INTEGER NOT NULL, -- 0 = not acknowledged
    acked_at    INTEGER NOT NULL,
    told        INTEGER NOT NULL,
    expired     INTEGER NOT NULL, -- 1: only its identity is remembered
    chain       INTEGER NOT NULL,
    UNIQUE (thread_id, source, native_id)
) STRICT;
CREATE INDEX inbox_items_digest ON inbox_items (digest, created_seq);
CREATE INDEX inbox_items_unacked ON inbox_items (created_seq) WHERE acked_seq = 0;
CREATE INDEX inbox_items_thread ON inbox_items (thread_id, created_seq);

CREATE TABLE inbox_digests (
    created_seq  INTEGER PRIMARY KEY, -- of its first item
    thread_id    TEXT    NOT NULL,
    source       TEXT    NOT NULL,
    resource_ref TEXT    NOT NULL,
    event_family TEXT    NOT NULL,
    open         INTEGER NOT NULL,
    waiting      INTEGER NOT NULL, -- 1: something is pending
    revision     INTEGER NOT NULL,
    newest       INTEGER NOT NULL, -- seq of its newest snapshot
    pending      INTEGER NOT NULL,
    unacked      INTEGER NOT NULL,
    fresh        INTEGER NOT NULL,
    opened_at    INTEGER NOT NULL,
    pending_at   INTEGER NOT NULL,
    flush_at     INTEGER NOT NULL,
    last_raw     INTEGER NOT NULL,
    first_at     INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    senders      BLOB, -- JSON of names
    last_summary TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX inbox_digests_open ON inbox_digests (thread_id, source, resource_ref, event_family) WHERE open = 1;
CREATE INDEX inbox_digests_flush ON inbox_digests (thread_id, flush_at) WHERE waiting = 1;
CREATE INDEX inbox_digests_thread ON inbox_digests (thread_id, created_seq);

CREATE TABLE inbox_entries (
    created_seq     INTEGER PRIMARY KEY,
    thread_id       TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    digest          INTEGER NOT NULL, -- 0 = one item without a digest
    revision        INTEGER NOT NULL,
    source          TEXT    NOT NULL,
    resource_ref    TEXT    NOT NULL,
    event_family    TEXT    NOT NULL,
    summary         TEXT    NOT NULL,
    count           INTEGER NOT NULL,
    last_raw        INTEGER NOT NULL,
    first_at        INTEGER NOT NULL,
    last_at         INTEGER NOT NULL,
    posted_at       INTEGER NOT NULL,
    told_by_turn_id TEXT    NOT NULL,
    acked_at        INTEGER NOT NULL,
    superseded_by   INTEGER NOT NULL,
    unacked         INTEGER NOT NULL,
    fresh           INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_entries_thread ON inbox_entries (thread_id, created_seq);
CREATE INDEX inbox_entries_open ON inbox_entries (thread_id, created_seq) WHERE acked_at = 0;
CREATE INDEX inbox_entries_new ON inbox_entries (thread_id, created_seq) WHERE fresh = 1;
CREATE INDEX inbox_entries_digest ON inbox_entries (digest, created_seq) WHERE acked_at = 0;
CREATE INDEX inbox_entries_told ON inbox_entries (told_by_turn_id, created_seq) WHERE acked_at = 0;

CREATE TABLE inbox_subscriptions (
    created_seq     INTEGER PRIMARY KEY,
    thread_id       TEXT    NOT NULL,
    subscription_id TEXT    NOT NULL,
    source          TEXT    NOT NULL,
    filter          TEXT    NOT NULL,
    thread_ids      BLOB    NOT NULL, -- JSON
    methods         BLOB    NOT NULL, -- JSON
    created_at      INTEGER NOT NULL,
    UNIQUE (thread_id, subscription_id)
) STRICT;
CREATE INDEX inbox_subscriptions_source ON inbox_subscriptions (source, created_seq);

CREATE TABLE inbox_timers (
    created_seq   INTEGER PRIMARY KEY,
    thread_id     TEXT    NOT NULL,
    timer_id      TEXT    NOT NULL,
    at            INTEGER NOT NULL,
    every_seconds INTEGER NOT NULL,
    cron          TEXT    NOT NULL,
    timezone      TEXT    NOT NULL,
    text          TEXT    NOT NULL,
    next_at       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    last_fired_at INTEGER NOT NULL,
    UNIQUE (thread_id, timer_id)
) STRICT;
CREATE INDEX inbox_timers_next ON inbox_timers (thread_id, next_at);
CREATE INDEX inbox_timers_thread ON inbox_timers (thread_id, created_seq);
