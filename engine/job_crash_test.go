package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// program is an agent whose turns are workflows: two jobs at once, one after these, and one that is
// a workflow itself. It asks as the helpers do.
func program(h **harness) agentFunc {
	retry := &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 99, BackoffSeconds: 1}
	job := func(ctx context.Context, p *turns.Prompt, name, agent, prompt string) (string, error) {
		for ctx.Err() == nil {
			r, err := (*h).engine.Start(ctx, turns.Start{
				Job: name, Agent: agent, Input: text(prompt), Retry: retry,
				Parent: &threads.Parent{ThreadID: p.ThreadID, TurnID: p.TurnID, Attempt: p.Attempt},
			})
			switch {
			case err != nil && !strings.Contains(err.Error(), "storage"):
				return "", err
			case err == nil && len(r.Results) == 1 && r.Results[0].Accepted():
				if r.Results[0].State != turns.Completed {
					return "", fmt.Errorf("%s: %+v", name, r.Results[0])
				}
				return r.Results[0].Text, nil
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
		return "", ctx.Err()
	}
	return agentFunc{"program", func(ctx context.Context, p *turns.Prompt) turns.Outcome {
		said := p.Input[0].Text()
		var one, two string
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { one, errs[0] = job(ctx, p, "one", "quick", said+"1") })
		wg.Go(func() { two, errs[1] = job(ctx, p, "two", "quick", said+"2") })
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return turns.Outcome{State: turns.Failed, StopReason: err.Error()}
			}
		}
		all, err := job(ctx, p, "three", "quick", one+two)
		if err == nil && len(said) < 3 {
			all, err = job(ctx, p, "sub", "program", said+"sub")
		}
		if err != nil {
			return turns.Outcome{State: turns.Failed, StopReason: err.Error()}
		}
		id := items.NewID()
		if err := p.Emit(ctx, items.Create{ItemID: id, Content: items.NewAgentMessage("")}, items.Append{ItemID: id, Text: all}, items.Update{ItemID: id, Status: items.StatusCompleted}); err != nil {
			return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
		}
		return turns.Outcome{State: turns.Completed, StopReason: "end_turn"}
	}}
}

// However often the server is killed, before whichever unit, each job is one turn, which completes
// once, and no prompt tells its end.
func TestWorkflowIsKilledBeforeEachUnit(t *testing.T) {
	hosttest.Long(t)
	for first := 1; ; first++ {
		over := false
		for _, every := range []int{1 << 30, 7} {
			t.Run(fmt.Sprintf("before unit %d, then each %d", first, every), func(t *testing.T) {
				var h *harness
				synctest.Test(t, func(t *testing.T) {
					h = newHarness(t, setup{agents: []turns.Agent{program(&h)}})
					h.thread("a", "program")
					left, kills, died := first, 0, make(chan struct{}, 1)
					var mu sync.Mutex
					fail := func(*ledger.Unit) error {
						mu.Lock()
						defer mu.Unlock()
						if left--; left > 0 || kills > 8 {
							return nil
						}
						select {
						case died <- struct{}{}:
						default:
						}
						return ledger.ErrStorageFull
					}
					r := h.startWith(turns.Start{ThreadID: "a", Input: text("x"), Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 99, BackoffSeconds: 1}})
					h.faults.fail(fail)
					for end := time.Now().Add(time.Hour); time.Now().Before(end); {
						select {
						case <-died:
							synctest.Wait()
							h.down()
							mu.Lock()
							left, kills = every, kills+1
							mu.Unlock()
							h.up()
							h.faults.fail(fail)
						case <-time.After(time.Minute):
						}
						if h.turn(r.TurnID).State.Ended() {
							break
						}
					}
					h.faults.heal()
					time.Sleep(10 * time.Second)
					over = kills == 0
					if got := h.turn(r.TurnID); got.State != turns.Completed {
						t.Errorf("it is %s %s", got.State, got.StopReason)
					}
					if e := h.of(func(e event) bool { return e.Method == notify.ThreadStarted }); len(e) != 8 {
						t.Errorf("%d threads", len(e))
					}
					ends := map[string]int{}
					for _, e := range h.of(func(e event) bool { return e.Method == notify.TurnCompleted }) {
						ends[e.TurnID]++
					}
					for id, n := range ends {
						if n != 1 {
							t.Errorf("%s has completed %d times", id, n)
						}
					}
					if len(ends) != 8 {
						t.Errorf("%d turns have completed", len(ends))
					}
					for _, m := range []string{notify.InboxTold, notify.InboxUntold} {
						if e := h.of(func(e event) bool { return e.Method == m }); len(e) != 0 {
							t.Errorf("%d %s", len(e), m)
						}
					}
					h.check()
				})
			})
		}
		if over || t.Failed() {
			t.Logf("%d units", first)
			return
		}
	}
}
