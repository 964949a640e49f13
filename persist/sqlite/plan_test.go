package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/notify"
)

// TestQueriesFindTheirIndexes checks that a page is no scan in a log of a million
// events. A plan that scans or sorts says so. The suite tests the plans of reads
// of rows.
func TestQueriesFindTheirIndexes(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	explain := func(sql string, args ...driver.Value) string {
		t.Helper()
		var plan []string
		if err := s.reader.read(context.Background(), func(c *conn) error {
			return c.query("EXPLAIN QUERY PLAN "+sql, func(r row) error {
				plan = append(plan, r.Text(3))
				return nil
			}, args...)
		}); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return strings.Join(plan, "; ")
	}
	page := func(q notify.Query, seqs []int64) string {
		sql, args := pageSQL(q, 100, seqs)
		return explain("SELECT params "+sql, args...)
	}
	collapsed := func(f notify.Filter, seqs []int64) string { return page(notify.Query{Filter: f, Collapse: true}, seqs) }
	for name, c := range map[string]struct{ plan, want string }{
		"page":                       {page(notify.Query{}, nil), "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"page of methods":            {page(notify.Query{Filter: notify.Filter{Methods: []string{"item/*"}}}, nil), "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"page of a thread":           {page(notify.Query{Filter: notify.Filter{ThreadIDs: []string{"a"}}}, nil), "events_thread (thread_id=? AND rowid>? AND rowid<?)"},
		"page of threads":            {page(notify.Query{Filter: notify.Filter{ThreadIDs: []string{"a", "b"}}}, []int64{1}), "USING INTEGER PRIMARY KEY (rowid=?)"},
		"page of summaries":          {page(notify.Query{Summary: true}, nil), "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"summaries of a thread":      {page(notify.Query{Summary: true, Filter: notify.Filter{ThreadIDs: []string{"a"}}}, nil), "events_thread (thread_id=? AND rowid>? AND rowid<?)"},
		"summaries, one whole":       {page(notify.Query{Summary: true, Whole: []string{"a"}}, nil), "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"summaries of a, b whole":    {page(notify.Query{Summary: true, Whole: []string{"b"}, Filter: notify.Filter{ThreadIDs: []string{"a"}}}, nil), "events_thread (thread_id=? AND rowid>? AND rowid<?)"},
		"summaries of a and b":       {page(notify.Query{Summary: true, Whole: []string{"b"}, Filter: notify.Filter{ThreadIDs: []string{"a", "b"}}}, []int64{1}), "USING INTEGER PRIMARY KEY (rowid=?)"},
		"collapsed, one whole":       {page(notify.Query{Summary: true, Collapse: true, Whole: []string{"a"}}, nil), "CORRELATED SCALAR SUBQUERY 1; SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"},
		"window of a thread":         {explain(reachOfThread, "a", int64(1), int64(2)), "COVERING INDEX events_thread (thread_id=? AND rowid>?)"},
		"frames of threads":          {explain(pageFrames+ofThreads+pageOrder, int64(1), int64(9), "[]"), "SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"size of threads":            {explain(pageSize+ofThreads, int64(1), int64(9), "[]"), "SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"window of threads":          {explain(seqsOfThread, "a", int64(1), int64(2)), "COVERING INDEX events_thread (thread_id=? AND rowid>?)"},
		"runs of times":              {explain(runsAfter, int64(1)), "USING INTEGER PRIMARY KEY (rowid>?)"},
		"times of events":            {explain(timesAfter, int64(1), int64(2)), "USING INTEGER PRIMARY KEY (rowid>?)"},
		"unfinished turns":           {explain("SELECT turn_id FROM turns WHERE state IN ('queued', 'active')"), "turns_"},
		"collapsed page":             {collapsed(notify.Filter{}, nil), "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?); CORRELATED SCALAR SUBQUERY 1; SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"},
		"collapsed page of a thread": {collapsed(notify.Filter{ThreadIDs: []string{"a"}}, nil), "events_thread (thread_id=? AND rowid>? AND rowid<?); CORRELATED SCALAR SUBQUERY 1; SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"},
		"collapsed page of threads":  {collapsed(notify.Filter{ThreadIDs: []string{"a", "b"}}, []int64{1}), "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"},
		"frames of a collapsed page": {explain(pageFrames+live+pageOrder, int64(1), int64(9)), "SEARCH s USING INTEGER PRIMARY KEY (rowid=?); SCAN (subquery-2)"},
		"an item that is fresh":      {explain("SELECT time FROM events WHERE seq = ?", int64(1)), "PRIMARY KEY"},
	} {
		if !strings.Contains(c.plan, c.want) || strings.Contains(c.plan, "TEMP B-TREE") {
			t.Errorf("%s: the plan is %s, want %s", name, c.plan, c.want)
		}
		if strings.Contains(c.plan, "SCAN") && !strings.Contains(c.want, "SCAN") && !strings.Contains(c.plan, "json_each") {
			t.Errorf("%s scans: %s", name, c.plan)
		}
	}
}

// TestKeysAreTrimmed keeps commits short and the table bounded.
func TestKeysAreTrimmed(t *testing.T) {
	dir := t.TempDir()
	// As many keys as if they had been used, of which five are expired.
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.w.conn.run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
		INSERT INTO idempotency (id, key, method, hash, seq, created_at)
		SELECT i, 'old' || i, 'm', x'00', 1, CASE WHEN i <= 5 THEN 1 ELSE 4102444800000 END FROM n`), s.Close()); err != nil {
		t.Fatal(err)
	}
	s = running(t, Options{Dir: dir})
	if err := s.Do(context.Background(), func() error { s.w.KeepKeys = 1000; return nil }); err != nil {
		t.Fatal(err)
	}
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Start()
	for n := range 10 {
		m.Messages("", 1, 1)
		u := m.Unit()
		u.Key = persisttest.KeyOf(fmt.Sprintf("new%d", n), "m", "")
		r, err := s.Append(u)
		if err != nil {
			t.Fatal(err)
		}
		m.Took(u, r)
	}
	if err := s.reader.read(context.Background(), func(c *conn) error {
		_, err := c.queryOne("SELECT count(*), min(id) FROM idempotency", func(r row) {
			if r.Int(0) != 1000 || r.Int(1) != 11 {
				t.Errorf("%d keys from %d, want 1000 from 11", r.Int(0), r.Int(1))
			}
		})
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestWALShrinksAgainAfterALongReader lets a reader hold its snapshot while
// more is written than the write-ahead log is to grow to.
func TestWALShrinksAgainAfterALongReader(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir()})
	const limit = 4 << 20
	if err := s.Do(ctx, func() error { s.w.limit = limit; return nil }); err != nil {
		t.Fatal(err)
	}
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Start()
	write := func(units int) {
		for range units { // 1 MB each, with its rows
			m.Messages("", 25, 20_000)
			m.Commit()
		}
	}
	wal := func() int64 { return fileSize(s.reader.path + "-wal") }
	if err := s.reader.read(ctx, func(c *conn) error {
		var first, latest int64
		if err := ends(c, &first, &latest); err != nil {
			return err
		}
		write(20)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if wal() < 3*limit {
		t.Fatalf("with a long reader the log has only %d KiB: the reader did not block the checkpoint", wal()>>10)
	}
	write(12)
	if wal() > 3*limit {
		t.Errorf("the reader is gone, the log still has %d KiB", wal()>>10)
	}
}
