package kindstest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// Stuck is a channel whose Send does not return, whatever becomes of its context:
// what a program that hangs in the kernel looks like, or a kind with a mistake. Its
// methods may be called from many goroutines.
type Stuck struct {
	mu      sync.Mutex
	began   []string
	active  int
	release chan struct{}
}

// NewStuck makes a Stuck. The test's end calls Release.
func NewStuck(t testing.TB) *Stuck {
	s := &Stuck{release: make(chan struct{})}
	t.Cleanup(s.Release)
	return s
}

// Send returns after Release only.
func (s *Stuck) Send(_ context.Context, o *bridges.Outgoing) bridges.Result {
	s.mu.Lock()
	s.began = append(s.began, o.Envelope().DeliveryID)
	s.active++
	release := s.release
	s.mu.Unlock()
	<-release
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	return bridges.Result{Outcome: bridges.Delivered, Status: 200}
}

// Timeout implements bridges.Channel.
func (*Stuck) Timeout() time.Duration { return 20 * time.Second }

// Edits implements bridges.Channel.
func (*Stuck) Edits() bool { return false }

// CheckTarget implements bridges.Channel.
func (*Stuck) CheckTarget(bridges.Target) error { return nil }

// Own implements bridges.Channel.
func (*Stuck) Own(t bridges.Target) bool { return t == bridges.Target{} }

// Began returns the ids of the deliveries of all calls of Send so far, in order.
func (s *Stuck) Began() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.began...)
}

// Active returns how many calls of Send have not returned.
func (s *Stuck) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// Release lets all calls of Send return that have begun; later ones are stuck again.
func (s *Stuck) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
}
