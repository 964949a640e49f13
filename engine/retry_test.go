package engine_test

import (
	"errors"
	"slices"
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

func (h *harness) retry(turnID string) turns.RetryResult {
	h.t.Helper()
	r, err := h.engine.Retry(bg, turns.Retry{TurnID: turnID, Reason: "once more"})
	if err != nil {
		h.t.Fatalf("retry: %v", err)
	}
	return r
}

// stopped is a turn that was interrupted with a text that no agent received.
func (h *harness) stopped() (c *call, lost string) {
	h.t.Helper()
	c = h.prompt()
	lost = h.steer(c.TurnID, "lost", false).ItemIDs[0]
	if _, ended := h.interrupt(c.TurnID); ended != nil {
		<-ended
	}
	return c, lost
}

func TestTurnIsRetriedByHand(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, lost := h.stopped()
		r := h.retry(c.TurnID)
		if r.State != turns.Active || r.Attempt != 2 || r.StartedAt.IsZero() || r.Position != 0 {
			t.Errorf("answer %+v", r)
		}
		marker := h.event(notify.StreamRewind, nil)
		if marker.Reason != string(turns.CauseRequest) || marker.Message != "once more" || marker.NewEpoch != 2 {
			t.Errorf("marker %s", marker.raw)
		}
		again := h.next(h.agent)
		if again.said() != "do it|lost" || again.Attempt != 2 {
			t.Errorf("attempt %d: %q", again.Attempt, again.said())
		}
		if it := h.item(lost); it.Status != items.StatusCompleted {
			t.Errorf("text %+v", it)
		}
		again.end(turns.Completed)
		if e := h.endedIn(c.TurnID, 2); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
		if tn := h.turn(c.TurnID); tn.State != turns.Completed || tn.Attempt != 2 || len(tn.UndeliveredItemIDs) > 0 {
			t.Errorf("turn %+v", tn)
		}
	})
}

func TestRetriedTurnWaitsAtTheEndOfTheQueue(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, lost := h.stopped()
		active, queued := h.start("a"), h.start("a")
		r := h.retry(c.TurnID)
		if r.State != turns.Queued || r.Position != 2 {
			t.Errorf("answer %+v", r)
		}
		e := h.event(notify.TurnQueued, ofTurn(c.TurnID))
		if e.Position != 2 || e.Reason != turns.QueuedBusy || e.Attempt != 2 || e.Seq != r.Seq {
			t.Errorf("queued %s", e.raw)
		}
		if it := h.item(lost); it.Status != items.StatusInProgress {
			t.Errorf("text %+v", it)
		}
		h.restart() // the active one ends
		h.ended(active.TurnID)
		h.next(h.agent) // that of the active one
		if next := h.next(h.agent); next.TurnID != queued.TurnID {
			t.Errorf("then %s", next.TurnID)
		} else {
			next.end(turns.Completed)
		}
		again := h.next(h.agent)
		if again.TurnID != c.TurnID || again.said() != "do it|lost" {
			t.Errorf("then %s: %q", again.TurnID, again.said())
		}
		again.end(turns.Failed)
		h.endedIn(c.TurnID, 2)
		// Once more, in a pause, and interrupted there: that end is superseded too.
		h.pause()
		if r := h.retry(c.TurnID); r.State != turns.Queued || r.Attempt != 3 {
			t.Errorf("answer %+v", r)
		}
		if e := h.of(func(e event) bool { return e.Method == notify.TurnQueued && e.Attempt == 3 }); len(e) != 1 || e[0].Reason != turns.QueuedPaused {
			t.Errorf("queued %v", e)
		}
		h.interrupt(c.TurnID)
		h.endedIn(c.TurnID, 3)
		h.retry(c.TurnID)
		h.resume()
		h.next(h.agent).end(turns.Completed)
		h.endedIn(c.TurnID, 4)
	})
}

func TestTextThatWaitsForAnAttemptEndsWithTheTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, lost := h.stopped()
		h.pause()
		h.retry(c.TurnID)
		h.interrupt(c.TurnID)
		if e := h.endedIn(c.TurnID, 2); !slices.Equal(e.Undelivered, []string{lost}) {
			t.Errorf("ended: %s", e.raw)
		}
	})
}

