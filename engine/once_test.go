package engine_test

import (
	"errors"
	"testing"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

func TestChangeWithoutEventsHappensOnceWithAKey(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		runs := 0
		prune := func(k *ledger.Key) (turns.PruneResult, error) {
			return ledger.Once(h.faults, k, func() (turns.PruneResult, error) {
				runs++
				return turns.PruneResult{FirstSeq: 2, Pruned: 1}, nil
			})
		}
		h.thread("a", "")
		h.thread("b", "")
		first, err := prune(key("k", "holon/prune", 2))
		if err != nil || first != (turns.PruneResult{FirstSeq: 2, Pruned: 1, Seq: 2}) {
			t.Fatalf("%+v, %v", first, err)
		}
		h.thread("c", "")
		h.restart()
		if again, err := prune(key("k", "holon/prune", 2)); err != nil || again != first || runs != 1 {
			t.Fatalf("%+v after %d runs, %v, want %+v", again, runs, err, first)
		}
		if _, err := prune(key("k", "holon/prune", 3)); !errors.Is(err, ledger.ErrKeyConflict) || runs != 1 {
			t.Fatalf("%v after %d runs", err, runs)
		}
		if r, err := prune(nil); err != nil || r != (turns.PruneResult{FirstSeq: 2, Pruned: 1, Seq: 3}) || runs != 2 {
			t.Fatalf("%+v after %d runs, %v", r, runs, err)
		}
	})
}

func TestChangeThatFailsKeepsNoKey(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		broken := errors.New("broken")
		for _, want := range []error{broken, nil} {
			if _, err := ledger.Once(h.faults, key("k", "holon/prune"), func() (turns.PruneResult, error) { return turns.PruneResult{}, want }); !errors.Is(err, want) {
				t.Fatal(err)
			}
		}
	})
}
