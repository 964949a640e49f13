package rpc

import (
	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
)

// Subscribe is the writer's side of stream/subscribe: what the old subscription
// has to say up to where the new one begins is written if it is near, then
// the answer, then the new subscription begins.
func (s *session) Subscribe(at *api.StreamStart) {
	c := s.server.cursor(at)
	s.out.mu.Lock()
	s.out.advance(s.ctx, at.After)
	s.out.drop()
	s.out.coming = c
	s.out.mu.Unlock()
	s.current.answer.then = func() {
		if s.out.coming != c {
			return // a later request has replaced or ended it
		}
		s.out.cursor, s.out.coming = c, nil
		s.out.moved()
	}
}

// Unsubscribe ends the subscription and returns the seq it reached: where it
// was to begin, if its answer has not been written.
func (s *session) Unsubscribe() int64 {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if c := s.out.coming; c != nil {
		s.out.coming = nil
		return c.After()
	}
	s.out.advance(s.ctx, s.server.cfg.Tail.Head())
	s.out.drop()
	return s.out.at.Load()
}

// Follow begins a holon/logStream once its answer is written.
func (s *session) Follow(streamID string, position int64) error {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if len(s.out.followers)+s.out.following >= s.server.limits.MaxLogStreams {
		return api.Errorf(api.KindOverloaded, "a connection follows at most %d logs", s.server.limits.MaxLogStreams)
	}
	s.out.following++
	s.current.answer.then = func() {
		s.out.following--
		s.out.followers = append(s.out.followers, follower{streamID, position})
	}
	return nil
}

// Unfollow ends a holon/logStream and reports whether there was one.
func (s *session) Unfollow(streamID string) bool {
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

// cursor makes the cursor of a subscription that place has checked.
func (s *Server) cursor(at *api.StreamStart) *notify.Cursor {
	c := notify.NewCursor(s.cfg.Tail, s.api.Reader, at.Filter, at.After)
	c.Share(s.pages)
	if at.Collapse {
		c.Collapse()
	}
	return c
}
