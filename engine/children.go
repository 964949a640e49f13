package engine

import "time"

// Children is the part of the engine that starts child turns for turns of other
// threads, and waits for ends of turns. A change that returns without an error is
// durable (I1). All methods may be called from many goroutines, once Recover has
// returned.
type Children struct{ e *Engine }

// Children returns the Children of the engine.
func (e *Engine) Children() *Children { return e.children }

// childKeeper is the actor's side of the child turns that its thread owns. It belongs
// to the actor's goroutine.
type childKeeper struct {
	a      *actor
	lookAt time.Time // when to look again after a failure: see look; zero = not needed
}

// look runs childKeeper.look, as a command of the engine's own.
func look(a *actor) { a.child.look() }

// childWriter adds the events that concern child turns to a decision.
type childWriter struct{ d *decision }
