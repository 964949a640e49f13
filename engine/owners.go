package engine

import (
	"sync"

	"github.com/seed82539d15/holon/turns"
)

// owners are the actors of busy threads, at most one for each. It is safe for
// use by many goroutines. Locks are taken in the order gate, owners, inbox.
type owners struct {
	one func(threadID string) *actor // makes an actor
	wg  sync.WaitGroup

	mu     sync.Mutex
	actors map[string]*actor
	closed bool
	ended  chan struct{} // closed with closed
}

func newOwners(one func(threadID string) *actor) *owners {
	return &owners{one: one, actors: map[string]*actor{}, ended: make(chan struct{})}
}

// submit puts a command into the inbox of a thread's actor, which it starts
// if need be.
func (o *owners) submit(threadID string, f func(*actor), force bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	a, err := o.actor(threadID)
	if err != nil {
		return err
	}
	return a.in.command(f, force)
}

// actor returns the thread's actor, which it starts if need be. The caller
// holds mu.
func (o *owners) actor(threadID string) (*actor, error) {
	if o.closed {
		return nil, turns.ErrDraining
	}
	a := o.actors[threadID]
	if a == nil {
		a = o.one(threadID)
		o.start(a)
	}
	return a, nil
}

// hold returns the thread's actor, which does not retire before release: for
// somebody who waits for room in its inbox.
func (o *owners) hold(threadID string) (a *actor, release func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a, err = o.actor(threadID); err != nil {
		return nil, nil, err
	}
	a.emitters++
	return a, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		a.emitters--
	}, nil
}

// retire ends an idle actor, unless something has come for it meanwhile.
func (o *owners) retire(a *actor) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !a.in.empty() || a.emitters > 0 {
		return false
	}
	delete(o.actors, a.id)
	return true
}

// eachActor gives all busy threads a command of the engine's own.
func (o *owners) eachActor(f func(*actor)) {
	o.mu.Lock()
	ids := make([]string, 0, len(o.actors))
	for id := range o.actors {
		ids = append(ids, id)
	}
	o.mu.Unlock()
	for _, id := range ids {
		_ = o.submit(id, f, true) // fails only when the engine has ended
	}
}

// put makes a the owner of its thread. There must be none.
func (o *owners) put(a *actor) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.start(a)
}

// start lets a run. The caller holds mu.
func (o *owners) start(a *actor) {
	o.actors[a.id] = a
	o.wg.Go(a.loop)
}

// busy is how many there are.
func (o *owners) busy() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.actors)
}

// close lets no further actor begin and returns those that run: who closes
// stops them.
func (o *owners) close() []*actor {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		close(o.ended)
	}
	actors := make([]*actor, 0, len(o.actors))
	for _, a := range o.actors {
		actors = append(actors, a)
	}
	return actors
}

// wait returns when the actors that were stopped have ended.
func (o *owners) wait() { o.wg.Wait() }
