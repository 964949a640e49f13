package sqlite

// checkInboxes checks that each inbox counts what is in it, and that the payload
// of every raw item that is not acknowledged is in the log. Of a closed thread
// retention removes the inbox first, and then its items.
func checkInboxes(c *conn, add addFinding) error {
	for _, check := range []struct{ name, text, sql string }{
		{"inboxes", "%d inboxes count other items or entries than they have", `SELECT count(*) FROM inboxes b WHERE
			unacked_items <> (SELECT count(*) FROM inbox_items i WHERE i.thread_id = b.thread_id AND i.acked_seq = 0)
			OR pending_items <> (SELECT coalesce(sum(d.pending), 0) FROM inbox_digests d WHERE d.thread_id = b.thread_id)
			OR unacked_entries <> (SELECT count(*) FROM inbox_entries e WHERE e.thread_id = b.thread_id AND e.acked_at = 0 AND e.superseded_by = 0)
			OR new_entries <> (SELECT count(*) FROM inbox_entries e WHERE e.thread_id = b.thread_id AND e.fresh = 1)
			OR timers <> (SELECT count(*) FROM inbox_timers t WHERE t.thread_id = b.thread_id)`},
		{"inbox items", "%d items that are not acknowledged belong to no inbox, or have no event", `SELECT count(*) FROM inbox_items i
			WHERE acked_seq = 0 AND CASE WHEN EXISTS (SELECT 1 FROM inboxes b WHERE b.thread_id = i.thread_id)
			THEN NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = i.created_seq AND e.method = 'inbox/received')
			ELSE NOT EXISTS (SELECT 1 FROM threads t WHERE t.thread_id = i.thread_id AND t.state = 'closed') END`},
	} {
		n := int64(0)
		if _, err := c.queryOne(check.sql, func(r row) { n = r.Int(0) }); err != nil {
			return err
		}
		add(check.name, levelIf(n == 0), check.text, n)
	}
	return nil
}
