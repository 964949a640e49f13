package engine_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// atOnce runs the calls. All of them come as far as they can while nothing is
// committed; only then units are committed.
func (h *harness) atOnce(calls ...func()) {
	gate := make(chan struct{})
	h.faults.holdBack(func(*ledger.Unit) <-chan struct{} { return gate })
	var wg sync.WaitGroup
	for _, f := range calls {
		wg.Go(f)
		synctest.Wait()
	}
	h.faults.holdBack(nil)
	close(gate)
	wg.Wait()
}

// times is n calls of f with the numbers from 0.
func times(n int, f func(i int)) []func() {
	calls := make([]func(), n)
	for i := range calls {
		calls[i] = func() { f(i) }
	}
	return calls
}

func TestRequestsWithOneKeyAtOnceHappenOnce(t *testing.T) {
	t.Run("same thread", func(t *testing.T) {
		// Guard: keyed looks the key up in the actor, one command after the other.
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "")
			results := make([]turns.StartResult, 20)
			h.atOnce(times(20, func(i int) {
				results[i] = h.startWith(turns.Start{ThreadID: "a", Key: key("k", "turn/start", "a")})
			})...)
			for _, r := range results {
				if r.TurnID != results[0].TurnID || r.Seq != results[0].Seq || r.State != turns.Active {
					t.Errorf("%+v, the first: %+v", r, results[0])
				}
			}
			h.next(h.agent).end(turns.Completed)
			h.ended(results[0].TurnID)
			if n := len(h.of(func(e event) bool { return e.Method == notify.TurnStarted || e.Method == notify.TurnQueued })); n != 1 {
				t.Errorf("%d turns", n)
			}
		})
	})
	t.Run("different threads", func(t *testing.T) {
		// Guard: the appending transaction looks the key up (Receipt.Stored).
		bubble(t, setup{}, func(h *harness) {
			h.keyRace(func(won, conflicts int) { h.expect(won == 1 && conflicts == 9, won, conflicts) })
		})
	})
	t.Run("different threads without the guard", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			h.faults.without(func(u *ledger.Unit) { u.Key = nil })
			h.keyRace(func(won, conflicts int) { h.expect(won == 10, won, conflicts) })
		})
	})
	t.Run("threads without an id", func(t *testing.T) {
		// Guard: the appending transaction looks the key up (Receipt.Stored).
		bubble(t, setup{}, func(h *harness) {
			ids := make([]turns.StartThreadResult, 10)
			h.atOnce(times(10, func(i int) {
				var err error
				if ids[i], err = h.engine.StartThread(bg, turns.StartThread{Key: key("k", "thread/start")}); err != nil {
					t.Error(err)
				}
			})...)
			for _, r := range ids {
				if r != ids[0] || !r.Created || r.ThreadID == "" {
					t.Errorf("%+v, the first: %+v", r, ids[0])
				}
			}
			if n := len(h.of(func(e event) bool { return e.Method == notify.ThreadStarted })); n != 1 {
				t.Errorf("%d threads", n)
			}
		})
	})
	t.Run("pauses", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if r, err := h.engine.Pause(bg, turns.Pause{Key: key("k", "holon/pause")}); err != nil || r.Message != "paused" || r.Seq != 1 {
						t.Errorf("%+v, %v", r, err)
					}
				})
			}
			wg.Wait()
		})
	})
}

func (h *harness) expect(ok bool, got ...any) {
	h.t.Helper()
	if !ok {
		h.t.Errorf("got %v", got)
	}
}

// keyRace starts a turn in each of ten threads with the same key at once.
func (h *harness) keyRace(check func(won, conflicts int)) {
	for i := range 10 {
		h.thread(fmt.Sprint("t", i), "")
	}
	var mu sync.Mutex
	won, conflicts := 0, 0
	h.atOnce(times(10, func(i int) {
		th := fmt.Sprint("t", i)
		_, err := h.engine.Start(bg, turns.Start{ThreadID: th, Input: text("x"), Key: key("k", "turn/start", th)})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			won++
		case errors.Is(err, ledger.ErrKeyConflict):
			conflicts++
		default:
			h.t.Error(err)
		}
	})...)
	check(won, conflicts)
	if n := len(h.of(func(e event) bool { return e.Method == notify.TurnStarted })); n != won {
		h.t.Errorf("%d were told of a turn, %d started", won, n)
	}
	if g := h.engine.Gate(); g.Active != won || g.Granted != 0 {
		h.t.Errorf("the losers keep slots: %+v", g)
	}
}

