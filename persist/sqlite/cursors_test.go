package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// cursorsOf is the service over a store.
func cursorsOf(s *Store) *cursors.Service {
	return cursors.New(cursors.Config{Log: s, Reader: s.reader})
}

func advance(t *testing.T, s *Store, consumer string, to int64) error {
	t.Helper()
	_, err := cursorsOf(s).Advance(context.Background(), cursors.Advance{Name: cursors.Name{ConsumerID: consumer, StreamName: "events"}, LastSequence: &to})
	return err
}

// sql executes statements on the connection that writes.
func (s *Store) sql(t *testing.T, text string, args ...driver.Value) {
	t.Helper()
	if err := s.Do(context.Background(), func() error { _, err := s.w.conn.exec(text, args...); return err }); err != nil {
		t.Fatal(err)
	}
}

func TestCursorsHaveABound(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir(), Normal: true})
	s.sql(t, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO cursors SELECT NULL, 'c' || i, 'events', '', 0, '', 0, 0, '', 1, '' FROM n`, int64(cursors.MaxCursors-1))
	s.sql(t, "INSERT INTO cursor_counts SELECT 1, count(*), max(created) FROM cursors")
	if err := advance(t, s, "last", 0); err != nil {
		t.Fatal(err)
	}
	if err := advance(t, s, "more", 0); !errors.Is(err, cursors.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	if err := advance(t, s, "c7", 0); err != nil {
		t.Errorf("one that exists: %v", err)
	}
	if _, err := cursorsOf(s).RecordError(t.Context(), cursors.RecordError{Name: cursors.Name{ConsumerID: "more", StreamName: "events"}, Error: "x"}); !errors.Is(err, cursors.ErrTooMany) {
		t.Errorf("the error of one more: %v", err)
	}
	if _, err := cursorsOf(s).Delete(t.Context(), cursors.Delete{Name: cursors.Name{ConsumerID: "c7", StreamName: "events"}, Reason: "unused"}); err != nil {
		t.Fatal(err)
	}
	if err := advance(t, s, "more", 0); err != nil {
		t.Errorf("after a deletion: %v", err)
	}
	if err := advance(t, s, "c7", 0); !errors.Is(err, cursors.ErrTooMany) {
		t.Errorf("and one more: %v", err)
	}
}

// TestCursorD8NumbersAreNeverUsedAgain: the log is pruned to its end and the newest
// cursor is deleted. What comes then has higher numbers, so that neither a cursor
// nor the page of a list skips it.
func TestCursorD8NumbersAreNeverUsedAgain(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	after := ""
	t.Run("before", func(t *testing.T) {
		s := running(t, Options{Dir: dir})
		m := persisttest.NewMaker(t, s, "thread_a").Start()
		m.Messages("", 9, 5)
		m.Commit()
		for _, name := range []string{"a", "b"} {
			if err := advance(t, s, name, 10); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := s.Prune(ctx, 11); err != nil || p.First != 11 {
			t.Fatalf("%+v, %v", p, err)
		}
		page, err := s.reader.ListCursors(ctx, cursors.Query{Limit: 1})
		if err != nil || page.Next == "" {
			t.Fatalf("%+v, %v", page, err)
		}
		rest, err := s.reader.ListCursors(ctx, cursors.Query{Limit: 1, Cursor: page.Next})
		if err != nil || len(rest.Rows) != 1 || rest.Rows[0].ConsumerID != "b" {
			t.Fatalf("%+v, %v", rest, err)
		}
		after = fmt.Sprint(mustParse(t, page.Next) + 1) // that of b
		if err := advance(t, s, "b", 11); err == nil {
			t.Error("a pruned log lets a cursor go above its end")
		}
		if _, err := cursorsOf(s).Delete(ctx, cursors.Delete{Name: cursors.Name{ConsumerID: "b", StreamName: "events"}, Reason: "x"}); err != nil {
			t.Fatal(err)
		}
	})
	s := running(t, Options{Dir: dir})
	if err := advance(t, s, "c", 11); err != nil { // cursor/deleted is event 11
		t.Fatal(err)
	}
	rest, err := s.reader.ListCursors(ctx, cursors.Query{Cursor: after})
	if err != nil || len(rest.Rows) != 1 || rest.Rows[0].ConsumerID != "c" {
		t.Errorf("after the deleted cursor come %+v, %v", rest.Rows, err)
	}
	p, err := s.reader.Page(ctx, notify.Query{After: 10, MaxEvents: 10, MaxBytes: 1 << 20})
	if err != nil || len(p.Events) != 1 || p.Events[0].Seq != 11 || p.Events[0].Method != notify.CursorDeleted {
		t.Errorf("after a cursor at 10 come %+v, %v", p.Events, err)
	}
}

func mustParse(t *testing.T, text string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBackupHasNoCursorAboveItsLog takes backups while a consumer confirms each
// event as soon as it is there. In none of them is the cursor ahead, so a restored
// server sends its consumers every event that comes.
func TestBackupHasNoCursorAboveItsLog(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir(), Normal: true})
	m := persisttest.NewMaker(t, s, "thread_a").Start()
	m.Commit()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			m.Messages("", 1, 5)
			if err := advance(t, s, "eager", m.Commit().Last); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	moved := int64(0)
	for i := range 5 {
		file, dir := filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "restored")
		if err := s.reader.Backup(ctx, file); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(file, dir); err != nil {
			t.Fatal(err)
		}
		v, err := OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		c, at, err := v.ReadCursor(ctx, cursors.Name{ConsumerID: "eager", StreamName: "events"})
		if err != nil || c.LastSequence > at.Latest || c.LastError != "" {
			t.Errorf("backup %d: the cursor is %+v, the log ends at %d, %v", i, c, at.Latest, err)
		}
		moved = max(moved, c.LastSequence)
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if <-done; moved == 0 {
		t.Error("no backup had a cursor: the race did not happen")
	}
}

// TestRestoredLogIsNotBehindItsCursors restores a backup with a cursor above the
// log: it comes down to the log's end, and says so.
func TestRestoredLogIsNotBehindItsCursors(t *testing.T) {
	ctx := context.Background()
	for what, prune := range map[string]bool{"with events": false, "without events": true} {
		s := running(t, Options{Dir: t.TempDir()})
		m := persisttest.NewMaker(t, s, "thread_a").Start()
		m.Messages("", 4, 5)
		m.Commit()
		if err := advance(t, s, "sound", 3); err != nil {
			t.Fatal(err)
		}
		if prune {
			if _, err := s.Prune(ctx, 6); err != nil {
				t.Fatal(err)
			}
		}
		s.sql(t, `INSERT INTO cursors SELECT NULL, 'above', stream_name, '', 50, 'd', 1, 50, '', 1, '' FROM cursors`)
		s.sql(t, `INSERT INTO cursors SELECT NULL, 'above', 'mail', '', 50, 'd', 1, 50, '', 1, '' FROM cursors WHERE consumer_id = 'sound'`)
		s.sql(t, "UPDATE cursor_counts SET (cursors, newest) = (SELECT count(*), max(created) FROM cursors)")
		var found string
		for _, f := range worst(t, s.reader) {
			found += fmt.Sprint(f)
		}
		if !strings.Contains(found, "1 are above the newest event") {
			t.Errorf("%s: doctor finds %q", what, found)
		}
		file, dir := filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "restored")
		if err := s.reader.Backup(ctx, file); err != nil {
			t.Fatal(err)
		}
		if at, err := Restore(file, dir); err != nil || at.Latest != 5 {
			t.Fatalf("%+v, %v", at, err)
		}
		restored := running(t, Options{Dir: dir})
		list, err := restored.reader.ListCursors(ctx, cursors.Query{})
		if err != nil || len(list.Rows) != 3 {
			t.Fatalf("%+v, %v", list, err)
		}
		if c := list.Rows[0]; c.LastSequence != 3 || c.LastError != "" {
			t.Errorf("%s: a sound cursor became %+v", what, c)
		}
		if c := list.Rows[1]; c.LastSequence != 5 || c.LastDeliveryID != "" || !strings.Contains(c.LastError, "ends at 5, the cursor was at 50") {
			t.Errorf("%s: %+v", what, c)
		}
		if c := list.Rows[2]; c.LastSequence != 50 || c.LastDeliveryID != "d" {
			t.Errorf("%s: a stream that is not the log's: %+v", what, c)
		}
	}
}

// A token uses its own share of the cursors, and leaves the rest to others. What it
// deletes, or others delete of it, makes room.
func TestATokenHasAShareOfTheCursors(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir(), Normal: true})
	by := func(requester ledger.Requester, id string) error {
		seq := int64(0)
		n := cursors.Name{ConsumerID: id, StreamName: "mail"}
		if _, err := cursorsOf(s).RecordError(t.Context(), cursors.RecordError{Name: n, Error: "x", Requester: requester}); err != nil {
			return err
		}
		_, err := cursorsOf(s).Advance(t.Context(), cursors.Advance{Name: n, LastSequence: &seq, Requester: "token:other"})
		return err
	}
	if err := by("token:phone", "first"); err != nil {
		t.Fatal(err)
	}
	s.sql(t, `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO cursors SELECT NULL, 'c' || i, 'mail', '', 0, '', 0, 0, '', 1, 'token:phone' FROM n`, int64(cursors.MaxCursorsEach))
	s.sql(t, "UPDATE cursor_counts SET (cursors, newest) = (SELECT count(*), max(created) FROM cursors)")
	s.sql(t, "UPDATE cursor_shares SET cursors = (SELECT count(*) FROM cursors)")
	if err := by("token:phone", "more"); !errors.Is(err, cursors.ErrShareFull) {
		t.Errorf("above its share: %v", err)
	}
	for _, c := range []struct {
		requester ledger.Requester
		id        string
	}{{"token:phone", "first"}, {"token:other", "others"}, {"", "owners"}} {
		if err := by(c.requester, c.id); err != nil {
			t.Errorf("%s of %q: %v", c.id, c.requester, err)
		}
	}
	if _, err := cursorsOf(s).Delete(t.Context(), cursors.Delete{Name: cursors.Name{ConsumerID: "c7", StreamName: "mail"}, Reason: "unused"}); err != nil {
		t.Fatal(err)
	}
	if err := by("token:phone", "more"); err != nil {
		t.Errorf("after a deletion: %v", err)
	}
	if err := by("token:phone", "again"); !errors.Is(err, cursors.ErrShareFull) {
		t.Errorf("and one more: %v", err)
	}
	for _, f := range worst(t, s.reader) {
		if f.Name == "cursors" {
			t.Errorf("%+v", f)
		}
	}
	s.sql(t, "UPDATE cursor_shares SET cursors = 7 WHERE requester = 'token:other'")
	if found := fmt.Sprint(worst(t, s.reader)); !strings.Contains(found, "1 shares of tokens are wrong") {
		t.Errorf("doctor does not see it: %s", found)
	}
}

func TestCursorsThatAreCountedWrongAreSeen(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	if err := advance(t, s, "a", 0); err != nil {
		t.Fatal(err)
	}
	for _, f := range worst(t, s.reader) {
		if f.Name == "cursors" {
			t.Errorf("a sound store: %+v", f)
		}
	}
	s.sql(t, "UPDATE cursor_counts SET cursors = 7 WHERE id = 1")
	found := false
	for _, f := range worst(t, s.reader) {
		found = found || f.Name == "cursors" && f.Level == Error
	}
	if !found {
		t.Error("doctor does not see it")
	}
}
