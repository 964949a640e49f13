package fold

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// reader is a client with a view, a position, and lines on a terminal.
type reader struct {
	name   string
	w      *world
	view   *View
	from   int64 // the seq it began after
	raw    bool  // never asks for collapse
	filter notify.Filter
	lines  map[int64]bool // what the terminal shows, not struck out
	read   map[int64]bool // events that were handed to it, markers apart
	asOf   int64          // the newest seq as of which a page was made
	failed error
}

func newReader(w *world, name string, from int64) *reader {
	r := &reader{name: name, w: w, view: New(Options{KeepEnded: -1}), from: from, lines: map[int64]bool{}, read: map[int64]bool{}}
	r.view.Advance(from)
	return r
}

// passes is the server's filter: a marker passes wherever its thread does.
func (r *reader) passes(e *Event) bool {
	if e.Method == notify.StreamRewind {
		f := notify.Filter{ThreadIDs: r.filter.ThreadIDs}
		return f.Match(e.ThreadID, e.Method)
	}
	return r.filter.Match(e.ThreadID, e.Method)
}

// page is one answer of the server: the events after a seq, at most n scanned.
func (r *reader) page(after int64, n int, collapse bool) {
	w := r.w
	var c *Collapser
	r.asOf = max(r.asOf, w.head())
	if collapse {
		c = NewCollapser(w.head())
		for i := range w.log {
			if m, ok := MarkerOf(&w.log[i].e); ok {
				c.Add(m)
			}
		}
	}
	for ; n > 0 && after < w.head(); n-- {
		x := &w.log[after]
		e := &x.e
		after++
		if collapse && !x.mark && c.LeavesOut(e) == x.liveAt(c.AsOf()) {
			r.fail("as of %d collapse leaves out %d: %v", c.AsOf(), e.Seq, c.LeavesOut(e))
		}
		if !r.passes(e) || collapse && (c.LeavesOut(e) || w.b == collapseDropsMarks && e.Method == notify.StreamRewind) {
			continue
		}
		r.take(e)
	}
	r.view.Advance(after) // next_after_seq
}

// take gives the event to the view, and strikes out the superseded lines.
func (r *reader) take(e *Event) {
	if r.w.b == ownStepOnly && len(e.Lineage) > 1 {
		own := *e
		own.Lineage = e.Lineage[len(e.Lineage)-1:]
		e = &own
	}
	if r.w.wire {
		parsed, err := Parse(e.Method, encode(e))
		if err != nil {
			r.fail("event %d: %v", e.Seq, err)
		}
		e = &parsed
	}
	skip := e.Seq <= r.view.Cursor()
	c := r.view.Apply(e)
	if skip != (c.Kind == Skipped) {
		r.fail("event %d after %d is %d", e.Seq, r.view.Cursor(), c.Kind)
	}
	if c.Kind == Skipped {
		return
	}
	if c.Kind == Joined {
		r.lines[e.Seq] = true
	}
	for _, superseded := range c.Superseded {
		if !r.lines[superseded.Seq] {
			r.fail("marker %d supersedes %d, which is not shown", e.Seq, superseded.Seq)
		}
		delete(r.lines, superseded.Seq)
	}
	if c.Kind != Rewound && (c.Kind != Late || c.Turn != nil) { // a turn/late of an unknown turn is not kept
		r.read[e.Seq] = true
	}
}

func (r *reader) fail(format string, args ...any) {
	if r.failed == nil {
		r.failed = fmt.Errorf(r.name+": "+format, args...)
	}
}

// sees says whether the oracle expects the reader to have the event.
func (r *reader) sees(e *Event) bool { return e.Seq > r.from && r.passes(e) }

// check compares view and terminal with the oracle, as of the reader's cursor.
func (r *reader) check() error {
	w, asOf := r.w, r.view.Cursor()
	if !r.raw && asOf < r.asOf {
		return r.failed // its pages used markers that it has not reached
	}
	live, superseded := map[int64]bool{}, map[int64]bool{}
	r.view.Turns(func(t *Turn) bool {
		l, s := t.Events()
		for _, e := range l {
			live[e.Seq] = true
		}
		for _, e := range s {
			superseded[e.Seq] = true
		}
		return true
	})
	for i := range w.log[:asOf] {
		x := &w.log[i]
		e := &x.e
		want := x.liveAt(asOf) && r.sees(e)
		if r.lines[e.Seq] != want {
			r.fail("as of %d the terminal shows %d (%s): %v, want %v", asOf, e.Seq, e.Method, r.lines[e.Seq], want)
		}
		if e.TurnID == "" || x.mark {
			continue
		}
		if live[e.Seq] != want {
			r.fail("as of %d event %d (%s) is live: %v, want %v", asOf, e.Seq, e.Method, live[e.Seq], want)
		}
		if (live[e.Seq] || superseded[e.Seq]) != r.read[e.Seq] || live[e.Seq] && superseded[e.Seq] {
			r.fail("event %d (%s) is live %v, superseded %v, read %v", e.Seq, e.Method, live[e.Seq], superseded[e.Seq], r.read[e.Seq])
		}
		if r.raw && !r.read[e.Seq] { // live and superseded are all that was appended
			r.fail("event %d is neither live nor superseded", e.Seq)
		}
	}
	r.checkLooks(looks(w.log, asOf, r.sees))
	return r.failed
}

