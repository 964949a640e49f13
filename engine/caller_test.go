package engine_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// caller notes where the units of its command are.
type caller struct {
	mu   sync.Mutex
	told []int64
}

func (c *caller) Committed(last int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, last)
}

func (c *caller) heard(t testing.TB, what string, seqs ...int64) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if fmt.Sprint(c.told) != fmt.Sprint(seqs) {
		t.Errorf("%s: the caller was told %d, want %d", what, c.told, seqs)
	}
}

func TestACallerHearsWhereItsCommandIs(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		unnamed, named, again := &caller{}, &caller{}, &caller{}
		r := h.startWith(turns.Start{ThreadID: "a", Key: &ledger.Key{Caller: unnamed}})
		unnamed.heard(h.t, "turn/start", r.Seq)
		start := func(c *caller) turns.StartResult {
			k := key("k", "turn/start")
			k.Caller = c
			return h.startWith(turns.Start{ThreadID: "a", Key: k})
		}
		first := start(named)
		named.heard(h.t, "turn/start with a key", first.Seq)
		if start(again); len(again.told) != 0 {
			h.t.Errorf("a repetition by key has committed %d", again.told)
		}
	})
}

// A job is found by its name, not by a key. What is found commits nothing.
func TestTheCallerOfAJobHearsOfIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.workflow()
		for _, c := range []*caller{{}, {}} {
			q := jobOf("a", "one", "do it")
			q.Key = key("k", "turn/start")
			q.Key.Caller = c
			r := h.startWith(q)
			if r.Found {
				c.heard(h.t, "a job that was found")
			} else {
				c.heard(h.t, "a job", r.Seq)
			}
		}
	})
}

// One that is tried again commits too.
func TestTheCallerOfAJobThatIsTriedAgainHearsOfIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		owner := h.workflow()
		r := h.job("a", "tests")
		work := h.next(h.agent)
		h.message(work, "red")
		work.end(turns.Failed)
		h.ended(r.TurnID)
		owner.crash()
		h.next(h.model)
		var c caller
		q := jobOf("a", "tests", "do tests")
		q.Key = key("k", "turn/start")
		q.Key.Caller = &c
		h.startWith(q)
		c.mu.Lock()
		told := len(c.told)
		c.mu.Unlock()
		if told == 0 {
			h.t.Error("the retry was committed, and its caller was not told")
		}
		h.next(h.agent)
	})
}

// Items that wait at one inbox are stored in one unit.
func TestCallersThatShareAUnitAllHearOfIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		callers := make([]caller, 20)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				r, err := h.inboxes().Ingest(bg, inbox.Ingest{ThreadID: "a", Items: []inbox.Item{item(fmt.Sprint(i))}, Key: &ledger.Key{Caller: &callers[i]}})
				if err != nil {
					h.t.Error(err)
				}
				callers[i].heard(h.t, fmt.Sprintf("item %d", i), r.Seq)
			})
		}
		group.Wait()
		units := map[int64]bool{}
		for i := range callers {
			for _, seq := range callers[i].told {
				units[seq] = true
			}
		}
		if len(units) == len(callers) {
			h.t.Error("no items were stored together")
		}
	})
}
