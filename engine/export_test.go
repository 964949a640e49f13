package engine

import (
	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/turns"
)

// What tests outside the package read. They are outside because the real store
// imports this package.

// Bounds that tests reach.
const (
	InterruptExtra = limits.QueuedByInterrupt
	MaxNotices     = maxNotices
	DeltaBytes     = deltaBytes
	HeldRetry      = heldRetry
	IdleAfter      = idleAfter
	InjectWithin   = injectWithin

	StopServicesWithin = stopServicesWithin
)

// GateState is what the gate holds.
type GateState struct{ Active, Lent, Granted, InLine, Waiting int }

// Gate returns what the gate holds.
func (e *Engine) Gate() GateState {
	g := e.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	return GateState{Active: g.slots, Lent: g.running - g.slots, Granted: len(g.granted), InLine: len(g.inLine), Waiting: len(g.waiting)}
}

// IntakeBytes is the agent output that waits at a thread.
func (e *Engine) IntakeBytes(threadID string) int {
	e.actors.mu.Lock()
	a := e.actors.loops[threadID]
	e.actors.mu.Unlock()
	if a == nil {
		return 0
	}
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	return a.in.bytes
}

// Host is the Host of the engine's agents.
func (e *Engine) Host() turns.Host { return host{e} }

// Offers is how many turns of an agent wait for a worker.
func (ws *Workers) Offers(agent string) int {
	ws.claims.mu.Lock()
	defer ws.claims.mu.Unlock()
	return len(ws.claims.queue(agent).offers)
}

// LookEarly signals those whom the end of a child turn concerns, as its commit does.
func (e *Engine) LookEarly(owner, turnID string) {
	e.awaits.changed(turnID)
	e.family.look(owner)
}

// AwaitedBy is how many requests wait for the end of a turn.
func (e *Engine) AwaitedBy(turnID string) int {
	e.awaits.mu.Lock()
	defer e.awaits.mu.Unlock()
	return len(e.awaits.byTurn[turnID])
}
