package turns

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

type counter = atomic.Int64

// actor is the one goroutine that owns a busy thread: its row, its queue, its
// active turn. Everything below in is touched by that goroutine only.
type actor struct {
	e    *Engine
	id   string
	in   *inbox
	quit chan struct{}

	recovers bool // it only ends what a crash has left, and is dropped then

	loaded bool
	thread *threads.Thread        // nil: there is no such thread
	queue  []*Turn                // by rank
	inputs map[string][]*openItem // user messages of the queue
	tried  map[string]*tries      // of turns in the queue that have been tried before
	active *activeTurn
	held   *builder  // agent output that a full disk refused; nothing else is decided meanwhile
	heldBy time.Time // when to hand it in again
	dead   bool      // the log cannot be written any more: agents are left unread
	gone   bool      // the engine has stopped: commands are refused

	startBy time.Time // when to try again to start the next turn; zero = no need

	newest   string // no item of the thread that has an id of NewID has a greater one
	lateTold bool   // the log has been told of output that could not be stored
	emitters int    // agents about to put something in; guarded by the engine's mu
}

// activeTurn is the turn that runs.
type activeTurn struct {
	turn    *Turn
	tries   *tries
	open    openItems
	run     *run
	prompts int      // started so far
	steers  []string // user_message items not delivered yet, in order
	usage   *items.Usage
	stop    *stop
	cut     bool // the present prompt is being cut short for a steer

	worker *worker // nil for a turn that its agent runs itself

	stopBy time.Time // when a prompt that was told to stop is given up; zero = none

	timeout   time.Duration // left of timeout_seconds; 0 = none
	runSince  time.Time     // since when timeout runs; zero while waiting
	isWaiting bool          // for a person
	notices   int           // made for ops that were refused

	progressAt   time.Time // of the last message sent
	progressNext *string   // a message that waits for its second

	placed  bool      // it has a place in the gate; one that waits for its next attempt may have none
	retryAt time.Time // when its next attempt begins; zero = one is under way

	waiters []chan InterruptResult
}

// stop says how the turn is to end whatever the agent does.
type stop struct {
	state   State
	reason  string
	failure *Failure
}

func newActor(e *Engine, id string) *actor {
	return &actor{
		e: e, id: id, in: newInbox(e.cfg.MaxCommands, e.cfg.InboxBytes), quit: make(chan struct{}),
		inputs: map[string][]*openItem{}, tried: map[string]*tries{},
	}
}

// loop serves the inbox until the thread has nothing to do, or stop. What is
// due, and the stop, are looked at in every round: an agent that keeps the
// inbox full must not put its own deadline off.
func (a *actor) loop() {
	timer := time.NewTimer(idleAfter)
	defer timer.Stop()
	for {
		select {
		case <-a.quit:
			a.gone = true
			a.abandonRun()
			for a.runCommand() { // whoever still waits is told
			}
			return
		default:
		}
		if due := a.nextDue(); !due.IsZero() && !time.Now().Before(due) {
			a.onTime()
		}
		if a.runCommand() || (a.held == nil && !a.dead && a.takeOutput()) {
			continue
		}
		timer.Reset(a.untilNext())
		select {
		case <-a.in.bell:
		case <-timer.C:
			if a.idle() && a.e.retire(a) {
				return
			}
		case <-a.quit:
		}
	}
}

func (a *actor) stop() { close(a.quit) }

func (a *actor) isStopped() bool {
	select {
	case <-a.quit:
		return true
	default:
		return false
	}
}

func (a *actor) idle() bool { return a.active == nil && a.held == nil && a.startBy.IsZero() }

func (a *actor) runCommand() bool {
	f := a.in.takeCommand()
	if f == nil {
		return false
	}
	f(a)
	return true
}

