-- Whether a child turn is outside work: its thread is no child thread of its owner. A server of
-- before would take it for a child turn like others, and end it with the turn that it works for.

ALTER TABLE turns ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
