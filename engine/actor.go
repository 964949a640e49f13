package engine

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
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
	queue  []*turns.Turn          // by rank
	inputs map[string][]*openItem // user messages of the queue
	tried  map[string]*tries      // of turns in the queue that have been tried before
	active *activeTurn
	held   *builder  // agent output that a full disk refused; nothing else is decided meanwhile
	heldBy time.Time // when to hand it in again
	dead   error     // why nothing of the thread can be decided any more: agents are left unread
	gone   bool      // the engine has stopped: commands are refused

	startBy time.Time // when to try again to start the next turn; zero = no need

	closers []chan turns.ChangeThreadResult // of those who wait for the thread to be closed; capacity 1

	entered bool // it has a place in the gate for a turn that is not active yet
	panics  int
	refused int // commits in a row that failed in a way that nothing explains

	newest   string // no item of the thread that has an id of NewID has a greater one
	lateTold bool   // the log has been told of output that could not be stored
	emitters int    // agents about to put something in; guarded by the engine's mu
}

// activeTurn is the turn that runs.
type activeTurn struct {
	turn    *turns.Turn
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
	lent    bool      // it runs without one, because it waits for a person: see keepPlace
	retryAt time.Time // when its next attempt begins; zero = one is under way

	waiters []chan turns.InterruptResult
}

// stop says how the turn is to end whatever the agent does.
type stop struct {
	state   turns.State
	reason  string
	failure *turns.Failure
}

func newActor(e *Engine, id string) *actor {
	return &actor{
		e: e, id: id, in: newInbox(e.cfg.MaxCommands, e.cfg.InboxBytes), quit: make(chan struct{}),
		inputs: map[string][]*openItem{}, tried: map[string]*tries{},
	}
}

// loop serves the inbox until the thread has nothing to do, or stop.
func (a *actor) loop() {
	timer := time.NewTimer(idleAfter)
	defer timer.Stop()
	for !a.serve(timer) {
	}
}

// serve is loop up to a panic; it reports whether the actor has ended. What is
// due, and the stop, are looked at in every round: an agent that keeps the
// inbox full must not put its own deadline off.
func (a *actor) serve(timer *time.Timer) (ended bool) {
	defer a.survive()
	for {
		select {
		case <-a.quit:
			a.gone = true
			a.abandonRun()
			for a.runCommand() { // whoever still waits is told
			}
			return true
		default:
		}
		if due := a.nextDue(); !due.IsZero() && !time.Now().Before(due) {
			a.onTime()
		}
		a.keepPlace()
		if a.runCommand() || (a.held == nil && a.dead == nil && a.takeOutput()) {
			continue
		}
		timer.Reset(a.untilNext())
		select {
		case <-a.in.bell:
		case <-timer.C:
			if a.idle() && a.e.owners.retire(a) {
				return true
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

// idle reports whether the actor may end. One that has panicked too often stays:
// it is what refuses the commands of its thread.
func (a *actor) idle() bool {
	return a.active == nil && a.held == nil && a.startBy.IsZero() && !errors.Is(a.dead, turns.ErrInternal)
}

func (a *actor) runCommand() bool {
	f := a.in.takeCommand()
	if f == nil {
		return false
	}
	f(a)
	return true
}

// enter asks the gate for a place for a turn that is about to start. The actor
// knows of it until the turn is active, or leave.
func (a *actor) enter() (ok bool, why string) {
	ok, why = a.e.gate.enter(a.id)
	a.entered = ok
	return ok, why
}

// leave gives the place back if no turn has become active in it.
func (a *actor) leave() {
	if a.entered {
		a.entered = false
		a.e.gate.leave(a.id)
	}
}

// leaveGate frees the place of the active turn, or its place in line.
func (a *actor) leaveGate(act *activeTurn) {
	a.claimPlace(act)
	if !act.placed {
		a.e.gate.decline(a.id)
		return
	}
	act.placed = false
	a.e.gate.leave(a.id)
}

// keepPlace gives the place of the active turn back once the log says that it
// waits for a person.
func (a *actor) keepPlace() {
	act := a.active
	if act != nil && act.placed && a.dead == nil && a.held == nil && act.turn.WaitsForPerson() && a.e.gate.lend(a.id) {
		act.placed, act.lent = false, true
	}
}

// claimPlace takes the place again that the turn has given back.
func (a *actor) claimPlace(act *activeTurn) {
	if act.lent {
		act.placed, act.lent = true, false
		a.e.gate.claim()
	}
}

// turnOver is what follows the commit of a turn's end.
func (a *actor) turnOver(ledger.Receipt) {
	act := a.active
	a.active = nil
	delete(a.inputs, act.turn.TurnID)
	act.setWaiting(a.e, false)
	a.partFromWorker(act)
	act.answer(act.turn)
	a.leaveGate(act)
	_ = a.in.command(func(a *actor) { a.startNext() }, true) // forced: never refused
}

// answer tells those who wait for the end of the turn how it has ended.
func (act *activeTurn) answer(t *turns.Turn) {
	for _, w := range act.waiters {
		w <- turns.InterruptResult{
			TurnID: t.TurnID, State: string(t.State), InterruptedAt: t.CompletedAt, Message: t.Message, Seq: t.UpdatedSeq,
		}
	}
	act.waiters = nil
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
