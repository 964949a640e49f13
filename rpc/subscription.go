package rpc

import "github.com/seed82539d15/holon/notify"

// replace is the writer's side of stream/subscribe: what the old subscription
// has to say up to where the new one begins is written if it is near, then
// the answer, then the new subscription begins.
func (s *session) replace(c *notify.Cursor, after int64) {
	s.out.mu.Lock()
	s.out.advance(s.ctx, after)
	s.out.cursor, s.out.coming = nil, c
	s.out.moved()
	s.out.mu.Unlock()
	s.current.answer.then = func() {
		if s.out.coming != c {
			return // a later request has replaced or ended it
		}
		s.out.cursor, s.out.coming = c, nil
		s.out.moved()
	}
}

// unsubscribe ends the subscription and returns the seq it reached: where it
// was to begin, if its answer has not been written.
func (s *session) unsubscribe() int64 {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if c := s.out.coming; c != nil {
		s.out.coming = nil
		return c.After()
	}
	s.out.advance(s.ctx, s.server.cfg.Tail.Head())
	s.out.cursor = nil
	s.out.moved()
	return s.out.at.Load()
}

// follow begins a holon/logStream once its answer is written.
func (s *session) follow(streamID string, position int64) error {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if len(s.out.followers)+s.out.following >= s.server.limits.MaxLogStreams {
		return Errorf(KindOverloaded, "a connection follows at most %d logs", s.server.limits.MaxLogStreams)
	}
	s.out.following++
	s.current.answer.then = func() {
		s.out.following--
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
