-- How far consumers have come.
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
CREATE INDEX cursors_consumer ON cursors (consumer_id);
CREATE INDEX cursors_subject  ON cursors (subject_id);
CREATE INDEX cursors_reached  ON cursors (stream_name, last_sequence) WHERE last_sequence > 0;

-- How many cursors there are, and the number of the newest: no row, or one.
CREATE TABLE cursor_counts (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    cursors INTEGER NOT NULL,
    newest  INTEGER NOT NULL
) STRICT;

-- Delivery to where people are. Nothing here is secret: see bridges/secrets.
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
CREATE INDEX subscriptions_created ON subscriptions (created_seq);
CREATE INDEX subscriptions_bridge ON subscriptions (bridge_id, created_seq);

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
CREATE INDEX deliveries_seq ON deliveries (seq, subscription_id);
CREATE INDEX deliveries_turn ON deliveries (subscription_id, turn_id, slot, seq);
CREATE INDEX deliveries_open ON deliveries (subscription_id, seq) WHERE state IN ('pending', 'mismatch');
CREATE INDEX deliveries_dead ON deliveries (subscription_id, seq) WHERE state = 'dead';
CREATE INDEX deliveries_expire ON deliveries (expires_at) WHERE expires_at IS NOT NULL;

-- What is sent: the same bytes in all attempts. No row: there was nothing to send, or it
-- is no longer kept. They are apart because the rows above change often.
CREATE TABLE delivery_bodies (
    subscription_id TEXT    NOT NULL,
    seq             INTEGER NOT NULL,
    body            BLOB    NOT NULL,
    PRIMARY KEY (subscription_id, seq)
) STRICT, WITHOUT ROWID;

-- Reviews of turns: which ends wait for a verdict, and what became of them.

ALTER TABLE turns ADD COLUMN review_policy  TEXT    NOT NULL DEFAULT ''; -- '' = no end of it is reviewed
ALTER TABLE turns ADD COLUMN review_state   TEXT    NOT NULL DEFAULT ''; -- pending or the verdict; '' = its end needs none, or there is none yet
ALTER TABLE turns ADD COLUMN review_note    TEXT    NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN review_by      TEXT    NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN review_reason  TEXT    NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN review_due_at  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN reviewed_at    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN review_end_seq INTEGER NOT NULL DEFAULT 0; -- of the end that is reviewed
ALTER TABLE turns ADD COLUMN continues      TEXT    NOT NULL DEFAULT ''; -- the rejected turn that it continues
ALTER TABLE turns ADD COLUMN continuations  INTEGER NOT NULL DEFAULT 0; -- how many were rejected before it, one after the other
ALTER TABLE turns ADD COLUMN continued_by   TEXT    NOT NULL DEFAULT ''; -- the turn whose accepted end counts for it
CREATE INDEX turns_review        ON turns (created_seq) WHERE review_state = 'pending';
CREATE INDEX turns_review_thread ON turns (thread_id, created_seq) WHERE review_state = 'pending';
CREATE INDEX turns_review_due    ON turns (review_due_at, created_seq) WHERE review_state = 'pending';

-- 1: a child turn whose accepted end is not in the inbox of its owner, and that no
-- other turn continues. The column is virtual, so the rows are not written anew.
DROP INDEX turns_unsettled;
DROP INDEX turns_below;
ALTER TABLE turns DROP COLUMN unsettled;
ALTER TABLE turns ADD COLUMN unsettled INTEGER GENERATED ALWAYS AS
    (attention_policy <> '' AND continued_by = '' AND (accepted_seq = 0 OR taken_seq < accepted_seq)) VIRTUAL;
CREATE INDEX turns_unsettled ON turns (parent_thread_id, parent_turn_id, created_seq) WHERE unsettled = 1;
CREATE INDEX turns_below     ON turns (root_thread_id, created_seq) WHERE unsettled = 1;
