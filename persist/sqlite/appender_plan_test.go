package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/ledger"
)

// executed are the statements that the writer's connections have prepared while
// stores ran. While the appender executes one of them nobody's writes go on.
type executed map[string]bool

// collect adds what the store's appender executes from now until the test ends.
func (used executed) collect(t testing.TB, s *Store) {
	ctx := context.Background()
	// What opening has prepared is not the appender's.
	if err := s.Do(ctx, func() (err error) {
		for sql, p := range s.w.conn.stmts {
			err = errors.Join(err, p.s.Close())
			delete(s.w.conn.stmts, sql)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Do(ctx, func() error {
			for sql := range s.w.conn.stmts {
				used[sql] = true
			}
			return nil
		}); err != nil && !errors.Is(err, ledger.ErrStorageFailed) {
			t.Error(err)
		}
	})
}

// unindexed are the steps of plans that use no index and are bounded all the
// same.
var unindexed = map[string]string{
	"SCAN meta":          "it has one row",
	"SCAN CONSTANT ROW":  "no table",
	"SCAN idempotency":   "keyTrim rows from the beginning of the table",
	"SEARCH idempotency": "the last row",
}

func (used executed) check(t *testing.T) {
	if len(used) < 20 || !used[deleteBelow] || !used[firstUnfinished] || !used[insertEvent] {
		t.Fatalf("only %d statements were collected", len(used))
	}
	s := running(t, Options{Dir: t.TempDir()})
	for sql := range used {
		for _, step := range planOf(t, s, sql) {
			walks := strings.HasPrefix(step, "SCAN") || strings.HasPrefix(step, "SEARCH") && !strings.Contains(step, "USING")
			if unindexed[step] == "" && (walks || strings.Contains(step, "TEMP B-TREE")) {
				t.Errorf("%s\n%s", step, sql)
			}
		}
	}
}

// planOf are the steps of the plan of a statement, whatever its arguments.
func planOf(t *testing.T, s *Store, sql string) (steps []string) {
	t.Helper()
	if strings.HasPrefix(sql, "BEGIN") || sql == "COMMIT" || sql == "ROLLBACK" || strings.HasPrefix(sql, "PRAGMA") {
		return nil
	}
	if err := s.Do(context.Background(), func() error {
		p, err := s.w.conn.prepare("EXPLAIN QUERY PLAN " + sql)
		if err != nil {
			return err
		}
		return p.query(context.Background(), func(r row) error {
			steps = append(steps, r.Text(3))
			return nil
		}, make([]driver.Value, len(p.args))...)
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return steps
}
