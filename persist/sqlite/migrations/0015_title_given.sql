-- Whether a client gave the title of a thread: then no agent replaces it. That is so if
-- thread/started has the title and no thread/updated has another. If a prune has removed
-- thread/started, a title counts as given unless the log still has one of the agent: to
-- keep a title of the agent is less harm than to lose one that a person gave.

ALTER TABLE threads ADD COLUMN title_given INTEGER NOT NULL DEFAULT 0;
UPDATE threads SET title_given = 1
WHERE title <> '' AND NOT EXISTS (
    SELECT 1 FROM events e
    WHERE e.thread_id = threads.thread_id AND e.method = 'thread/updated'
        AND coalesce(json_extract(CAST(e.params AS TEXT), '$.title'), '') <> '');
