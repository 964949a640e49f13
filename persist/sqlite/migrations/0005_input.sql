-- What was said to a turn, which may lie far before the rest of its thread: a
-- queue is read when its thread is loaded.
CREATE INDEX items_input ON items (turn_id) WHERE type = 'user_message';
