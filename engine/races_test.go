package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// hold keeps the units that match from the log until release is called.
func (h *harness) hold(match func(*ledger.Unit) bool) (release func()) {
	gate := make(chan struct{})
	h.faults.holdBack(func(u *ledger.Unit) <-chan struct{} {
		if match(u) {
			return gate
		}
		return nil
	})
	return func() {
		h.faults.holdBack(nil)
		close(gate)
	}
}

// has reports whether a unit has an event of one of the methods.
func has(methods ...string) func(*ledger.Unit) bool {
	return func(u *ledger.Unit) bool {
		for i := range u.Drafts {
			for _, m := range methods {
				if u.Drafts[i].Method == m {
					return true
				}
			}
		}
		return false
	}
}

// pauseWhileStarting pauses the runtime after a turn has found the gate open and
// before its commit.
func (h *harness) pauseWhileStarting(fromQueue bool) (id string, state turns.State) {
	h.t.Helper()
	h.thread("a", "")
	if fromQueue {
		h.pause()
		id = h.start("a").TurnID
		release := h.hold(has(notify.TurnStarted))
		h.resume()
		synctest.Wait()
		h.pause()
		release()
		synctest.Wait()
		return id, h.turn(id).State
	}
	release := h.hold(has(notify.TurnStarted))
	result := make(chan turns.StartResult, 1)
	go func() { result <- h.start("a") }()
	synctest.Wait()
	h.pause()
	release()
	r := <-result
	return r.TurnID, r.State
}

func TestPauseAgainstATurnThatIsStarting(t *testing.T) {
	// Guard: the appender's fence, Unit.StartsTurn and ErrRuntimePaused.
	for _, fromQueue := range []bool{false, true} {
		name := map[bool]string{false: "new", true: "queued"}[fromQueue]
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				id, state := h.pauseWhileStarting(fromQueue)
				if state != turns.Queued {
					t.Errorf("the turn is %s", state)
				}
				h.idle(h.agent)
				if g := h.engine.Gate(); g.Active != 0 || g.Granted != 0 {
					t.Errorf("gate: %+v", g)
				}
				h.resume()
				h.next(h.agent).end(turns.Completed)
				h.ended(id)
			})
		})
		t.Run(name+" without the guard", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, setup{})
				h.faults.without(func(u *ledger.Unit) { u.Fences = nil })
				if _, state := h.pauseWhileStarting(fromQueue); state != turns.Active {
					t.Errorf("the turn is %s: the guard is not what keeps it", state)
				}
			})
		})
	}
}

func TestStartAgainstAPauseThatIsBeingCommitted(t *testing.T) {
	// Guard: the gate is closed before holon/paused is appended; else the
	// turn would start, be refused and try again until the pause is committed.
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		release := h.hold(has(notify.HolonPaused))
		paused := make(chan struct{})
		go func() { h.pause(); close(paused) }()
		synctest.Wait()
		r := h.start("a")
		if r.State != turns.Queued {
			t.Errorf("the turn is %s", r.State)
		}
		release()
		<-paused
		h.idle(h.agent)
		h.resume()
		h.next(h.agent).end(turns.Completed)
		h.ended(r.TurnID)
	})
}

func TestInterruptAgainstCompletion(t *testing.T) {
	t.Run("interrupt first", func(t *testing.T) {
		// Guard: promptEnded checks activeTurn.stop before the agent's outcome.
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "deaf")
			r := h.start("a")
			c := h.next(h.deaf)
			release := h.hold(has(notify.TurnProgress))
			result := make(chan (<-chan turns.InterruptResult), 1)
			go func() {
				_, ended := h.interrupt(r.TurnID)
				result <- ended
			}()
			synctest.Wait()
			c.end(turns.Completed)
			synctest.Wait()
			release()
			if last := <-<-result; last.State != string(turns.Interrupted) {
				t.Errorf("final answer %+v", last)
			}
			if e := h.ended(r.TurnID); e.Method != notify.TurnInterrupted {
				t.Errorf("accepted, and %s", e)
			}
		})
	})
	t.Run("completion first", func(t *testing.T) {
		// Guard: the actor decides about the interrupt only after the commit
		// of the end has returned.
		bubble(t, setup{}, func(h *harness) {
			c := h.prompt()
			release := h.hold(has(notify.TurnCompleted))
			c.end(turns.Completed)
			synctest.Wait()
			result := make(chan error, 1)
			go func() {
				_, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: c.TurnID})
				result <- err
			}()
			synctest.Wait()
			release()
			if err := <-result; !errors.Is(err, turns.ErrNotActive) {
				t.Errorf("interrupt: %v", err)
			}
			if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
				t.Errorf("%s", e)
			}
		})
	})
	t.Run("at random", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			for i := range 100 {
				th := fmt.Sprint("t", i)
				h.thread(th, "")
				r := h.start(th)
				c := h.next(h.agent)
				var err error
				var wg sync.WaitGroup
				wg.Go(func() {
					select {
					case c.out <- turns.Outcome{}:
					case <-c.ctx.Done():
					}
				})
				wg.Go(func() { _, _, err = h.engine.Interrupt(bg, turns.Interrupt{TurnID: r.TurnID}) })
				wg.Wait()
				e := h.ended(r.TurnID)
				if accepted := err == nil; accepted != (e.Method == notify.TurnInterrupted) {
					t.Errorf("interrupt: %v, and %s", err, e)
				}
			}
		})
	})
}

