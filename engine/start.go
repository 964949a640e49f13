package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Start starts a turn or queues it. Errors: *InvalidError,
// threads.ErrNotFound, threads.ErrClosed, threads.ErrPaused, ErrBusy,
// ErrQueueFull, ledger.ErrKeyConflict, ErrDraining, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Start(ctx context.Context, c turns.Start) (turns.StartResult, error) {
	q, err := e.request(c)
	if err != nil {
		return turns.StartResult{}, err
	}
	return e.startRequest(ctx, q)
}

// request checks what needs no thread.
func (e *Engine) request(c turns.Start) (request, error) {
	msgs, err := c.Messages(e.rules.cfg.MaxItemBytes)
	return request{Start: c, turnID: turns.NewID(), msgs: msgs}, err
}

func (e *Engine) startRequest(ctx context.Context, q request) (turns.StartResult, error) {
	if q.Job != "" {
		return e.children.startJob(ctx, q)
	}
	if q.Parent != nil {
		return e.children.startChild(ctx, q)
	}
	return call(ctx, e, q.ThreadID, func(a *actor) (turns.StartResult, error) { return a.start(q) })
}

// request is a turn that is to start: what was asked for, and what the server knows.
type request struct {
	turns.Start // Parent is complete
	turnID      string
	msgs        []items.UserMessage
	child       turns.Child // of a child turn
	chain       int
	wake        string          // of the inbox of a child turn's owner
	owner       *threads.Thread // of a job
	looked      bool            // of a job: an agent of this machine can work in its Cwd
	rejected    *turns.Turn     // that the turn continues; nil = none
}

func (a *actor) start(q request) (turns.StartResult, error) {
	inLine := false
	reserve := func() (ok bool, why string) {
		ok, why = a.slot.reserve()
		inLine = inLine || !ok
		return ok, why
	}
	for {
		r, replayed, err := keyed(a, q.Key, func(d *decision) (turns.StartResult, error) { return d.start(q, reserve) })
		if err != nil || replayed {
			a.slot.unreserve()
		}
		if !errors.Is(err, turns.ErrRuntimePaused) && !errors.Is(err, turns.ErrChildrenMoved) {
			if err != nil && inLine {
				a.startNext() // nothing is queued: the thread leaves the line, unless it has new entries
			}
			return r, err
		}
		// A pause was committed before this turn: the gate is closed by now, so that the
		// next decision queues the turn. Or an end that the turn should tell is superseded.
	}
}

// start begins a turn in the slot that reserve gives, or queues it.
func (d *decision) start(q request, reserve func() (ok bool, why string)) (turns.StartResult, error) {
	if q.Job != "" {
		if err := d.startThreadOfJob(q); err != nil {
			return turns.StartResult{}, err
		}
	}
	if err := d.mayStart(); err != nil {
		return turns.StartResult{}, err
	}
	q.Review = d.review.policyOf(q.Review)
	if q.child.AttentionPolicy != "" {
		if err := d.child.mayBeChild(&q); err != nil {
			return turns.StartResult{}, err
		}
	}
	if g := d.agent(); g.Agent != nil && g.Info().Kind == turns.KindMailbox {
		return turns.StartResult{}, &turns.UnsupportedError{Agent: g.Info().Name, What: "runs no turns: use inbox/send"}
	}
	if act := d.active(); act != nil && q.OnBusy == turns.BusySteer && act.stop == nil {
		return d.startBySteer(q.msgs, q.By)
	}
	why, err := d.next().queueReason(q.OnBusy)
	if err != nil {
		return turns.StartResult{}, err
	}
	if err := d.checkWorkerInput("", q.msgs); err != nil {
		return turns.StartResult{}, err
	}
	if why == "" {
		var reserved bool
		if reserved, why = reserve(); reserved {
			return d.startNow(q)
		}
	}
	return d.enqueue(q, why)
}

// queueReason explains why the state of its thread keeps a turn from starting now; ""
// if it does not.
func (s *state) queueReason(onBusy turns.OnBusy) (string, error) {
	busy := s.active != nil || len(s.queue) > 0
	switch {
	case s.thread.State == threads.Paused && onBusy == turns.BusyReject:
		return "", threads.ErrPaused
	case busy && onBusy == turns.BusyReject:
		return "", turns.ErrBusy
	case s.thread.State == threads.Paused:
		return turns.QueuedPaused, nil
	case busy:
		return turns.QueuedBusy, nil
	}
	return "", nil
}

func (d *decision) startNow(q request) (turns.StartResult, error) {
	d.change.selectTries(newTries(q.turnID))
	d.turn.addStarted(nil, q.turnID, turns.OriginClient, q)
	d.items.addInput(q.turnID, 1, q.msgs, items.StatusCompleted, "")
	told, err := d.child.tellNewEnds()
	d.turn.addPrompt(append(slices.Clip(q.msgs), told...))
	r := q.result(d)
	r.State, r.StartedAt = turns.Active, d.change.now
	return r, err
}

// result returns the answer to the request, without the state of the turn.
func (q *request) result(d *decision) turns.StartResult {
	return turns.StartResult{
		TurnID: q.turnID, ThreadID: d.change.threadID,
		Parent: q.Parent, AttentionPolicy: q.child.AttentionPolicy, Title: q.child.Title, Job: q.Job, Outside: q.child.Outside, Wake: q.wake,
	}
}

