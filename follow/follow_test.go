package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestFollowersGetWhatTheyWantInOrder(t *testing.T) {
	for _, tail := range []int{0, 2000} { // also with a tail that holds next to nothing
		inWorld(t, tail, func(t *testing.T, w *world) {
			cases := map[string]struct {
				Interest
				want string
			}{
				"everything":          {everything, "1-302"},
				"nothing":             {Interest{}, ""},
				"a thread":            {Interest{Threads: []string{"b"}}, "201-301"},
				"threads":             {Interest{Threads: []string{"b", "c"}}, "201-302"},
				"no such thread":      {Interest{Threads: []string{"z"}}, ""},
				"a method":            {methods(notify.ThreadStarted), "1 201 302"},
				"kinds":               {methods("thread/*", "turn/*"), "1 201 302"},
				"a method of threads": {Interest{Threads: []string{"a", "c"}, Methods: []string{notify.ThreadStarted}}, "1 302"},
				"no such method":      {methods("holon/never"), ""},
			}
			got := map[string]*seen{}
			for name, c := range cases {
				got[name] = &seen{}
				w.add(Follower{Name: name, Interest: c.Interest, Handle: got[name].handle})
			}
			w.run()
			w.thread("a", 199)
			w.thread("b", 100)
			w.thread("c", 0)
			synctest.Wait()
			for name, c := range cases {
				if s := got[name].take(); s != c.want {
					t.Errorf("%s: handled %q, want %q", name, s, c.want)
				}
			}
			for _, s := range w.d.Followers() {
				if s.Lag != 0 || s.Position != 302 || s.Waiting != 0 || s.Err != nil || !s.Following {
					t.Errorf("%+v", s)
				}
			}
			if errs := w.life.reports(""); errs != nil {
				t.Error(errs)
			}
		})
	}
}

func TestMarkersPassAnyMethodsAndCollapseLeavesOutWhatTheySupersede(t *testing.T) {
	for _, tail := range []int{0, 1} {
		inWorld(t, tail, func(t *testing.T, w *world) {
			m := w.thread("a", 0)
			m.Attempt("turn_1")
			m.Messages("turn_1", 2, 20)
			m.Commit()
			m.Rewind("turn_1", "", turns.CauseCrash)
			m.Attempt("turn_1")
			m.EndTurn("turn_1")
			m.Commit() // 1 thread, 2 started, 3-4 items, 5 marker, 6 started, 7 ended
			var plain, ends, collapsed, other seen
			w.add(Follower{Name: "plain", Interest: everything, FromFirst: true, Handle: plain.handle})
			w.add(Follower{Name: "ends", Interest: methods(notify.TurnCompleted), FromFirst: true, Handle: ends.handle})
			w.add(Follower{Name: "collapsed", Interest: Interest{All: true, Collapse: true}, FromFirst: true, Handle: collapsed.handle})
			w.add(Follower{Name: "other", Interest: Interest{Threads: []string{"b"}}, FromFirst: true, Handle: other.handle})
			w.run()
			plain.want(t, "1-7")
			ends.want(t, "5 7")
			collapsed.want(t, "1 5-7")
			other.want(t, "")
		})
	}
}

func TestWatchedThreadsGrowAndShrink(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var s seen
		l := w.add(Follower{Name: "some", Handle: s.handle})
		w.run()
		a := w.thread("a", 3)
		s.want(t, "")
		if from := l.Watch("a", "b"); from != 4 {
			t.Errorf("watches from %d", from)
		}
		a.Messages("", 2, 10)
		a.Commit() // 5-6
		w.thread("b", 0)
		s.want(t, "5-7")
		l.Unwatch("a")
		a.Messages("", 1, 10)
		a.Commit()
		w.thread("c", 0)
		s.want(t, "")
		w.crash()
		w.add(Follower{Name: "some", Interest: Interest{Threads: []string{"c"}}, Handle: s.handle})
		w.run()
		s.want(t, "9") // watched only now, and within what was not saved
		w.restart()
		w.add(Follower{Name: "some", Interest: Interest{Threads: []string{"c"}}, Handle: s.handle})
		w.run()
		s.want(t, "")
	})
}