func TestTurnInterruptedInTheQueueCanBeRetried(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		queued := h.start("a")
		h.interrupt(queued.TurnID)
		c.end(turns.Completed)
		h.ended(c.TurnID)
		if r := h.retry(queued.TurnID); r.State != turns.Active {
			t.Errorf("answer %+v", r)
		}
		h.next(h.agent).end(turns.Completed)
		h.endedIn(queued.TurnID, 2)
	})
}

func TestRetryOfATurnThatRanOutOfAttemptsBeginsWithANewClock(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{TimeoutSeconds: 30})
		if e := h.ended(c.TurnID); e.Error.Kind != "timeout" {
			t.Fatalf("ended: %s", e)
		}
		h.retry(c.TurnID)
		again := h.next(h.agent)
		began := time.Now()
		again.crash() // the second of three
		h.next(h.agent)
		if e := h.endedIn(c.TurnID, 3); e.Error.Kind != "timeout" || time.Since(began) != 30*time.Second {
			t.Errorf("ended after %v: %s", time.Since(began), e)
		}
	})
}

func TestRetryThatCannotBe(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxQueue: 1}}, func(h *harness) {
		refused := func(turnID string, want error) {
			t.Helper()
			before := len(h.seen)
			if _, err := h.engine.Retry(bg, turns.Retry{TurnID: turnID}); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			if h.pump(); len(h.seen) != before {
				t.Errorf("the log grew")
			}
		}
		stopped, _ := h.stopped()
		done := h.start("a")
		c := h.next(h.agent)
		h.pump()
		refused("turn_none", turns.ErrNotFound)
		refused(c.TurnID, turns.ErrNotEnded)
		c.end(turns.Completed)
		h.ended(done.TurnID)
		refused(done.TurnID, turns.ErrCompleted)
		h.pause()
		queued := h.start("a")
		h.pump()
		refused(queued.TurnID, turns.ErrNotEnded)
		refused(stopped.TurnID, turns.ErrQueueFull)
		h.change("a", threads.VerbClose)
		h.pump()
		refused(stopped.TurnID, threads.ErrClosed)
		h.resume()
	})
}

func TestRetryIsAnsweredOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, _ := h.stopped()
		k := key("k", "turn/retry", c.TurnID)
		for range 3 {
			r, err := h.engine.Retry(bg, turns.Retry{TurnID: c.TurnID, Key: k})
			if err != nil || r.State != turns.Active || r.Attempt != 2 {
				t.Errorf("%+v, %v", r, err)
			}
		}
		h.next(h.agent).end(turns.Completed)
		end := h.endedIn(c.TurnID, 2)
		r, err := h.engine.Retry(bg, turns.Retry{TurnID: c.TurnID, Key: k})
		if err != nil || r.State != turns.Completed || r.StartedAt.IsZero() || r.Position != 0 || r.Seq != end.Seq {
			t.Errorf("after the end: %+v, %v", r, err)
		}
		if n := len(h.of(func(e event) bool { return e.Method == notify.StreamRewind })); n != 1 {
			t.Errorf("%d markers", n)
		}
	})
}

func TestCrashAfterTheMarkerOfARetryLosesNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, lost := h.stopped()
		h.faults.fail(func(u *ledger.Unit) error {
			if has(notify.TurnStarted, notify.TurnQueued)(u) {
				return ledger.ErrStorageFull
			}
			return nil
		})
		if r := h.retry(c.TurnID); r.State != turns.Queued {
			t.Errorf("answer %+v", r)
		}
		synctest.Wait()
		h.restart()
		again := h.next(h.agent)
		if again.said() != "do it|lost" || again.Attempt != 2 || h.item(lost).Status != items.StatusCompleted {
			t.Errorf("attempt %d: %q", again.Attempt, again.said())
		}
		again.end(turns.Completed)
		h.endedIn(c.TurnID, 2)
	})
}
