package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func retrying() *turns.RetryPolicy {
	return &turns.RetryPolicy{OnCrash: turns.CrashRetry, BackoffSeconds: 10}
}

// tried starts a turn with a retry policy, and waits for its prompt.
func (h *harness) tried(c turns.Start) *call {
	h.t.Helper()
	if c.ThreadID == "" {
		c.ThreadID = "a"
		h.thread("a", "")
	}
	if c.Retry == nil {
		c.Retry = retrying()
	}
	h.startWith(c)
	return h.next(h.agent)
}

func (c *call) crash() {
	c.out <- turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: "it died"}, Cause: turns.CauseCrash}
}

// marker waits for the n-th marker of the turn, and for its wait.
func (h *harness) marker(turnID string, n int) (marker, wait event) {
	h.t.Helper()
	h.until(fmt.Sprint("marker ", n), func(all []event) bool {
		k := 0
		for i, e := range all {
			if e.TurnID == turnID && e.Method == notify.StreamRewind && e.Step == "" {
				if k++; k == n && i+1 < len(all) {
					marker, wait = e, all[i+1]
					return true
				}
			}
		}
		return false
	})
	return marker, wait
}

// endedIn waits for the end of an attempt of the turn.
func (h *harness) endedIn(turnID string, attempt int) event {
	h.t.Helper()
	var found event
	h.until(fmt.Sprintf("end of attempt %d", attempt), func(all []event) bool {
		i := slices.IndexFunc(all, func(e event) bool { return e.TurnID == turnID && terminal(e.Method) && e.Attempt == attempt })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

func TestCrashedTurnIsRetriedWithEverythingThatWasSaid(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{Metadata: []byte(`{"ticket":7}`), TimeoutSeconds: 1000})
		msg := h.message(c, "half a sen")
		done := said("done")
		h.emit(c, done, items.SetUsage{Usage: items.Usage{TotalTokens: 7}})
		q := h.ask(c, permission(), turns.AskOptions{})
		steer := h.steer(c.TurnID, "and more", false)
		crashed := time.Now()
		c.crash()

		marker, wait := h.marker(c.TurnID, 1)
		if marker.NewEpoch != 2 || marker.Reason != string(turns.CauseCrash) || marker.Message != "it died" ||
			!strings.Contains(string(marker.raw), `"total_tokens":7`) {
			t.Errorf("marker %s", marker.raw)
		}
		if wait.Method != notify.TurnProgress || wait.State != string(turns.Waiting) || wait.Attempt != 2 || wait.Message != "it died" {
			t.Errorf("wait %s", wait.raw)
		}
		if d := wait.RetryAt.Sub(crashed); d < 8*time.Second || d > 12*time.Second {
			t.Errorf("the next attempt is in %v", d)
		}
		if a := <-q.answer; a.Outcome.Type != items.OutcomeCancelled {
			t.Errorf("answer %+v", a)
		}
		tn := h.turn(c.TurnID)
		if tn.State != turns.Active || tn.Attempt != 2 || tn.Progress != turns.Waiting || tn.Usage != nil || !tn.RetryAt.Equal(wait.RetryAt.Time) {
			t.Errorf("turn %+v", tn)
		}
		time.Sleep(time.Until(wait.RetryAt.Time) - time.Millisecond)
		h.idle(h.agent)
		more := h.steer(c.TurnID, "while it waits", true)

		again := h.next(h.agent)
		if !time.Now().Equal(wait.RetryAt.Time) {
			t.Errorf("the attempt began %v after its time", time.Since(wait.RetryAt.Time))
		}
		if again.said() != "do it|and more|while it waits" || again.Attempt != 2 || again.Index != 0 {
			t.Errorf("prompt %d of attempt %d: %q", again.Index, again.Attempt, again.said())
		}
		for _, id := range []string{steer.ItemIDs[0], more.ItemIDs[0]} {
			if it := h.item(id); it.Status != items.StatusCompleted || it.Superseded {
				t.Errorf("text %+v", it)
			}
		}
		for id, status := range map[string]items.Status{
			msg: items.StatusInterrupted, done.ItemID: items.StatusCompleted, q.id: items.StatusCancelled,
		} {
			if it := h.item(id); it.Status != status || !it.Superseded || it.SupersededBySeq != marker.Seq {
				t.Errorf("item of the first attempt: %+v", it)
			}
		}
		again.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted || e.Attempt != 2 {
			t.Errorf("ended: %s", e)
		}
		if tn := h.turn(c.TurnID); !tn.FirstStartedAt.Equal(crashed) || tn.StartedAt.Sub(crashed) < 8*time.Second {
			t.Errorf("turn %+v", tn)
		}
	})
}

