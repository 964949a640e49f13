package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

func TestRestartLeavesTheTurnToItsWorker(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		h.write(c.Lease, message("m", "hel"))
		steer := h.steer(c.Turn.TurnID, "more", false).ItemIDs
		h.renew(c.Lease)
		time.Sleep(29 * time.Second)
		h.down()
		time.Sleep(time.Hour) // the worker cannot renew
		h.up()
		if g := h.engine.Gate(); g.Active != 1 {
			t.Errorf("the gate counts %+v", g)
		}
		time.Sleep(29 * time.Second)
		h.none("the attempt was given up", func(e event) bool { return e.Method == notify.StreamRewind || terminal(e.Method) })
		// Steers of an answer before the restart are sent again.
		if r := h.renew(c.Lease); len(r.Steers) != 1 || r.Steers[0].ItemID != steer[0] || time.Until(r.ExpiresAt.Time) != turns.DefaultLease {
			t.Errorf("renewed %+v", r)
		}
		h.write(c.Lease, turns.ItemOp{Op: turns.OpAppend, ItemID: "m", Text: "lo"})
		h.complete(c.Lease)
		if e := h.ended(c.Turn.TurnID); e.Method != notify.TurnCompleted || e.Attempt != 1 {
			t.Errorf("ended %s", e)
		}
	})
}

func TestRestartGivesALeaseOnePeriodOfGrace(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		time.Sleep(29 * time.Second)
		h.restart()
		up := time.Now()
		marker, _ := h.marker(c.Turn.TurnID, 1)
		if d := time.Since(up); d != turns.DefaultLease || marker.Reason != string(turns.CauseLease) {
			t.Errorf("given up after %v: %s", d, marker)
		}
		again, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: time.Minute})
		if err != nil || again.Lease.Attempt != 2 {
			t.Fatalf("%+v, %v", again, err)
		}
		h.complete(again.Lease)
	})
}

// TestLeaseOfTheOriginalIsRefusedInARestoredLog runs the same attempt of the
// same turn in two logs: a worker of one must not write into the other.
func TestLeaseOfTheOriginalIsRefusedInARestoredLog(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		file := filepath.Join(t.TempDir(), "backup.db")
		if err := h.reader.Backup(bg, file); err != nil {
			t.Fatal(err)
		}
		h.down()
		h.dir = filepath.Join(t.TempDir(), "restored")
		if _, err := sqlite.Restore(file, h.dir); err != nil {
			t.Fatal(err)
		}
		h.up()
		for i, f := range h.byLease(*c.Lease) {
			if err := f(); !errors.Is(err, turns.ErrLease) {
				t.Errorf("command %d: %v", i, err)
			}
		}
		// The attempt has its period of grace and then goes to a worker of this log.
		again, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: time.Minute})
		if err != nil || again.Lease == nil || again.Lease.TurnID != c.Turn.TurnID || again.Lease.Attempt != 2 {
			t.Fatalf("%+v, %v", again, err)
		}
		h.complete(again.Lease)
	})
}

func TestTurnThatWaitsForAWorkerStillWaitsAfterARestart(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		h.thread("a", "remote")
		r := h.start("a")
		time.Sleep(turns.DefaultClaimTimeout - time.Second)
		h.restart()
		time.Sleep(turns.DefaultClaimTimeout - time.Second)
		c := h.claim("")
		if c.Turn.TurnID != r.TurnID || c.Lease.Attempt != 1 {
			t.Errorf("claimed %+v", c)
		}
		h.complete(c.Lease)
	})
}

func TestInterruptIsNotForgottenByARestart(t *testing.T) {
	for name, byTimeout := range map[string]bool{"interrupt": false, "timeout": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, remotely(true), func(h *harness) {
				h.thread("a", "remote")
				r := h.startWith(turns.Start{ThreadID: "a", TimeoutSeconds: 10})
				c := h.claim("")
				want := notify.TurnInterrupted
				if byTimeout {
					time.Sleep(11 * time.Second)
					want = notify.TurnFailed
				} else {
					h.interrupt(r.TurnID)
				}
				h.restart()
				if r := h.renew(c.Lease); !r.InterruptRequested {
					t.Error("renew does not tell")
				}
				h.complete(c.Lease)
				if e := h.ended(r.TurnID); e.Method != want {
					t.Errorf("ended %s", e)
				}
			})
		})
	}
}

func TestTimeoutGoesOnWhileTheServerIsAway(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		h.thread("a", "remote")
		r := h.startWith(turns.Start{ThreadID: "a", TimeoutSeconds: 60})
		c := h.claim("")
		h.down()
		time.Sleep(50 * time.Second)
		h.up()
		time.Sleep(9 * time.Second)
		if r := h.renew(c.Lease); r.InterruptRequested {
			t.Error("interrupted before its time")
		}
		time.Sleep(2 * time.Second)
		if r := h.renew(c.Lease); !r.InterruptRequested {
			t.Error("the time is over")
		}
		h.complete(c.Lease)
		if e := h.ended(r.TurnID); e.Method != notify.TurnFailed || e.Error.Kind != "timeout" {
			t.Errorf("ended %s", e)
		}
	})
}

func TestRestartWithoutTheAgentEndsItsTurns(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		h.down()
		h.o.agents = nil
		h.up()
		if e := h.ended(c.Turn.TurnID); e.Method != notify.TurnInterrupted {
			t.Errorf("ended %s", e)
		}
		if _, err := h.workers.Renew(bg, turns.Renew{Lease: *c.Lease}); !errors.Is(err, turns.ErrNotActive) {
			t.Errorf("renew: %v", err)
		}
	})
}

