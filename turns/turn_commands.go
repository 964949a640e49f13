package turns

import (
	"context"
	"errors"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Start starts a turn or queues it. Errors: *InvalidError,
// threads.ErrNotFound, threads.ErrClosed, threads.ErrPaused, ErrBusy,
// ErrQueueFull, ErrKeyConflict, ErrDraining, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Start(ctx context.Context, c Start) (StartResult, error) {
	msgs, err := c.check(e.cfg.MaxItemBytes)
	if err != nil {
		return StartResult{}, err
	}
	return call(ctx, e, c.ThreadID, func(a *actor) (StartResult, error) { return a.start(c, msgs) })
}

func (a *actor) start(c Start, msgs []items.UserMessage) (StartResult, error) {
	for {
		r, replayed, err := keyed(a, c.Key, func(b *builder) (StartResult, error) {
			if err := a.mayStart(); err != nil {
				return StartResult{}, err
			}
			if a.active != nil && c.OnBusy == BusySteer && a.active.stop == nil {
				return a.startBySteer(b, c, msgs)
			}
			why, err := a.whyQueue(c.OnBusy)
			if err != nil {
				return StartResult{}, err
			}
			if err := a.canBeClaimed("", msgs); err != nil {
				return StartResult{}, err
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
		if !errors.Is(err, ErrRuntimePaused) {
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
	if a.e.isDraining() {
		return ErrDraining
	}
	return nil
}

// whyQueue says why a turn cannot start now as far as its thread is
// concerned; "" if it can.
func (a *actor) whyQueue(onBusy OnBusy) (string, error) {
	busy := a.active != nil || len(a.queue) > 0
	switch {
	case a.thread.State == threads.Paused && onBusy == BusyReject:
		return "", threads.ErrPaused
	case busy && onBusy == BusyReject:
		return "", ErrBusy
	case a.thread.State == threads.Paused:
		return QueuedPaused, nil
	case busy:
		return QueuedBusy, nil
	}
	return "", nil
}

func (a *actor) startNow(b *builder, c Start, msgs []items.UserMessage) StartResult {
	turnID := NewID()
	b.use(newTries(turnID))
	b.started(nil, turnID, OriginClient, c)
	b.input(turnID, 1, msgs, items.StatusCompleted)
	b.waitsForClaim(turnID)
	b.after = append(b.after, func(ledger.Receipt) { a.startPrompt(msgs) })
	return StartResult{TurnID: turnID, ThreadID: a.id, State: Active, StartedAt: b.now}
}

// started adds turn/started, behind the fence of the runtime's pause. The
// attempt begins with it, unless it has begun with the wait for it.
func (b *builder) started(prev *Turn, turnID string, origin Origin, c Start) {
	b.unit.Fences = append(b.unit.Fences, NotPaused)
	e := &StartedEvent{
		Type: "started", State: Active, StartedAt: b.now, Origin: origin,
		Metadata: c.Metadata, Parent: c.Parent, TimeoutSeconds: c.TimeoutSeconds, Retry: c.Retry,
	}
	if prev != nil && prev.Attempt > 1 {
		e.Origin, e.FirstStartedAt = OriginRetry, prev.FirstStartedAt
		if e.FirstStartedAt.IsZero() { // it was interrupted in the queue
			e.FirstStartedAt = b.now
		}
		e.Metadata, e.Parent, e.TimeoutSeconds, e.Retry = prev.Metadata, prev.Parent, prev.TimeoutSeconds, prev.Retry
	}
	span := b.root()
	if span == nil {
		span = b.begin("")
	}
	b.turn(prev, turnID, notify.TurnStarted, in(span), e)
}

// input adds the user messages of a turn. Nothing supersedes them.
func (b *builder) input(turnID string, attempt int, msgs []items.UserMessage, status items.Status) []*items.Item {
	rows := make([]*items.Item, 0, len(msgs))
	for _, m := range msgs {
		raw, err := items.Encode(m)
		if err != nil && b.err == nil {
			b.err = err
		}
		id := items.NewID()
		rows = append(rows, b.item(nil, turnID, notify.ItemCreated, id, place{attempt: attempt}, &items.Created{
			ItemID: id, Type: "created", Status: status, Content: raw, Kind: items.KindUserMessage,
		}))
	}
	return rows
}

func (a *actor) enqueue(b *builder, c Start, msgs []items.UserMessage, why string) (StartResult, error) {
	first := c.OnBusy == BusyInterrupt
	bound := a.e.cfg.MaxQueue
	if first {
		bound += interruptExtra
	}
	if len(a.queue) >= bound {
		return StartResult{}, ErrQueueFull
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
	turnID := NewID()
	b.turn(nil, turnID, notify.TurnQueued, place{attempt: 1}, &QueuedEvent{
		Type: "queued", State: Queued, Position: position, Rank: rank, QueuedAt: b.now, Reason: why,
		Metadata: c.Metadata, Parent: c.Parent, TimeoutSeconds: c.TimeoutSeconds, Retry: c.Retry,
	})
	rows := b.input(turnID, 1, msgs, items.StatusCompleted)
	b.after = append(b.after, func(ledger.Receipt) { a.inputs[turnID] = inputItems(rows, msgs) })
	if first && a.active != nil && a.active.stop == nil {
		b.stopTurn(stop{state: Interrupted, reason: "a newer turn takes its place"}, a.stopWithin())
	}
	return StartResult{TurnID: turnID, ThreadID: a.id, State: Queued, QueuedAt: b.now, Position: position}, nil
}

func (a *actor) startBySteer(b *builder, c Start, msgs []items.UserMessage) (StartResult, error) {
	r, err := a.steer(b, msgs, false)
	if err != nil {
		return StartResult{}, err
	}
	return StartResult{
		TurnID: r.TurnID, ThreadID: a.id, State: r.State, StartedAt: a.active.turn.StartedAt,
		Steered: true, ItemIDs: r.ItemIDs, Delivery: r.Delivery,
	}, nil
}

// Steer adds text to an active turn. Errors: *InvalidError, ErrNotFound,
// ErrNotActive, ErrQueueFull, ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Steer(ctx context.Context, c Steer) (SteerResult, error) {
	msgs, err := userMessages(c.Input, items.OriginSteer, e.cfg.MaxItemBytes)
	if err != nil {
		return SteerResult{}, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return SteerResult{}, err
	}
	return call(ctx, e, threadID, func(a *actor) (SteerResult, error) {
		r, _, err := keyed(a, c.Key, func(b *builder) (SteerResult, error) {
			if a.active == nil || a.active.turn.TurnID != c.TurnID || a.active.stop != nil {
				return SteerResult{}, ErrNotActive
			}
			return a.steer(b, msgs, c.Interrupt)
		})
		return r, err
	})
}

// steer adds user messages that the agent gets at once, if it takes text while
// it works, else as its next prompt of the same turn. cut ends the present
// prompt for that.
func (a *actor) steer(b *builder, msgs []items.UserMessage, cut bool) (SteerResult, error) {
	act := a.active
	if len(act.steers)+len(msgs) > a.e.cfg.MaxQueue {
		return SteerResult{}, ErrQueueFull
	}
	if err := a.canBeClaimed(act.turn.TurnID, msgs); err != nil {
		return SteerResult{}, err
	}
	for i := range msgs {
		msgs[i].Origin = items.OriginSteer
	}
	cut = cut && act.run != nil // between two attempts there is nothing to cut
	rows := b.input(act.turn.TurnID, act.turn.Attempt, msgs, items.StatusInProgress)
	r := SteerResult{
		TurnID: act.turn.TurnID, State: Active, AcceptedItems: len(msgs), AcceptedAt: b.now, Delivery: DeliveryQueued,
	}
	for _, row := range rows {
		r.ItemIDs = append(r.ItemIDs, row.ItemID)
	}
	run := act.run
	inject := !cut && run != nil && !act.cut && run.takesText()
	if inject {
		r.Delivery = Injected
	}
	if cut {
		b.cancelQuestions()
		if b.activeRow().Progress == Waiting {
			b.progress(Running, "")
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
func (e *Engine) Interrupt(ctx context.Context, c Interrupt) (result InterruptResult, ended <-chan InterruptResult, err error) {
	if err := checkText("reason", c.Reason); err != nil {
		return InterruptResult{}, nil, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return InterruptResult{}, nil, err
	}
	type both struct {
		r     InterruptResult
		ended chan InterruptResult
	}
	out, err := call(ctx, e, threadID, func(a *actor) (both, error) {
		var wait chan InterruptResult
		r, replayed, err := keyed(a, c.Key, func(b *builder) (InterruptResult, error) { return a.interrupt(b, c) })
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
		if r.State == string(Interrupting) && a.active != nil && a.active.turn.TurnID == c.TurnID {
			wait = make(chan InterruptResult, 1)
			a.active.waiters = append(a.active.waiters, wait)
		}
		return both{r, wait}, nil
	})
	return out.r, out.ended, err
}

func (a *actor) interrupt(b *builder, c Interrupt) (InterruptResult, error) {
	reason := c.Reason
	if reason == "" {
		reason = "requested by a client"
	}
	r := InterruptResult{TurnID: c.TurnID, InterruptedAt: b.now, Message: interruption(reason)}
	for _, t := range a.queue {
		if t.TurnID == c.TurnID {
			b.endQueued(t, reason)
			r.State = string(Interrupted)
			if len(a.queue) == 1 && a.active == nil {
				b.after = append(b.after, func(ledger.Receipt) { a.e.gate.decline(a.id) })
			}
			return r, nil
		}
	}
	if a.active == nil || a.active.turn.TurnID != c.TurnID {
		return r, ErrNotActive
	}
	r.State = string(Interrupting)
	if s := a.active.stop; s != nil && s.state == Interrupted {
		r.Message = interruption(s.reason)
		return r, nil // it is on its way already; its end is this answer too
	}
	if a.active.unattended() {
		r.State = string(Interrupted)
	}
	b.stopTurn(stop{state: Interrupted, reason: reason}, a.stopWithin())
	return r, nil
}