func TestFailureThatNoPolicyTriesAgainEndsTheTurn(t *testing.T) {
	for name, c := range map[string]struct {
		retry *turns.RetryPolicy
		cause turns.Cause
	}{
		"no policy":          {&turns.RetryPolicy{}, turns.CauseCrash},
		"interrupt":          {&turns.RetryPolicy{OnCrash: turns.CrashInterrupt, MaxAttempts: 5}, turns.CauseTransient},
		"only one attempt":   {&turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 1}, turns.CauseCrash},
		"a failure for good": {retrying(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				p := h.tried(turns.Start{Retry: c.retry})
				p.out <- turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: "no"}, Cause: c.cause}
				if e := h.ended(p.TurnID); e.Method != notify.TurnFailed || e.Error.Message != "no" || e.Attempt != 1 {
					t.Errorf("ended: %s", e)
				}
			})
		})
	}
}

// lasting is an agent with a policy of its own.
type lasting struct{ agentFunc }

func (lasting) RetryPolicy() turns.RetryPolicy { return *retrying() }

// dying crashes in the first attempt of each turn.
func dying(_ context.Context, p *turns.Prompt) turns.Outcome {
	if p.Attempt == 1 {
		return turns.Outcome{State: turns.Failed, Cause: turns.CauseCrash}
	}
	return turns.Outcome{}
}

func TestPolicyIsTheTurnsElseTheAgents(t *testing.T) {
	bubble(t, setup{agents: []turns.Agent{lasting{agentFunc{"lasting", dying}}}}, func(h *harness) {
		h.thread("p", "lasting")
		if e := h.ended(h.start("p").TurnID); e.Method != notify.TurnCompleted || e.Attempt != 2 {
			t.Errorf("by the agent's policy: %s", e)
		}
		r := h.startWith(turns.Start{ThreadID: "p", Retry: &turns.RetryPolicy{OnCrash: turns.CrashInterrupt}})
		if e := h.ended(r.TurnID); e.Method != notify.TurnFailed || e.Attempt != 1 {
			t.Errorf("by its own: %s", e)
		}
		r = h.startWith(turns.Start{ThreadID: "p", Retry: &turns.RetryPolicy{MaxAttempts: 5}})
		if e := h.ended(r.TurnID); e.Method != notify.TurnCompleted || e.Attempt != 2 {
			t.Errorf("by its own, and the agent's where it says nothing: %s", e)
		}
		r = h.startWith(turns.Start{ThreadID: "p", Retry: &turns.RetryPolicy{MaxAttempts: 1}})
		if e := h.ended(r.TurnID); e.Method != notify.TurnFailed || e.Attempt != 1 {
			t.Errorf("by its own, one attempt: %s", e)
		}
	})
}

