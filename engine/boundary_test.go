package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/turns"
)

// stepper works in steps, which it retries. It crashes in its first attempt, fails
// with a transient error in its second, and completes in the third. Each attempt
// puts its work in commit by commit.
func stepper(ctx context.Context, p *turns.Prompt) turns.Outcome {
	inOrder := func(groups ...[]items.Op) error {
		for _, ops := range groups {
			if err := p.Emit(ctx, ops...); err != nil {
				return err
			}
			if err := p.Sync(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	open := inStep("a/b", "")
	err := inOrder(
		[]items.Op{items.StepStart{Step: "a/b"}, open, items.Append{ItemID: open.ItemID, Text: "half"}},
		[]items.Op{items.StepStart{Step: "a/b"}, inStep("a/b", "again")},
		[]items.Op{items.StepStart{Step: "a"}, inStep("a", "all again")},
		[]items.Op{items.StepEnd{Step: "a"}, said(fmt.Sprint("attempt ", p.Attempt))},
	)
	switch {
	case err != nil:
		return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
	case p.Attempt == 1:
		return turns.Outcome{State: turns.Failed, Cause: turns.CauseCrash}
	case p.Attempt == 2:
		return turns.Outcome{State: turns.Failed, Cause: turns.CauseTransient}
	}
	return turns.Outcome{}
}

// The server ends after each number of commits, in the middle of its work, and is
// restarted. The view is that of a turn that has completed once, and the agent has
// received all its input.
func TestEndOfTheServerAtEveryCommitOfARetriedTurn(t *testing.T) {
	for n, ended := 1, true; ended; n++ {
		if n > 200 {
			t.Fatal("there is no end to it")
		}
		bubble(t, setup{agents: []turns.Agent{agentFunc{"stepper", stepper}}}, func(h *harness) { ended = endAfter(h, n) })
	}
}

// endAfter reports whether there were n commits.
func endAfter(h *harness, n int) (ended bool) {
	h.thread("s", "stepper")
	policy := &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9, BackoffSeconds: 1}
	var commits atomic.Int64
	h.faults.fail(func(*ledger.Unit) error {
		if commits.Add(1) > int64(n) {
			return ledger.ErrStorageFailed
		}
		return nil
	})
	first := h.startWith(turns.Start{ThreadID: "s", Retry: policy})
	steer, err := h.engine.Steer(bg, turns.Steer{TurnID: first.TurnID, Input: text("more")})
	time.Sleep(time.Minute)
	if ended = commits.Load() > int64(n); ended {
		h.faults.heal()
		h.restart()
		time.Sleep(10 * time.Minute)
	}
	synctest.Wait()
	h.pump()
	tn := h.turn(first.TurnID)
	if tn.State != turns.Completed || tn.Attempt < 3 {
		h.t.Errorf("after %d commits: %+v", n, tn)
	}
	if err == nil {
		if it := h.item(steer.ItemIDs[0]); it.Status != items.StatusCompleted {
			h.t.Errorf("after %d commits: text %+v", n, it)
		}
	}
	h.checkLive(first.TurnID, tn)
	return ended
}

// checkLive checks the live view of a completed turn: one end, and the work of one
// attempt.
func (h *harness) checkLive(turnID string, tn *turns.Turn) {
	h.t.Helper()
	var marks fold.Markers
	for _, e := range h.seen {
		if e.TurnID == turnID && e.Method == notify.StreamRewind {
			marks.Add(fold.Marker{Step: e.Step, NewEpoch: e.NewEpoch, After: e.After})
		}
	}
	count := map[string]int{}
	for _, e := range h.seen {
		if e.TurnID != turnID || len(e.Lineage) > 0 && marks.Stale(e.Lineage, e.Seq) {
			continue
		}
		if len(e.Lineage) > 0 && e.Attempt != tn.Attempt {
			h.t.Errorf("%s is live, and so is attempt %d", e, tn.Attempt)
		}
		switch {
		case terminal(e.Method):
			count["end"]++
		case e.Method == notify.TurnStarted:
			count["start"]++
		case e.Method == notify.StepEnded:
			count["step"]++
		case e.Method == notify.ItemCreated && kindOf(e) == items.KindAgentMessage:
			count["message"]++
		}
	}
	if fmt.Sprint(count) != "map[end:1 message:2 start:1 step:1]" {
		h.t.Errorf("live events of %s: %v", turnID, count)
	}
	h.marks(turnID)
}

// marks checks that reads show the same.
func (h *harness) marks(turnID string) {
	h.t.Helper()
	l, err := h.reader.ListItems(bg, items.Query{TurnID: turnID})
	if err != nil {
		h.t.Fatal(err)
	}
	n := 0
	for _, it := range l.Rows {
		if it.Type == items.KindAgentMessage {
			n++
		}
	}
	if n != 2 {
		h.t.Errorf("%d messages are shown", n)
	}
}
