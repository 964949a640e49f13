package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/ledger"
)

// executed are the statements that the writer's connections have prepared while
// stores ran, and those that readers use for rows. All writes wait while the
// appender executes one of them.
type executed struct {
	appender, readers map[string]bool
	indexes           map[*ledger.Index]bool
}

func newExecuted() *executed {
	return &executed{appender: map[string]bool{}, readers: map[string]bool{}, indexes: map[*ledger.Index]bool{}}
}

// collect adds what the store executes from now until the test ends.
func (used *executed) collect(t testing.TB, s *Store) {
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
				used.appender[sql] = true
			}
			return nil
		}); err != nil && !errors.Is(err, ledger.ErrStorageFailed) {
			t.Error(err)
		}
		statements, indexes := prepared(t, s)
		for i, sql := range statements {
			used.readers[sql], used.indexes[indexes[i]] = true, true
		}
	})
}

// unindexed are the steps of plans that use no index but are bounded.
var unindexed = map[string]string{
	"SCAN meta":         "it has one row",
	"SCAN CONSTANT ROW": "no table",
	"SCAN idempotency":  "keyTrim rows from the beginning of the table",

	"SCAN items USING INDEX items_unfinished": "the first entry",
}

func (used *executed) check(t *testing.T) {
	if n := len(used.appender); n < 20 || !used.appender[deleteBelow] || !used.appender[insertEvent] {
		t.Fatalf("only %d statements of the appender were collected", n)
	}
	if n := len(used.readers); n < 20 {
		t.Fatalf("only %d statements of readers were collected", n)
	}
	s := running(t, Options{Dir: t.TempDir()})
	for _, statements := range []map[string]bool{used.appender, used.readers} {
		for sql := range statements {
			for _, step := range planOf(t, s, sql) {
				walks := strings.HasPrefix(step, "SCAN") || strings.HasPrefix(step, "SEARCH") && !strings.Contains(step, "USING")
				if unindexed[step] == "" && (walks || strings.Contains(step, "TEMP B-TREE")) {
					t.Errorf("%s\n%s", step, sql)
				}
			}
		}
	}
	for ix := range used.indexes {
		if ix.Name == "" {
			continue // of the table: the plans show that it is used
		}
		var columns []string
		if err := s.reader.points.read(context.Background(), func(c *conn) error {
			return c.query("SELECT coalesce(x.name, p.name) FROM pragma_index_xinfo(?) x, pragma_table_info(?) p WHERE p.pk = 1 ORDER BY x.seqno", func(r row) error {
				columns = append(columns, r.Text(0)) // a rowid has no name but that of the key
				return nil
			}, ix.Name, ix.Table.Name)
		}); err != nil {
			t.Fatal(err)
		}
		if len(columns) < len(ix.Columns) || !slices.Equal(columns[:len(ix.Columns)], ix.Columns) {
			t.Errorf("%s has the columns %v in the database, %v are declared", ix.Name, columns, ix.Columns)
		}
	}
}

// planOf returns the steps of the plan of a statement; they do not depend on its
// arguments.
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
