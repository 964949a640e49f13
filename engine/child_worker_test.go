package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// ownedByWorker is an owner whose turn a worker has claimed, with child threads.
func (h *harness) ownedByWorker(children ...string) turns.ClaimResult {
	h.t.Helper()
	c := h.work()
	for _, id := range children {
		h.childThread("a", id, "puppet")
	}
	return c
}

// completesAndWaits completes a prompt whose turn waits for child turns then.
func (h *harness) completesAndWaits(l *turns.Lease, ids ...string) {
	h.t.Helper()
	r := h.complete(l)
	if r.State != turns.Active || !slices.Equal(r.WaitsFor, ids) {
		h.t.Errorf("completed %+v", r)
	}
	h.refused(l)
}

// refused checks that a lease is good for nothing any more.
func (h *harness) refused(l *turns.Lease) {
	h.t.Helper()
	_, renew := h.workers.Renew(bg, turns.Renew{Lease: *l})
	_, write := h.workers.WriteItems(bg, turns.WriteItems{Lease: *l, Ops: []turns.ItemOp{message("late", "late")}})
	_, complete := h.workers.Complete(bg, turns.CompleteTurn{Lease: *l})
	_, fail := h.workers.Fail(bg, turns.FailTurn{Lease: *l})
	for _, err := range []error{renew, write, complete, fail} {
		if !errors.Is(err, turns.ErrLease) {
			h.t.Errorf("with the lease of an ended prompt: %v", err)
		}
	}
}

// claimsNext claims the next prompt of a turn, which has n new messages.
func (h *harness) claimsNext(before turns.ClaimResult, n int) turns.ClaimResult {
	h.t.Helper()
	r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Worker: "other", Wait: time.Minute})
	if err != nil || r.Turn == nil {
		h.t.Fatalf("claim: %+v, %v", r, err)
	}
	if r.Turn.TurnID != before.Turn.TurnID || r.Lease.Attempt != before.Lease.Attempt || r.Lease.Token == before.Lease.Token || len(r.Input) != n {
		h.t.Errorf("claimed %+v with %+v and %d messages", *r.Turn, *r.Lease, len(r.Input))
	}
	h.refused(before.Lease)
	return r
}