func (d *decision) enqueue(q request, why string) (turns.StartResult, error) {
	bound := d.rules.cfg.MaxQueue
	if q.OnBusy == turns.BusyInterrupt {
		bound += limits.QueuedByInterrupt
	}
	if d.next().isFull(q.child.Outside, bound) {
		return turns.StartResult{}, turns.ErrQueueFull
	}
	rank, position := d.next().queuePosition(q.child.Outside, q.OnBusy == turns.BusyInterrupt || q.rejected != nil)
	event := &turns.QueuedEvent{
		Type: "queued", State: turns.Queued, Position: position, Rank: rank, QueuedAt: d.change.now, Reason: why,
		Metadata: q.Metadata, Parent: q.Parent, Child: q.child, TimeoutSeconds: q.TimeoutSeconds, Retry: q.Retry, Chain: q.chain,
		Review: asked(q.Review), RequestedBy: requestedBy(q.By),
	}
	if q.rejected != nil {
		event.Continues, event.Continuations = q.rejected.TurnID, q.rejected.Continuations+1
	}
	d.change.turn(nil, q.turnID, notify.TurnQueued, scope{attempt: 1}, event)
	d.next().setInput(q.turnID, inputItems(d.items.addInput(q.turnID, 1, q.msgs, items.StatusCompleted, ""), q.msgs))
	if act := d.active(); q.OnBusy == turns.BusyInterrupt && act != nil && act.stop == nil {
		d.turn.stop(stop{by: cmp.Or(q.By, turns.ByClient), state: turns.Interrupted, reason: "a newer turn takes its place"}, d.stopWithin())
	}
	r := q.result(d)
	r.State, r.QueuedAt, r.Position = turns.Queued, d.change.now, position
	return r, nil
}

// requestedBy returns the member of events that names who asked: only a named token is named.
func requestedBy(by turns.By) string {
	if by == turns.ByClient || !by.Client() {
		return ""
	}
	return string(by)
}

func (d *decision) startBySteer(msgs []items.UserMessage, by turns.By) (turns.StartResult, error) {
	r, err := d.steer(msgs, false, by)
	if err != nil {
		return turns.StartResult{}, err
	}
	return turns.StartResult{
		TurnID: r.TurnID, ThreadID: d.change.threadID, State: r.State, StartedAt: d.active().turn.StartedAt,
		Steered: true, ItemIDs: r.ItemIDs, Delivery: r.Delivery,
	}, nil
}

// addQueued starts the first turn of the queue.
func (d *decision) addQueued() error {
	q := d.next().queue[0]
	d.change.selectTries(q.tries.clone())
	d.turn.addStarted(q.turn, q.turn.TurnID, turns.OriginQueue, request{})
	d.items.completeInput(q.input)
	if err := d.child.tellInput(messages(q.input)); err != nil {
		return err
	}
	earlier, err := d.child.tellEarlierChildren(messages(q.input))
	if err != nil {
		return err
	}
	told, err := d.child.tellNewEnds()
	d.turn.addPrompt(slices.Concat(messages(q.input), earlier, told))
	return err
}

// startNext starts the first turn of the queue, if it may. A turn that waits for
// its next attempt comes before all of them.
func (a *actor) startNext() {
	if a.dead != nil {
		a.slot.leave()
		return
	}
	if err := a.load(); err != nil {
		a.startRetryAt = a.retryTime("a thread with queued turns cannot be read now", err)
		return
	}
	if !a.stopped && a.defers((*actor).startNext) {
		a.e.gate.decline(a.id)
		return
	}
	s := a.state
	if s.active != nil && s.active.waitsForAttempt() && !a.stopped {
		a.slot.take() // it keeps the slot until its time: see attemptDue
		return
	}
	if s.active != nil || s.thread == nil || s.thread.State != threads.Running || a.stopped {
		a.e.gate.decline(a.id)
		return
	}
	if len(s.queue) == 0 {
		a.inbox.startWake()
		return
	}
	for {
		if ok, _ := a.slot.reserve(); !ok {
			return
		}
		d := a.decide()
		err := d.addQueued()
		if err == nil {
			_, err = a.commit(d)
		}
		if err == nil {
			return
		}
		a.slot.unreserve()
		if !errors.Is(err, turns.ErrRuntimePaused) && !errors.Is(err, turns.ErrChildrenMoved) { // otherwise a pause has closed the gate, and the next round waits in line
			a.startRetryAt = a.retryTime("a queued turn cannot start now", err)
			return
		}
	}
}

// startAttempt starts the attempt that the active turn waits for.
func (a *actor) startAttempt() {
	for a.slot.keep() { // otherwise it waits in line
		d := a.decide()
		err := d.addAttempt()
		if err == nil {
			_, err = a.commit(d)
		}
		switch {
		case err == nil:
			return
		case errors.Is(err, turns.ErrRuntimePaused): // a pause has closed the gate
		case errors.Is(err, turns.ErrChildrenMoved): // an end that it tells was superseded
		default:
			a.attemptRetryAt = a.retryTime("an attempt cannot start now", err)
			return
		}
	}
}
