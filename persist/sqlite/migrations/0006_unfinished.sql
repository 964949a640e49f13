-- What is unfinished, in the order of its first event: prune asks for the
-- first of it in each of its steps, and questions are a part of it.

DROP INDEX items_pending;
CREATE INDEX items_unfinished ON items (created_seq) WHERE status IN ('pending', 'in_progress');
