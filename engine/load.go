package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// load reads the thread, once.
func (a *actor) load() error {
	if a.loaded {
		return nil
	}
	if errors.Is(a.dead, turns.ErrInternal) {
		return a.dead
	}
	l, err := a.e.store.Load(context.Background(), a.id)
	if err != nil {
		return err
	}
	a.thread, a.queue, a.active = l.Thread, nil, nil
	clear(a.inputs)
	clear(a.tried)
	for _, t := range l.Turns {
		switch t.State {
		case turns.Queued:
			a.queue = append(a.queue, t)
			if t.Attempt > 1 {
				a.tried[t.TurnID] = triesOf(t.TurnID, l.Steps)
			}
		case turns.Active:
			a.active = a.newActive(t, triesOf(t.TurnID, l.Steps))
			a.active.retryAt = t.RetryAt.Time
		}
	}
	slices.SortFunc(a.queue, byRank)
	for _, it := range l.Items {
		content, err := items.Decode(it.Content)
		if err != nil {
			return err
		}
		_, isUser := content.(items.UserMessage)
		switch {
		case a.active != nil && it.TurnID == a.active.turn.TurnID:
			if !it.Status.Open() {
				continue
			}
			var span *notify.Span
			if len(it.Lineage) > 0 {
				span = a.active.tries.live[it.Step]
			}
			a.active.open.add(newOpenItem(it, span, content, a.e.cfg.MaxItemBytes))
			if isUser {
				a.active.steers = append(a.active.steers, it.ItemID)
			}
		case isUser:
			if it.Status != items.StatusDeleted {
				a.inputs[it.TurnID] = append(a.inputs[it.TurnID], &openItem{row: it, content: content})
			}
		}
	}
	if a.active != nil {
		a.active.open.resume()
	}
	a.loaded, a.newest = true, items.NewID()
	if !a.recovers && a.active != nil && a.goesOnWithoutUs() {
		a.resumeWorker()
		a.active.placed = true // Recover has seen to that
	}
	return nil
}

func byRank(x, y *turns.Turn) int {
	switch {
	case x.Rank < y.Rank:
		return -1
	case x.Rank > y.Rank:
		return 1
	}
	return 0
}

func (a *actor) newActive(t *turns.Turn, tries *tries) *activeTurn {
	act := &activeTurn{turn: t, tries: tries, timeout: a.timeoutOf(t), runSince: time.Now()}
	if act.timeout > 0 {
		act.timeout = max(1, act.timeout-time.Duration(t.UsedMs)*time.Millisecond)
	}
	return act
}

// timeoutOf is the timeout of all attempts of a turn together; 0 = none.
func (a *actor) timeoutOf(t *turns.Turn) time.Duration {
	if t.TimeoutSeconds > 0 {
		return time.Duration(t.TimeoutSeconds * float64(time.Second))
	}
	return a.e.cfg.DefaultTimeout
}

// triedOf is what is known of the tries of a turn in the queue.
func (a *actor) triedOf(turnID string) *tries {
	if t := a.tried[turnID]; t != nil {
		return t
	}
	return newTries(turnID)
}
