-- Subscriptions can change their target: the generation that began with the present one; 0 = the
-- first target.

ALTER TABLE subscriptions ADD COLUMN target_generation INTEGER NOT NULL DEFAULT 0;

-- A subscription can be of one turn, and ends with it; null = of all turns.

ALTER TABLE subscriptions ADD COLUMN turn_id TEXT;
CREATE INDEX subscriptions_turn ON subscriptions (turn_id, created_seq) WHERE turn_id IS NOT NULL;
