-- What a server of schema 15 left when it was killed: a named token for all threads, one for the thread
-- main until 2026-12-23, and one that was revoked.
CREATE TABLE meta (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    log_id    TEXT    NOT NULL,
    first_seq INTEGER NOT NULL,
    runtime   BLOB    NOT NULL, -- JSON of turns.Runtime
    probed_at INTEGER NOT NULL DEFAULT 0
, secret BLOB) STRICT;
INSERT INTO meta VALUES(1,'log_01a2091c-331a-7de8-adc1-18ef77431e80',1,X'7b7d',0,X'fdd0d95738d85dc2d924e598b6b1242d85c6b9f1e8bd987069a24e9399ad84dd');
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    thread_seq INTEGER NOT NULL, -- 0 for events of the whole log
    thread_id  TEXT,
    item_id    TEXT,
    method     TEXT    NOT NULL,
    time       INTEGER NOT NULL, -- milliseconds since 1970
    params     BLOB    NOT NULL  -- as sent, never encoded again
, span INTEGER) STRICT;
INSERT INTO events VALUES(1,1,'main',NULL,'thread/started',1795449173008,X'7b22736571223a312c227468726561645f736571223a312c227468726561645f6964223a226d61696e222c2274696d657374616d70223a22323032362d31312d32335431353a35323a35332e3030385a222c2274797065223a2273746172746564222c227374617465223a2272756e6e696e67222c22737461727465645f6174223a22323032362d31312d32335431353a35323a35332e3030385a222c2273657373696f6e5f6964223a226d61696e222c226167656e74223a226563686f227d',NULL);
INSERT INTO events VALUES(2,0,NULL,NULL,'token/created',1795449173037,X'7b22736571223a322c2274696d657374616d70223a22323032362d31312d32335431353a35323a35332e3033375a222c226e616d65223a2270686f6e65222c22726f6c65223a22726573706f6e64222c226279223a226f776e6572227d',NULL);
INSERT INTO events VALUES(3,0,NULL,NULL,'token/created',1795449173065,X'7b22736571223a332c2274696d657374616d70223a22323032362d31312d32335431353a35323a35332e3036355a222c226e616d65223a226369222c22726f6c65223a22776f726b222c226c696d697465645f746f223a5b226d61696e225d2c22657870697265735f6174223a22323032362d31322d32335431353a35323a35332e3036355a222c226279223a226f776e6572227d',NULL);
INSERT INTO events VALUES(4,0,NULL,NULL,'token/created',1795449173091,X'7b22736571223a342c2274696d657374616d70223a22323032362d31312d32335431353a35323a35332e3039315a222c226e616d65223a226c6f7374222c22726f6c65223a2272656164222c226279223a226f776e6572227d',NULL);
INSERT INTO events VALUES(5,0,NULL,NULL,'token/revoked',1795449173122,X'7b22736571223a352c2274696d657374616d70223a22323032362d31312d32335431353a35323a35332e3132325a222c226e616d65223a226c6f7374222c226279223a226f776e6572227d',NULL);
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
, forked_from BLOB, held  INTEGER NOT NULL DEFAULT 0, level          INTEGER NOT NULL DEFAULT 0, root_thread_id TEXT    NOT NULL DEFAULT '', spent BLOB, title_given INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO threads VALUES(1,'main','running','echo','','',NULL,NULL,'','','','',1795449173008,0,1,1,1,NULL,0,0,'',NULL,0);
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
, retry            BLOB, retry_at         INTEGER NOT NULL DEFAULT 0, used_ms          INTEGER NOT NULL DEFAULT 0, worker           TEXT    NOT NULL DEFAULT '', claimed_seq      INTEGER NOT NULL DEFAULT 0, first_started_at INTEGER NOT NULL DEFAULT 0, message_truncated INTEGER NOT NULL DEFAULT 0, chain INTEGER NOT NULL DEFAULT 0, wake  INTEGER NOT NULL DEFAULT 0, interrupted_by TEXT NOT NULL DEFAULT '', parent_attempt   INTEGER NOT NULL DEFAULT 0, attention_policy TEXT    NOT NULL DEFAULT '', title            TEXT    NOT NULL DEFAULT '', root_thread_id   TEXT    NOT NULL DEFAULT '', accepted_seq     INTEGER NOT NULL DEFAULT 0, prompts          INTEGER NOT NULL DEFAULT 0, prompt_seq       INTEGER NOT NULL DEFAULT 0, waits_for        BLOB, taken_seq        INTEGER NOT NULL DEFAULT 0, review_policy  TEXT    NOT NULL DEFAULT '', review_state   TEXT    NOT NULL DEFAULT '', review_note    TEXT    NOT NULL DEFAULT '', review_by      TEXT    NOT NULL DEFAULT '', review_reason  TEXT    NOT NULL DEFAULT '', review_due_at  INTEGER NOT NULL DEFAULT 0, reviewed_at    INTEGER NOT NULL DEFAULT 0, review_end_seq INTEGER NOT NULL DEFAULT 0, continues      TEXT    NOT NULL DEFAULT '', continuations  INTEGER NOT NULL DEFAULT 0, continued_by   TEXT    NOT NULL DEFAULT '', unsettled INTEGER GENERATED ALWAYS AS
    (attention_policy <> '' AND continued_by = '' AND (accepted_seq = 0 OR taken_seq < accepted_seq)) VIRTUAL, requested_by TEXT NOT NULL DEFAULT '') STRICT;
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
, span INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE idempotency (
    id         INTEGER PRIMARY KEY, -- in the order of use: the oldest are trimmed
    key        TEXT    NOT NULL UNIQUE,
    method     TEXT    NOT NULL,
    hash       BLOB    NOT NULL,
    result     BLOB,
    seq        INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO idempotency VALUES(1,'01a2091c-342c-7de9-80f2-1703f36fa975','token/create',X'9171aed7337fd2770ba0620208192c698664a751e9b6d916138266c93d05b632',X'7b22746f6b656e223a7b226e616d65223a2270686f6e65222c22726f6c65223a22726573706f6e64222c227374617465223a226c697665222c22637265617465645f6174223a22323032362d31312d32335431353a35323a35332e3033375a227d2c22736571223a307d',2,1795449173038);
INSERT INTO idempotency VALUES(2,'01a2091c-3448-7d59-abf9-c18a3aa0e8fb','token/create',X'c7971d355c73f0267cbb4e1446e19499606d83babaf7c4992ce5c452c993fe1c',X'7b22746f6b656e223a7b226e616d65223a226369222c22726f6c65223a22776f726b222c226c696d697465645f746f223a5b226d61696e225d2c227374617465223a226c697665222c22637265617465645f6174223a22323032362d31312d32335431353a35323a35332e3036355a222c22657870697265735f6174223a22323032362d31322d32335431353a35323a35332e3036355a227d2c22736571223a307d',3,1795449173065);
INSERT INTO idempotency VALUES(3,'01a2091c-3462-73e4-a025-3cbc71c84832','token/create',X'46fbdeeb8b37217cb7f3baa7dc9786f63b9b9ab486f9ff655568735905001a91',X'7b22746f6b656e223a7b226e616d65223a226c6f7374222c22726f6c65223a2272656164222c227374617465223a226c697665222c22637265617465645f6174223a22323032362d31312d32335431353a35323a35332e3039315a227d2c22736571223a307d',4,1795449173091);
INSERT INTO idempotency VALUES(4,'01a2091c-3481-7c27-b8ab-85b71c3b6b61','token/revoke',X'b5833d55de836e54089493734897edb355e13c4a3e3e90059c2a6d85e9c0c175',X'7b22746f6b656e223a7b226e616d65223a226c6f7374222c22726f6c65223a2272656164222c227374617465223a227265766f6b6564222c22637265617465645f6174223a22323032362d31312d32335431353a35323a35332e3039315a222c227265766f6b65645f6174223a22323032362d31312d32335431353a35323a35332e3132325a227d2c22736571223a307d',5,1795449173122);
CREATE TABLE steps (
    seq          INTEGER PRIMARY KEY, -- of the try's first event
    thread_id    TEXT    NOT NULL,
    turn_id      TEXT    NOT NULL,
    step         TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    lineage      BLOB    NOT NULL, -- JSON of []notify.Ref
    status       TEXT    NOT NULL,
    late         INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    updated_seq  INTEGER NOT NULL,
    hidden_after INTEGER, -- both NULL while the try stands
    hidden_by    INTEGER
) STRICT;
CREATE TABLE event_times (
    seq  INTEGER PRIMARY KEY, -- of the run's last event
    time INTEGER NOT NULL     -- the latest of the run's events
) STRICT;
CREATE TABLE followers (
    name     TEXT    NOT NULL UNIQUE,
    log_id   TEXT    NOT NULL, -- of the log that the row was written in
    position INTEGER NOT NULL, -- moved by the follower, with its own rows
    scanned  INTEGER NOT NULL, -- moved by the dispatcher, now and then
    behind   INTEGER NOT NULL  -- 1: what the dispatcher has scanned does not count
) STRICT;
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
, told_seq INTEGER NOT NULL DEFAULT 0) STRICT;
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
, told_seq INTEGER NOT NULL DEFAULT 0) STRICT;
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
CREATE TABLE hook_repositories (
    source     TEXT    NOT NULL PRIMARY KEY,
    repository INTEGER NOT NULL -- GitHub's id
) STRICT;
CREATE TABLE cursors (
    created           INTEGER PRIMARY KEY, -- numbers the rows, and is never used again: pages continue after one
    consumer_id       TEXT    NOT NULL,
    stream_name       TEXT    NOT NULL,
    subject_id        TEXT    NOT NULL, -- '' = none
    last_sequence     INTEGER NOT NULL,
    last_delivery_id  TEXT    NOT NULL,
    last_delivered_at INTEGER NOT NULL, -- in milliseconds, 0 = never
    delivered_seq     INTEGER NOT NULL, -- the sequence of the last delivery
    last_error        TEXT    NOT NULL,
    updated_at        INTEGER NOT NULL,
    UNIQUE (consumer_id, stream_name, subject_id)
) STRICT;
CREATE TABLE cursor_counts (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    cursors INTEGER NOT NULL,
    newest  INTEGER NOT NULL
) STRICT;
CREATE TABLE bridges (
    bridge_id   TEXT    NOT NULL PRIMARY KEY,
    kind        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    configured  INTEGER NOT NULL, -- 1: it comes from the configuration
    on_pause    TEXT    NOT NULL,
    settings    BLOB    NOT NULL, -- JSON
    secret_hint TEXT    NOT NULL,
    generation  INTEGER NOT NULL, -- of the files of its secrets
    previous    INTEGER NOT NULL,
    rotated_at  INTEGER NOT NULL,
    held_until  INTEGER NOT NULL,
    failed_days BLOB    NOT NULL, -- JSON
    drops       BLOB    NOT NULL, -- JSON of pauses whose events are suppressed
    log_id      TEXT    NOT NULL, -- of the log in which it was last used
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    created_seq INTEGER NOT NULL,
    updated_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE subscriptions (
    created_seq      INTEGER NOT NULL,
    subscription_id  TEXT    NOT NULL,
    bridge_id        TEXT    NOT NULL,
    target           BLOB    NOT NULL, -- JSON
    thread_id        TEXT    NOT NULL, -- '' = all
    on_events        BLOB    NOT NULL, -- JSON
    methods          BLOB    NOT NULL, -- JSON
    include_text     INTEGER NOT NULL,
    ordering         TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    reason           TEXT    NOT NULL,
    generation       INTEGER NOT NULL,
    from_seq         INTEGER NOT NULL,
    scanned_seq      INTEGER NOT NULL, -- of a deleted one
    accepted_through INTEGER NOT NULL,
    target_digest    TEXT    NOT NULL, -- of a deleted one
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    updated_seq      INTEGER NOT NULL,
    UNIQUE (subscription_id)
) STRICT;
CREATE TABLE deliveries (
    subscription_id TEXT    NOT NULL,
    seq             INTEGER NOT NULL, -- of the event
    bridge_id       TEXT    NOT NULL,
    generation      INTEGER NOT NULL,
    event_type      TEXT    NOT NULL,
    method          TEXT    NOT NULL,
    thread_id       TEXT    NOT NULL,
    turn_id         TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    reason          TEXT    NOT NULL,
    attempts        INTEGER NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    settled_at      INTEGER NOT NULL,
    expires_at      INTEGER, -- NULL = not yet
    slot            TEXT    NOT NULL,
    tried           INTEGER NOT NULL, -- 1: it belongs to a try of a step
    step            TEXT    NOT NULL,
    epoch           INTEGER NOT NULL,
    item_id         TEXT    NOT NULL,
    attempt         INTEGER NOT NULL,
    arrived         INTEGER NOT NULL, -- 1: perhaps, without a receipt
    refusals        INTEGER NOT NULL,
    forced          INTEGER NOT NULL,
    remote_id       TEXT    NOT NULL,
    shown_seq       INTEGER NOT NULL,
    began_at        INTEGER NOT NULL, -- the attempt whose end is not known, 0 = none
    details         BLOB    NOT NULL, -- JSON
    PRIMARY KEY (subscription_id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE delivery_bodies (
    subscription_id TEXT    NOT NULL,
    seq             INTEGER NOT NULL,
    body            BLOB    NOT NULL,
    PRIMARY KEY (subscription_id, seq)
) STRICT, WITHOUT ROWID;
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
INSERT INTO tokens VALUES(2,'phone','respond',X'5b5d',X'c3e169592964dd1c8711c77febd36162135ff675fc1135b8323f15d1e3d39c43','log_01a2091c-331a-7de8-adc1-18ef77431e80',1795449173037,0,0);
INSERT INTO tokens VALUES(3,'ci','work',X'5b226d61696e225d',X'7eed153d20ce8ad328594ffadde3fb7f82c968a933d5fb46a027644a0ccdfa7a','log_01a2091c-331a-7de8-adc1-18ef77431e80',1795449173065,1798041173065,0);
INSERT INTO tokens VALUES(4,'lost','read',X'5b5d',X'58a360549af454ab2d54069bb0e6641d0c4a33ddcee1a46646a0297b07e31af1','log_01a2091c-331a-7de8-adc1-18ef77431e80',1795449173091,0,1795449173122);
CREATE INDEX events_thread ON events (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX events_delta ON events (item_id) WHERE method = 'item/delta';
CREATE INDEX threads_state ON threads (state);
CREATE INDEX turns_thread ON turns (thread_id);
CREATE INDEX turns_state ON turns (state);
CREATE INDEX turns_unfinished ON turns (thread_id) WHERE state IN ('queued', 'active');
CREATE INDEX items_thread ON items (thread_id, created_seq, turn_id);
CREATE INDEX items_open ON items (turn_id) WHERE status IN ('pending', 'in_progress');
CREATE UNIQUE INDEX steps_try ON steps (turn_id, step, epoch);
CREATE INDEX steps_turn ON steps (turn_id);
CREATE INDEX steps_live ON steps (turn_id, step) WHERE hidden_by IS NULL;
CREATE INDEX items_input ON items (turn_id) WHERE type = 'user_message';
CREATE INDEX items_unfinished ON items (created_seq) WHERE status IN ('pending', 'in_progress');
CREATE INDEX inboxes_due ON inboxes (due_at);
CREATE INDEX inboxes_acked ON inboxes (acked_at);
CREATE INDEX inboxes_new ON inboxes (thread_id) WHERE has_new = 1;
CREATE INDEX inbox_items_digest ON inbox_items (digest, created_seq);
CREATE INDEX inbox_items_unacked ON inbox_items (created_seq) WHERE acked_seq = 0;
CREATE INDEX inbox_items_thread ON inbox_items (thread_id, created_seq);
CREATE UNIQUE INDEX inbox_digests_open ON inbox_digests (thread_id, source, resource_ref, event_family) WHERE open = 1;
CREATE INDEX inbox_digests_flush ON inbox_digests (thread_id, flush_at) WHERE waiting = 1;
CREATE INDEX inbox_digests_thread ON inbox_digests (thread_id, created_seq);
CREATE INDEX inbox_entries_thread ON inbox_entries (thread_id, created_seq);
CREATE INDEX inbox_entries_open ON inbox_entries (thread_id, created_seq) WHERE acked_at = 0;
CREATE INDEX inbox_entries_new ON inbox_entries (thread_id, created_seq) WHERE fresh = 1;
CREATE INDEX inbox_entries_digest ON inbox_entries (digest, created_seq) WHERE acked_at = 0;
CREATE INDEX inbox_entries_told ON inbox_entries (told_by_turn_id, created_seq) WHERE acked_at = 0;
CREATE INDEX inbox_subscriptions_source ON inbox_subscriptions (source, created_seq);
CREATE INDEX inbox_timers_next ON inbox_timers (thread_id, next_at);
CREATE INDEX inbox_timers_thread ON inbox_timers (thread_id, created_seq);
CREATE INDEX threads_open_children ON threads (parent_thread_id, created_seq)
    WHERE level IN (1, 2, 3, 4, 5, 6, 7, 8) AND state IN ('running', 'paused', 'closing');
CREATE INDEX turns_children  ON turns (parent_thread_id, created_seq)
    WHERE attention_policy IN ('blocking_until_terminal', 'notify_on_terminal');
CREATE INDEX cursors_consumer ON cursors (consumer_id);
CREATE INDEX cursors_subject  ON cursors (subject_id);
CREATE INDEX cursors_reached  ON cursors (stream_name, last_sequence) WHERE last_sequence > 0;
CREATE INDEX subscriptions_created ON subscriptions (created_seq);
CREATE INDEX subscriptions_bridge ON subscriptions (bridge_id, created_seq);
CREATE INDEX deliveries_seq ON deliveries (seq, subscription_id);
CREATE INDEX deliveries_turn ON deliveries (subscription_id, turn_id, slot, seq);
CREATE INDEX deliveries_open ON deliveries (subscription_id, seq) WHERE state IN ('pending', 'mismatch');
CREATE INDEX deliveries_dead ON deliveries (subscription_id, seq) WHERE state = 'dead';
CREATE INDEX deliveries_expire ON deliveries (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX turns_review        ON turns (created_seq) WHERE review_state = 'pending';
CREATE INDEX turns_review_thread ON turns (thread_id, created_seq) WHERE review_state = 'pending';
CREATE INDEX turns_review_due    ON turns (review_due_at, created_seq) WHERE review_state = 'pending';
CREATE INDEX turns_unsettled ON turns (parent_thread_id, parent_turn_id, created_seq) WHERE unsettled = 1;
CREATE INDEX turns_below     ON turns (root_thread_id, created_seq) WHERE unsettled = 1;
PRAGMA user_version = 15;