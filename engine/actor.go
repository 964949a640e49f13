package engine

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/turns"
)

type counter = atomic.Int64

// actor owns a busy thread. It makes decisions about commands and output,
// commits them and applies their effects. It belongs to the goroutine of its
// loop. Only the fields above the first empty line may be read from elsewhere.
type actor struct {
	e  *Engine
	id string
	in *intake

	recovering bool // during recovery: it only ends what a crash has left, then it is dropped

	loaded      bool
	state       *state         // never nil; empty until loaded
	work        *work          // of the turn that is active after the last commit, else nil
	lent        lent           // whether its slot at the agent is lent
	slot        slot           // of that turn, or of one that is about to start
	held        *decision      // refused by a full disk, and must become durable: state may be ahead of the log until then
	heldRetryAt time.Time      // when to commit held again
	afterHeld   []func(*actor) // the engine's own commands that wait for held; few, and each once
	dead        error          // why nothing of the thread can be decided any more; agent output is dropped then
	stopped     bool           // the engine has stopped: commands are refused

	startRetryAt   time.Time // when to try again to start the next turn; zero = not needed
	attemptRetryAt time.Time // the next attempt does not start before; zero = no bound

	waiters waiters
	inbox   inboxKeeper
	child   childKeeper
	review  reviewKeeper
	stats   statsKeeper

	panics           int
	refused          int  // unexplained errors of commits in a row
	countedAsWaiting bool // the engine counts the thread among those that wait for a person
	lateLogged       bool // the server's log names one output that could not be stored
}

func newActor(e *Engine, id string) *actor {
	a := &actor{
		e: e, id: id, in: newIntake(e.rules.cfg.MaxCommands, e.rules.cfg.IntakeBytes),
		state: &state{}, slot: slot{gate: e.gate, threadID: id},
	}
	a.inbox.a, a.child.a, a.review.a, a.stats.a = a, a, a, a
	return a
}

// idle reports whether the actor may end. One that has panicked too often stays,
// because it refuses the commands of its thread.
func (a *actor) idle() bool {
	return a.state.active == nil && a.held == nil && a.startRetryAt.IsZero() && a.child.lookAt.IsZero() && a.inbox.wakeAt.IsZero() && !errors.Is(a.dead, turns.ErrInternal)
}

// agent returns the agent of the thread.
func (a *actor) agent() *agent { return a.e.rules.agents.of(a.state.thread.Agent) }

// decide begins a decision about a command. It changes a clone of the state.
func (a *actor) decide() *decision { return newDecision(a.e.rules, a.id, a.state.clone()) }

// observe begins a decision about something that has happened already, such as
// output of an agent. It changes the state itself, so commitOutput must commit it.
func (a *actor) observe() *decision { return newDecision(a.e.rules, a.id, a.state) }

// lendSlot gives back the slot of the active turn once the log says that the
// turn waits for a person or for child turns, or while its agent waits for child turns in
// a call. In a drain, a turn that waits without a prompt is left to the next server.
func (a *actor) lendSlot() {
	act := a.state.active
	switch {
	case act == nil || a.dead != nil || a.held != nil || !act.mayLend():
	case act.betweenPrompts() && a.e.pause.isDraining():
		a.slot.leave()
	default:
		a.slot.lend(act.turn.WaitsForPerson() && !act.suspended())
	}
}

// countWaiting keeps the engine's count of threads whose turn waits for a person.
func (a *actor) countWaiting() {
	waits := a.dead == nil && a.state.active != nil && a.state.active.waitsForPerson()
	switch {
	case waits && !a.countedAsWaiting:
		a.e.waiting.Add(1)
	case !waits && a.countedAsWaiting:
		a.e.waiting.Add(-1)
	}
	a.countedAsWaiting = waits
}

// turnEnded follows the commit of the active turn's end.
func (a *actor) turnEnded(ended *turns.Turn) {
	a.work.detach()
	a.work = nil
	a.waiters.ended(ended)
	a.slot.leave()
	a.in.post((*actor).startNext)
}
