-- What a turn must know to go on after a restart: since when its clock runs, which of its
-- attempts do not count, and whether it keeps waiting for a person.

ALTER TABLE turns ADD COLUMN running_since   INTEGER NOT NULL DEFAULT 0; -- 0 = the clock of timeout_seconds stands
ALTER TABLE turns ADD COLUMN uncounted       INTEGER NOT NULL DEFAULT 0; -- attempts that do not count against max_attempts
ALTER TABLE turns ADD COLUMN silent_restarts INTEGER NOT NULL DEFAULT 0; -- restarts in a row that ended attempts without output
ALTER TABLE turns ADD COLUMN resumable       INTEGER NOT NULL DEFAULT 0; -- 1: it waits for a person over restarts
ALTER TABLE turns ADD COLUMN suspended_seq        INTEGER NOT NULL DEFAULT 0; -- since which it waits without a process; 0 = it does not

-- The clock of an active turn runs since its attempt began or, if it has waited since then,
-- since the progress after the newest wait.
CREATE TEMP TABLE began AS
    SELECT t.created_seq, t.started_at, t.thread_id, t.turn_id,
        (SELECT max(e.seq) FROM events e WHERE e.thread_id = t.thread_id AND e.method = 'turn/started'
            AND json_extract(CAST(e.params AS TEXT), '$.turn_id') = t.turn_id) AS seq
    FROM turns t WHERE t.state = 'active' AND t.progress <> 'waiting';
CREATE TEMP TABLE waited AS
    SELECT b.created_seq, b.thread_id, b.turn_id, b.started_at,
        (SELECT max(e.seq) FROM events e WHERE e.thread_id = b.thread_id AND e.method = 'turn/progress' AND e.seq > coalesce(b.seq, 0)
            AND json_extract(CAST(e.params AS TEXT), '$.turn_id') = b.turn_id
            AND json_extract(CAST(e.params AS TEXT), '$.state') = 'waiting') AS seq
    FROM began b;
UPDATE turns SET running_since = (
    SELECT CASE WHEN w.seq IS NULL THEN w.started_at ELSE coalesce((
        SELECT e.time FROM events e WHERE e.thread_id = w.thread_id AND e.method = 'turn/progress' AND e.seq > w.seq
            AND json_extract(CAST(e.params AS TEXT), '$.turn_id') = w.turn_id
            AND json_extract(CAST(e.params AS TEXT), '$.state') IN ('starting', 'running')
        ORDER BY e.seq LIMIT 1), 0) END
    FROM waited w WHERE w.created_seq = turns.created_seq)
WHERE created_seq IN (SELECT created_seq FROM waited);
DROP TABLE began;
DROP TABLE waited;

-- Which turns ended with a stop or a start of the server. A row has the seq of its end as that
-- of what is reviewed, else as that of the accepted end, else as that of its last event.

ALTER TABLE turns ADD COLUMN restart_seq INTEGER; -- of that end; null = the turn has not ended, or otherwise
UPDATE turns SET restart_seq = coalesce(nullif(review_end_seq, 0), nullif(accepted_seq, 0), updated_seq)
WHERE state = 'interrupted' AND interrupted_by IN ('', 'server') AND reason IN ('server stopping', 'server restarted')
    OR state = 'failed' AND json_extract(CAST(error AS TEXT), '$.kind') = 'unavailable'
        AND json_extract(CAST(error AS TEXT), '$.message') = 'the server was restarted in the last attempt of the turn';
CREATE INDEX turns_restart ON turns (restart_seq) WHERE restart_seq IS NOT NULL;
