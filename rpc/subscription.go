package rpc

import "github.com/seed82539d15/holon/notify"

// replace is the writer's side of stream/subscribe: what the old subscription
// has to say up to where the new one begins is written if it is near, then
// the answer, then the new subscription begins.
func (s *session) replace(c *notify.Cursor, after int64) {
	s.out.mu.Lock()
	s.out.advance(s.ctx, after)
	s.out.cursor = nil
	s.out.moved()
	s.out.mu.Unlock()
	s.current.answer.then = func() {
		s.out.cursor = c
		s.out.moved()
	}
}

// unsubscribe ends the subscription and returns the seq it reached.
func (s *session) unsubscribe() int64 {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.advance(s.ctx, s.server.cfg.Tail.Head())
	s.out.cursor = nil
	s.out.moved()
	return s.out.at.Load()
}

// follow begins a holon/logStream once its answer is written.
func (s *session) follow(streamID string, position int64) error {
	s.out.mu.Lock()
	n := len(s.out.followers)
	s.out.mu.Unlock()
	if n >= s.server.limits.MaxLogStreams {
		return Errorf(KindOverloaded, "a connection follows at most %d logs", s.server.limits.MaxLogStreams)
	}
	s.current.answer.then = func() {
		s.out.followers = append(s.out.followers, follower{streamID, position})
	}
	return nil
}

// unfollow ends a holon/logStream and reports whether there was one.
func (s *session) unfollow(streamID string) bool {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	for i, f := range s.out.followers {
		if f.streamID == streamID {
			s.out.followers = append(s.out.followers[:i], s.out.followers[i+1:]...)
			return true
		}
	}
	return false
}
