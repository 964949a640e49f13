package sqlite

import (
	"bytes"
	"context"
	_ "embed"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/persisttest"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

//go:embed testdata/schema1.sql
var schema1 string

// forked1 adds a thread that was forked, of which that version kept no row.
const forked1 = `INSERT INTO events VALUES (28, 1, 'thread_fork', NULL, 'thread/started', 1795257740000,
	CAST('{"seq":28,"thread_seq":1,"thread_id":"thread_fork","timestamp":"2026-11-21T10:42:20.000Z","type":"started","state":"running","started_at":"2026-11-21T10:42:20.000Z","session_id":"thread_fork","agent":"echo","forked_from":{"thread_id":"thread_old","turn_id":"turn_x"}}' AS BLOB));
	INSERT INTO threads VALUES (28, 'thread_fork', 'running', 'echo', '', '', NULL, NULL, '', '', '', '', 1795257740000, 0, 28, 28, 1);`

// TestDatabaseOfSchema1IsUpgraded opens what a server without attempts left
// when it was killed.
func TestDatabaseOfSchema1IsUpgraded(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c, err := dial(filepath.Join(dir, FileName), settings(false))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.run(schema1 + forked1); err != nil {
		t.Fatal(err)
	}
	var want []byte
	rows := int64(0)
	if err := c.query("SELECT method, params FROM events ORDER BY seq", func(r row) error {
		e := notify.Event{Method: r.text(0), Params: r.blob(1)}
		want = e.AppendFrame(want)
		rows++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}

	s := running(t, Options{Dir: dir})
	copies, err := filepath.Glob(filepath.Join(dir, "backups", "before-schema-2-*.db"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies of before: %v, %v", copies, err)
	}
	again := filepath.Join(t.TempDir(), "again")
	restored, err := Restore(copies[0], again)
	if err != nil || restored.First != 1 || restored.Latest != rows {
		t.Errorf("the copy restored: %+v, %v", restored, err)
	}
	if at, err := running(t, Options{Dir: again}).Position(ctx); err != nil || at != restored {
		t.Errorf("opened %+v, %v; restored %+v", at, err, restored)
	}
	for _, collapse := range []bool{false, true} {
		p, err := s.Page(ctx, notify.Query{MaxEvents: 1000, MaxBytes: 1 << 20, Frames: true, Collapse: collapse})
		if err != nil || string(p.Frames) != string(want) || p.Scanned != rows {
			t.Errorf("collapse %v: other bytes than before, up to %d, %v", collapse, p.Scanned, err)
		}
	}
	out, err := persist.Refold(ctx, s)
	if err != nil || len(out.Differences) > 0 || out.Threads != 3 {
		t.Errorf("refold %+v, %v", out, err)
	}
	if bad := worst(t, s.View); len(bad) > 0 {
		t.Errorf("doctor: %v", bad)
	}
	fork, err := s.ReadThread(ctx, "thread_fork", 0)
	if err != nil || fork.Thread == nil || !reflect.DeepEqual(fork.Thread.ForkedFrom, &threads.ForkedFrom{ThreadID: "thread_old", TurnID: "turn_x"}) {
		t.Errorf("thread %+v, %v", fork.Thread, err)
	}
	if secret, err := s.LeaseSecret(ctx); err != nil || len(secret) != secretBytes || bytes.Count(secret, []byte{0}) > 8 {
		t.Errorf("the secret is %x, %v", secret, err)
	}

	l, err := s.Load(ctx, "thread_busy")
	if err != nil || len(l.Turns) != 2 || l.Turns[0].State != turns.Active || l.Turns[1].State != turns.Queued || len(l.Steps) != 0 || len(l.Items) != 2 {
		t.Fatalf("loaded %+v, %v", l, err)
	}
	if ask := l.Items[0]; ask.Type != items.KindPermissionRequest || ask.Lineage != nil || ask.Span != 0 {
		t.Errorf("the open item is %+v", ask)
	}
	if list, err := s.ListItems(ctx, items.Query{ThreadID: "thread_old"}); err != nil || len(list.Rows) != 5 {
		t.Errorf("%d items, %v", len(list.Rows), err)
	}
	m := persisttest.NewMaker(t, s, "thread_new").Start()
	m.Attempt("turn_new")
	m.Commit()
	m.Rewind("turn_new", "", turns.CauseCrash)
	m.Attempt("turn_new")
	m.EndTurn("turn_new")
	m.Commit()
	if bad := worst(t, s.View); len(bad) > 0 {
		t.Errorf("doctor: %v", bad)
	}
}