// load reads the thread, once.
func (a *actor) load() error {
	if a.loaded {
		return nil
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
		case Queued:
			a.queue = append(a.queue, t)
			if t.Attempt > 1 {
				a.tried[t.TurnID] = triesOf(t.TurnID, l.Steps)
			}
		case Active:
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
	a.loaded, a.newest = true, items.NewID()
	if !a.recovers {
		a.resumeWorker()
	}
	return nil
}

func byRank(x, y *Turn) int {
	switch {
	case x.Rank < y.Rank:
		return -1
	case x.Rank > y.Rank:
		return 1
	}
	return 0
}

// commit hands a unit of one command in and, once it is durable, makes its
// rows the actor's memory. On an error nothing has changed.
func (a *actor) commit(b *builder) (Receipt, error) {
	switch {
	case a.gone:
		return Receipt{}, ErrDraining
	case a.dead:
		return Receipt{}, ErrStorageFailed
	case a.held != nil:
		return Receipt{}, ErrStorageFull
	}
	return a.append(b)
}

// commitOutput hands a unit of agent output in. The actor's memory has moved
// on already, so the unit must become durable: while the disk is full it is
// kept and tried again, and nothing else happens in the thread.
func (a *actor) commitOutput(b *builder) {
	if len(b.unit.Drafts) == 0 && b.delta.open == nil {
		for _, f := range b.after { // whoever waits for what came before it
			f(Receipt{})
		}
		return
	}
	_, err := a.append(b)
	switch {
	case err == nil:
		a.held = nil
	case errors.Is(err, ErrStorageFull):
		if a.held == nil {
			a.e.log.Warn("disk full: the turn is held until there is space", zap.String("thread_id", a.id))
		}
		a.held, a.heldBy = b, time.Now().Add(heldRetry)
	case errors.Is(err, ErrStorageFailed):
		a.die()
	case a.active == nil:
		a.e.log.Error("what an agent said outside of a turn cannot be stored", zap.String("thread_id", a.id), zap.Error(err))
		a.e.late.Add(1)
		a.held, a.loaded = nil, false
	default:
		a.e.log.Error("agent output cannot be stored: the turn is given up", zap.String("thread_id", a.id), zap.Error(err))
		a.giveUpTurn()
	}
}

// die parts from the agent because nothing of the thread can be stored any
// more. The turn stays as the log has it; its place is free, so that a drain
// does not wait for it.
func (a *actor) die() {
	a.dead, a.held = true, nil
	if a.active == nil {
		return
	}
	a.active.setWaiting(a.e, false)
	a.abandonRun()
	a.leaveGate(a.active)
}

// giveUpTurn ends a turn whose memory and log have parted, from what the log
// says of it.
func (a *actor) giveUpTurn() {
	was := a.active
	a.abandonRun()
	a.held, a.loaded = nil, false
	if err := a.load(); err != nil || a.active == nil {
		a.active = was
		a.die()
		return
	}
	was.setWaiting(a.e, false)
	a.active.waiters, a.active.placed = was.waiters, was.placed
	b := a.build()
	b.endTurn(ending{state: Failed, failure: &Failure{Kind: "internal", Message: "the agent's output could not be stored"}})
	b.after = append(b.after, a.turnOver)
	switch _, err := a.append(b); {
	case err == nil:
	case errors.Is(err, ErrStorageFull):
		a.held, a.heldBy = b, time.Now().Add(heldRetry)
	default:
		a.die()
	}
}

func (a *actor) append(b *builder) (Receipt, error) {
	b.flushDelta()
	if b.err != nil {
		return Receipt{}, b.err
	}
	if a.thread != nil {
		b.unit.BaseThreadSeq = a.thread.LatestThreadSeq
	}
	rc, err := a.e.store.Append(&b.unit)
	if err != nil || rc.Stored != nil {
		return rc, err
	}
	a.adopt(b, rc)
	return rc, nil
}

// adopt makes committed rows the actor's memory.
func (a *actor) adopt(b *builder, rc Receipt) {
	n := len(b.unit.Drafts)
	if b.unit.Thread != nil {
		a.thread = b.unit.Thread
	}
	if b.tries != nil {
		b.tries.settle(rc.First)
	}
	if b.open != nil {
		a.active.open = *b.open
	}
	if n > 0 && a.thread != nil {
		a.thread.LatestSeq, a.thread.LatestThreadSeq = rc.Last, b.unit.BaseThreadSeq+int64(n)
	}
	for _, t := range b.unit.Turns {
		a.queue = slices.DeleteFunc(a.queue, func(q *Turn) bool { return q.TurnID == t.TurnID })
		switch {
		case t.State == Queued:
			a.queue = append(a.queue, t)
			slices.SortFunc(a.queue, byRank)
			if t.Attempt > 1 && b.tries != nil && b.tries.turnID == t.TurnID {
				a.tried[t.TurnID] = b.tries
			}
		case a.active != nil && a.active.turn.TurnID == t.TurnID:
			a.active.turn = t
		case t.State == Active:
			a.active = a.newActive(t, b.tries)
			a.active.placed = true
			delete(a.inputs, t.TurnID)
			delete(a.tried, t.TurnID)
		default:
			delete(a.inputs, t.TurnID)
			delete(a.tried, t.TurnID)
		}
	}
	if b.tries != nil && a.active != nil && a.active.turn.TurnID == b.tries.turnID {
		a.active.tries = b.tries
	}
	for _, f := range b.after {
		f(rc)
	}
}

func (a *actor) newActive(t *Turn, tries *tries) *activeTurn {
	act := &activeTurn{turn: t, tries: tries, timeout: a.timeoutOf(t), runSince: time.Now()}
	if act.timeout > 0 {
		act.timeout = max(1, act.timeout-time.Duration(t.UsedMs)*time.Millisecond)
	}
	return act
}

// timeoutOf is the timeout of all attempts of a turn together; 0 = none.
func (a *actor) timeoutOf(t *Turn) time.Duration {
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

// leaveGate frees the place of the active turn, or its place in line.
func (a *actor) leaveGate(act *activeTurn) {
	if !act.placed {
		a.e.gate.decline(a.id)
		return
	}
	act.placed = false
	a.e.gate.leave()
}

// turnOver is what follows the commit of a turn's end.
func (a *actor) turnOver(Receipt) {
	act := a.active
	a.active = nil
	delete(a.inputs, act.turn.TurnID)
	act.setWaiting(a.e, false)
	a.partFromWorker(act)
	for _, w := range act.waiters {
		w <- InterruptResult{
			TurnID: act.turn.TurnID, State: string(act.turn.State), InterruptedAt: act.turn.CompletedAt,
			Message: act.turn.Message, Seq: act.turn.UpdatedSeq,
		}
	}
	a.leaveGate(act)
	_ = a.in.command(func(a *actor) { a.startNext() }, true) // forced: never refused
}

// abandonRun parts from the agent's goroutine without waiting for it, or from
// the worker.
func (a *actor) abandonRun() {
	if a.active == nil {
		return
	}
	a.partFromWorker(a.active)
	if a.active.run == nil {
		return
	}
	a.active.run.cancel(errAbandoned)
	close(a.active.run.over)
	a.active.run = nil
}
