package persisttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// pauseFence starts turns while the runtime is paused and resumed.
func pauseFence(t *testing.T, h Harness) {
	ctx := context.Background()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var started sync.WaitGroup
	for i := range 8 {
		started.Add(1)
		wg.Go(func() {
			m := NewMaker(t, h.Store, fmt.Sprintf("thread_%d", i))
			m.Start().Commit()
			started.Done()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				m.StartTurn(fmt.Sprintf("turn_%d_%d", i, n))
				u := m.Unit()
				u.Fences = []ledger.Fence{turns.NotPaused}
				r, err := h.Store.Append(u)
				switch {
				case err == nil:
					m.Took(u, r)
				case !errors.Is(err, turns.ErrRuntimePaused):
					t.Error(err)
					return
				}
			}
		})
	}
	started.Wait()
	for n := range 60 {
		prev, err := h.Store.Runtime(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Store.Append(RuntimeUnit(t, prev, n%2 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	paused, turnsSeen := false, 0
	for _, e := range all(t, h.Store) {
		switch e.Method {
		case notify.HolonPaused:
			paused = true
		case notify.HolonResumed:
			paused = false
		case notify.TurnStarted:
			turnsSeen++
			if paused {
				t.Fatalf("turn/started %d is in a pause", e.Seq)
			}
		}
	}
	if turnsSeen == 0 {
		t.Error("no turn started: the race did not happen")
	}
	if r, err := h.Store.Runtime(ctx); err != nil || r.Paused || r.PausedAt.IsZero() {
		t.Errorf("runtime is %+v, %v", r, err)
	}
}

// rewindFence asks fences for the newest marker while others rewind: it must be the
// newest one in the log before the unit of the fence.
func rewindFence(t *testing.T, h Harness) {
	opened := h.Tail.Head()
	var mu sync.Mutex
	told := map[int64]int64{} // by the first seq of the unit
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			turn := fmt.Sprintf("turn_%d", i)
			m := NewMaker(t, h.Store, fmt.Sprintf("thread_%d", i)).Start()
			m.Attempt(turn)
			m.Commit()
			for n := range 20 {
				if n%4 == i {
					m.Rewind(turn, "", turns.CauseLease)
					m.Attempt(turn)
					m.Commit()
				}
				m.Create(turn, items.NewID(), items.StatusCompleted, userMessage("x"))
				u, last := m.Unit(), int64(-1)
				u.Fences = []ledger.Fence{ledger.FenceFunc(func(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
					last = tx.LastRewind()
					return nil, nil
				})}
				r, err := h.Store.Append(u)
				if err != nil {
					t.Error(err)
					return
				}
				m.Took(u, r)
				mu.Lock()
				told[r.First] = last
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	marker, markers := opened, 0
	for _, e := range all(t, h.Store) {
		if last, ok := told[e.Seq]; ok && last != marker {
			t.Fatalf("the fence of %d was told %d, the newest marker is %d", e.Seq, last, marker)
		}
		if e.Method == notify.StreamRewind {
			marker = e.Seq
			markers++
		}
	}
	if markers != 20 {
		t.Errorf("%d markers", markers)
	}
}

func afterEnd(t *testing.T, open func(testing.TB) Harness) {
	var h Harness
	t.Run("open", func(t *testing.T) {
		h = open(t)
		NewMaker(t, h.Store, "thread_a").Start().Commit()
	})
	if _, err := h.Store.Append(NewMaker(t, h.Store, "thread_b").Start().Unit()); !errors.Is(err, ledger.ErrStorageFailed) {
		t.Errorf("after the end: %v", err)
	}
}