func TestNewFollowerBeginsAtTheHeadAndAKnownOneWhereItWas(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		w.thread("a", 9)
		var head, first seen
		add := func() {
			w.add(Follower{Name: "head", Interest: everything, Handle: head.handle})
			w.add(Follower{Name: "first", Interest: everything, FromFirst: true, Handle: first.handle})
		}
		add()
		// Nothing ran yet, and this crash is before anything was handled.
		w.thread("b", 9)
		w.crash()
		add()
		w.run()
		head.want(t, "11-20")
		first.want(t, "1-20")
		w.restart()
		w.thread("c", 0) // while nothing followed
		add()
		w.run()
		head.want(t, "21")
		first.want(t, "21")
		if _, err := w.d.Add(t.Context(), Follower{Name: "head", Interest: everything, Handle: head.handle}); !errors.Is(err, ErrTaken) {
			t.Errorf("the same name again: %v", err)
		}
		for _, bad := range []Follower{{}, {Name: "x"}, {Name: strings.Repeat("x", 257), Handle: head.handle}, {Name: "x", Interest: methods("x"), Handle: head.handle}, {Name: "x", Interest: Interest{All: true, Threads: []string{"a"}}, Handle: head.handle}} {
			if _, err := w.d.Add(t.Context(), bad); err == nil {
				t.Errorf("%+v was added", bad)
			}
		}
	})
}

func TestRowCanBeCreatedInTheUnitOfItsPurpose(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		w.thread("a", 4)
		log, _ := w.store.Reader().Position(t.Context())
		row := func() error {
			_, err := w.store.Append(&ledger.Unit{Rows: []ledger.Row{NewRow("x", log.LogID, 3)}})
			return err
		}
		if err := row(); err != nil {
			t.Fatal(err)
		}
		if err := row(); !errors.Is(err, ErrTaken) {
			t.Errorf("the same again: %v", err)
		}
		var s, other seen
		w.add(Follower{Name: "other", Interest: everything, Handle: other.handle})
		w.run()
		w.thread("b", 0)
		w.restart() // the dispatcher's own position is beyond that of the row now
		w.add(Follower{Name: "x", Interest: everything, Handle: s.handle})
		w.run()
		s.want(t, "4-6")
	})
}

func TestSlowFollowerDelaysNoOther(t *testing.T) {
	inWorld(t, 4000, func(t *testing.T, w *world) {
		var slow, quick seen
		release := make(chan struct{})
		w.add(Follower{Name: "slow", Interest: everything, Handle: func(ctx context.Context, b *Batch) ([]Task, error) {
			select {
			case <-release:
				return slow.handle(ctx, b)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
		w.add(Follower{Name: "quick", Interest: everything, Handle: quick.handle})
		w.run()
		w.thread("a", 0)
		synctest.Wait() // it hangs now
		w.thread("b", 3000)
		quick.want(t, "1-3002")
		synctest.Wait()
		for _, s := range w.d.Followers() {
			if want := map[string]int64{"slow": 3002, "quick": 0}[s.Name]; s.Lag != want {
				t.Errorf("%+v, want a lag of %d", s, want)
			}
		}
		time.Sleep(time.Minute) // its time is up
		if errs := w.life.reports("slow"); len(errs) == 0 || !errors.Is(errs[0], context.DeadlineExceeded) {
			t.Errorf("reports %v", errs)
		}
		close(release)
		time.Sleep(time.Minute)
		slow.want(t, "1-3002")
	})
}

// TestBusyFollowersShareTheSlots has more busy followers than slots.
func TestBusyFollowersShareTheSlots(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir, 0)
		defer w.close()
		w.bounds.MaxBusy, w.bounds.MaxFollowers = 3, 20
		w.restart()
		var busy, most atomic.Int64
		var all [20]seen
		for i := range all {
			w.add(Follower{Name: fmt.Sprint(i), Interest: everything, Handle: func(ctx context.Context, b *Batch) ([]Task, error) {
				n := busy.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Second)
				busy.Add(-1)
				return all[i].handle(ctx, b)
			}})
		}
		if _, err := w.d.Add(t.Context(), Follower{Name: "more", Handle: all[0].handle}); !errors.Is(err, ErrTooMany) {
			t.Errorf("one too many: %v", err)
		}
		w.run()
		w.thread("a", 1)
		time.Sleep(7500 * time.Millisecond)
		for i := range all {
			all[i].want(t, "1-2")
		}
		if most.Load() != 3 {
			t.Errorf("%d at the same time", most.Load())
		}
	})
}

