package rpc

import (
	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
)

// Subscribe replaces the subscription. If the old one is near the start of the
// new one, its events up to there are written first. Then the answer is
// written, then the new subscription begins.
func (s *session) Subscribe(at *api.StreamStart) {
	c := newCursor(s.server, s.out, at)
	s.out.mu.Lock()
	s.out.advance(s.ctx, at.After)
	s.out.drop()
	s.out.nextCursor = c
	s.out.mu.Unlock()
	s.current.answer.then = func() {
		if s.out.nextCursor != c {
			return // a later request has replaced or ended it
		}
		s.out.cursor, s.out.nextCursor = c, nil
		s.out.moved()
	}
}

// Unsubscribe ends the subscription and returns the seq it reached. If the
// answer of the subscription is not written yet, that is where it was to begin.
func (s *session) Unsubscribe() int64 {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if c := s.out.nextCursor; c != nil {
		s.out.nextCursor = nil
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
	if len(s.out.followers)+s.out.nextFollowers >= s.server.limits.MaxLogStreams {
		return api.Errorf(api.KindOverloaded, "a connection follows at most %d logs", s.server.limits.MaxLogStreams)
	}
	s.out.nextFollowers++
	s.current.answer.then = func() {
		s.out.nextFollowers--
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

// newCursor makes the cursor of a subscription that ResolveStart has checked.
func newCursor(s *Server, o *outlet, at *api.StreamStart) *notify.Cursor {
	c := notify.NewCursor(s.cfg.Tail, s.api.Reader, at.Filter, at.After)
	c.Share(s.chunks)
	if o.format == sse {
		c.Wrap(o.appendID, "\n")
	}
	if at.Collapse {
		c.Collapse()
	}
	if at.Summary {
		c.Summarize(at.Whole...)
	}
	return c
}
