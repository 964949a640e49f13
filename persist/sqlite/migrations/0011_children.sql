-- Child threads and child turns: which turn waits for which, and which ends the
-- inbox of the owner has.

ALTER TABLE threads ADD COLUMN level          INTEGER NOT NULL DEFAULT 0; -- of a child thread; 0 = it is none
ALTER TABLE threads ADD COLUMN root_thread_id TEXT    NOT NULL DEFAULT '';
CREATE INDEX threads_open_children ON threads (parent_thread_id, created_seq)
    WHERE level IN (1, 2, 3, 4, 5, 6, 7, 8) AND state IN ('running', 'paused', 'closing');

ALTER TABLE turns ADD COLUMN parent_attempt   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN attention_policy TEXT    NOT NULL DEFAULT ''; -- of a child turn
ALTER TABLE turns ADD COLUMN title            TEXT    NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN root_thread_id   TEXT    NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN accepted_seq     INTEGER NOT NULL DEFAULT 0; -- of the live end of a child turn; 0 = it has not ended
ALTER TABLE turns ADD COLUMN prompts          INTEGER NOT NULL DEFAULT 0; -- of the live attempt, when it last went on after waiting for children
ALTER TABLE turns ADD COLUMN prompt_seq       INTEGER NOT NULL DEFAULT 0; -- of the event with which that prompt began
ALTER TABLE turns ADD COLUMN waits_for        BLOB; -- JSON of turn ids
-- The accepted end that the owner's inbox has. Only the owner writes it.
ALTER TABLE turns ADD COLUMN taken_seq        INTEGER NOT NULL DEFAULT 0;
-- 1: a child turn whose end is not in the inbox of its owner.
ALTER TABLE turns ADD COLUMN unsettled        INTEGER GENERATED ALWAYS AS
    (attention_policy <> '' AND (accepted_seq = 0 OR taken_seq < accepted_seq)) VIRTUAL;
CREATE INDEX turns_unsettled ON turns (parent_thread_id, parent_turn_id, created_seq) WHERE unsettled = 1;
CREATE INDEX turns_below     ON turns (root_thread_id, created_seq) WHERE unsettled = 1;
CREATE INDEX turns_children  ON turns (parent_thread_id, created_seq)
    WHERE attention_policy IN ('blocking_until_terminal', 'notify_on_terminal');

ALTER TABLE inboxes       ADD COLUMN told_seq INTEGER NOT NULL DEFAULT 0; -- of the inbox/told that told last
ALTER TABLE inbox_entries ADD COLUMN told_seq INTEGER NOT NULL DEFAULT 0; -- of the inbox/told that told it last
CREATE TEMP TABLE told AS
    SELECT thread_id, json_extract(CAST(params AS TEXT), '$.turn_id') AS turn_id, max(seq) AS seq
    FROM events
    WHERE thread_id IN (SELECT thread_id FROM inboxes WHERE told_turn <> '') AND method = 'inbox/told'
    GROUP BY 1, 2;
UPDATE inboxes SET told_seq = coalesce((SELECT max(seq) FROM told WHERE told.thread_id = inboxes.thread_id), 0);
UPDATE inbox_entries SET told_seq = coalesce((SELECT seq FROM told
    WHERE told.thread_id = inbox_entries.thread_id AND told.turn_id = told_by_turn_id), 0) WHERE told_by_turn_id <> '';
DROP TABLE told;
