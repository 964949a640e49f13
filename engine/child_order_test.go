package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// both is a condition on a unit that all of the conditions make.
func both(conditions ...func(*ledger.Unit) bool) func(*ledger.Unit) bool {
	return func(u *ledger.Unit) bool {
		for _, is := range conditions {
			if !is(u) {
				return false
			}
		}
		return true
	}
}

// took waits until the inbox has n visible entries.
func (h *harness) took(thread string, n int) {
	h.t.Helper()
	h.until("taken in", func([]event) bool { return len(h.entries(thread)) == n })
}

func (h *harness) detach(turnID string) turns.DetachResult {
	h.t.Helper()
	r, err := h.engine.Children().Detach(bg, turns.DetachTurn{TurnID: turnID})
	if err != nil {
		h.t.Fatalf("detach %s: %v", turnID, err)
	}
	return r
}

// detaches is how many turn/detached there are.
func (h *harness) detaches() int {
	h.t.Helper()
	synctest.Wait()
	return len(h.of(func(e event) bool { return e.Method == notify.TurnDetached }))
}

// toldInTurn checks that the next prompt is one of the turn, and tells what it said.
func (h *harness) toldInTurn(turnID string, words ...string) {
	h.t.Helper()
	p := h.next(h.model)
	if p.TurnID != turnID {
		h.t.Errorf("%s is told, not %s", p.TurnID, turnID)
	}
	h.told(p, words...)
	h.speak(p)
	if e := h.ended(turnID); e.Method != notify.TurnCompleted {
		h.t.Errorf("ended %s", e)
	}
	h.idle(h.model)
}

// wokenOnce checks that the next prompt is a wake, tells what it said, and that no
// further one follows.
func (h *harness) wokenOnce(words ...string) {
	h.t.Helper()
	p := h.next(h.model)
	if tn := h.turn(p.TurnID); !tn.Wake {
		h.t.Errorf("not woken: %+v", tn)
	}
	h.told(p, words...)
	h.speak(p)
	h.idle(h.model)
}

func (h *harness) told(p *call, words ...string) {
	h.t.Helper()
	if len(toldIn(p)) != len(words) {
		h.t.Errorf("told %v in %s", toldIn(p), p.said())
	}
	for _, w := range words {
		if !strings.Contains(p.said(), w) {
			h.t.Errorf("%q is not in %s", w, p.said())
		}
	}
}

func TestDetachAndEndInBothOrders(t *testing.T) {
	runRaces(t, []race{
		{"R3 R4 detach, then end", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			if r := h.detach(child.TurnID); r.AttentionPolicy != turns.Notify || r.State != turns.Active || r.Seq == 0 {
				h.t.Errorf("%+v", r)
			}
			if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			h.detach(child.TurnID) // again: no event
			h.done(h.next(h.agent), "the result")
			h.wokenOnce("the result")
			if n := h.detaches(); n != 1 {
				h.t.Errorf("%d detaches", n)
			}
		}},
		{"R3 end, then detach", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.done(h.next(h.agent), "the result")
			h.took("a", 1)
			if r := h.detach(child.TurnID); r.AttentionPolicy != turns.Blocking || r.State != turns.Completed {
				h.t.Errorf("%+v", r)
			}
			h.speakOn(c)
			h.toldInTurn(c.TurnID, "the result")
			if n := h.detaches(); n != 0 {
				h.t.Errorf("%d detaches", n)
			}
		}},
		{"R3 end, then detach before the inbox has the end", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			release := h.hold(has(notify.InboxReceived))
			h.done(h.next(h.agent), "the result")
			if r := h.detach(child.TurnID); r.AttentionPolicy != turns.Blocking || r.State != turns.Completed {
				h.t.Errorf("%+v", r)
			}
			release()
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R14 detach while the end is committed", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			work := h.next(h.agent)
			h.message(work, "the result")
			release := h.hold(has(notify.TurnCompleted))
			work.end(turns.Completed)
			synctest.Wait()
			answered := make(chan turns.DetachResult, 1)
			go func() { answered <- h.detach(child.TurnID) }()
			synctest.Wait()
			release()
			if r := <-answered; r.State != turns.Completed || r.AttentionPolicy != turns.Blocking {
				h.t.Errorf("%+v", r)
			}
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R14 end while the detach is committed", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			work := h.next(h.agent)
			h.message(work, "the result")
			synctest.Wait()
			release := h.hold(has(notify.TurnDetached))
			answered := make(chan turns.DetachResult, 1)
			go func() { answered <- h.detach(child.TurnID) }()
			synctest.Wait()
			work.end(turns.Completed)
			synctest.Wait()
			release()
			if r := <-answered; r.State != turns.Active || r.AttentionPolicy != turns.Notify {
				h.t.Errorf("%+v", r)
			}
			h.ended(child.TurnID)
			if tn := h.turn(child.TurnID); tn.State != turns.Completed || tn.AttentionPolicy != turns.Notify {
				h.t.Errorf("%+v", tn)
			}
			h.ended(c.TurnID)
			h.wokenOnce("the result")
		}},
	})
}

