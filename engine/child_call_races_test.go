package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// calling lets the agent of thread a wait for turns, in a call of its own.
func (h *harness) calling(ctx context.Context, c turns.Await) <-chan error {
	h.t.Helper()
	answered := make(chan error, 1)
	go func() {
		_, sent, err := h.engine.Children().Await(ctx, c, "a")
		if sent != nil {
			sent(true)
		}
		answered <- err
	}()
	synctest.Wait()
	return answered
}

// The connection of a call breaks while the owner's actor is busy.
func TestCancelledAwaitReservesNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", true)
		h.done(h.next(h.agent), "the result")
		h.until("taken in", func([]event) bool { return len(h.entries("a")) == 1 })
		release := h.hold(inThread("a"))
		h.message(c, "slow")
		synctest.Wait()
		ctx, cancel := context.WithCancel(bg)
		answered := make(chan struct{})
		var sent func(bool)
		var err error
		go func() {
			defer close(answered)
			_, sent, err = h.engine.Children().Await(ctx, turns.Await{OwnerThreadID: "a", TurnIDs: []string{child.TurnID}}, "a")
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		release()
		if <-answered; err == nil && sent != nil { // the end was there already
			sent(false)
		}
		h.slots(1, 0)
		c.end(turns.Completed)
		h.ended(c.TurnID)
		wake := h.next(h.model)
		if len(toldIn(wake)) != 1 {
			t.Errorf("told %v", toldIn(wake))
		}
		h.speak(wake)
	})
}

// A call may outlive the turn whose agent has made it.
func TestCallOfAnEarlierTurnLeavesTheSlotsOfTheNext(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 2}}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", true)
		h.next(h.agent)
		ids := []string{child.TurnID}
		h.calling(bg, turns.Await{OwnerThreadID: "a", TurnIDs: ids, TimeoutSeconds: seconds(30)})
		h.slots(1, 1)
		h.interrupt(c.TurnID)
		h.ended(c.TurnID)
		h.start("a")
		next := h.next(h.model)
		h.calling(bg, turns.Await{OwnerThreadID: "a", TurnIDs: ids, TimeoutSeconds: seconds(60)})
		h.slots(1, 1)
		time.Sleep(31 * time.Second) // the call of the first turn has ended
		h.slots(1, 1)
		time.Sleep(30 * time.Second)
		h.slots(2, 0)
		h.speak(next)
	})
}

// A call may outlive the attempt whose agent has made it, too.
func TestCallOfASupersededAttemptKeepsNothingBack(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.startWith(turns.Start{ThreadID: "a", Retry: retrying()})
		c := h.next(h.model)
		child := h.child("a", "b", true)
		h.next(h.agent)
		call := turns.Await{OwnerThreadID: "a", TurnIDs: []string{child.TurnID}, TimeoutSeconds: seconds(60)}
		h.calling(bg, call)
		h.slots(1, 1)
		c.out <- turns.Outcome{State: turns.Failed, Cause: turns.CauseCrash}
		h.slots(2, 0)
		time.Sleep(15 * time.Second)
		again := h.next(h.model)
		if again.Attempt != 2 || time.Since(h.turn(c.TurnID).StartedAt.Time) > 10*time.Second {
			t.Errorf("prompt %+v", again.Prompt)
		}
		call.TimeoutSeconds = seconds(90)
		h.calling(bg, call)
		h.slots(1, 1)
		time.Sleep(50 * time.Second) // the call of the first attempt has ended
		h.slots(1, 1)
		time.Sleep(45 * time.Second)
		h.slots(2, 0)
		h.speak(again)
	})
}

// A wake that a drain gives up has a call under way. The drain does not wait for it.
func TestDrainDoesNotWaitForACallOfAnAttemptThatIsGivenUp(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{DrainAfter: time.Second}}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.change("b", threads.VerbPause)
		child := h.child("a", "b", true) // it is queued
		h.send("a", "look")
		h.next(h.model)
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		h.calling(ctx, turns.Await{OwnerThreadID: "a", TurnIDs: []string{child.TurnID}, TimeoutSeconds: seconds(60)})
		h.slots(0, 1)
		if took, err := h.drain(); err != nil || took != time.Second {
			t.Errorf("drained after %v, %v", took, err)
		}
	})
}

// A child turn is tried again while the answer that shows its end is on its way. The
// answer tells the end that it shows, and not the one that has come since.
func TestAnswerTellsOnlyTheEndThatItShows(t *testing.T) {
	for name, written := range map[string]bool{"R31 R35 R38 answer written after the retry has ended": true, "R29 answer not written": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.family("b")
				child := h.child("a", "b", true)
				work := h.next(h.agent)
				h.message(work, "it went wrong")
				work.end(turns.Failed)
				r, sent := h.await(turns.Await{OwnerThreadID: "a", TurnIDs: []string{child.TurnID}})
				if len(r.Results) != 1 || r.Results[0].State != turns.Failed || sent == nil {
					t.Fatalf("%+v", r)
				}
				h.retry(child.TurnID)
				h.done(h.next(h.agent), "now it is right")
				h.until("taken in", func([]event) bool { return len(h.entries("a")) == 1 })
				h.speak(c)
				h.idle(h.model) // the end is reserved
				sent(written)
				wake := h.next(h.model)
				if len(toldIn(wake)) != 1 || !strings.Contains(wake.said(), "now it is right") {
					t.Errorf("woken with %s", wake.said())
				}
				h.speak(wake)
				h.idle(h.model)
			})
		})
	}
}