func TestTurnOutOfAttemptsFailsAsItsLastOne(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, BackoffSeconds: 100, BackoffMaxSeconds: 150}})
		var waits []time.Duration
		for n := 1; n <= 2; n++ {
			began := time.Now()
			c.crash()
			c = h.next(h.agent)
			waits = append(waits, time.Since(began))
		}
		c.crash()
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || e.Attempt != 3 || e.Error.Message != "it died" {
			t.Errorf("ended: %s", e)
		}
		// 100 s, and 150 s for twice that, each plus or minus the same part.
		if waits[0] < 80*time.Second || waits[0] > 120*time.Second || (waits[1]*2-waits[0]*3).Abs() > 10*time.Millisecond {
			t.Errorf("waited %v", waits)
		}
	})
}

func TestInterruptedTurnIsNeverRetried(t *testing.T) {
	t.Run("the agent dies of it", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			h.thread("d", "deaf")
			h.startWith(turns.Start{ThreadID: "d", Retry: retrying()})
			c := h.next(h.deaf)
			_, ended := h.interrupt(c.TurnID)
			c.crash()
			if r := <-ended; r.State != string(turns.Interrupted) {
				t.Errorf("answer %+v", r)
			}
		})
	})
	t.Run("while it waits", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			c := h.tried(turns.Start{})
			queued := h.start("a")
			s := h.steer(c.TurnID, "lost", false)
			c.crash()
			h.marker(c.TurnID, 1)
			r, ended := h.interrupt(c.TurnID)
			if r.State != string(turns.Interrupted) || ended != nil {
				t.Errorf("answer %+v", r)
			}
			if e := h.ended(c.TurnID); e.Seq != r.Seq || e.Attempt != 2 || !slices.Equal(e.Undelivered, s.ItemIDs) {
				t.Errorf("ended: %s", e)
			}
			next := h.next(h.agent)
			if next.TurnID != queued.TurnID {
				t.Errorf("then %s", next.TurnID)
			}
			next.end(turns.Completed)
			h.ended(next.TurnID)
		})
	})
	t.Run("by a turn that takes its place", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			c := h.tried(turns.Start{})
			c.crash()
			h.marker(c.TurnID, 1)
			r := h.startWith(turns.Start{ThreadID: "a", OnBusy: turns.BusyInterrupt})
			next := h.next(h.agent)
			if next.TurnID != r.TurnID || h.turn(c.TurnID).State != turns.Interrupted {
				t.Errorf("then %s", next.TurnID)
			}
			next.end(turns.Completed)
			h.ended(next.TurnID)
		})
	})
	t.Run("by the end of its thread", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			c := h.tried(turns.Start{})
			h.start("a")
			c.crash()
			h.marker(c.TurnID, 1)
			if r := h.change("a", threads.VerbClose); r.State != threads.Closed {
				t.Errorf("closed: %+v", r)
			}
			if e, closed := h.ended(c.TurnID), h.event(notify.ThreadClosed, nil); e.Method != notify.TurnInterrupted || closed.Seq != e.Seq+1 {
				t.Errorf("%s, then %s", e, closed)
			}
			h.idle(h.agent)
		})
	})
}

func TestTimeoutCountsOverAllAttemptsAndTheirWaits(t *testing.T) {
	run := func(h *harness, restart bool) {
		c := h.tried(turns.Start{TimeoutSeconds: 60})
		time.Sleep(20 * time.Second)
		q := h.ask(c, permission(), turns.AskOptions{}) // the clock is stopped
		time.Sleep(time.Hour)
		if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "yes"}); err != nil {
			h.t.Fatal(err)
		}
		c.crash()
		marker, _ := h.marker(c.TurnID, 1)
		if !strings.Contains(string(marker.raw), `"used_ms":20000`) {
			h.t.Errorf("marker %s", marker.raw)
		}
		if restart {
			h.restart()
		}
		again := h.next(h.agent)
		began := time.Now()
		e := h.ended(c.TurnID)
		if e.Method != notify.TurnFailed || e.Error.Kind != "timeout" || again.ctx.Err() == nil {
			h.t.Errorf("ended: %s", e)
		}
		// 40 s are left, and the wait has taken 8 to 12 of them.
		if d := time.Since(began); d < 28*time.Second || d > 32*time.Second {
			h.t.Errorf("the second attempt had %v", d)
		}
	}
	t.Run("at once", func(t *testing.T) { bubble(t, setup{}, func(h *harness) { run(h, false) }) })
	t.Run("over a restart", func(t *testing.T) { bubble(t, setup{}, func(h *harness) { run(h, true) }) })
	t.Run("that ends while the turn waits", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			c := h.tried(turns.Start{TimeoutSeconds: 5})
			c.crash()
			began := time.Now()
			if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || e.Error.Kind != "timeout" || time.Since(began) != 5*time.Second {
				t.Errorf("ended after %v: %s", time.Since(began), e)
			}
			h.idle(h.agent)
		})
	})
}

