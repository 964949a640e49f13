package engine

import (
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// effect is one thing that follows a commit, so that nothing acts on what may
// still be refused (I1). It does not change the state: that is in the next state
// of the decision. Effects do not block.
type effect interface {
	apply(a *actor)
}

// startPrompt starts a prompt of the agent, or offers the turn to workers.
type startPrompt struct{ input []items.UserMessage }

func (e startPrompt) apply(a *actor) {
	w := a.state.active.work
	w.read = w.steered
	a.startPrompt(e.input)
}

// deliverAnswer delivers the answer of a question to the agent.
type deliverAnswer struct {
	to     *pendingQuestion
	answer turns.Answer
}

func (e deliverAnswer) apply(*actor) { e.to.answer <- e.answer }

// stopWork asks the executor of the active turn to stop.
type stopWork struct {
	cause  error
	within time.Duration
}

func (e stopWork) apply(a *actor) {
	if act := a.state.active; act != nil {
		act.work.stop(e.cause, e.within)
	}
}

// detachWork detaches the executor whose prompt has ended.
type detachWork struct{}

func (detachWork) apply(a *actor) { a.state.active.work.detach() }

// supersedeWork detaches the executor of an attempt that was superseded. A slot that
// was lent for a call of its agent is taken again: the turn keeps it for its next
// attempt. In a drain that does not start, so the slot is left.
type supersedeWork struct{}

func (supersedeWork) apply(a *actor) {
	a.state.active.work.supersede()
	if !a.state.active.mayLend() {
		a.slot.reclaim()
	}
	if a.e.pause.isDraining() {
		a.slot.keep()
	}
}

// steerWork gives steered text to the executor of the active turn.
type steerWork struct {
	list []injection
	cut  bool // the prompt is being stopped
}

func (e steerWork) apply(a *actor) {
	a.state.active.work.steered++
	a.e.awaits.ownerChanged(a.id)
	if exec := a.state.active.work.exec; exec != nil {
		exec.steer(e.list, e.cut)
	}
}

// confirmSync notifies an agent that all its earlier output is durable.
type confirmSync struct{ done chan<- struct{} }

func (e confirmSync) apply(*actor) { close(e.done) }

// leaveWaiting leaves a turn that begins to wait for a person in a drain to the next server.
type leaveWaiting struct{}

func (leaveWaiting) apply(a *actor) { a.in.post((*actor).leaveWaiting) }

// lookAgain checks whether a turn that waits without a prompt can continue.
type lookAgain struct{}

func (lookAgain) apply(a *actor) { a.in.post(look) }
