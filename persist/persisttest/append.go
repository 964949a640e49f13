package persisttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func concurrentUnits(t *testing.T, h Harness) {
	const actors, units = 24, 20
	var wg sync.WaitGroup
	for i := range actors {
		wg.Go(func() {
			id := fmt.Sprintf("thread_%02d", i)
			m := NewMaker(t, h.Store, id)
			m.Start().Commit()
			m.StartTurn("turn_" + id)
			for n := range units {
				m.Messages("turn_"+id, 1+n%3, 10)
				r := m.Commit()
				if r.Last < r.First || m.Thread.LatestSeq != r.Last {
					t.Errorf("receipt %+v, thread at %d", r, m.Thread.LatestSeq)
				}
			}
		})
	}
	wg.Wait()
	events := all(t, h.Store)
	dense(t, events)
	if want := actors * (2 + 39); len(events) != want {
		t.Errorf("%d events, want %d", len(events), want)
	}
}

func tailAndLog(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start().Commit()
	m.StartTurn("turn_a")
	m.Messages("turn_a", 50, 100)
	m.Commit()
	events := all(t, h.Store)
	var stored, live []byte
	for i := range events {
		stored = events[i].AppendFrame(stored)
	}
	c := notify.NewCursor(h.Tail, h.Store, notify.Filter{}, 0)
	for c.After() < h.Tail.Head() {
		chunk, err := c.Next(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, chunk.Data...)
	}
	if h.Tail.Head() != 52 || !bytes.Equal(stored, live) {
		t.Errorf("head %d; the tail has %d bytes, the log %d, or others (I3)", h.Tail.Head(), len(live), len(stored))
	}
}

func publishedFirst(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	for n := range 50 {
		r := m.Commit()
		if head := h.Tail.Head(); head < r.Last {
			t.Fatalf("the receipt says %d while the head is %d", r.Last, head)
		}
		p, err := h.Store.Position(context.Background())
		if err != nil || p.Latest < r.Last {
			t.Fatalf("the receipt says %d while the position is %+v, %v", r.Last, p, err)
		}
		m.Create("", fmt.Sprintf("item_%d", n), items.StatusCompleted, items.NewNotice("info", "x"))
	}
}

func staleUnit(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start().Commit()
	m.StartTurn("turn_a")
	stale := m.Unit()
	m.Messages("", 1, 1)
	m.Commit()
	if _, err := h.Store.Append(stale); err == nil {
		t.Error("a unit made on an old state of its thread was committed")
	}
	if RowsOf[*turns.Turn](stale)[0].CreatedSeq != notify.Provisional(0) {
		t.Error("the rows of a refused unit were settled")
	}
	if events := all(t, h.Store); len(events) != 2 {
		t.Errorf("%d events, want 2", len(events))
	}
	if row, err := h.Store.Turn(context.Background(), "turn_a"); row != nil || err != nil {
		t.Errorf("the refused unit left %+v, %v", row, err)
	}
}

func mixedThreads(t *testing.T, h Harness) {
	a, b := NewMaker(t, h.Store, "thread_a"), NewMaker(t, h.Store, "thread_b")
	u := a.Start().Unit()
	u.Drafts = append(u.Drafts, b.Start().Unit().Drafts...)
	if _, err := h.Store.Append(u); err == nil {
		t.Error("one unit for two threads was committed")
	}
	c, d := NewMaker(t, h.Store, "thread_c"), NewMaker(t, h.Store, "thread_d")
	c.Start().Commit()
	d.Start().Commit()
	c.Create("", "item_c", items.StatusCompleted, items.NewNotice("info", "x"))
	d.Create("", "item_d", items.StatusCompleted, items.NewNotice("info", "x"))
	u = c.Unit()
	heads := d.Unit().Rows
	u.Rows[len(u.Rows)-1] = heads[len(heads)-1]
	if _, err := h.Store.Append(u); err == nil {
		t.Error("a unit that moves the head of another thread was committed")
	}
}

// failingUnit lets units that break a constraint wait together with good ones.
func failingUnit(t *testing.T, h Harness) {
	first := NewMaker(t, h.Store, "thread_first")
	first.Start()
	first.Create("", "item_taken", items.StatusCompleted, items.NewNotice("info", "x"))
	first.Commit()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			m := NewMaker(t, h.Store, fmt.Sprintf("thread_%02d", i))
			m.Start().Commit()
			for n := range 10 {
				if i%4 == 0 {
					m.Create("", "item_taken", items.StatusCompleted, items.NewNotice("info", "y"))
					if _, err := h.Store.Append(m.Unit()); !errors.Is(err, items.ErrConflict) {
						t.Errorf("an item id was taken twice: %v", err)
					}
					continue
				}
				m.Create("", fmt.Sprintf("item_%d_%d", i, n), items.StatusCompleted, items.NewNotice("info", "x"))
				m.Commit()
			}
		})
	}
	wg.Wait()
	events := all(t, h.Store)
	dense(t, events)
	if want := 2 + 20 + 15*10; len(events) != want {
		t.Errorf("%d events, want %d", len(events), want)
	}
}

