package rpc

import (
	"context"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// fakeWorkers records its commands and answers the minimum. A claim takes a
// turn that comes on turns within its wait.
type fakeWorkers struct {
	*fakeEngine
	turns chan *turns.Turn
	left  chan error   // how claims ended that got no turn
	late  func() error // what commands answer instead, if not nil
}

func newFakeWorkers(e *fakeEngine) *fakeWorkers {
	return &fakeWorkers{fakeEngine: e, turns: make(chan *turns.Turn), left: make(chan error, 100)}
}

func keyName(k *ledger.Key) string {
	if k == nil {
		return ""
	}
	return " key " + k.Key
}

func (w *fakeWorkers) Claim(ctx context.Context, c turns.Claim) (turns.ClaimResult, error) {
	w.note("Claim %s %s %v%s", c.Agent, c.Worker, c.Wait, keyName(c.Key))
	if w.failWith != nil {
		return turns.ClaimResult{}, w.failWith
	}
	timer := time.NewTimer(c.Wait)
	defer timer.Stop()
	select {
	case t := <-w.turns:
		return turns.ClaimResult{
			Turn: t, Cwd: "/repo", Seq: 7,
			Input: []turns.WorkerInput{{ItemID: "item_1", Type: "message", Role: "user", Content: []items.Part{{Type: "input_text", Text: "hi"}}}},
			Lease: &turns.Lease{TurnID: t.TurnID, Attempt: t.Attempt, Token: "secret", ExpiresAt: notify.TimeOf(time.UnixMilli(1_700_000_000_000))},
		}, nil
	case <-timer.C:
		w.left <- nil
		return turns.ClaimResult{}, nil
	case <-ctx.Done():
		w.left <- ctx.Err()
		return turns.ClaimResult{}, ctx.Err()
	}
}

// done records a command and answers with the error that the test wants.
func (w *fakeWorkers) done(l turns.Lease, k *ledger.Key, format string, args ...any) error {
	w.note("%s by %s/%d/%s%s", fmt.Sprintf(format, args...), l.TurnID, l.Attempt, l.Token, keyName(k))
	if w.late != nil {
		return w.late()
	}
	return w.failWith
}

func (w *fakeWorkers) Renew(_ context.Context, c turns.Renew) (turns.RenewResult, error) {
	return turns.RenewResult{InterruptRequested: true, Seq: 8}, w.done(c.Lease, c.Key, "Renew")
}

func (w *fakeWorkers) StepStart(_ context.Context, c turns.StartStep) (turns.StartStepResult, error) {
	return turns.StartStepResult{Step: c.Step, Epoch: 2, Seq: 8}, w.done(c.Lease, c.Key, "StepStart %s (%s)", c.Step, c.Reason)
}

func (w *fakeWorkers) StepEnd(_ context.Context, c turns.EndStep) (turns.EndStepResult, error) {
	return turns.EndStepResult{Step: c.Step, Epoch: 2, Status: turns.StepCompleted, Seq: 8}, w.done(c.Lease, c.Key, "StepEnd %s %d %s", c.Step, c.Epoch, c.Status)
}

func (w *fakeWorkers) WriteItems(_ context.Context, c turns.WriteItems) (turns.WriteItemsResult, error) {
	r := turns.WriteItemsResult{Seq: 8}
	text := "Write"
	for _, op := range c.Ops {
		text += fmt.Sprintf(" %s(%s,%s,%d,%s,%s,%s)", op.Op, op.ItemID, op.Step, op.Epoch, op.Status, string(op.Content), op.Text)
		if op.ItemID == "" {
			op.ItemID = "item_new"
		}
		r.Items = append(r.Items, turns.WrittenItem{ItemID: op.ItemID, Status: items.StatusInProgress})
	}
	return r, w.done(c.Lease, c.Key, "%s", text)
}

func (w *fakeWorkers) Complete(_ context.Context, c turns.CompleteTurn) (turns.EndTurnResult, error) {
	usage := int64(-1)
	if c.Usage != nil {
		usage = c.Usage.TotalTokens
		c.Message += string(" " + c.Usage.Type)
	}
	return turns.EndTurnResult{TurnID: c.Lease.TurnID, State: turns.Completed, Seq: 8}, w.done(c.Lease, c.Key, "Complete %s %d", c.Message, usage)
}

func (w *fakeWorkers) Fail(_ context.Context, c turns.FailTurn) (turns.EndTurnResult, error) {
	return turns.EndTurnResult{TurnID: c.Lease.TurnID, State: turns.Failed, Seq: 8}, w.done(c.Lease, c.Key, "Fail %s %s %v", c.Error.Kind, c.Error.Message, c.Transient)
}
