package persisttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// cursorRows holds the store to what package cursors needs of it, besides the
// commands that cursorModel tries.
func cursorRows(t *testing.T, h Harness) {
	ctx := context.Background()
	s := cursors.New(cursors.Config{Log: h.Store, Reader: h.Store})
	n := cursors.Name{ConsumerID: "laptop", StreamName: "events", SubjectID: "thread_a"}
	if c, at, err := h.Store.ReadCursor(ctx, n); err != nil || c != cursors.Zero(n) || at.First != 1 || at.Latest != 0 {
		t.Fatalf("without a row: %+v at %+v, %v", c, at, err)
	}
	NewMaker(t, h.Store, "thread_a").Start().Commit()
	seq := int64(1)
	if r, err := s.Advance(ctx, cursors.Advance{Name: n, LastSequence: &seq, DeliveryID: "d"}); err != nil || r.Seq != 1 || !r.Cursor.Exists {
		t.Fatalf("%+v, %v", r, err)
	}
	seq = 2
	var ahead *cursors.AheadError
	if _, err := s.Advance(ctx, cursors.Advance{Name: n, LastSequence: &seq}); !errors.As(err, &ahead) || ahead.At.Latest != 1 || ahead.At.First != 1 {
		t.Errorf("above the log: %v", err)
	}
	if _, err := s.Reset(ctx, cursors.Reset{Name: n, LastSequence: &seq, Reason: "x"}); !errors.As(err, &ahead) {
		t.Errorf("reset above the log: %v", err)
	}
	mail := cursors.Name{ConsumerID: "laptop", StreamName: "mail"}
	if r, err := s.Advance(ctx, cursors.Advance{Name: mail, LastSequence: &seq}); err != nil || r.Cursor.LastSequence != 2 || r.Seq != 1 {
		t.Errorf("a stream of its own: %+v, %v", r, err)
	}
	key := KeyOf("k", "cursor/reset", "")
	zero := int64(0)
	first, err := s.Reset(ctx, cursors.Reset{Name: n, LastSequence: &zero, Reason: "again", Key: key})
	if err != nil || first.Seq != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := s.Reset(ctx, cursors.Reset{Name: n, LastSequence: &zero, Reason: "again", Key: key}); err != nil || again.Seq != 2 || again.Cursor.UpdatedAt != first.Cursor.UpdatedAt {
		t.Errorf("the same key again: %+v, %v", again, err)
	}
	// One unit makes two cursors and deletes a third.
	u, made := &ledger.Unit{}, []cursors.Name{{ConsumerID: "one", StreamName: "mail"}, {ConsumerID: "two", StreamName: "mail"}}
	gone, _, err := h.Store.ReadCursor(ctx, mail)
	if err != nil {
		t.Fatal(err)
	}
	cursors.Remove(u, gone)
	for _, n := range made {
		cursors.Write(u, cursors.Zero(n), cursors.Zero(n).Fail("x", notify.TimeFromMilli(1)))
	}
	if _, err := h.Store.Append(u); err != nil {
		t.Fatal(err)
	}
	page, err := h.Store.ListCursors(ctx, cursors.Query{Limit: 2})
	if err != nil || len(page.Rows) != 2 || page.Rows[0].Name() != n || page.Rows[1].Name() != made[0] || page.Next == "" {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err = h.Store.ListCursors(ctx, cursors.Query{Cursor: page.Next}); err != nil || len(page.Rows) != 1 || page.Rows[0].Name() != made[1] {
		t.Errorf("then %+v, %v", page, err)
	}
	if list := all(t, h.Store); len(list) != 2 || list[1].Method != notify.CursorReset || list[1].ThreadID != "" || list[1].ThreadSeq != 0 {
		t.Errorf("events %+v", list)
	}
}

// cursorRace advances and resets one cursor from many goroutines. Every write that
// is committed was decided from the state that another one left, so the writes are
// one chain; and only a reset goes down.
func cursorRace(t *testing.T, h Harness) {
	ctx := context.Background()
	n := cursors.Name{ConsumerID: "raced", StreamName: "mail"}
	var clock atomic.Int64 // dates each write with a time of its own
	var mu sync.Mutex
	after := map[notify.Time]cursors.Cursor{} // by the state that they were decided from
	resets := map[notify.Time]bool{}
	write := func(reset bool, next func(cursors.Cursor, notify.Time) (cursors.Cursor, error)) error {
		before, _, err := h.Store.ReadCursor(ctx, n)
		if err != nil {
			return err
		}
		now := notify.TimeFromMilli(clock.Add(1))
		to, err := next(before, now)
		if err != nil {
			return nil // it was overtaken
		}
		u := &ledger.Unit{}
		if cursors.Write(u, before, to); reset {
			d := cursors.ResetDraft(0, before, to, "race", cursors.ByServer, now)
			if err := d.Encode(); err != nil {
				return err
			}
			u.Drafts = append(u.Drafts, d)
		}
		switch _, err := h.Store.Append(u); {
		case errors.Is(err, cursors.ErrMoved):
			return nil
		case err != nil:
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if twice, ok := after[before.UpdatedAt]; ok {
			t.Errorf("two writes were decided from %+v: %+v and %+v", before, twice, to)
		}
		after[before.UpdatedAt], resets[to.UpdatedAt] = to, reset
		return nil
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for range 40 {
				to := rnd.Int64N(100)
				err := write(i == 0, func(c cursors.Cursor, now notify.Time) (cursors.Cursor, error) {
					if i == 0 {
						return c.Reset(to, now), nil
					}
					return c.Advance(to, nil, now)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	stored, _, err := h.Store.ReadCursor(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	var log []int64 // from and to of each reset, as the chain has them
	c := cursors.Zero(n)
	for range len(after) {
		next, ok := after[c.UpdatedAt]
		if !ok {
			t.Fatalf("nothing was decided from %+v, which is not the end of the chain", c)
		}
		if resets[next.UpdatedAt] {
			log = append(log, c.LastSequence, next.LastSequence)
		} else if next.LastSequence < c.LastSequence {
			t.Errorf("an advance went from %d down to %d", c.LastSequence, next.LastSequence)
		}
		c = next
	}
	if c != stored {
		t.Errorf("the chain ends with %+v, stored is %+v", c, stored)
	}
	var told []int64
	for _, e := range all(t, h.Store) {
		_, body, err := events.Decode(e.Method, e.Params)
		if err != nil {
			t.Fatal(err)
		}
		r := body.(*cursors.ResetEvent)
		told = append(told, r.FromSequence, r.ToSequence)
	}
	if !slices.Equal(told, log) || len(log) == 0 {
		t.Errorf("the events tell the resets %v, they were %v", told, log)
	}
}

// cursorOfMany races clients of one cursor through the service: nothing is lost, and
// who was overtaken is told what is stored.
func cursorOfMany(t *testing.T, h Harness) {
	ctx := context.Background()
	s := cursors.New(cursors.Config{Log: h.Store, Reader: h.Store})
	n := cursors.Name{ConsumerID: "many", StreamName: "mail"}
	var wg sync.WaitGroup
	var refused atomic.Int64
	for i := range int64(8) {
		wg.Go(func() {
			for k := range int64(25) {
				to := 8*k + i + 1 // each sequence once
				r, err := s.Advance(ctx, cursors.Advance{Name: n, LastSequence: &to, DeliveryID: fmt.Sprint(to)})
				var not *cursors.NotMonotonicError
				switch {
				case errors.As(err, &not) && not.Cursor.LastSequence > to:
					refused.Add(1)
				case err != nil || r.Cursor.LastSequence != to || r.Cursor.LastDeliveryID != fmt.Sprint(to):
					t.Errorf("to %d: %+v, %v", to, r, err)
				}
			}
		})
	}
	wg.Wait()
	if c, _, err := s.Read(ctx, n); err != nil || c.LastSequence != 200 || c.LastDeliveryID != "200" {
		t.Errorf("%+v, %v; %d were refused", c, err, refused.Load())
	}
	if list, err := s.List(ctx, cursors.Query{ConsumerID: &n.ConsumerID}); err != nil || len(list.Rows) != 1 {
		t.Errorf("%d rows of one consumer, %v", len(list.Rows), err)
	}
	// Two deliveries of one sequence: one is confirmed, the other is refused.
	to := int64(300)
	var won atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			if _, err := s.Advance(ctx, cursors.Advance{Name: n, LastSequence: &to, DeliveryID: fmt.Sprint("by ", i)}); err == nil {
				won.Add(1)
			}
		})
	}
	if wg.Wait(); won.Load() != 1 {
		t.Errorf("%d deliveries of one sequence were confirmed", won.Load())
	}
}

// cursorKeys makes one cursor from many requests with one key.
func cursorKeys(t *testing.T, h Harness) {
	ctx := context.Background()
	var now atomic.Int64
	s := cursors.New(cursors.Config{Log: h.Store, Reader: h.Store, Now: func() time.Time { return time.UnixMilli(now.Add(1)) }})
	n := cursors.Name{ConsumerID: "keyed", StreamName: "mail"}
	results := make([]cursors.Result, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			var err error
			results[i], err = s.RecordError(ctx, cursors.RecordError{Name: n, Error: "x", Key: KeyOf("once", "cursor/error", "")})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, r := range results {
		if r.Cursor.UpdatedAt != results[0].Cursor.UpdatedAt {
			t.Errorf("one key has the results %+v and %+v", r, results[0])
		}
	}
}