func largeUnit(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.Messages("", 3000, 1)
	m.Create("", "item_big", items.StatusCompleted, items.NewAgentMessage(strings.Repeat("x", 3<<20)))
	if r := m.Commit(); r.First != 1 || r.Last != 3002 {
		t.Errorf("receipt %+v", r)
	}
	dense(t, all(t, h.Store))
	it, _, err := h.Store.ReadItem(context.Background(), "item_big")
	if err != nil || it == nil || len(it.Content) < 3<<20 {
		t.Errorf("the item was not kept whole: %v", err)
	}
}

func keyRace(t *testing.T, h Harness) {
	const racers = 16
	var wg sync.WaitGroup
	receipts := make([]ledger.Receipt, racers)
	for i := range racers {
		wg.Go(func() {
			m := NewMaker(t, h.Store, fmt.Sprintf("thread_%02d", i))
			u := m.Start().Unit()
			u.Key, u.Result = KeyOf("k", "thread/start", "same"), fmt.Appendf(nil, `{"thread_id":%q}`, m.ID)
			var err error
			if receipts[i], err = h.Store.Append(u); err != nil {
				t.Error(err)
			}
			if (receipts[i].Stored == nil) != (RowsOf[*threads.Thread](u)[0].CreatedSeq > 0) {
				t.Error("rows are settled if, and only if, the unit was written")
			}
		})
	}
	wg.Wait()
	winner := -1
	for i, r := range receipts {
		if r.Stored == nil {
			if winner >= 0 {
				t.Fatalf("%d and %d both used the key", winner, i)
			}
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("no unit used the key")
	}
	want := fmt.Sprintf(`{"thread_id":"thread_%02d"}`, winner)
	for i, r := range receipts {
		if i != winner && (string(r.Stored.Result) != want || r.Stored.Seq != receipts[winner].Last ||
			r.Stored.Key != *KeyOf("k", "thread/start", "same")) {
			t.Errorf("%d received %+v, want %s", i, r.Stored, want)
		}
	}
	if events := all(t, h.Store); len(events) != 1 {
		t.Errorf("%d events, want 1", len(events))
	}
	s, err := h.Store.Stored(context.Background(), "k")
	if err != nil || s == nil || string(s.Result) != want {
		t.Errorf("stored is %+v, %v", s, err)
	}
	if s, err := h.Store.Stored(context.Background(), "other"); s != nil || err != nil {
		t.Errorf("an unused key has %+v, %v", s, err)
	}
}

func keyWithoutEvents(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start().Commit()
	NewMaker(t, h.Store, "thread_b").Start().Commit()
	r, err := h.Store.Append(&ledger.Unit{Key: KeyOf("k", "thread/pause", ""), Result: []byte("{}"), Last: m.Thread.LatestSeq})
	if err != nil || r.First != 0 || r.Last != 1 {
		t.Errorf("a unit of thread_a answers %+v, %v; want its newest seq", r, err)
	}
	if r, err = h.Store.Append(&ledger.Unit{Key: KeyOf("l", "holon/pause", ""), Result: []byte("{}")}); err != nil || r.Last != 2 {
		t.Errorf("a unit of no thread answers %+v, %v; want the log's newest seq", r, err)
	}
	if s, err := h.Store.Stored(context.Background(), "k"); err != nil || s == nil || s.Seq != 1 {
		t.Errorf("stored is %+v, %v", s, err)
	}
}

func keyOfRefused(t *testing.T, h Harness) {
	if _, err := h.Store.Append(RuntimeUnit(t, turns.Runtime{}, true)); err != nil {
		t.Fatal(err)
	}
	m := NewMaker(t, h.Store, "thread_a")
	u := m.Start().Unit()
	u.Fences, u.Key, u.Result = []ledger.Fence{turns.NotPaused}, KeyOf("k", "turn/start", ""), []byte("{}")
	if _, err := h.Store.Append(u); !errors.Is(err, turns.ErrRuntimePaused) {
		t.Errorf("in a pause: %v", err)
	}
	u.Fences = nil
	if r, err := h.Store.Append(u); err != nil || r.Stored != nil {
		t.Errorf("the key of a refused unit was taken: %+v, %v", r, err)
	}
}
