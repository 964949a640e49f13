package engine

import (
	"context"
	"errors"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/limits"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Start starts a turn or queues it. Errors: *InvalidError,
// threads.ErrNotFound, threads.ErrClosed, threads.ErrPaused, ErrBusy,
// ErrQueueFull, ErrKeyConflict, ErrDraining, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Start(ctx context.Context, c turns.Start) (turns.StartResult, error) {
	msgs, err := c.Messages(e.cfg.MaxItemBytes)
	if err != nil {
		return turns.StartResult{}, err
	}
	return call(ctx, e, c.ThreadID, func(a *actor) (turns.StartResult, error) { return a.start(c, msgs) })
}

func (a *actor) start(c turns.Start, msgs []items.UserMessage) (turns.StartResult, error) {
	for {
		r, replayed, err := keyed(a, c.Key, func(b *builder) (turns.StartResult, error) {
			if err := a.mayStart(); err != nil {
				return turns.StartResult{}, err
			}
			if a.active != nil && c.OnBusy == turns.BusySteer && a.active.stop == nil {
				return a.startBySteer(b, c, msgs)
			}
			why, err := a.whyQueue(c.OnBusy)
			if err != nil {
				return turns.StartResult{}, err
			}
			if err := a.canBeClaimed("", msgs); err != nil {
				return turns.StartResult{}, err
			}
			if why == "" {
				entered := false
				if entered, why = a.enter(); entered {
					return a.startNow(b, c, msgs), nil
				}
			}
			return a.enqueue(b, c, msgs, why)
		})
		if err != nil || replayed {
			a.leave()
		}
		if !errors.Is(err, turns.ErrRuntimePaused) {
			return r, err
		}
		// A pause was committed before this turn: the gate is closed by now,
		// and the next try queues.
	}
}

func (a *actor) mayStart() error {
	if err := a.takesCommands(); err != nil {
		return err
	}
	if a.e.pause.isDraining() {
		return turns.ErrDraining
	}
	return nil
}

// whyQueue says why a turn cannot start now as far as its thread is
// concerned; "" if it can.
func (a *actor) whyQueue(onBusy turns.OnBusy) (string, error) {
	busy := a.active != nil || len(a.queue) > 0
	switch {
	case a.thread.State == threads.Paused && onBusy == turns.BusyReject:
		return "", threads.ErrPaused
	case busy && onBusy == turns.BusyReject:
		return "", turns.ErrBusy
	case a.thread.State == threads.Paused:
		return turns.QueuedPaused, nil
	case busy:
		return turns.QueuedBusy, nil
	}
	return "", nil
}

func (a *actor) startNow(b *builder, c turns.Start, msgs []items.UserMessage) turns.StartResult {
	turnID := turns.NewID()
	b.change.use(newTries(turnID))
	b.started(nil, turnID, turns.OriginClient, c)
	b.input(turnID, 1, msgs, items.StatusCompleted)
	b.waitsForClaim(turnID)
	b.after = append(b.after, func(ledger.Receipt) { a.startPrompt(msgs) })
	return turns.StartResult{TurnID: turnID, ThreadID: a.id, State: turns.Active, StartedAt: b.change.now}
}

// started adds turn/started, behind the fence of the runtime's pause. The
// attempt begins with it, unless it has begun with the wait for it.
func (b *builder) started(prev *turns.Turn, turnID string, origin turns.Origin, c turns.Start) {
	b.change.unit.Fences = append(b.change.unit.Fences, turns.NotPaused)
	e := &turns.StartedEvent{
		Type: "started", State: turns.Active, StartedAt: b.change.now, Origin: origin,
		Metadata: c.Metadata, Parent: c.Parent, TimeoutSeconds: c.TimeoutSeconds, Retry: c.Retry,
	}
	if prev != nil && prev.Attempt > 1 {
		e.Origin, e.FirstStartedAt = turns.OriginRetry, prev.FirstStartedAt
		if e.FirstStartedAt.IsZero() { // it was interrupted in the queue
			e.FirstStartedAt = b.change.now
		}
		e.Metadata, e.Parent, e.TimeoutSeconds, e.Retry = prev.Metadata, prev.Parent, prev.TimeoutSeconds, prev.Retry
	}
	span := b.change.root()
	if span == nil {
		span = b.change.begin("")
	}
	b.change.turn(prev, turnID, notify.TurnStarted, in(span), e)
}