func TestKeyGivesTheFirstAnswerAgain(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		twice := func(name string, f func(k *ledger.Key) (any, error)) {
			first, err := f(key(name, name, 1))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			h.pump()
			before := len(h.seen)
			again, err := f(key(name, name, 1))
			if err != nil || fmt.Sprint(first) != fmt.Sprint(again) {
				t.Errorf("%s: first %+v, again %+v, %v", name, first, again, err)
			}
			for _, k := range []*ledger.Key{key(name, name, 2), key(name, "other", 1)} {
				if _, err := f(k); !errors.Is(err, ledger.ErrKeyConflict) {
					t.Errorf("%s with other params or method: %v", name, err)
				}
			}
			if h.pump(); len(h.seen) != before {
				t.Errorf("%s: the repeats did\n%s", name, list(h.seen[before:]))
			}
		}
		twice("thread", func(k *ledger.Key) (any, error) { return h.engine.StartThread(bg, turns.StartThread{Key: k}) })
		h.thread("a", "deaf")
		twice("resume nothing", func(k *ledger.Key) (any, error) {
			return h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: "a", Verb: threads.VerbResume, Key: k})
		})
		twice("configure", func(k *ledger.Key) (any, error) {
			return h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings(`"x"`), Key: k})
		})
		twice("configure nothing", func(k *ledger.Key) (any, error) {
			return h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings(`"x"`), Key: k})
		})
		twice("rename", func(k *ledger.Key) (any, error) {
			return h.engine.ThreadRename(bg, turns.RenameThread{ThreadID: "a", Title: "x", Key: k})
		})
		twice("move", func(k *ledger.Key) (any, error) {
			return h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Cwd: "/tmp", Key: k})
		})
		twice("fork", func(k *ledger.Key) (any, error) { return h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", Key: k}) })
		var turnID string
		twice("start", func(k *ledger.Key) (any, error) {
			r, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), Key: k})
			if err == nil {
				turnID = r.TurnID
			}
			return r, err
		})
		c := h.next(h.deaf)
		var queued string
		twice("queue", func(k *ledger.Key) (any, error) {
			r, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), Key: k})
			if err == nil {
				queued = r.TurnID
			}
			return r, err
		})
		twice("interrupt queued", func(k *ledger.Key) (any, error) {
			r, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: queued, Key: k})
			return r, err
		})
		twice("steer", func(k *ledger.Key) (any, error) {
			return h.engine.Steer(bg, turns.Steer{TurnID: turnID, Input: text("x"), Key: k})
		})
		q := h.ask(c, permission(), turns.AskOptions{})
		twice("respond", func(k *ledger.Key) (any, error) {
			return h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "yes", Key: k})
		})
		twice("pause", func(k *ledger.Key) (any, error) { return h.engine.Pause(bg, turns.Pause{Key: k}) })
		twice("pause again", func(k *ledger.Key) (any, error) { return h.engine.Pause(bg, turns.Pause{Key: k}) })
		twice("resume", func(k *ledger.Key) (any, error) { return h.engine.Resume(bg, turns.Resume{Key: k}) })
		twice("interrupt", func(k *ledger.Key) (any, error) {
			r, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: turnID, Key: k})
			return r, err
		})
		// An answer that was not final at the commit has the present state.
		c.end(turns.Completed)
		h.ended(turnID)
		r, ended, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: turnID, Key: key("interrupt", "interrupt", 1)})
		if err != nil || r.State != string(turns.Interrupted) || ended != nil {
			t.Errorf("interrupt after its end: %+v, %v", r, err)
		}
		twice("close", func(k *ledger.Key) (any, error) {
			return h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: "a", Verb: threads.VerbClose, Key: k})
		})
		h.restart()
		if r, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), Key: key("start", "start", 1)}); err != nil || r.TurnID != turnID {
			t.Errorf("after a restart: %+v, %v", r, err)
		}
	})
}

func TestKeyOfACommandThatFailedIsNotUsed(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		k := key("k", "turn/start", "a")
		if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), Key: k}); !errors.Is(err, threads.ErrNotFound) {
			t.Fatal(err)
		}
		h.thread("a", "quick")
		h.faults.failAll(ledger.ErrStorageFull)
		if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), Key: k}); !errors.Is(err, ledger.ErrStorageFull) {
			t.Fatal(err)
		}
		h.faults.heal()
		r, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), Key: k})
		if err != nil {
			t.Fatal(err)
		}
		h.ended(r.TurnID)
	})
}
