package engine

import (
	"context"
	"sync"
)

// threadLocks keeps two clients from changing one thread's agent at once: what is
// stored last must be what the agent was told last. The zero value is ready.
type threadLocks struct {
	mu   sync.Mutex
	held map[string]*threadLock
}

type threadLock struct {
	free  chan struct{} // holds one token
	users int           // who holds it or waits; bounded by the requests in flight
}

// lock waits until nobody else holds id, or ctx is done. The caller calls
// unlock once.
func (l *threadLocks) lock(ctx context.Context, id string) (unlock func(), err error) {
	l.mu.Lock()
	t := l.held[id]
	if t == nil {
		if l.held == nil {
			l.held = map[string]*threadLock{}
		}
		t = &threadLock{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		l.held[id] = t
	}
	t.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(l.held, id)
		}
	}
	select {
	case <-t.free:
		return func() {
			t.free <- struct{}{}
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
