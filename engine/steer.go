package engine

import (
	"context"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// Steer adds text to an active turn. Errors: *InvalidError, ErrNotFound,
// ErrNotActive, ErrQueueFull, ErrDraining, ledger.ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Steer(ctx context.Context, c turns.Steer) (turns.SteerResult, error) {
	msgs, err := turns.UserMessages(c.Input, items.OriginSteer, e.rules.cfg.MaxItemBytes)
	if err != nil {
		return turns.SteerResult{}, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return turns.SteerResult{}, err
	}
	return call(ctx, e, threadID, func(a *actor) (turns.SteerResult, error) {
		r, _, err := keyed(a, c.Key, func(d *decision) (turns.SteerResult, error) {
			if !d.next().isActive(c.TurnID) || d.active().stop != nil {
				return turns.SteerResult{}, turns.ErrNotActive
			}
			return d.steer(msgs, c.Interrupt, c.By)
		})
		return r, err
	})
}

// steer adds user messages. The agent gets them at once if it accepts text while
// it works, else as its next prompt of the same turn. With cut the current prompt is
// stopped for that. by is who asks.
func (d *decision) steer(msgs []items.UserMessage, cut bool, by turns.By) (turns.SteerResult, error) {
	act := d.active()
	if len(act.steers)+len(msgs) > d.rules.cfg.MaxQueue {
		return turns.SteerResult{}, turns.ErrQueueFull
	}
	if err := d.checkWorkerInput(act.turn.TurnID, msgs); err != nil {
		return turns.SteerResult{}, err
	}
	for i := range msgs {
		msgs[i].Origin = items.OriginSteer
	}
	exec, now := act.work.exec, cut
	if now && act.work.left { // the next server would ask on: only this one knows of the cut
		return turns.SteerResult{}, turns.ErrDraining
	}
	cut = cut && exec != nil && !exec.outlivesServer() // otherwise there is no prompt to cut
	cutting := cut || act.cut
	rows := d.items.addInput(act.turn.TurnID, act.turn.Attempt, msgs, items.StatusInProgress, by)
	r := turns.SteerResult{
		TurnID: act.turn.TurnID, State: turns.Active, AcceptedItems: len(msgs), AcceptedAt: d.change.now, Delivery: turns.DeliveryQueued,
	}
	if exec != nil && !cutting && exec.acceptsText() {
		r.Delivery = turns.Injected
	}
	if now && act.suspended() {
		d.items.cancelQuestions()
		d.turn.resumeAfterAnswer()
	}
	if cut {
		d.items.cancelQuestions()
		if act.turn.Progress == turns.Waiting {
			d.turn.addProgress(turns.Running, "")
		}
	}
	for _, o := range inputItems(rows, msgs) {
		r.ItemIDs = append(r.ItemIDs, o.row.ItemID)
		act.open.add(o)
		act.steers = append(act.steers, o.row.ItemID)
	}
	d.addEffect(steerWork{injections(rows, msgs), cutting})
	if cut {
		act.cut = true
		d.addEffect(stopWork{errPromptCut, d.stopWithin()})
	}
	return r, nil
}

func injections(rows []*items.Item, msgs []items.UserMessage) []injection {
	list := make([]injection, len(rows))
	for i, row := range rows {
		list[i] = injection{itemID: row.ItemID, message: msgs[i]}
	}
	return list
}
