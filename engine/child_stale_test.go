package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// holdEach keeps the units that match from the log until the release of their
// condition is called.
func (h *harness) holdEach(matches ...func(*ledger.Unit) bool) (release []func()) {
	gates := make([]chan struct{}, len(matches))
	for i := range matches {
		gates[i] = make(chan struct{})
		release = append(release, func() { close(gates[i]) })
	}
	h.faults.holdBack(func(u *ledger.Unit) <-chan struct{} {
		for i, match := range matches {
			if match(u) {
				return gates[i]
			}
		}
		return nil
	})
	return release
}

// A unit that tells an end, or takes it in, is refused if the end was superseded after
// the unit was decided.
func TestEndsThatAreSupersededWhileTheyAreTold(t *testing.T) {
	// failed is an owner without an active turn, and a background child that has failed.
	failed := func(h *harness) *turns.StartResult {
		c := h.family("b")
		h.change("a", threads.VerbPause)
		child := h.child("a", "b", true)
		work := h.next(h.agent)
		h.message(work, "it went wrong")
		h.speak(c)
		work.end(turns.Failed)
		return &child
	}
	retrying := func(h *harness, child *turns.StartResult) {
		go h.retry(child.TurnID)
		synctest.Wait() // the owner has allowed it, and its commit is held
	}
	runRaces(t, []race{
		{"R40 W-M8 by a wake", setup{}, func(h *harness) {
			child := failed(h)
			h.took("a", 1)
			release := h.holdEach(both(inThread("b"), has(notify.StreamRewind)), has(notify.InboxTold))
			retrying(h, child)
			go h.change("a", threads.VerbResume)
			synctest.Wait()
			release[0]()
			synctest.Wait()
			release[1]()
			h.idle(h.model)
			h.done(h.next(h.agent), "now it is right")
			h.wokenOnce("now it is right")
		}},
		{"R40 W-M8 by a client's turn", setup{}, func(h *harness) {
			child := failed(h)
			h.took("a", 1)

			release := h.holdEach(both(inThread("b"), has(notify.StreamRewind)), has(notify.InboxTold))
			retrying(h, child)
			h.start("a") // queued
			go h.change("a", threads.VerbResume)
			synctest.Wait()
			release[0]()
			synctest.Wait()
			release[1]()
			p := h.next(h.model)
			h.told(p)
			h.done(h.next(h.agent), "now it is right")
			h.speak(p)
			h.wokenOnce("now it is right")
		}},
		{"R35 R40 by its way into the inbox", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			work := h.next(h.agent)
			h.message(work, "it went wrong")
			h.faults.fail(func(u *ledger.Unit) error {
				if has(notify.InboxReceived)(u) {
					return ledger.ErrStorageFull
				}
				return nil
			})
			work.end(turns.Failed)
			h.ended(child.TurnID)
			synctest.Wait()
			release := h.holdEach(both(inThread("b"), has(notify.StreamRewind)), has(notify.InboxReceived))
			h.faults.fail(nil)
			retrying(h, &child)
			time.Sleep(2 * time.Second) // it is taken in again
			synctest.Wait()
			release[0]()
			synctest.Wait()
			release[1]()
			synctest.Wait()
			if l := h.allEntries("a"); len(l) != 0 {
				h.t.Errorf("entries %s", ids(l))
			}
			h.speak(c)
			h.done(h.next(h.agent), "now it is right")
			h.wokenOnce("now it is right")
		}},
		{"R31 an owner that is closed while its family looks keeps the end in its inbox", setup{}, func(h *harness) {
			child := failed(h)
			h.took("a", 1)
			release := h.holdEach(both(inThread("b"), has(notify.StreamRewind)), both(inThread("a"), has(notify.ThreadClosed)))
			retrying(h, child)
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				h.change("a", threads.VerbClose)
			}()
			synctest.Wait() // the owner waits for its commit
			release[0]()
			synctest.Wait() // the family has seen an open owner, and asks it to withdraw the end
			release[1]()
			<-closed
			over := false
			h.none("after thread/closed of the owner", func(e event) bool {
				was := over
				over = over || e.ThreadID == "a" && e.Method == notify.ThreadClosed
				return was && e.ThreadID == "a"
			})
			if !over {
				h.t.Error("the owner was not closed")
			}
		}},
		{"R31 an end that was told before the retry stays told, and the new one is told too", setup{}, func(h *harness) {
			child := failed(h)
			h.took("a", 1)
			h.change("a", threads.VerbResume)
			wake := h.next(h.model)
			h.told(wake, "it went wrong")
			h.retry(child.TurnID)
			h.done(h.next(h.agent), "now it is right")
			h.speak(wake)
			h.wokenOnce("now it is right")
			h.none("withdrawn", func(e event) bool { return e.Method == notify.InboxWithdrawn })
		}},
		{"R31 R38 a retry of what turn/await has told is told again", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			work := h.next(h.agent)
			h.message(work, "it went wrong")
			work.end(turns.Failed)
			h.answered(h.awaiting(bg, awaitBy(child.TurnID)), 1).sent(true)
			h.retry(child.TurnID)
			h.done(h.next(h.agent), "now it is right")
			h.speak(c)
			h.wokenOnce("now it is right")
		}},
		{"R38 each turn of a child thread has an end of its own", setup{}, func(h *harness) {
			c := h.family("b")
			for _, text := range []string{"the first", "the second"} {
				child := h.child("a", "b", true)
				h.done(h.next(h.agent), text)
				if text == "the first" {
					h.answered(h.awaiting(bg, awaitBy(child.TurnID)), 1).sent(true)
				}
			}
			h.speak(c)
			h.wokenOnce("the second")
		}},
		{"R31 a blocking child that its owner has been told of, and that is tried again, blocks again", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			work := h.next(h.agent)
			h.message(work, "it went wrong")
			work.end(turns.Failed)
			p := h.next(h.model)
			h.told(p, "it went wrong")
			h.retry(child.TurnID)
			h.speakOn(p)
			h.waitsFor(c.TurnID, child.TurnID)
			h.done(h.next(h.agent), "now it is right")
			h.toldInTurn(c.TurnID, "now it is right")
		}},
		{"R31 a blocking child that is tried again when its owner has ended notifies", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			work := h.next(h.agent)
			h.message(work, "it went wrong")
			work.end(turns.Failed)
			h.speakOn(c)
			h.toldInTurn(c.TurnID, "it went wrong")
			h.retry(child.TurnID)
			if e := h.event(notify.TurnDetached, nil); e.Reason != string(turns.DetachOwnerEnded) {
				h.t.Errorf("detached %s", e)
			}
			h.done(h.next(h.agent), "now it is right")
			h.wokenOnce("now it is right")
		}},
	})
}
