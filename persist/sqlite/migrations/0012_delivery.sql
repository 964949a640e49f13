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
