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