func TestSteerAgainstCompletion(t *testing.T) {
	t.Run("steer first", func(t *testing.T) {
		// Guard: promptEnded starts the next prompt if there are steers.
		bubble(t, setup{}, func(h *harness) {
			c := h.prompt()
			release := h.hold(has(notify.ItemCreated))
			result := make(chan turns.SteerResult, 1)
			go func() { result <- h.steer(c.TurnID, "just in time", false) }()
			synctest.Wait()
			c.end(turns.Completed)
			synctest.Wait()
			release()
			r := <-result
			next := h.next(h.agent)
			if next.said() != "just in time" || next.TurnID != r.TurnID {
				t.Errorf("prompt %q", next.said())
			}
			next.end(turns.Completed)
			h.ended(c.TurnID)
		})
	})
	t.Run("completion first", func(t *testing.T) {
		// Guard: the actor decides about the steer only after the commit of
		// the end has returned.
		bubble(t, setup{}, func(h *harness) {
			c := h.prompt()
			release := h.hold(has(notify.TurnCompleted))
			c.end(turns.Completed)
			synctest.Wait()
			result := make(chan error, 1)
			go func() {
				_, err := h.engine.Steer(bg, turns.Steer{TurnID: c.TurnID, Input: text("late")})
				result <- err
			}()
			synctest.Wait()
			release()
			if err := <-result; !errors.Is(err, turns.ErrNotActive) {
				t.Errorf("steer: %v", err)
			}
		})
	})
	t.Run("at random", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			for i := range 60 {
				h.steerRace(fmt.Sprint("t", i), rand.IntN(3))
			}
		})
	})
}

// steerRace steers a turn from three sides while it ends: each text that was
// accepted must have been in a prompt or be listed as undelivered.
func (h *harness) steerRace(th string, how int) {
	h.t.Helper()
	h.thread(th, "")
	r := h.start(th)
	var mu sync.Mutex
	accepted, delivered := map[string]bool{}, map[string]bool{}
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for j := range 4 {
				s, err := h.engine.Steer(bg, turns.Steer{TurnID: r.TurnID, Input: text(fmt.Sprint(i, ".", j)), Interrupt: j == 3 && i == 0})
				if errors.Is(err, turns.ErrNotActive) {
					return
				}
				if err != nil {
					h.t.Error(err)
					return
				}
				mu.Lock()
				accepted[s.ItemIDs[0]] = true
				mu.Unlock()
			}
		})
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for n := 0; ; n++ {
			c := <-h.agent.calls
			out := turns.Outcome{}
			if how > 0 && n == how {
				out.State = []turns.State{turns.Failed, turns.Interrupted}[how-1]
			}
			select {
			case c.out <- out:
			case <-c.ctx.Done():
			}
			select {
			case <-time.After(time.Second): // at rest
				return
			case again := <-h.agent.calls:
				h.agent.calls <- again
			}
		}
	}()
	wg.Wait()
	<-over
	e := h.ended(r.TurnID)
	for _, id := range e.Undelivered {
		delivered[id] = true
	}
	for id := range accepted {
		it := h.item(id)
		if (it.Status == items.StatusCompleted) == delivered[id] {
			h.t.Errorf("accepted text is %s, undelivered: %v", it.Status, e.Undelivered)
		}
	}
}

