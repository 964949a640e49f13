-- Whether the message that a turn's end repeats was cut.
ALTER TABLE turns ADD COLUMN message_truncated INTEGER NOT NULL DEFAULT 0;