// input adds the user messages of a turn. Nothing supersedes them.
func (b *builder) input(turnID string, attempt int, msgs []items.UserMessage, status items.Status) []*items.Item {
	rows := make([]*items.Item, 0, len(msgs))
	for _, m := range msgs {
		raw, err := items.Encode(m)
		if err != nil && b.change.err == nil {
			b.change.err = err
		}
		id := items.NewID()
		rows = append(rows, b.change.item(nil, turnID, notify.ItemCreated, id, place{attempt: attempt}, &items.Created{
			ItemID: id, Type: "created", Status: status, Content: raw, Kind: items.KindUserMessage,
		}))
	}
	return rows
}

func (a *actor) enqueue(b *builder, c turns.Start, msgs []items.UserMessage, why string) (turns.StartResult, error) {
	first := c.OnBusy == turns.BusyInterrupt
	bound := a.e.cfg.MaxQueue
	if first {
		bound += limits.QueuedByInterrupt
	}
	if len(a.queue) >= bound {
		return turns.StartResult{}, turns.ErrQueueFull
	}
	rank, position := int64(1), len(a.queue)+1
	if n := len(a.queue); n > 0 {
		rank = a.queue[n-1].Rank + 1
		if first {
			rank = a.queue[0].Rank - 1
		}
	}
	if first {
		position = 1
	}
	turnID := turns.NewID()
	b.change.turn(nil, turnID, notify.TurnQueued, place{attempt: 1}, &turns.QueuedEvent{
		Type: "queued", State: turns.Queued, Position: position, Rank: rank, QueuedAt: b.change.now, Reason: why,
		Metadata: c.Metadata, Parent: c.Parent, TimeoutSeconds: c.TimeoutSeconds, Retry: c.Retry,
	})
	rows := b.input(turnID, 1, msgs, items.StatusCompleted)
	b.after = append(b.after, func(ledger.Receipt) { a.inputs[turnID] = inputItems(rows, msgs) })
	if first && a.active != nil && a.active.stop == nil {
		b.stopTurn(stop{state: turns.Interrupted, reason: "a newer turn takes its place"}, a.stopWithin())
	}
	return turns.StartResult{TurnID: turnID, ThreadID: a.id, State: turns.Queued, QueuedAt: b.change.now, Position: position}, nil
}

func (a *actor) startBySteer(b *builder, c turns.Start, msgs []items.UserMessage) (turns.StartResult, error) {
	r, err := a.steer(b, msgs, false)
	if err != nil {
		return turns.StartResult{}, err
	}
	return turns.StartResult{
		TurnID: r.TurnID, ThreadID: a.id, State: r.State, StartedAt: a.active.turn.StartedAt,
		Steered: true, ItemIDs: r.ItemIDs, Delivery: r.Delivery,
	}, nil
}

// startNext starts the turn that is first in the queue, if it may. A turn that
// waits for its next attempt is before all of them.
func (a *actor) startNext() {
	if a.dead != nil {
		a.e.gate.decline(a.id)
		return
	}
	if err := a.load(); err != nil {
		a.startBy = a.tryLater("a thread with queued turns cannot be read now", err)
		return
	}
	if a.active != nil && a.active.waitsForAttempt() {
		a.takePlace()
		return
	}
	if a.active != nil || len(a.queue) == 0 || a.thread.State != threads.Running || a.held != nil || a.dead != nil || a.gone {
		a.e.gate.decline(a.id)
		return
	}
	for {
		if ok, _ := a.enter(); !ok {
			return
		}
		t := a.queue[0]
		b := a.build()
		b.change.use(a.triedOf(t.TurnID).clone())
		b.started(t, t.TurnID, turns.OriginQueue, turns.Start{})
		input := a.inputs[t.TurnID]
		b.given(input)
		b.waitsForClaim(t.TurnID)
		b.after = append(b.after, func(ledger.Receipt) { a.startPrompt(messages(input)) })
		_, err := a.commit(b)
		if err == nil {
			return
		}
		a.leave()
		if !errors.Is(err, turns.ErrRuntimePaused) { // else the gate is closed by now, and the next try stands in line
			a.startBy = a.tryLater("a queued turn cannot start now", err)
			return
		}
	}
}
