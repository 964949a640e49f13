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

func TestPausedRuntimeQueuesAndStartsNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.thread("b", "")
		running := h.start("a")
		c := h.next(h.agent)
		if r := h.pause(); !r.Success || r.State != "paused" || r.Message != "paused" || r.Seq == 0 {
			t.Errorf("pause: %+v", r)
		}
		if r := h.pause(); !r.Success || r.State != "paused" || r.Message != "already paused" {
			t.Errorf("again: %+v", r)
		}
		if s := h.engine.State(); s != "paused" {
			t.Errorf("state %s", s)
		}
		q := h.start("b")
		if q.State != turns.Queued || q.Position != 1 {
			t.Errorf("start: %+v", q)
		}
		if e := h.event(notify.TurnQueued, ofTurn(q.TurnID)); e.Reason != turns.QueuedPaused {
			t.Errorf("queued: %s", e)
		}
		h.message(c, "running turns go on")
		c.end(turns.Completed)
		h.ended(running.TurnID)
		h.idle(h.agent)
		if r := h.resume(); !r.Success || r.State != "running" || r.Message != "resumed" {
			t.Errorf("resume: %+v", r)
		}
		if r := h.resume(); !r.Success || r.Message != "already resumed" {
			t.Errorf("again: %+v", r)
		}
		c = h.next(h.agent)
		if c.TurnID != q.TurnID {
			t.Errorf("%s started", c.TurnID)
		}
		c.end(turns.Completed)
		h.ended(q.TurnID)
		rt := h.engine.Runtime()
		if rt.Paused || rt.PausedAt.IsZero() || rt.ResumedAt.IsZero() {
			t.Errorf("runtime %+v", rt)
		}
	})
}

func TestPauseWithATimeoutResumesByItself(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(map[bool]string{false: "running on", true: "restarted"}[restarts], func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "")
				began := time.Now()
				r, err := h.engine.Pause(bg, turns.Pause{TimeoutSeconds: 60, Reason: "lunch"})
				if err != nil || !r.Until.Equal(began.Add(time.Minute)) {
					t.Fatalf("pause: %+v, %v", r, err)
				}
				q := h.start("a")
				if restarts {
					h.restart()
					if s := h.engine.State(); s != "paused" {
						t.Errorf("after the restart %s", s)
					}
				}
				c := h.next(h.agent)
				if d := time.Since(began); d < time.Minute || d > time.Minute+time.Second {
					t.Errorf("resumed after %v", d)
				}
				if e := h.event(notify.HolonResumed, nil); e.Reason != "timeout" {
					t.Errorf("resumed: %s", e)
				}
				c.end(turns.Completed)
				h.ended(q.TurnID)
			})
		})
	}
}

func TestPauseThatIsOverWhenTheServerStartsEndsAtOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if _, err := h.engine.Pause(bg, turns.Pause{TimeoutSeconds: 60}); err != nil {
			t.Fatal(err)
		}
		h.down()
		time.Sleep(time.Hour)
		h.up()
		synctest.Wait()
		if s := h.engine.State(); s != "running" {
			t.Errorf("state %s", s)
		}
	})
}

func TestResumeBeforeTheTimeoutIsFinal(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if _, err := h.engine.Pause(bg, turns.Pause{TimeoutSeconds: 60}); err != nil {
			t.Fatal(err)
		}
		h.resume()
		h.pause() // without an end
		time.Sleep(time.Hour)
		if s := h.engine.State(); s != "paused" {
			t.Errorf("the first pause's timeout ended the second: %s", s)
		}
	})
}

// pauseToStop pauses as holon stop --wait does.
func (h *harness) pauseToStop() turns.PauseResult {
	h.t.Helper()
	r, err := h.engine.Pause(bg, turns.Pause{Reason: turns.PausedToStop, TimeoutSeconds: 3600})
	if err != nil {
		h.t.Fatalf("pause: %v", err)
	}
	return r
}

