package engine_test

import (
	"context"
	"github.com/seed82539d15/holon/engine"
	"sync"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// faults is the real store with faults and stops in front of it. Only methods set
// its fields. Without any it behaves like the real one.
type faults struct {
	turns.Store
	engine.Rows

	mu     sync.Mutex
	refuse func(*ledger.Unit) error // nil = nothing is refused
	hold   func(*ledger.Unit) <-chan struct{}
	strip  func(*ledger.Unit) // removes a guard, to show what it is for
	after  func(*ledger.Unit) // follows the commit of a unit
	loads  func(threadID string)
	half   bool // reads of a thread are incomplete
	broken bool // refuse is permanent
}

func newFaults() *faults { return &faults{} }

// fail refuses units that f has an error for.
func (s *faults) fail(f func(*ledger.Unit) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// failAll refuses all units with err.
func (s *faults) failAll(err error) { s.fail(func(*ledger.Unit) error { return err }) }

// breakDown refuses all units permanently, as after a failed fsync.
func (s *faults) breakDown() {
	s.failAll(ledger.ErrStorageFailed)
	s.mu.Lock()
	s.broken = true
	s.mu.Unlock()
}

// holdBack lets units for which f returns a channel wait until it is closed,
// before they are committed.
func (s *faults) holdBack(f func(*ledger.Unit) <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = f
}

// without changes every unit before it is committed. Tests remove a guard with it,
// to show that they fail without it.
func (s *faults) without(f func(*ledger.Unit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strip = f
}

// afterCommit calls f when a unit has been committed, before its actor knows.
func (s *faults) afterCommit(f func(*ledger.Unit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = f
}

// onLoad calls f before a thread is read.
func (s *faults) onLoad(f func(threadID string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads = f
}

// halve makes a read of a thread panic in the middle.
func (s *faults) halve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.half = true
}

func (s *faults) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.hold, s.strip, s.after, s.loads, s.half, s.broken = nil, nil, nil, nil, nil, false, false
}

func (s *faults) healthy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.broken
}

func (s *faults) Append(u *ledger.Unit) (ledger.Receipt, error) {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		if c := hold(u); c != nil {
			<-c
		}
	}
	s.mu.Lock()
	refuse, strip, after := s.refuse, s.strip, s.after
	s.mu.Unlock()
	if strip != nil {
		strip(u)
	}
	if refuse != nil {
		if err := refuse(u); err != nil {
			return ledger.Receipt{}, err
		}
	}
	r, err := s.Store.Append(u)
	if after != nil && err == nil {
		after(u)
	}
	return r, err
}

func (s *faults) Load(ctx context.Context, threadID string) (turns.Loaded, error) {
	s.mu.Lock()
	loads, half := s.loads, s.half
	s.mu.Unlock()
	if loads != nil {
		loads(threadID)
	}
	l, err := s.Rows.Load(ctx, threadID)
	if half {
		l.Steps = append(l.Steps, nil)
	}
	return l, err
}