func TestAttemptDoesNotStartInAPause(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		h.thread("b", "")
		c := h.tried(turns.Start{})
		c.crash()
		_, wait := h.marker(c.TurnID, 1)
		other := h.start("b") // waits for the slot that the turn keeps
		time.Sleep(time.Second)
		h.idle(h.agent)
		h.pause()
		time.Sleep(time.Until(wait.RetryAt.Time) + time.Minute)
		h.idle(h.agent)
		h.resume()
		first := h.next(h.agent) // the turn waited in line behind the other one
		if first.TurnID != other.TurnID {
			t.Errorf("first %s", first.TurnID)
		}
		h.idle(h.agent)
		first.end(turns.Completed)
		again := h.next(h.agent)
		if again.TurnID != c.TurnID || again.Attempt != 2 {
			t.Errorf("then %s", again.TurnID)
		}
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestPausedThreadLetsItsTurnGoOnInItsNextAttempt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{})
		c.crash()
		h.marker(c.TurnID, 1)
		h.change("a", threads.VerbPause)
		queued := h.start("a")
		h.next(h.agent).end(turns.Completed)
		h.ended(c.TurnID)
		h.idle(h.agent)
		h.change("a", threads.VerbResume)
		h.next(h.agent).end(turns.Completed)
		h.ended(queued.TurnID)
	})
}

func TestDrainLeavesWhatWaitsForItsNextAttempt(t *testing.T) {
	for name, late := range map[string]bool{"before": false, "during": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.tried(turns.Start{})
				if late {
					time.AfterFunc(time.Second, func() { c.crash() })
				} else {
					c.crash()
					h.marker(c.TurnID, 1)
				}
				if d, err := h.drain(); err != nil || d > time.Second {
					t.Errorf("drained in %v: %v", d, err)
				}
				time.Sleep(time.Hour)
				h.idle(h.agent)
				if tn := h.turn(c.TurnID); tn.State != turns.Active || tn.Attempt != 2 {
					t.Errorf("turn %+v", tn)
				}
				h.restart()
				again := h.next(h.agent)
				again.end(turns.Completed)
				if e := h.ended(c.TurnID); e.Attempt != 2 || e.Method != notify.TurnCompleted {
					t.Errorf("ended: %s", e)
				}
			})
		})
	}
}

func TestRestartGivesTheAttemptUpByTheSamePolicy(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{})
		msg := h.message(c, "half a sen")
		h.emit(c, items.StepStart{Step: "setup/clone"})
		s := h.steer(c.TurnID, "more", false)
		h.restart()
		marker, wait := h.marker(c.TurnID, 1)
		if marker.Reason != string(turns.CauseServer) || wait.RetryAt.IsZero() {
			t.Errorf("marker %s, wait %s", marker.raw, wait.raw)
		}
		if it := h.item(msg); it.Status != items.StatusInterrupted || !it.Superseded {
			t.Errorf("message %+v", it)
		}
		h.restart() // the wait is in the log
		again := h.next(h.agent)
		if time.Now().Before(wait.RetryAt.Time) || again.said() != "do it|more" || again.Attempt != 2 {
			t.Errorf("attempt %d: %q", again.Attempt, again.said())
		}
		if it := h.item(s.ItemIDs[0]); it.Status != items.StatusCompleted {
			t.Errorf("steer %+v", it)
		}
		h.restart()
		again = h.next(h.agent)
		h.restart() // out of attempts
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || e.Attempt != 3 || e.Error.Kind != "unavailable" {
			t.Errorf("ended: %s", e)
		}
		_ = again
		h.idle(h.agent)
	})
}