func TestChildStartAndOwnersEndInBothOrders(t *testing.T) {
	// go starts a child turn, and holds its commit until release is called.
	held := func(h *harness, turnID string) (release func(), answered <-chan turns.StartResult, errs <-chan error) {
		release = h.hold(both(inThread("b"), has(notify.TurnStarted)))
		r, e := make(chan turns.StartResult, 1), make(chan error, 1)
		go func() {
			out, err := h.engine.Start(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: &threads.Parent{ThreadID: "a", TurnID: turnID}})
			r <- out
			e <- err
		}()
		synctest.Wait()
		return release, r, e
	}
	runRaces(t, []race{
		{"R6 the child starts first: the owner's end waits for it", setup{}, func(h *harness) {
			c := h.family("b")
			release, started, errs := held(h, "")
			h.message(c, "bye")
			c.end(turns.Completed)
			synctest.Wait()
			if tn := h.turn(c.TurnID); tn.State != turns.Active || tn.WaitsForChildren() {
				h.t.Errorf("%+v", tn)
			}
			release()
			if r, err := <-started, <-errs; err != nil || r.AttentionPolicy != turns.Blocking {
				h.t.Errorf("%+v, %v", r, err)
			}
			h.done(h.next(h.agent), "the result")
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R6 the owner ends first: a background child", setup{}, func(h *harness) {
			c := h.family("b")
			h.speak(c)
			r := h.startWith(turns.Start{ThreadID: "b", Parent: &threads.Parent{ThreadID: "a", TurnID: c.TurnID}})
			if r.AttentionPolicy != turns.Notify || r.Parent.TurnID != c.TurnID || r.Parent.Attempt != 1 {
				h.t.Errorf("%+v", r)
			}
			h.done(h.next(h.agent), "the result")
			h.wokenOnce("the result")
		}},
		{"R6 the owner is interrupted before the child's commit", setup{}, func(h *harness) {
			c := h.family("b")
			release, started, errs := held(h, c.TurnID)
			h.interrupt(c.TurnID)
			<-c.ctx.Done()
			synctest.Wait()
			release()
			// It decides anew, while the turn stops or after its end.
			r, err := <-started, <-errs
			if !errors.Is(err, turns.ErrNotActive) && (err != nil || r.AttentionPolicy != turns.Notify) {
				h.t.Errorf("%+v, %v", r, err)
			}
			h.ended(c.TurnID)
			h.idle(h.model) // held
		}},
		{"R6 the owner fails by its timeout before the child's commit", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			s := h.startWith(turns.Start{ThreadID: "a", TimeoutSeconds: 5})
			h.next(h.model)
			release, started, errs := held(h, s.TurnID)
			<-time.After(6 * time.Second)
			release()
			// It decides anew, while the turn stops or after its end.
			r, err := <-started, <-errs
			if !errors.Is(err, turns.ErrNotActive) && (err != nil || r.AttentionPolicy != turns.Notify) {
				h.t.Errorf("%+v, %v", r, err)
			}
			h.ended(s.TurnID)
		}},
		{"R6 the owner is given up before the child's commit", setup{}, func(h *harness) {
			h.thread("a", "deaf")
			h.childThread("a", "b", "puppet")
			s := h.start("a")
			h.next(h.deaf)
			release, started, errs := held(h, s.TurnID)
			h.interrupt(s.TurnID)
			h.ended(s.TurnID)
			release()
			if r, err := <-started, <-errs; err != nil || r.AttentionPolicy != turns.Notify || r.Parent.TurnID != s.TurnID {
				h.t.Errorf("%+v, %v", r, err)
			}
			h.done(h.next(h.agent), "the result")
		}},
		{"R6 R24 policy and parent survive the queue, a restart and a retry", setup{}, func(h *harness) {
			c := h.family("b")
			first, second := h.child("a", "b", true), h.child("a", "b", true)
			if second.State != turns.Queued || second.AttentionPolicy != turns.Notify {
				h.t.Errorf("%+v", second)
			}
			h.speak(c)
			h.next(h.agent)
			h.restart() // it interrupts the first
			h.ended(first.TurnID)
			work := h.next(h.agent)
			h.message(work, "no")
			work.end(turns.Failed)
			h.ended(second.TurnID)
			h.retry(second.TurnID)
			for _, id := range []string{first.TurnID, second.TurnID} {
				if tn := h.turn(id); tn.AttentionPolicy != turns.Notify || tn.Parent.TurnID != c.TurnID || tn.RootThreadID != "a" {
					h.t.Errorf("%+v", tn)
				}
			}
			h.done(h.next(h.agent), "at last")
			for n := 0; n < 3; { // the interrupted one, the failed one if it was not too late, and its retry
				wake := h.next(h.model)
				n += len(toldIn(wake))
				h.speak(wake)
				if strings.Contains(wake.said(), "at last") {
					break
				}
			}
			h.idle(h.model)
		}},
	})
}
