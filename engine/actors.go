package engine

import (
	"sync"

	"github.com/seed82539d15/holon/turns"
)

// actors has the actors of busy threads, at most one for each. It is safe for use
// by many goroutines. Locks are taken in the order gate, actors, intake.
type actors struct {
	newActor func(threadID string) *actor
	wg       sync.WaitGroup

	mu     sync.Mutex
	loops  map[string]*loop
	closed bool
	ended  chan struct{} // closed with closed
}

func newActors(newActor func(threadID string) *actor) *actors {
	return &actors{newActor: newActor, loops: map[string]*loop{}, ended: make(chan struct{})}
}

// submit puts a command into the intake of a thread's actor. It starts the actor
// if there is none. force ignores the bound on commands.
func (o *actors) submit(threadID string, f func(*actor), force bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	l, err := o.loop(threadID)
	if err != nil {
		return err
	}
	return l.in.command(f, force)
}

// loop returns the loop of the thread's actor, and starts it if there is none.
// The caller holds mu.
func (o *actors) loop(threadID string) (*loop, error) {
	if o.closed {
		return nil, turns.ErrDraining
	}
	l := o.loops[threadID]
	if l == nil {
		l = o.start(o.newActor(threadID))
	}
	return l, nil
}

// hold returns the intake of the thread's actor. The actor does not retire until
// release is called, so that the caller can wait for room.
func (o *actors) hold(threadID string) (in *intake, release func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l, err := o.loop(threadID)
	if err != nil {
		return nil, nil, err
	}
	l.emitters++
	return l.in, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		l.emitters--
	}, nil
}

// retire removes an idle actor, unless something has come for it meanwhile.
func (o *actors) retire(l *loop) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !l.in.empty() || l.emitters > 0 {
		return false
	}
	delete(o.loops, l.a.id)
	return true
}

// eachActor gives a command of the engine's own to all actors.
func (o *actors) eachActor(f func(*actor)) {
	o.mu.Lock()
	ids := make([]string, 0, len(o.loops))
	for id := range o.loops {
		ids = append(ids, id)
	}
	o.mu.Unlock()
	for _, id := range ids {
		_ = o.submit(id, f, true) // fails only when the engine has stopped
	}
}

// put starts a as the actor of its thread, which must have none. After close it does
// nothing: commands of the thread are refused like those of all others.
func (o *actors) put(a *actor) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.start(a)
	}
}

// start runs a in a goroutine. The caller holds mu.
func (o *actors) start(a *actor) *loop {
	l := &loop{a: a, in: a.in, actors: o}
	o.loops[a.id] = l
	o.wg.Go(l.run)
	return l
}

// count returns how many actors there are.
func (o *actors) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.loops)
}

// close refuses new actors and returns the intakes of those that run. The caller
// stops these; a later call returns none.
func (o *actors) close() []*intake {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	close(o.ended)
	list := make([]*intake, 0, len(o.loops))
	for _, l := range o.loops {
		list = append(list, l.in)
	}
	return list
}

// wait returns when all actors have ended.
func (o *actors) wait() { o.wg.Wait() }
