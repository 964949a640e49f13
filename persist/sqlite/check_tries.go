package sqlite

import (
	"database/sql/driver"

	"github.com/seed82539d15/holon/notify"
)

// checkTries checks attempts and steps. The try of every event and item has a
// row. Every superseded try was superseded by a marker, and has no event after it
// (I8). Each ended turn has one live end (I5).
func checkTries(c *conn, add addFinding, first int64) error {
	for _, check := range []struct {
		name, text, sql string
		args            []driver.Value
	}{
		{"tries", "%d events and items belong to a try that has no row", `SELECT
			(SELECT count(*) FROM events WHERE span IS NOT NULL AND span NOT IN (SELECT seq FROM steps))
			+ (SELECT count(*) FROM items WHERE span <> 0 AND span NOT IN (SELECT seq FROM steps))`, nil},
		{"markers", "%d tries are superseded without a marker, or in part", `SELECT count(*) FROM steps s
			WHERE (hidden_by IS NULL) <> (hidden_after IS NULL) OR hidden_after >= seq OR hidden_by >= ?1
			AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = s.hidden_by AND e.method = ?2
				AND json_extract(CAST(e.params AS TEXT), '$.turn_id') = s.turn_id)`, []driver.Value{first, notify.StreamRewind}},
		{"fence", "%d events were written to a try after it was superseded", `SELECT count(*) FROM events e
			CROSS JOIN steps s ON s.seq = e.span WHERE e.seq > s.hidden_by`, nil},
		{"ends", "%d turns have no live end, or several", `WITH ends (turn_id, n) AS (
				SELECT json_extract(CAST(params AS TEXT), '$.turn_id'), count(*) FROM events
				WHERE method IN (?2, ?3, ?4)` + live + ` GROUP BY 1)
			SELECT count(*) FROM turns t LEFT JOIN ends ON ends.turn_id = t.turn_id
			WHERE t.created_seq >= ?1 AND coalesce(n, 0) <> (t.state IN ('completed', 'interrupted', 'failed'))`,
			[]driver.Value{first, notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed}},
	} {
		n := int64(0)
		if _, err := c.queryOne(check.sql, func(r row) { n = r.Int(0) }, check.args...); err != nil {
			return err
		}
		add(check.name, levelIf(n == 0), check.text, n)
	}
	return nil
}
