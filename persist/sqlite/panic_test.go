package sqlite

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
)

// TestPanicInATransactionLeavesNoTrace panics after a row of the transaction
// has been written, inside of a query.
func TestPanicInATransactionLeavesNoTrace(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.NewMaker(t, s, "thread_a").Start()
	m.Commit()
	var caught *persist.PanicError
	err := s.Do(ctx, func() error {
		return s.w.transaction(func() error {
			if n, err := s.w.conn.exec("DELETE FROM events"); n != 1 || err != nil {
				t.Errorf("deleted %d, %v", n, err)
			}
			return s.w.conn.query("SELECT thread_id FROM threads", func(row) error { panic("as the test says") })
		})
	})
	if !errors.As(err, &caught) || errors.Is(err, ledger.ErrStorageFailed) {
		t.Fatalf("the transaction ended with %v", err)
	}
	if err := s.Healthy(); err != nil {
		t.Errorf("healthy: %v", err)
	}
	m.Messages("", 3, 100)
	m.Commit()
	p, err := s.reader.Page(ctx, notify.Query{MaxEvents: 10, MaxBytes: 1 << 20})
	if err != nil || len(p.Events) != 4 || p.Latest != 4 {
		t.Errorf("the log has %d events up to %d, %v", len(p.Events), p.Latest, err)
	}
}

// TestUnitThatPanicsIsRefused has the fault where the units are committed.
func TestUnitThatPanicsIsRefused(t *testing.T) {
	var armed atomic.Bool
	var reported []string
	s := running(t, Options{Dir: t.TempDir(), Now: func() time.Time {
		if armed.Load() {
			panic("as the test says")
		}
		return time.Now()
	}, Observer: persist.Observer{Panicked: func(ids []string, _ *persist.PanicError) { reported = ids }}})
	a, b := persisttest.NewMaker(t, s, "thread_a").Start(), persisttest.NewMaker(t, s, "thread_b").Start()
	a.Commit()
	a.Messages("", 1, 10)
	u := a.Unit()
	u.Key = persisttest.KeyOf("k", "m", "")
	armed.Store(true)
	if _, err := s.Append(u); err == nil || errors.Is(err, ledger.ErrStorageFailed) {
		t.Errorf("the unit was answered %v", err)
	}
	armed.Store(false)
	b.Commit()
	if err := s.Healthy(); err != nil || len(reported) != 1 || reported[0] != "thread_a" {
		t.Errorf("healthy: %v, reported %v", err, reported)
	}
}
