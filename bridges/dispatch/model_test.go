package dispatch

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// modelRuns is how many programs are run: DELIVERIES, or few enough for every test run.
func modelRuns(t *testing.T) uint64 {
	if s := os.Getenv("DELIVERIES"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil || n < 1 {
			t.Fatalf("DELIVERIES=%s is no number of runs", s)
		}
		return n
	}
	if testing.Short() {
		return 6
	}
	return 24
}

// TestRandomDeliveries: whatever agents, clients, the target and the disk do, and
// wherever the program dies, the properties of deliveries hold.
func TestRandomDeliveries(t *testing.T) {
	first, n := uint64(0), modelRuns(t)
	if s := os.Getenv("DELIVERY"); s != "" { // one of them, again
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, n = seed, 1
	}
	var mu sync.Mutex
	all := map[string]int{}
	t.Cleanup(func() {
		var list []string
		for _, what := range slices.Sorted(maps.Keys(all)) {
			list = append(list, fmt.Sprint(what, ": ", all[what]))
		}
		t.Log(strings.Join(list, "\n"))
		for at, list := range map[uint64][]string{
			24:  {"died", "dead", "superseded", "taken back", "mismatch", "approved", "rejected", "retries of ends", "suppressed: paused", "suppressed: answered", "suppressed: unasked", "stuck", "targets"},
			400: {"held", "disabled", "repairs", "suppressed: stale", "suppressed: reset", "suppressed: skipped", "together", "recalled"},
		} {
			for _, what := range list {
				if n >= at && all[what] == 0 {
					t.Errorf("no %s in %d runs: this proves nothing", what, n)
				}
			}
		}
	})
	const workers = 2
	for worker := range uint64(workers) {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for seed := first + worker; seed < first+n; seed += workers {
				p := newModelProgram(seed)
				run := runModel(t, p, &modelBuild{})
				mu.Lock()
				for _, counts := range []map[string]int{run.counts, run.a.counts, run.r.answered} {
					for what, n := range counts {
						all[what] += n
					}
				}
				all["attempts"] += run.r.sends
				all["received"] += len(run.r.got)
				all["commits"] += run.commits
				all["runs"]++
				mu.Unlock()
				if len(run.failures()) > 0 {
					t.Fatalf("DELIVERY=%d fails:\n%s\nprogram: %s\na smaller one: %s", seed, strings.Join(run.failures(), "\n"), p, shrinkModel(t, p, run.failures()[0]))
				}
			}
		})
	}
}

// shrinkModel looks for a smaller program that breaks the same property.
func shrinkModel(t *testing.T, p *modelProgram, failure string) string {
	kind, _, _ := strings.Cut(failure, ":")
	smallest, tries := p, 0
	var said []string
	for again := true; again; {
		again = false
		for _, q := range smallest.smaller() {
			if tries++; tries > 400 || len(q.Subs) == 0 {
				continue
			}
			run := runModel(t, q, &modelBuild{})
			if slices.ContainsFunc(run.failures(), func(f string) bool { return strings.HasPrefix(f, kind+":") }) {
				smallest, again, said = q, true, run.failures()
				break
			}
		}
	}
	return smallest.String() + strings.Join(said, "\n")
}
