package rpc

import "sync"

// streamSet holds every open stream, for Close, holon/status and the lag.
type streamSet struct {
	mu     sync.Mutex
	open   map[*outlet]struct{}
	shut   bool
	empty  chan struct{} // closed once shut and empty
	closed bool
}

func (s *streamSet) init() {
	s.open = make(map[*outlet]struct{})
	s.empty = make(chan struct{})
}

// add adds a stream. It reports false once the server closes.
func (s *streamSet) add(o *outlet) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	s.open[o] = struct{}{}
	return true
}

func (s *streamSet) remove(o *outlet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, o)
	s.closeIfEmpty()
}

func (s *streamSet) closeIfEmpty() {
	if s.shut && len(s.open) == 0 && !s.closed {
		s.closed = true
		close(s.empty)
	}
}

// shutDown admits no further stream. It returns a channel that is closed when
// all have ended.
func (s *streamSet) shutDown() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	s.closeIfEmpty()
	return s.empty
}

// each calls f with every open stream. A stream is not removed before f
// returns, so its connection is not reused either.
func (s *streamSet) each(f func(*outlet)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.open {
		f(o)
	}
}

func (s *streamSet) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// lag returns how many events the slowest subscribed stream is behind the head.
func (s *streamSet) lag(head int64) (most int64) {
	s.each(func(o *outlet) {
		if o.subscribed.Load() {
			most = max(most, head-o.at.Load())
		}
	})
	return most
}
