package follow

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// prune removes the events before a seq, as far as may be, and returns the
// oldest that is left.
func (w *world) prune(before int64) int64 {
	w.t.Helper()
	p, err := w.store.Prune(w.t.Context(), before)
	if err != nil {
		w.t.Fatal(err)
	}
	return p.First
}

func TestRetentionKeepsWhatFollowersNeed(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		m := w.thread("a", 99)
		var s, idle seen
		s.fail = func(*Batch) error { return errors.New("later") }
		w.add(Follower{Name: "behind", Interest: everything, Handle: s.handle})
		w.add(Follower{Name: "idle", Interest: methods("holon/never"), Handle: idle.handle})
		w.run()
		m.Messages("", 100, 10)
		m.Commit()
		synctest.Wait()
		if first := w.prune(150); first != 101 {
			t.Errorf("pruned to %d beside a follower at 100", first)
		}
		w.crash() // nor before it has come back
		if first := w.prune(150); first != 101 {
			t.Errorf("pruned to %d before the follower is there", first)
		}
		s.fail = nil
		w.add(Follower{Name: "behind", Interest: everything, Handle: s.handle})
		w.add(Follower{Name: "idle", Interest: methods("holon/never"), Handle: idle.handle})
		w.run()
		s.want(t, "101-200")
		time.Sleep(time.Minute)
		if first := w.prune(150); first != 150 {
			t.Errorf("pruned to %d when everything is handled", first)
		}
		// No follower wants the next events, and no position is stored until the
		// floor is read.
		w.thread("b", 99)
		if err := w.d.Remove("behind"); err != nil {
			t.Fatal(err)
		}
		w.prune(250)
		time.Sleep(time.Minute)
		if first := w.prune(250); first != 250 {
			t.Errorf("pruned to %d beside an idle follower", first)
		}
		if err := w.d.Remove("idle"); err != nil {
			t.Fatal(err)
		}
		if first := w.prune(300); first != 300 {
			t.Errorf("pruned to %d without followers", first)
		}
	})
}

func TestFollowerBeyondTheBoundGetsTheRangeThatItLost(t *testing.T) {
	for _, bound := range []string{"events", "age"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, dir, 1)
			defer w.close()
			m := w.thread("a", 9)
			if bound == "events" {
				w.bounds.MaxLagEvents = 50
			} else {
				w.bounds.MaxLagAge = 50 * time.Millisecond // a maker makes an event a millisecond
			}
			w.restart()
			var s, idle seen
			s.fail = func(*Batch) error { return errors.New("later") }
			w.add(Follower{Name: "behind", Interest: Interest{Threads: []string{"a"}}, Handle: s.handle})
			w.add(Follower{Name: "idle", Interest: methods("holon/never"), Handle: idle.handle})
			w.run()
			for range 100 { // the tail keeps what was committed last
				m.Messages("", 1, 10)
				m.Commit()
			}
			time.Sleep(time.Minute)
			w.prune(2)
			time.Sleep(time.Minute) // what the bound means now is known by then
			first := w.prune(1000)
			if first < 60 || first > 62 {
				t.Errorf("%s: pruned to %d with a bound of 50", bound, first)
			}
			s.mu.Lock()
			s.fail = nil
			s.mu.Unlock()
			time.Sleep(time.Minute)
			s.want(t, fmt.Sprintf("lost [{11 %d}] %d-110", first-1, first))
			idle.want(t, "")
		})
	}
}

// Something that does not know the followers has pruned the log.
func TestLogThatWasPrunedBesideTheFollowers(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		m := w.thread("a", 9)
		var s, idle seen
		add := func() {
			w.add(Follower{Name: "all", Interest: everything, Handle: s.handle})
			w.add(Follower{Name: "idle", Interest: methods(notify.ThreadStarted), Handle: idle.handle})
		}
		add()
		w.run()
		m.Messages("", 10, 10)
		m.Commit()
		s.want(t, "11-20")
		w.restart()
		for range 30 { // the tail keeps what was committed last
			m.Messages("", 1, 10)
			m.Commit()
		}
		w.store.KeepFrom(func() int64 { return noFloor })
		if first := w.prune(41); first != 41 {
			t.Fatal(first)
		}
		add()
		w.run()
		s.want(t, "lost [{21 40}] 41-50")
		idle.want(t, "lost [{21 40}]") // there may have been some
		w.restart()
		add()
		w.run()
		s.want(t, "")
		idle.want(t, "")
	})
}

func TestFirstBatchAfterARestoreSaysSo(t *testing.T) {
	dir, copied, again := t.TempDir(), filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "again")
	var s, idle, behind seen
	add := func(w *world) {
		w.add(Follower{Name: "all", Interest: everything, Handle: s.handle})
		w.add(Follower{Name: "idle", Interest: methods("holon/never"), Handle: idle.handle})
		w.add(Follower{Name: "behind", Interest: everything, Handle: behind.handle})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir, 0)
		defer w.close()
		behind.fail = func(*Batch) error { return errors.New("later") }
		add(w)
		w.run()
		w.thread("a", 9)
		s.want(t, "1-10")
		time.Sleep(time.Minute)
		if err := w.store.Reader().Backup(t.Context(), copied); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := sqlite.Restore(copied, again); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, again, 0)
		defer w.close()
		add(w)
		w.run()
		s.want(t, "restored")
		idle.want(t, "restored")
		w.crash() // perhaps not all of that was stored: it is said again then
		behind.fail = nil
		add(w)
		w.run()
		time.Sleep(time.Minute)
		behind.want(t, "restored 1-10")
		for _, s := range []*seen{&s, &idle} {
			if got := s.take(); got != "" && got != "restored" {
				t.Errorf("handled %q after a crash", got)
			}
		}
		w.crash()
		add(w)
		w.run()
		w.thread("b", 0)
		s.want(t, "11")
		idle.want(t, "")
		behind.want(t, "11")
	})
}