func TestRestartNeverTriesAgainWhatWasBeingInterrupted(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("d", "deaf")
		h.startWith(turns.Start{ThreadID: "d", Retry: retrying()})
		c := h.next(h.deaf)
		h.interrupt(c.TurnID)
		go h.deaf.free() // it notices the end of the server only then
		h.restart()
		if e := h.ended(c.TurnID); e.Method != notify.TurnInterrupted || e.Attempt != 1 {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestTurnThatWaitsCanBeInterruptedBeforeTheEngineRuns(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{})
		c.crash()
		h.marker(c.TurnID, 1)
		h.down()
		h.upWithout()
		if err := h.engine.Recover(bg); err != nil {
			t.Fatal(err)
		}
		if r, _ := h.interrupt(c.TurnID); r.State != string(turns.Interrupted) {
			t.Errorf("answer %+v", r)
		}
		h.run()
		r := h.start("a")
		h.next(h.agent).end(turns.Completed)
		h.ended(r.TurnID)
	})
}

func TestFullDiskPutsAnAttemptOffAndLosesNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{})
		h.message(c, "half")
		synctest.Wait()
		h.faults.failAll(ledger.ErrStorageFull)
		c.crash()
		time.Sleep(time.Minute)
		h.none("marker", func(e event) bool { return e.Method == notify.StreamRewind })
		h.faults.fail(nil)
		_, wait := h.marker(c.TurnID, 1)
		if time.Now().Before(wait.RetryAt.Time) {
			h.faults.failAll(ledger.ErrStorageFull)
			time.Sleep(time.Minute)
			h.idle(h.agent)
			h.faults.fail(nil)
		}
		h.next(h.agent).end(turns.Completed)
		if e := h.ended(c.TurnID); e.Attempt != 2 {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestFailedStorageInAWaitDoesNotHoldADrainUp(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.tried(turns.Start{})
		c.crash()
		_, wait := h.marker(c.TurnID, 1)
		h.faults.breakDown()
		time.Sleep(time.Until(wait.RetryAt.Time) + time.Second)
		if d, err := h.drain(); err != nil || d > time.Second {
			t.Errorf("drained in %v: %v", d, err)
		}
		h.restart()
		h.next(h.agent).end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestLogFromBeforeAttemptsEndsAsItAlwaysDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // without the checker: the log breaks its rules
		h := newHarness(t, setup{})
		h.faults.without(func(u *ledger.Unit) {
			persisttest.SetRows[*turns.Step](u)
			for i := range u.Drafts {
				d := &u.Drafts[i]
				d.Span, d.Header.Lineage, d.Header.Step, d.Header.Epoch, d.Header.Span = nil, nil, "", 0, 0
				if err := d.Encode(); err != nil {
					t.Error(err)
				}
			}
			for _, it := range persisttest.RowsOf[*items.Item](u) {
				it.Lineage, it.Step, it.Epoch, it.Span = nil, "", 0, 0
			}
		})
		c := h.tried(turns.Start{})
		h.message(c, "half")
		h.down()
		h.faults.heal()
		h.up()
		if e := h.ended(c.TurnID); e.Method != notify.TurnInterrupted || len(e.Lineage) > 0 {
			t.Errorf("ended: %s", e)
		}
		if _, err := h.engine.Retry(bg, turns.Retry{TurnID: c.TurnID}); !errors.Is(err, turns.ErrNoAttempts) {
			t.Errorf("retry: %v", err)
		}
	})
}
