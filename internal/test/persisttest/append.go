package persisttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
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

// keyShares keeps 6 keys, and 3 of one requester.
func keyShares(t *testing.T, h Harness) {
	h.KeepKeys(6, 3)
	use := func(requester ledger.Requester, keys ...string) {
		t.Helper()
		for _, key := range keys {
			u := &ledger.Unit{Key: KeyOf(key, "m", ""), Result: []byte(`"` + key + `"`)}
			u.Key.Requester = requester
			if r, err := h.Store.Append(u); err != nil || r.Stored != nil {
				t.Fatalf("%s: %+v, %v", key, r, err)
			}
		}
	}
	stored := func(want ...string) {
		t.Helper()
		var got []string
		for _, key := range strings.Fields("o1 o2 o3 o4 a1 a2 a3 a4 a5 a6 a7 a8 a9 b1 b2") {
			s, err := h.Store.Stored(context.Background(), key)
			if err != nil {
				t.Fatal(err)
			}
			if s != nil {
				got = append(got, key+" "+string(s.Key.Requester))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("stored are %q, want %q", got, want)
		}
	}
	use("", "o1", "o2")
	use("token:a", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9")
	stored("o1 ", "o2 ", "a7 token:a", "a8 token:a", "a9 token:a")
	use("agent:b", "b1")
	stored("o1 ", "o2 ", "a7 token:a", "a8 token:a", "a9 token:a", "b1 agent:b")
	use("", "o3") // the owner may use the room of all, whose oldest goes
	stored("o2 ", "o3 ", "a7 token:a", "a8 token:a", "a9 token:a", "b1 agent:b")
	use("token:a", "a1") // it is forgotten, and so new
	stored("o2 ", "o3 ", "a1 token:a", "a8 token:a", "a9 token:a", "b1 agent:b")
	h.KeepKeys(6, 1) // several may have to go; a new key removes a few
	use("agent:b", "b2")
	stored("o2 ", "o3 ", "a1 token:a", "a8 token:a", "a9 token:a", "b2 agent:b")
	use("token:a", "a2")
	stored("o2 ", "o3 ", "a2 token:a", "b2 agent:b")
	use("", "o4", "o1")
	stored("o1 ", "o2 ", "o3 ", "o4 ", "a2 token:a", "b2 agent:b")
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
				t.Error("rows have real seqs if, and only if, the unit was written")
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