func TestCloseAgainstStart(t *testing.T) {
	t.Run("close first", func(t *testing.T) {
		// Guard: mayStart checks the thread's state in the actor.
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "")
			release := h.hold(has(notify.ThreadClosed))
			closed, started := make(chan turns.ChangeThreadResult, 1), make(chan error, 1)
			go func() { closed <- h.change("a", threads.VerbClose) }()
			synctest.Wait()
			go func() {
				_, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x")})
				started <- err
			}()
			synctest.Wait()
			release()
			if r := <-closed; r.State != threads.Closed {
				t.Errorf("close: %+v", r)
			}
			if err := <-started; !errors.Is(err, threads.ErrClosed) {
				t.Errorf("start: %v", err)
			}
		})
	})
	t.Run("start first", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			h.thread("a", "")
			release := h.hold(has(notify.TurnStarted))
			closed, started := make(chan turns.ChangeThreadResult, 1), make(chan turns.StartResult, 1)
			go func() { started <- h.start("a") }()
			synctest.Wait()
			go func() { closed <- h.change("a", threads.VerbClose) }()
			synctest.Wait()
			release()
			r := <-started
			if c := <-closed; c.State != threads.Closing {
				t.Errorf("close: %+v", c)
			}
			if e := h.ended(r.TurnID); e.Method != notify.TurnInterrupted {
				t.Errorf("ended: %s", e)
			}
			h.event(notify.ThreadClosed, nil)
		})
	})
	t.Run("at random", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			for i := range 40 {
				th := fmt.Sprint("t", i)
				h.thread(th, "quick")
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						r, err := h.engine.Start(bg, turns.Start{ThreadID: th, Input: text("x"), OnBusy: turns.OnBusy([]string{"queue", "interrupt", "steer"}[rand.IntN(3)])})
						if (err == nil) == (r.TurnID == "") || (err != nil && !errors.Is(err, threads.ErrClosed)) {
							t.Errorf("start: %+v, %v", r, err)
						}
					})
				}
				wg.Go(func() { h.change(th, threads.VerbClose) })
				wg.Wait()
				h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == th })
			}
			synctest.Wait()
			if g := h.engine.Gate(); g.Active != 0 || g.Granted != 0 || g.Waiting != 0 {
				t.Errorf("gate: %+v", g)
			}
		})
	})
}

func TestTwoOnBusyInterruptsAtOnce(t *testing.T) {
	// Guard: enqueue stops the active turn only if it has not been stopped before.
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		first := h.start("a")
		c := h.next(h.deaf)
		results := make([]turns.StartResult, 2)
		h.atOnce(times(2, func(i int) {
			results[i] = h.startWith(turns.Start{ThreadID: "a", OnBusy: turns.BusyInterrupt})
		})...)
		for _, r := range results {
			if r.State != turns.Queued || r.Position != 1 {
				t.Errorf("start: %+v", r)
			}
		}
		c.end(turns.Completed)
		if e := h.ended(first.TurnID); e.Method != notify.TurnInterrupted {
			t.Errorf("ended: %s", e)
		}
		for i := range 2 { // the newer one first
			c := h.next(h.deaf)
			if c.TurnID != results[1-i].TurnID {
				t.Errorf("%s starts", c.TurnID)
			}
			c.end(turns.Completed)
			if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
				t.Errorf("ended: %s", e)
			}
		}
		if n := len(h.of(func(e event) bool { return e.Method == notify.TurnProgress })); n != 1 {
			t.Errorf("the active turn was stopped %d times", n)
		}
	})
}

func TestSlotGoesToTheFirstInLine(t *testing.T) {
	// Guard: gate.grantFree hands a slot on at the moment it becomes free, and
	// gate.enter gives none to others while a thread waits.
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		for _, id := range []string{"a", "b", "c"} {
			h.thread(id, "")
		}
		h.start("a")
		c := h.next(h.agent)
		inLine := h.start("b")
		release := h.hold(has(notify.TurnStarted))
		c.end(turns.Completed)
		h.ended(c.TurnID)
		synctest.Wait() // b is starting, its commit is held
		by := h.start("c")
		if by.State != turns.Queued {
			t.Errorf("a turn that is not in line is %s", by.State)
		}
		release()
		for _, id := range []string{inLine.TurnID, by.TurnID} {
			c := h.next(h.agent)
			if c.TurnID != id {
				t.Errorf("%s starts", c.TurnID)
			}
			c.end(turns.Completed)
			h.ended(id)
		}
	})
}
