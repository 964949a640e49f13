-- The live tries of a turn: what a marker may have to supersede.
CREATE INDEX steps_live ON steps (turn_id, step) WHERE hidden_by IS NULL;
