package sqlite

// checkCursors checks that no consumer has confirmed an event that the log does not
// have, and that the store counts the cursors right.
func checkCursors(c *conn, add addFinding, latest int64) error {
	ahead, rows, counted, shares := int64(0), int64(0), int64(0), int64(0)
	if _, err := c.queryOne(`SELECT (SELECT count(*) FROM cursors WHERE stream_name = 'events' AND last_sequence > 0 AND last_sequence > ?1)
			+ (SELECT count(*) FROM cursors WHERE stream_name = 'restarts' AND last_sequence > 0 AND last_sequence > ?1 AND consumer_id GLOB 'seen:*'),
		(SELECT count(*) FROM cursors), coalesce((SELECT cursors FROM cursor_counts), 0),
		(SELECT count(*) FROM (SELECT requester, count(*) AS n FROM cursors WHERE requester <> '' GROUP BY requester) o
			FULL JOIN cursor_shares s USING (requester) WHERE coalesce(n, 0) <> coalesce(s.cursors, 0))`,
		func(r row) { ahead, rows, counted, shares = r.Int(0), r.Int(1), r.Int(2), r.Int(3) }, latest); err != nil {
		return err
	}
	add("cursors", levelIf(ahead == 0 && rows == counted && shares == 0), "%d cursors, counted as %d; %d are above the newest event; %d shares of tokens are wrong", rows, counted, ahead, shares)
	return nil
}
