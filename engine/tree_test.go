package engine_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// recorder is a testing.TB of one run. What fails the run does not fail the test.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (r *recorder) fail(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, s)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failures)
}

func (r *recorder) Helper()                   {}
func (r *recorder) Log(...any)                {}
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Error(a ...any)            { r.fail(fmt.Sprintln(a...)) }
func (r *recorder) Errorf(f string, a ...any) { r.fail(fmt.Sprintf(f, a...)) }
func (r *recorder) Fatal(a ...any)            { r.Error(a...); runtime.Goexit() }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); runtime.Goexit() }
func (r *recorder) Fail()                     { r.fail("failed") }
func (r *recorder) FailNow()                  { r.Fail(); runtime.Goexit() }
func (r *recorder) Failed() bool              { return len(r.all()) > 0 }

// census counts what happened in runs.
type census struct {
	mu     sync.Mutex
	counts map[string]int
}

// add counts what a run has done.
func (c *census) add(w *forest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add := func(what string, n int) { c.counts[what] += n }
	add("runs", 1)
	add("events", len(w.h.seen))
	add("lives that died at a commit", w.died)
	add("ends in answers", len(w.written))
	add("verdicts of clients and agents", w.verdicts)
	add("detached while the owner waits", w.freed)
	add("jobs that were found done", w.rework)
	for _, e := range w.h.seen {
		switch {
		case e.Method == notify.TurnStarted && strings.Contains(string(e.raw), `"outside":true`):
			add("outside work", 1)
		case e.Method == notify.TurnStarted && e.Origin == string(turns.OriginWake):
			add("wakes", 1)
		case e.Method == notify.TurnReviewed && strings.Contains(string(e.raw), `"continued_by"`):
			add(notify.TurnReviewed+" and continued", 1)
		case e.Method == notify.TurnReviewed && e.Reason != "":
			add(notify.TurnReviewed+" by "+e.Reason, 1)
		case e.Method == notify.TurnProgress && strings.Contains(string(e.raw), "waits_for"):
			add("waits for children", 1)
		case e.Method == notify.InboxAcked && strings.Contains(string(e.raw), `"by":"await"`):
			add(notify.InboxAcked+" by await", 1)
		case e.Method == notify.InboxUntold && strings.Contains(string(e.raw), `"reason":"lease"`):
			add(notify.InboxUntold+" by a lease", 1)
		case e.Method == notify.InboxTold && strings.Count(string(e.raw), "ent_") > 1:
			add(notify.InboxTold+" of many", 1)
		default:
			add(e.Method, 1)
		}
	}
}

// some must have happened in many runs, or these prove nothing.
var some = []string{
	"lives that died at a commit", "ends in answers", "detached while the owner waits", "jobs that were found done", "wakes", "outside work", "waits for children", notify.InboxAcked + " by await", notify.InboxTold + " of many",
	notify.InboxTold, notify.InboxUntold, notify.InboxUntold + " by a lease", notify.InboxWithdrawn, notify.TurnDetached, notify.StreamRewind, notify.TurnQueued, notify.TurnFailed,
	notify.TurnInterrupted, notify.HolonPaused, notify.ThreadPaused, notify.InboxStalled,
	notify.TurnReviewed, notify.TurnReviewed + " and continued", notify.TurnReviewed + " by " + turns.ReviewTimeout, "verdicts of clients and agents",
}

// grow runs a program in a bubble of its own, and returns what was wrong, and the log.
func grow(t *testing.T, p *treeProgram, v *variant, all *census) (failures []string, log string) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		done := make(chan *forest)
		go func() {
			w := newForest(p, v)
			defer func() { done <- w }()
			w.play(r)
		}()
		w := <-done
		if failures = r.all(); len(failures) > 0 && w.h != nil {
			log = list(w.h.seen)
		}
		if all != nil && w.h != nil {
			all.add(w)
		}
	})
	return failures, log
}

// shrink looks for a smaller program that fails in the same way: schedules vary, so each
// is tried more than once.
func shrink(t *testing.T, p *treeProgram, first string) *treeProgram {
	for tries := 300; tries > 0; {
		smaller := false
		for _, q := range p.smaller() {
			fails := false
			for range 2 {
				tries--
				failures, _ := grow(t, q, &variant{}, nil)
				fails = fails || slices.ContainsFunc(failures, func(s string) bool { return kindOfFailure(s) == first })
			}
			if fails {
				p, smaller = q, true
				break
			}
			if tries <= 0 {
				break
			}
		}
		if !smaller {
			break
		}
	}
	return p
}

// kindOfFailure is the property that a failure breaks.
func kindOfFailure(s string) string {
	kind, _, _ := strings.Cut(s, ":")
	return kind
}

// treeRuns is how many programs the model runs.
func treeRuns(t *testing.T) uint64 {
	switch s := os.Getenv("TREES"); {
	case s != "":
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return n
	case testing.Short():
		return 23
	}
	return 92
}

// Whatever clients and agents do with trees of turns, and wherever the server dies: the
// properties of background work hold.
func TestRandomTrees(t *testing.T) {
	first := uint64(0)
	n := treeRuns(t)
	if s := os.Getenv("TREE"); s != "" { // one of them, again
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, n = seed, 1
	}
	all := &census{counts: map[string]int{}}
	t.Cleanup(func() {
		t.Logf("%v", all.counts)
		for _, what := range some {
			if n >= 40 && all.counts[what] == 0 {
				t.Errorf("no %s in %d runs: this proves nothing", what, n)
			}
		}
	})
	const workers = 4
	for worker := range uint64(workers) {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for seed := first + worker; seed < first+n; seed += workers {
				p := newTreeProgram(seed, profileOf(seed))
				failures, log := grow(t, p, &variant{}, all)
				if len(failures) == 0 {
					continue
				}
				small := shrink(t, p, kindOfFailure(failures[0]))
				t.Fatalf("TREE=%d fails:\n%s\nthe log is\n%s\nprogram: %s\na smaller one: %s", seed, strings.Join(failures, "\n"), log, p, small)
			}
		})
	}
}
