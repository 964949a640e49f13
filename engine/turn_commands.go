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

// Interrupt ends a queued turn, or tells an active one to stop. It returns
// once that is durable. If the turn has not ended by then, ended delivers the
// final answer when it does; it is nil if the result is final. Errors:
// *InvalidError, ErrNotFound, ErrNotActive, ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Interrupt(ctx context.Context, c turns.Interrupt) (result turns.InterruptResult, ended <-chan turns.InterruptResult, err error) {
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.InterruptResult{}, nil, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return turns.InterruptResult{}, nil, err
	}
	type both struct {
		r     turns.InterruptResult
		ended chan turns.InterruptResult
	}
	out, err := call(ctx, e, threadID, func(a *actor) (both, error) {
		var wait chan turns.InterruptResult
		r, replayed, err := keyed(a, c.Key, func(b *builder) (turns.InterruptResult, error) { return a.interrupt(b, c) })
		if err != nil {
			return both{}, err
		}
		if replayed {
			// What was not final at the commit is answered as it stands.
			if t, err := e.store.Turn(context.Background(), r.TurnID); err == nil && t != nil && t.State.Ended() {
				r.State, r.InterruptedAt, r.Message, r.Seq = string(t.State), t.CompletedAt, t.Message, t.UpdatedSeq
				return both{r: r}, nil
			}
		}
		if r.State == string(turns.Interrupting) && a.active != nil && a.active.turn.TurnID == c.TurnID {
			wait = make(chan turns.InterruptResult, 1)
			a.active.waiters = append(a.active.waiters, wait)
		}
		return both{r, wait}, nil
	})
	return out.r, out.ended, err
}

func (a *actor) interrupt(b *builder, c turns.Interrupt) (turns.InterruptResult, error) {
	reason := c.Reason
	if reason == "" {
		reason = "requested by a client"
	}
	r := turns.InterruptResult{TurnID: c.TurnID, InterruptedAt: b.change.now, Message: interruption(reason)}
	for _, t := range a.queue {
		if t.TurnID == c.TurnID {
			b.endQueued(t, reason)
			r.State = string(turns.Interrupted)
			if len(a.queue) == 1 && a.active == nil {
				b.after = append(b.after, func(ledger.Receipt) { a.e.gate.decline(a.id) })
			}
			return r, nil
		}
	}
	if a.active == nil || a.active.turn.TurnID != c.TurnID {
		return r, turns.ErrNotActive
	}
	r.State = string(turns.Interrupting)
	if s := a.active.stop; s != nil && s.state == turns.Interrupted {
		r.Message = interruption(s.reason)
		return r, nil // it is on its way already; its end is this answer too
	}
	if a.active.unattended() {
		r.State = string(turns.Interrupted)
	}
	b.stopTurn(stop{state: turns.Interrupted, reason: reason}, a.stopWithin())
	return r, nil
}
