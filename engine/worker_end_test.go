package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestUnclaimedTurnFails(t *testing.T) {
	o := setup{agents: []turns.Agent{remote{leases: turns.LeasePolicy{ClaimTimeout: 20 * time.Second}, retry: *retrying()}}}
	bubble(t, o, func(h *harness) {
		h.thread("a", "remote")
		r := h.start("a")
		began := time.Now()
		e := h.ended(r.TurnID)
		if d := time.Since(began); d != 20*time.Second || e.Method != notify.TurnFailed || e.Error.Kind != "agent_unavailable" {
			t.Errorf("after %v: %s %+v", d, e, e.Error)
		}
		if r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote"}); err != nil || r.Turn != nil {
			t.Errorf("it can be claimed still: %+v, %v", r, err)
		}
	})
	o.agents[0] = remote{leases: turns.LeasePolicy{ClaimTimeout: -1}}
	bubble(t, o, func(h *harness) {
		h.thread("a", "remote")
		r := h.start("a")
		time.Sleep(40 * time.Hour)
		if tn := h.turn(r.TurnID); tn.State != turns.Active {
			t.Errorf("a turn that waits for ever is %s", tn.State)
		}
		h.complete(h.claim("").Lease)
	})
}

func TestLeaseThatRunsOutEndsTheTurnAsThePolicySays(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		c := h.work()
		if e := h.ended(c.Turn.TurnID); e.Method != notify.TurnInterrupted || !strings.Contains(e.Reason, "lease") {
			t.Errorf("ended %s", e)
		}
	})
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		turnID := c.Turn.TurnID
		for attempt := 2; attempt <= turns.DefaultMaxAttempts; attempt++ {
			h.marker(turnID, attempt-1)
			r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: turns.MaxClaimWait})
			if err != nil || r.Lease.Attempt != attempt {
				t.Fatalf("attempt %d: %+v, %v", attempt, r, err)
			}
		}
		if e := h.endedIn(turnID, turns.DefaultMaxAttempts); e.Method != notify.TurnFailed || e.Error.Kind != "agent_unavailable" {
			t.Errorf("out of attempts: %s", e)
		}
	})
}

func TestWorkerFails(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		r, err := h.workers.Fail(bg, turns.FailTurn{Lease: *c.Lease, Error: turns.Failure{Message: "no network"}, Transient: true})
		marker, wait := h.marker(c.Turn.TurnID, 1)
		if err != nil || r.State != turns.Active || r.RetryAt != wait.RetryAt || marker.Reason != string(turns.CauseTransient) || marker.Message != "no network" {
			t.Errorf("failed %+v, %v, %s", r, err, marker)
		}
		again, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: time.Minute})
		if err != nil || again.Lease.Attempt != 2 {
			t.Fatalf("%+v, %v", again, err)
		}
		r, err = h.workers.Fail(bg, turns.FailTurn{Lease: *again.Lease, Error: turns.Failure{Kind: "timeout", Message: "for good"}})
		e := h.endedIn(c.Turn.TurnID, 2)
		if err != nil || r.State != turns.Failed || e.Method != notify.TurnFailed || e.Error.Kind != "timeout" || e.Error.Message != "for good" {
			t.Errorf("failed %+v, %v, %s", r, err, e)
		}
	})
}