func TestTheNextStartEndsAPauseToStop(t *testing.T) {
	for name, drains := range map[string]bool{"after a drain": true, "after a crash": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "quick")
				h.pauseToStop()
				q := h.start("a")
				time.Sleep(time.Minute)
				if s := h.engine.State(); s != "paused" {
					t.Errorf("state %s before the stop", s)
				}
				if drains {
					if _, err := h.drain(); err != nil {
						t.Fatal(err)
					}
				}
				h.down()
				h.upWithout()
				if err := h.engine.Recover(bg); err != nil {
					t.Fatal(err)
				}
				if s := h.engine.State(); s != "running" { // before any client sees it
					t.Errorf("state %s", s)
				}
				h.run()
				h.ended(q.TurnID)
				if e := h.event(notify.HolonResumed, nil); e.Reason != "restart" {
					t.Errorf("resumed: %s", e)
				}
				h.restart() // it has ended once and for all
			})
		})
	}
}

func TestNoStartEndsAPauseOfAnotherReason(t *testing.T) {
	lunch := turns.Pause{Reason: "lunch"}
	for name, pause := range map[string]func(h *harness){
		"of a person":                         func(h *harness) {},
		"over which somebody stops":           func(h *harness) { h.pauseToStop() },
		"which replaces that of a stop":       nil,
		"which replaces it, without a reason": nil,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "quick")
				want := lunch
				if pause == nil {
					h.pauseToStop()
					if strings.Contains(name, "without") {
						want.Reason = ""
					}
				}
				began := time.Now()
				if r, err := h.engine.Pause(bg, want); err != nil || r.Message != "paused" || !r.Until.IsZero() {
					t.Fatalf("pause: %+v, %v", r, err)
				}
				if pause != nil {
					pause(h)
				}
				q := h.start("a")
				h.restart()
				time.Sleep(12 * time.Hour) // longer than the pause of the stop
				if rt := h.engine.Runtime(); !rt.Paused || rt.Reason != want.Reason || rt.PausedAt.Before(began) {
					t.Errorf("after the restart %+v", rt)
				}
				if tn := h.turn(q.TurnID); tn.State != turns.Queued {
					t.Errorf("the turn is %s", tn.State)
				}
				h.resume()
				h.ended(q.TurnID)
			})
		})
	}
}

// A pause without an end holds over the end of the one that it was asked for beside: in the
// stop, while the server is down, and after the next start. Another pause for a time, or
// that of a stop, changes neither the end nor the reason of one.
func TestAPauseWithoutAnEndReplacesOneForATime(t *testing.T) {
	for name, ends := range map[string]func(h *harness){
		"while it runs": func(*harness) { time.Sleep(2 * time.Minute) },
		"in the drain": func(h *harness) {
			c := h.next(h.agent)
			time.Sleep(58 * time.Second)
			go func() { time.Sleep(4 * time.Second); c.end(turns.Completed) }()
			if _, err := h.drain(); err != nil {
				h.t.Error(err)
			}
			h.down()
			h.up()
		},
		"while it is down":     func(h *harness) { h.down(); time.Sleep(2 * time.Minute); h.up() },
		"after the next start": func(h *harness) { h.restart(); time.Sleep(2 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				if name == "in the drain" {
					h.thread("running", "")
					h.start("running")
				}
				h.pauseForAMinute()
				kept := turns.Pause{Reason: "holon stop --keep-paused"}
				if r, err := h.engine.Pause(bg, kept); err != nil || r.Message != "paused" || !r.Until.IsZero() {
					t.Fatalf("pause: %+v, %v", r, err)
				}
				for _, later := range []turns.Pause{{TimeoutSeconds: 1}, {}, {Reason: turns.PausedToStop, TimeoutSeconds: 1}} {
					if r, err := h.engine.Pause(bg, later); err != nil || r.Message != "already paused" {
						t.Errorf("pause: %+v, %v", r, err)
					}
				}
				ends(h)
				synctest.Wait()
				if rt := h.engine.Runtime(); !rt.Paused || rt.Reason != kept.Reason || !rt.Until.IsZero() {
					t.Errorf("it is %+v", rt)
				}
			})
		})
	}
}

