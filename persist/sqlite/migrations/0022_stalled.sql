-- Since when a bound keeps a thread from being woken: since the event that says so or, if
-- that is no longer there, since its newest wake.

ALTER TABLE inboxes ADD COLUMN stalled_at INTEGER NOT NULL DEFAULT 0; -- 0 = it is not stalled
UPDATE inboxes SET stalled_at = coalesce(
    (SELECT e.time FROM events e WHERE e.thread_id = inboxes.thread_id AND e.method = 'inbox/stalled' ORDER BY e.seq DESC LIMIT 1),
    json_extract(CAST(wakes AS TEXT), '$[#-1]'), 0)
WHERE stalled <> '';

CREATE INDEX inboxes_stalled ON inboxes (thread_id) WHERE stalled IN ('silent', 'rate', 'chain');

-- What came before a client has asked to wake the thread waits for nothing.

ALTER TABLE inboxes ADD COLUMN woken_seq INTEGER NOT NULL DEFAULT 0; -- of the newest inbox/woken; 0 = none
UPDATE inboxes SET woken_seq = coalesce(
    (SELECT e.seq FROM events e WHERE e.thread_id = inboxes.thread_id AND e.method = 'inbox/woken' ORDER BY e.seq DESC LIMIT 1), 0);