func TestRenewTellsOfAnInterruptAndOfSteers(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		one := h.steer(c.Turn.TurnID, "one", false).ItemIDs[0]
		two := h.steer(c.Turn.TurnID, "two", true).ItemIDs[0] // there is no prompt to cut
		k := key("renew", "turn/renew", 1)
		said := func(r turns.RenewResult) (out []string) {
			for _, s := range r.Steers {
				out = append(out, s.Content[0].Text)
			}
			return out
		}
		keyed := func() turns.RenewResult {
			r, err := h.workers.Renew(bg, turns.Renew{Lease: *c.Lease, Key: k})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := keyed(); !slices.Equal(said(r), []string{"one", "two"}) || r.InterruptRequested {
			t.Errorf("renewed %+v", r)
		}
		time.Sleep(20 * time.Second)
		if r := keyed(); !slices.Equal(said(r), []string{"one", "two"}) || time.Until(r.ExpiresAt.Time) != turns.DefaultLease {
			t.Errorf("the answer that was lost: %+v", r) // and it renews
		}
		if got := h.statuses([]string{one, two}); !slices.Equal(got, []items.Status{"in_progress", "in_progress"}) {
			t.Errorf("before the worker's next word they are %v", got)
		}
		three := h.steer(c.Turn.TurnID, "three", false).ItemIDs[0]
		time.Sleep(20 * time.Second)
		if r := h.renew(c.Lease); !slices.Equal(said(r), []string{"three"}) {
			t.Errorf("renewed %+v", r)
		}
		if got := h.statuses([]string{one, two, three}); !slices.Equal(got, []items.Status{"completed", "completed", "in_progress"}) {
			t.Errorf("after it they are %v", got)
		}
		if keyed(); !slices.Equal(h.statuses([]string{three}), []items.Status{"in_progress"}) {
			t.Error("a repeat from before says that the third has come")
		}
		if r := h.renew(c.Lease); len(r.Steers) > 0 || !slices.Equal(h.statuses([]string{three}), []items.Status{"completed"}) {
			t.Errorf("after a repeat from before: %+v", r)
		}
		four := h.steer(c.Turn.TurnID, "four", false).ItemIDs[0]
		r, ended := h.interrupt(c.Turn.TurnID)
		if r.State != string(turns.Interrupting) {
			t.Errorf("interrupt %+v", r)
		}
		h.event(notify.TurnProgress, func(e event) bool { return e.State == string(turns.Interrupting) })
		h.write(c.Lease, message("last", "what there is")) // what it writes until its end is kept
		end := h.complete(c.Lease)
		if end.State != turns.Interrupted || (<-ended).State != string(turns.Interrupted) {
			t.Errorf("ended %+v", end)
		}
		e := h.ended(c.Turn.TurnID)
		if e.Method != notify.TurnInterrupted || !slices.Equal(e.Undelivered, []string{four}) {
			t.Errorf("ended %s, undelivered %v", e, e.Undelivered)
		}
		if got := h.statuses([]string{three, four}); !slices.Equal(got, []items.Status{"completed", "interrupted"}) {
			t.Errorf("at the end they are %v", got)
		}
	})
}

func TestWorkerThatDoesNotHeedAnInterruptIsGivenUp(t *testing.T) {
	for name, s := range map[string]struct {
		renews bool
		stop   func(h *harness, id string)
		method string
	}{
		"renews":  {true, func(h *harness, id string) { h.interrupt(id) }, notify.TurnInterrupted},
		"silent":  {false, func(h *harness, id string) { h.interrupt(id) }, notify.TurnInterrupted},
		"closed":  {true, func(h *harness, _ string) { h.change("a", threads.VerbClose) }, notify.TurnInterrupted},
		"timeout": {true, func(*harness, string) { time.Sleep(50 * time.Second) }, notify.TurnFailed},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, remotely(true), func(h *harness) {
				h.thread("a", "remote")
				r := h.startWith(turns.Start{ThreadID: "a", TimeoutSeconds: 60})
				c := h.claim("")
				time.Sleep(10 * time.Second)
				h.renew(c.Lease)
				if s.renews && name == "timeout" {
					go func() {
						for range 4 {
							time.Sleep(12 * time.Second)
							_, _ = h.workers.Renew(bg, turns.Renew{Lease: *c.Lease})
						}
					}()
				}
				s.stop(h, r.TurnID)
				h.event(notify.TurnProgress, func(e event) bool { return e.State == string(turns.Interrupting) })
				asked := time.Now()
				if s.renews {
					time.Sleep(9 * time.Second)
					if r := h.renew(c.Lease); !r.InterruptRequested {
						t.Error("renew does not tell")
					}
				}
				e := h.ended(r.TurnID)
				if d := time.Since(asked); e.Method != s.method || d > turns.DefaultLease {
					t.Errorf("after %v: %s", d, e)
				}
				if _, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *c.Lease}); !errors.Is(err, turns.ErrNotActive) {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}

func TestTurnThatNobodyHasClaimedIsInterruptedAtOnce(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		h.thread("a", "remote")
		r := h.start("a")
		got, ended := h.interrupt(r.TurnID)
		if got.State != string(turns.Interrupted) || ended != nil {
			t.Errorf("%+v", got)
		}
		again, err := h.engine.Retry(bg, turns.Retry{TurnID: r.TurnID})
		if err != nil || again.State != turns.Active || again.Attempt != 2 {
			t.Errorf("retried: %+v, %v", again, err)
		}
		c := h.claim("")
		if c.Lease.Attempt != 2 {
			t.Errorf("claimed %+v", c)
		}
		h.complete(c.Lease)
		r = h.start("a")
		if th := h.change("a", threads.VerbClose); th.State != threads.Closed {
			t.Errorf("closed while it waits: %+v", th)
		}
		h.ended(r.TurnID)
	})
}