// pauseForAMinute pauses until then, which a further such pause and that of a stop do not
// change.
func (h *harness) pauseForAMinute() {
	h.t.Helper()
	r, err := h.engine.Pause(bg, turns.Pause{Reason: "coffee", TimeoutSeconds: 60})
	if err != nil || r.Message != "paused" {
		h.t.Fatalf("pause: %+v, %v", r, err)
	}
	for _, later := range []turns.Pause{{TimeoutSeconds: 3600}, {Reason: turns.PausedToStop, TimeoutSeconds: 3600}, {Reason: turns.PausedToStop}} {
		if again, err := h.engine.Pause(bg, later); err != nil || again.Message != "already paused" || !again.Until.Equal(r.Until.Time) {
			h.t.Fatalf("pause: %+v, %v", again, err)
		}
	}
}

func TestAFullDiskAtTheStartDoesNotKeepThePauseToStop(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "quick")
		h.pauseToStop()
		q := h.start("a")
		h.down()
		h.upWithout()
		h.faults.failAll(ledger.ErrStorageFull)
		if err := h.engine.Recover(bg); err != nil {
			t.Fatal(err)
		}
		h.run()
		time.Sleep(time.Minute)
		if s := h.engine.State(); s != "paused" {
			t.Errorf("state %s, and nothing in the log", s)
		}
		h.faults.heal()
		h.ended(q.TurnID)
	})
}

func TestPauseResumesByItselfOnceThereIsSpace(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if _, err := h.engine.Pause(bg, turns.Pause{TimeoutSeconds: 60}); err != nil {
			t.Fatal(err)
		}
		h.faults.failAll(ledger.ErrStorageFull)
		time.Sleep(2 * time.Minute)
		if s := h.engine.State(); s != "paused" {
			t.Errorf("state %s, and nothing in the log", s)
		}
		h.faults.heal()
		time.Sleep(time.Second)
		if s := h.engine.State(); s != "running" {
			t.Errorf("state %s", s)
		}
	})
}

func TestPauseThatCannotBeStoredPausesNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "quick")
		h.faults.failAll(ledger.ErrStorageFull)
		if _, err := h.engine.Pause(bg, turns.Pause{}); !errors.Is(err, ledger.ErrStorageFull) {
			t.Errorf("pause: %v", err)
		}
		h.faults.heal()
		if s := h.engine.State(); s != "running" {
			t.Errorf("state %s", s)
		}
		h.ended(h.start("a").TurnID)
		h.pause()
		q := h.start("a")
		h.faults.failAll(ledger.ErrStorageFull)
		if _, err := h.engine.Resume(bg, turns.Resume{}); !errors.Is(err, ledger.ErrStorageFull) {
			t.Errorf("resume: %v", err)
		}
		h.faults.heal()
		if tn := h.turn(q.TurnID); tn.State != turns.Queued {
			t.Errorf("a resume that failed started %+v", tn)
		}
		h.resume()
		h.ended(q.TurnID)
	})
}

func TestPausedThreadStartsNoFurtherTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		first := h.start("a")
		c := h.next(h.agent)
		second := h.start("a")
		if r := h.change("a", threads.VerbPause); r.State != threads.Paused {
			t.Errorf("pause: %+v", r)
		}
		third := h.start("a")
		if e := h.event(notify.TurnQueued, ofTurn(third.TurnID)); e.Reason != turns.QueuedPaused || e.Position != 2 {
			t.Errorf("queued: %s", e)
		}
		if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), OnBusy: turns.BusyReject}); !errors.Is(err, threads.ErrPaused) {
			t.Errorf("reject: %v", err)
		}
		c.end(turns.Completed)
		h.ended(first.TurnID)
		h.idle(h.agent)
		h.restart()
		h.idle(h.agent)
		h.change("a", threads.VerbResume)
		for _, id := range []string{second.TurnID, third.TurnID} {
			c = h.next(h.agent)
			if c.TurnID != id || c.said() != "do it" {
				t.Errorf("%s started with %q", c.TurnID, c.said())
			}
			c.end(turns.Completed)
			h.ended(id)
		}
	})
}