// checkLooks compares turns, steps and items.
func (r *reader) checkLooks(want map[string]look) {
	seen := 0
	r.view.Turns(func(t *Turn) bool {
		l, ok := want[t.TurnID]
		if ok {
			seen++
		}
		if t.State != l.state {
			r.fail("turn %s is %q, want %q", t.TurnID, t.State, l.state)
		}
		for _, step := range t.Steps {
			seen++
			if got := (look{state: step.Status}); got != want[t.TurnID+"/"+step.Path] {
				r.fail("step %s of %s is %v, want %v", step.Path, t.TurnID, got, want[t.TurnID+"/"+step.Path])
			}
		}
		for _, it := range t.Items() {
			seen++
			text, from := it.Text()
			if got := (look{it.Status, text, from}); got != want[it.ItemID] {
				r.fail("item %s is %v, want %v", it.ItemID, got, want[it.ItemID])
			}
		}
		for _, it := range t.Superseded() {
			if _, ok := want[it.ItemID]; ok {
				r.fail("item %s is superseded, want it live", it.ItemID)
			}
		}
		return true
	})
	if seen != len(want) {
		r.fail("%d turns, steps and items, want %d", seen, len(want))
	}
}

// run makes one random log and reads it in many ways. It returns the first
// difference from the oracle.
func run(seed uint64, b broken) error {
	rnd := rand.New(rand.NewPCG(seed, 7))
	w := newWorld(rnd, b)
	w.wire = seed%32 == 0
	always := newReader(w, "always on", 0)
	always.raw = true
	restless := newReader(w, "restless", 0)
	narrow := newReader(w, "narrow", 0)
	if rnd.IntN(2) == 0 {
		narrow.filter.ThreadIDs = []string{"A"}
	}
	if rnd.IntN(2) == 0 {
		narrow.filter.Methods = []string{"item/*"}
	}
	readers := []*reader{always, restless, narrow}
	for range 5 + rnd.IntN(40) {
		w.step()
		switch rnd.IntN(8) {
		case 0: // reconnects, perhaps at an earlier position, perhaps in the other mode
			after := restless.view.Cursor()
			if rnd.IntN(3) == 0 {
				after = rnd.Int64N(after + 1)
			}
			restless.page(after, rnd.IntN(8), rnd.IntN(2) == 0)
		case 1:
			narrow.page(narrow.view.Cursor(), rnd.IntN(8), rnd.IntN(2) == 0)
		case 2:
			always.page(always.view.Cursor(), rnd.IntN(12), false)
			if err := always.check(); err != nil {
				return err
			}
		case 3:
			if len(readers) < 6 {
				n := newReader(w, "joined at "+strconv.FormatInt(w.head(), 10), rnd.Int64N(w.head()+1))
				n.page(n.view.Cursor(), rnd.IntN(8), rnd.IntN(2) == 0)
				readers = append(readers, n)
			}
		}
	}
	late := newReader(w, "late, collapsed", 0)
	for late.view.Cursor() < w.head() {
		late.page(late.view.Cursor(), 1+rnd.IntN(10), true)
	}
	if len(late.lines) != len(late.read) {
		late.fail("%d of %d events that collapse let through were not live", len(late.read)-len(late.lines), len(late.read))
	}
	readers = append(readers, late)
	for _, r := range readers {
		r.page(r.view.Cursor(), len(w.log), !r.raw && rnd.IntN(2) == 0)
		if err := r.check(); err != nil {
			return err
		}
	}
	for _, t := range w.turns {
		if got := always.view.Turn(t.id).Attempt; got != t.epochs[""] {
			return fmt.Errorf("turn %s is in attempt %d, want %d", t.id, got, t.epochs[""])
		}
	}
	return nil
}

// cases is how many random logs are made: by default a few, or FOLD_CASES.
func cases(t *testing.T) uint64 {
	if text := os.Getenv("FOLD_CASES"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FOLD_CASES=%s: %v", text, err)
		}
		return n
	}
	return 5_000
}

func TestEveryReaderEndsWithTheViewOfTheOracle(t *testing.T) {
	n := cases(t)
	began := time.Now()
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1); seed <= n && !t.Failed(); seed = next.Add(1) {
				if err := run(seed, nothing); err != nil {
					t.Errorf("case %d: %v", seed, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d cases in %s", n, time.Since(began).Round(time.Second))
}

func TestBrokenVariantsAreCaught(t *testing.T) {
	const n = 500
	for _, b := range []broken{ownStepOnly, collapseDropsMarks, childEpochsReset, noFence} {
		caught, first := 0, uint64(0)
		var why error
		for seed := uint64(1); seed <= n; seed++ {
			if err := run(seed, b); err != nil {
				if caught++; caught == 1 {
					first, why = seed, err
				}
			}
		}
		if caught == 0 {
			t.Errorf("%s: not caught in %d cases", b, n)
			continue
		}
		t.Logf("%s: caught in %d of %d cases, first in case %d: %v", b, caught, n, first, why)
	}
}
