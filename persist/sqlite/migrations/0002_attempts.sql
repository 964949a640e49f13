-- Attempts, steps and what is superseded. A column at the end of a table is
-- added without rewriting a row.

ALTER TABLE events ADD COLUMN span INTEGER; -- steps.seq of the try that made it; NULL = nothing supersedes it
ALTER TABLE items  ADD COLUMN span INTEGER NOT NULL DEFAULT 0; -- of its creation; 0 = none

ALTER TABLE turns ADD COLUMN retry            BLOB; -- JSON of turns.RetryPolicy
ALTER TABLE turns ADD COLUMN retry_at         INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN used_ms          INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN worker           TEXT    NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN claimed_seq      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN first_started_at INTEGER NOT NULL DEFAULT 0;

ALTER TABLE threads ADD COLUMN forked_from BLOB; -- JSON of threads.ForkedFrom
UPDATE threads SET forked_from = (
    SELECT CAST(json_extract(CAST(params AS TEXT), '$.forked_from') AS BLOB) FROM events
    WHERE seq = created_seq AND instr(params, CAST('"forked_from"' AS BLOB)) > 0 AND json_valid(CAST(params AS TEXT)));

ALTER TABLE meta ADD COLUMN secret BLOB; -- what leases are signed with

-- One row per try of a step, the turn itself (step '') among them. A marker
-- writes hidden_after and hidden_by of the tries that it supersedes, and
-- nothing else: an event of such a try is superseded if its seq is above
-- hidden_after.
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
-- No epoch of a path comes twice in a turn: the fence behind the fence.
CREATE UNIQUE INDEX steps_try ON steps (turn_id, step, epoch);
CREATE INDEX steps_turn ON steps (turn_id);