func TestDrainLeavesWorkersAlone(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		h.thread("b", "remote")
		c := h.work()
		unclaimed := h.start("b")
		waits := h.waitForTurn("other", time.Minute)
		if got := waits.turn(); got != unclaimed.TurnID {
			t.Fatalf("claimed %s", got)
		}
		h.thread("d", "remote")
		third := h.start("d")
		waits = h.waitForTurn("in vain", time.Minute)
		last := h.waitForTurn("in vain", time.Minute)
		if d, err := h.drain(); err != nil || d != 0 {
			t.Errorf("drained in %v: %v", d, err)
		}
		if got := waits.turn(); got != third.TurnID {
			t.Errorf("the one before the drain has %s", got)
		}
		if s := last.turn(); s != turns.ErrDraining.Error() {
			t.Errorf("the one that waited: %s", s)
		}
		if _, err := h.workers.Claim(bg, turns.Claim{Agent: "remote"}); !errors.Is(err, turns.ErrDraining) {
			t.Errorf("a claim during the drain: %v", err)
		}
		h.write(c.Lease, message("m", "still here"))
		h.renew(c.Lease)
		h.restart()
		h.complete(c.Lease)
		if it := h.item("m"); it.Status != items.StatusCompleted {
			t.Errorf("item %+v", it)
		}
	})
}

func TestWorkerIsToldThatTheServerEnds(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		w := h.waitForTurn("waits", time.Minute)
		h.stopEngine()
		if s := w.turn(); s != turns.ErrDraining.Error() {
			t.Errorf("the claim: %s", s)
		}
		if _, err := h.workers.Renew(bg, turns.Renew{Lease: *c.Lease}); !errors.Is(err, turns.ErrDraining) {
			t.Errorf("renew: %v", err)
		}
		h.restart()
		h.complete(c.Lease)
	})
}

// A full disk: the claim fails, and the next worker gets the turn. A lease runs out
// meanwhile, and the attempt ends when there is space.
func TestWorkersAndAFullDisk(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		h.thread("b", "remote")
		h.thread("d", "remote")
		r := h.start("b")
		h.start("d")
		h.faults.failAll(ledger.ErrStorageFull)
		if _, err := h.workers.Claim(bg, turns.Claim{Agent: "remote"}); !errors.Is(err, ledger.ErrStorageFull) {
			t.Errorf("claim: %v", err)
		}
		if _, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{message("m", "x")}}); !errors.Is(err, ledger.ErrStorageFull) {
			t.Errorf("write: %v", err)
		}
		time.Sleep(20 * time.Second)
		if _, err := h.workers.Renew(context.Background(), turns.Renew{Lease: *c.Lease}); err != nil {
			t.Errorf("renew: %v", err)
		}
		time.Sleep(40 * time.Second)
		h.faults.heal()
		synctest.Wait()
		if m, _ := h.marker(c.Turn.TurnID, 1); m.Reason != string(turns.CauseLease) {
			t.Errorf("marker %s", m)
		}
		if got := h.claim(""); got.Turn.TurnID != r.TurnID {
			t.Errorf("claimed %+v", got)
		}
		if n := len(h.of(func(e event) bool { return e.ItemID == "m" })); n > 0 {
			t.Errorf("%d events of the refused write", n)
		}
	})
}

func TestStepsOfAWorkerSurviveARestart(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		h.step(c.Lease, "a/b")
		h.step(c.Lease, "a")
		h.restart()
		if s := h.step(c.Lease, "a/b"); s.Epoch != 2 {
			t.Errorf("step %+v", s)
		}
		h.complete(c.Lease)
		var ends []string
		for _, e := range h.of(func(e event) bool { return e.Method == notify.StepEnded }) {
			ends = append(ends, e.Step)
		}
		if !slices.Equal(ends, []string{"a/b", "a"}) {
			t.Errorf("ended %v", ends)
		}
	})
}

// A worker whose answer was lost repeats the request with its key. Even if the
// server was restarted meanwhile, the next renewal must not repeat the same steers.
func TestWhatARepeatHasToldIsNotToldAgain(t *testing.T) {
	for name, restarts := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, remotely(true), func(h *harness) {
				h.thread("a", "remote")
				turnID := h.start("a").TurnID
				first := h.steer(turnID, "first", false).ItemIDs[0]
				claim := func() turns.ClaimResult {
					r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Key: key("claim", "turn/claim", 1)})
					if err != nil || len(r.Input) < 2 || r.Input[1].ItemID != first {
						t.Fatalf("claim: %+v, %v", r, err)
					}
					return r
				}
				lease := claim().Lease
				again := func() {
					if restarts {
						h.restart()
					}
				}
				again()
				second := h.steer(turnID, "second", false).ItemIDs[0]
				if r := claim(); len(r.Input) != 3 || r.Input[2].ItemID != second {
					t.Errorf("claimed again: %+v", r)
				}
				third := h.steer(turnID, "third", false).ItemIDs[0]
				k := key("renew", "turn/renew", 1)
				for range 2 {
					r, err := h.workers.Renew(bg, turns.Renew{Lease: *lease, Key: k})
					if err != nil || len(r.Steers) != 1 || r.Steers[0].ItemID != third {
						t.Errorf("renewed: %+v, %v", r, err)
					}
					again()
				}
				if _, err := h.workers.Renew(bg, turns.Renew{Lease: *lease, Key: k}); err != nil {
					t.Error(err)
				}
				if r := h.renew(lease); len(r.Steers) > 0 {
					t.Errorf("told again: %+v", r.Steers)
				}
				if got := h.statuses([]string{first, second, third}); !slices.Equal(got, []items.Status{"completed", "completed", "completed"}) {
					t.Errorf("they are %v", got)
				}
				h.complete(lease)
			})
		})
	}
}
