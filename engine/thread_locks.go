package engine

import (
	"context"
	"sync"
)

// threadLocks are locks by thread id. They keep two clients from changing the
// agent of one thread at once: the settings stored last must be those that the
// agent received last. The zero value is ready. It is safe for use by many goroutines.
type threadLocks struct {
	mu   sync.Mutex
	held map[string]*threadLock
}

type threadLock struct {
	free  chan struct{} // holds one token
	users int           // callers that hold it or wait; bounded by the requests in flight
}

// lock waits until no other caller holds id, or ctx is done. The caller must call
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