func TestFailingFollowerIsRetriedAfterGrowingPauses(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var s, other seen
		var at []time.Duration
		began := time.Now()
		broken := errors.New("broken")
		s.fail = func(*Batch) error {
			if at = append(at, time.Since(began)); len(at) <= 10 {
				return broken
			}
			return nil
		}
		l := w.add(Follower{Name: "failing", Interest: everything, Handle: s.handle})
		w.add(Follower{Name: "other", Interest: everything, Handle: other.handle})
		w.run()
		w.thread("a", 1)
		other.want(t, "1-2")
		if s := l.Status(); s.Failures != 1 || s.Err != broken || s.Lag != 2 || s.Ended {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Hour)
		s.want(t, "1-2")
		var pauses []time.Duration
		for i := range at[1:] {
			pauses = append(pauses, at[i+1]-at[i])
		}
		if want := []time.Duration{250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000}; !slices.EqualFunc(pauses, want, func(a, b time.Duration) bool { return a == b*time.Millisecond }) {
			t.Errorf("pauses %v", pauses)
		}
		if s := l.Status(); s.Failures != 0 || s.Err != nil || s.Lag != 0 {
			t.Errorf("afterwards %+v", s)
		}
	})
}

func TestPanicEndsTheFollowerAndNothingElse(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var s, other seen
		s.fail = func(*Batch) error { panic("no") }
		l := w.add(Follower{Name: "panics", Interest: everything, Handle: s.handle})
		w.add(Follower{Name: "other", Interest: everything, Handle: other.handle})
		w.run()
		w.thread("a", 1)
		w.thread("b", 1)
		time.Sleep(time.Hour)
		other.want(t, "1-4")
		st := l.Status()
		if !st.Ended || st.Lag != 4 || st.Position != 0 || !strings.Contains(st.Err.Error(), "no") || len(w.life.reports("panics")) != 1 {
			t.Errorf("%+v, %v", st, w.life.reports("panics"))
		}
		w.restart()
		s.fail = nil
		w.add(Follower{Name: "panics", Interest: everything, Handle: s.handle})
		w.run()
		s.want(t, "1-4")
	})
}

func TestNothingIsWrittenForUnwantedEvents(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var s seen
		for i := range 50 {
			w.add(Follower{Name: fmt.Sprint(i), Interest: Interest{Threads: []string{fmt.Sprint("mine", i)}}, Handle: s.handle})
		}
		w.run()
		m := w.thread("mine7", 0)
		time.Sleep(time.Minute)
		s.want(t, "1")
		if n := w.life.writes(); n != 50+1 { // a row each when they were added, and one unit for what was handled
			t.Errorf("%d units", n)
		}
		for range 20 {
			w.thread(fmt.Sprint("other", time.Now().UnixNano()), 50)
			time.Sleep(time.Minute)
		}
		if n := w.life.writes(); n != 0 {
			t.Errorf("%d units for unwanted events", n)
		}
		m.Messages("", 1, 1)
		m.Commit()
		time.Sleep(time.Minute)
		if n := w.life.writes(); n != 1 {
			t.Errorf("%d units for one event", n)
		}
		w.stop()
		if n := w.life.writes(); n != 0 {
			t.Errorf("%d units at the end, when everything was saved", n)
		}
	})
}

func TestRemovedFollowerIsForgotten(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var s seen
		add := func() *Progress { return w.add(Follower{Name: "x", Interest: everything, Handle: s.handle}) }
		l := add()
		w.run()
		w.thread("a", 0)
		s.want(t, "1")
		blocked := make(chan struct{})
		s.fail = func(*Batch) error { close(blocked); time.Sleep(time.Second); return nil }
		b := w.thread("b", 0)
		<-blocked
		if err := w.d.Remove("x"); err != nil {
			t.Fatal(err)
		}
		s.want(t, "2") // waited for
		s.fail = nil
		l.Watch("b")
		b.Messages("", 1, 1)
		b.Commit()
		s.want(t, "")
		if list := w.d.Followers(); len(list) != 0 {
			t.Errorf("%+v", list)
		}
		if floor := w.d.Floor(); floor != noFloor {
			t.Errorf("the floor is %d", floor)
		}
		add()
		b.Messages("", 1, 1)
		b.Commit()
		s.want(t, "4") // a new one
	})
}

// A save that says that a follower does not lag is committed, but its answer is
// lost.
func TestPositionsAreRightAfterASaveWhoseAnswerWasLost(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var s seen
		add := func() { w.add(Follower{Name: "x", Interest: everything, Handle: s.handle}) }
		add()
		w.run()
		w.life.mu.Lock()
		w.life.loseNext = true
		w.life.mu.Unlock()
		w.d.Floor() // asks for a save
		synctest.Wait()
		if errs := w.life.reports(""); len(errs) != 1 || !errors.Is(errs[0], errLost) {
			t.Fatal(errs)
		}
		s.fail = func(*Batch) error { return errors.New("later") }
		w.thread("a", 0)
		time.Sleep(time.Minute) // it is saved again, and the follower is behind now
		w.crash()
		s.fail = nil
		add()
		w.run()
		s.want(t, "1")
		if errs := w.life.reports(""); len(errs) != 0 {
			t.Error(errs)
		}
	})
}
