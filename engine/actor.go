package engine

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/turns"
)

type counter = atomic.Int64

// actor owns a busy thread: it lets decisions be made about commands and
// output, commits these and applies their effects. It belongs to the goroutine
// of its loop, except for what is above the empty line.
type actor struct {
	e  *Engine
	id string
	in *intake

	recovering bool // it only ends what a crash has left, and is dropped then

	loaded      bool
	state       *state    // never nil; empty until loaded
	work        *work     // of the turn that is active by the last commit, else nil
	slot        slot      // of that turn, or of one that is about to start
	held        *decision // agent output that a full disk refused; nothing else is decided meanwhile
	heldRetryAt time.Time // when to hand it in again
	dead        error     // why nothing of the thread can be decided any more: agents are left unread
	stopped     bool      // the engine has stopped: commands are refused

	startRetryAt   time.Time // when to try again to start the next turn; zero = no need
	attemptRetryAt time.Time // before which the next attempt is not tried again

	waiters waiters

	panics           int
	refused          int  // commits in a row that failed in a way that nothing explains
	countedAsWaiting bool // the engine counts it among those that wait for a person
	lateLogged       bool // the log names one output that could not be stored
}

func newActor(e *Engine, id string) *actor {
	return &actor{
		e: e, id: id, in: newIntake(e.rules.cfg.MaxCommands, e.rules.cfg.InboxBytes),
		state: &state{}, slot: slot{gate: e.gate, threadID: id},
	}
}

// idle reports whether the actor may end. One that has panicked too often stays:
// it is what refuses the commands of its thread.
func (a *actor) idle() bool {
	return a.state.active == nil && a.held == nil && a.startRetryAt.IsZero() && !errors.Is(a.dead, turns.ErrInternal)
}

// agent is the agent of the thread.
func (a *actor) agent() *agent { return a.e.rules.agents.of(a.state.thread.Agent) }

// decide begins a decision about a command, which changes a clone of the state.
func (a *actor) decide() *decision { return newDecision(a.e.rules, a.id, a.state.clone()) }

// observe begins a decision about what has happened already, such as output of
// an agent. It changes the state itself, so commitOutput makes it last.
func (a *actor) observe() *decision { return newDecision(a.e.rules, a.id, a.state) }

// lendSlot gives the slot of the active turn back once the log says that it
// waits for a person.
func (a *actor) lendSlot() {
	if act := a.state.active; act != nil && a.dead == nil && a.held == nil && act.turn.WaitsForPerson() {
		a.slot.lend()
	}
}

// countWaiting counts the thread among those whose turn waits for a person.
func (a *actor) countWaiting() {
	waits := a.dead == nil && a.state.active != nil && a.state.active.clock.waiting
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