func TestWorkersAsOwners(t *testing.T) {
	o := remotely(false)
	runRaces(t, []race{
		{"R9 the next prompt is claimed with a new lease and only what is new", o, func(h *harness) {
			c := h.ownedByWorker("b", "d")
			one, two := h.child("a", "b", false), h.child("a", "d", false)
			h.write(c.Lease, message("m", "both are at work"))
			h.completesAndWaits(c.Lease, one.TurnID, two.TurnID)
			h.slots(2, 1)
			for range 2 {
				work := h.next(h.agent)
				h.done(work, "the result of "+work.ThreadID)
			}
			next := h.claimsNext(c, 1)
			said := next.Input[0].Content[0].Text
			for _, want := range []string{"the result of b", "the result of d"} {
				if !strings.Contains(said, want) {
					h.t.Errorf("%q is not in %s", want, said)
				}
			}
			h.write(next.Lease, message("n", "I see"))
			if r := h.complete(next.Lease); r.State != turns.Completed {
				h.t.Errorf("completed %+v", r)
			}
			synctest.Wait()
			if l := h.entries("a"); len(l) != 0 {
				h.t.Errorf("entries %s", ids(l))
			}
		}},
		{"R17 ends that came before are the next prompt at once", o, func(h *harness) {
			c := h.ownedByWorker("b")
			child := h.child("a", "b", false)
			h.done(h.next(h.agent), "the result")
			h.took("a", 1)
			h.completesAndWaits(c.Lease, child.TurnID)
			next := h.claimsNext(c, 1)
			h.complete(next.Lease)
			h.ended(c.Turn.TurnID)
		}},
		{"R29 what turn/await has told is no further prompt", o, func(h *harness) {
			c := h.ownedByWorker("b")
			child := h.child("a", "b", false)
			h.done(h.next(h.agent), "the result")
			h.answered(h.awaiting(bg, awaitBy(child.TurnID)), 1).sent(true)
			synctest.Wait()
			if r := h.complete(c.Lease); r.State != turns.Completed || len(r.WaitsFor) != 0 {
				h.t.Errorf("completed %+v", r)
			}
		}},
		{"R6 a child that starts while the worker completes is waited for", o, func(h *harness) {
			c := h.ownedByWorker("b")
			release := h.holdEach(both(inThread("b"), has(notify.TurnStarted)), both(inThread("a"), has(notify.TurnCompleted)))
			started, ended := make(chan turns.StartResult, 1), make(chan turns.EndTurnResult, 1)
			go func() { started <- h.child("a", "b", false) }()
			synctest.Wait()
			go func() { ended <- h.complete(c.Lease) }()
			synctest.Wait()
			release[0]()
			child := <-started
			synctest.Wait()
			release[1]()
			if r := <-ended; r.State != turns.Active || !slices.Equal(r.WaitsFor, []string{child.TurnID}) {
				h.t.Errorf("completed %+v", r)
			}
			h.done(h.next(h.agent), "the result")
			next := h.claimsNext(c, 1)
			h.complete(next.Lease)
			h.ended(c.Turn.TurnID)
		}},
		{"R10 R24 restarts while it waits, is offered, and is claimed", o, func(h *harness) {
			c := h.ownedByWorker("b")
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Retry: retrying()})
			h.completesAndWaits(c.Lease, child.TurnID)
			h.next(h.agent)
			h.restart()
			h.refused(c.Lease)
			h.done(h.next(h.agent), "the result")
			h.until("offered", func([]event) bool { return h.turn(c.Turn.TurnID).Progress == turns.Starting })
			h.restart()
			h.refused(c.Lease)
			next := h.claimsNext(c, 1)
			h.restart()
			h.refused(c.Lease)
			h.renew(next.Lease)
			if r := h.complete(next.Lease); r.State != turns.Completed {
				h.t.Errorf("completed %+v", r)
			}
		}},
		{"R32 an interrupt while it waits", o, func(h *harness) {
			c := h.ownedByWorker("b")
			child := h.child("a", "b", false)
			h.completesAndWaits(c.Lease, child.TurnID)
			if r, ended := h.interrupt(c.Turn.TurnID); ended != nil || r.State != string(turns.Interrupted) {
				h.t.Errorf("%+v", r)
			}
			h.ended(child.TurnID)
			if _, err := h.workers.Renew(bg, turns.Renew{Lease: *c.Lease}); !errors.Is(err, turns.ErrNotActive) {
				h.t.Errorf("renew: %v", err)
			}
		}},
		{"steered text is its next prompt at once, also what came too late for the last one", o, func(h *harness) {
			c := h.ownedByWorker("b")
			child := h.child("a", "b", false)
			late := h.steer(c.Turn.TurnID, "too late", false).ItemIDs[0]
			r := h.complete(c.Lease)
			if r.State != turns.Active {
				h.t.Errorf("completed %+v", r)
			}
			next := h.claimsNext(c, 1)
			if next.Input[0].ItemID != late {
				h.t.Errorf("input %+v", next.Input)
			}
			h.completesAndWaits(next.Lease, child.TurnID)
			h.steer(c.Turn.TurnID, "and now?", false)
			third := h.claimsNext(next, 1)
			h.completesAndWaits(third.Lease, child.TurnID)
			h.done(h.next(h.agent), "the result")
			h.complete(h.claimsNext(third, 1).Lease)
			if e := h.ended(c.Turn.TurnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			if got := h.statuses([]string{late}); got[0] != items.StatusCompleted {
				h.t.Errorf("%v", got)
			}
		}},
		{"R41 the answer to a completion is repeated with its key", o, func(h *harness) {
			c := h.ownedByWorker("b")
			child := h.child("a", "b", false)
			k := key("k", "turn/complete", c.Turn.TurnID)
			for range 3 {
				r, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *c.Lease, Key: k})
				if err != nil || r.State != turns.Active || !slices.Equal(r.WaitsFor, []string{child.TurnID}) {
					h.t.Errorf("completed %+v, %v", r, err)
				}
				h.restart()
			}
			h.ended(child.TurnID) // a restart has interrupted it
			h.complete(h.claimsNext(c, 1).Lease)
			h.ended(c.Turn.TurnID)
		}},
		{"R35 a new attempt of a worker's turn gets everything, and the list of its children", remotely(true), func(h *harness) {
			c := h.ownedByWorker("b", "d")
			blocking := h.child("a", "b", false)
			h.done(h.next(h.agent), "the first result")
			h.took("a", 1)
			h.completesAndWaits(c.Lease, blocking.TurnID)
			next := h.claimsNext(c, 1)
			h.child("a", "d", true)
			work := h.next(h.agent)
			if r, err := h.workers.Fail(bg, turns.FailTurn{Lease: *next.Lease, Transient: true}); err != nil || r.State != turns.Active {
				h.t.Errorf("failed %+v, %v", r, err)
			}
			again, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: time.Minute})
			if err != nil || again.Lease == nil || again.Lease.Attempt != 2 || len(again.Input) != 3 { // the client's, what it was told, and the list
				h.t.Fatalf("claimed %+v, %v", again, err)
			}
			told, list := again.Input[1].Content[0].Text, again.Input[2].Content[0].Text
			for _, want := range []string{blocking.TurnID, "completed", work.TurnID, "is running"} {
				if !strings.Contains(list, want) {
					h.t.Errorf("%q is not in %s", want, list)
				}
			}
			if !strings.Contains(told, "the first result") || strings.Contains(list, "the first result") {
				h.t.Errorf("the result is not told once: %s\n%s", told, list)
			}
			if r := h.complete(again.Lease); r.State != turns.Completed {
				h.t.Errorf("completed %+v", r)
			}
			work.end(turns.Completed)
		}},
	})
}
