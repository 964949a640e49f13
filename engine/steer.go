package engine

import (
	"context"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// Steer adds text to an active turn. Errors: *InvalidError, ErrNotFound,
// ErrNotActive, ErrQueueFull, ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Steer(ctx context.Context, c turns.Steer) (turns.SteerResult, error) {
	msgs, err := turns.UserMessages(c.Input, items.OriginSteer, e.cfg.MaxItemBytes)
	if err != nil {
		return turns.SteerResult{}, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return turns.SteerResult{}, err
	}
	return call(ctx, e, threadID, func(a *actor) (turns.SteerResult, error) {
		r, _, err := keyed(a, c.Key, func(b *builder) (turns.SteerResult, error) {
			if a.active == nil || a.active.turn.TurnID != c.TurnID || a.active.stop != nil {
				return turns.SteerResult{}, turns.ErrNotActive
			}
			return a.steer(b, msgs, c.Interrupt)
		})
		return r, err
	})
}

// steer adds user messages that the agent gets at once, if it takes text while
// it works, else as its next prompt of the same turn. cut ends the present
// prompt for that.
func (a *actor) steer(b *builder, msgs []items.UserMessage, cut bool) (turns.SteerResult, error) {
	act := a.active
	if len(act.steers)+len(msgs) > a.e.cfg.MaxQueue {
		return turns.SteerResult{}, turns.ErrQueueFull
	}
	if err := a.canBeClaimed(act.turn.TurnID, msgs); err != nil {
		return turns.SteerResult{}, err
	}
	for i := range msgs {
		msgs[i].Origin = items.OriginSteer
	}
	cut = cut && act.run != nil // between two attempts there is nothing to cut
	rows := b.input(act.turn.TurnID, act.turn.Attempt, msgs, items.StatusInProgress)
	r := turns.SteerResult{
		TurnID: act.turn.TurnID, State: turns.Active, AcceptedItems: len(msgs), AcceptedAt: b.change.now, Delivery: turns.DeliveryQueued,
	}
	for _, row := range rows {
		r.ItemIDs = append(r.ItemIDs, row.ItemID)
	}
	run := act.run
	inject := !cut && run != nil && !act.cut && run.takesText()
	if inject {
		r.Delivery = turns.Injected
	}
	if cut {
		b.cancelQuestions()
		if b.activeRow().Progress == turns.Waiting {
			b.progress(turns.Running, "")
		}
	}
	b.after = append(b.after, func(ledger.Receipt) {
		for _, o := range inputItems(rows, msgs) {
			act.open.add(o)
			act.steers = append(act.steers, o.row.ItemID)
		}
		switch {
		case inject:
			run.handOver(injections(rows, msgs))
		case run != nil:
			run.behind = true
		}
		if cut {
			act.cut = true
			a.tellStop(errPromptCut, a.stopWithin())
		}
	})
	return r, nil
}

// inputItems are user messages as the actor keeps them.
func inputItems(rows []*items.Item, msgs []items.UserMessage) []*openItem {
	list := make([]*openItem, len(rows))
	for i, row := range rows {
		list[i] = &openItem{row: row, content: msgs[i]}
	}
	return list
}

// messages is what input says, in its order.
func messages(input []*openItem) []items.UserMessage {
	list := make([]items.UserMessage, 0, len(input))
	for _, o := range input {
		if m, ok := o.content.(items.UserMessage); ok {
			list = append(list, m)
		}
	}
	return list
}

func injections(rows []*items.Item, msgs []items.UserMessage) []injection {
	list := make([]injection, len(rows))
	for i, row := range rows {
		list[i] = injection{itemID: row.ItemID, message: msgs[i]}
	}
	return list
}
