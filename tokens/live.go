package tokens

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// Prefix begins the text of every named and console token, so that one that has ended is
// recognised and refused instead of ignored.
const Prefix = "holon_token_"

// Find returns the live token that has this text, and a context that ends when the
// token does. mine says that the text looks like that of a token; ok, that the token is live.
// It neither keeps nor logs the text.
func (s *Service) Find(text string) (t Token, alive context.Context, mine, ok bool) {
	if !strings.Contains(text, Prefix) {
		return t, nil, false, false
	}
	hash := sha256.Sum256([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.live[hash]
	if h == nil {
		return t, nil, true, false
	}
	if s.expired(h.row) {
		s.finish(h, Expired)
		return t, nil, true, false
	}
	h.used = notify.TimeOf(s.cfg.Now())
	t = h.row.Token
	t.State, t.LastUsedAt = Live, h.used
	return t, h.alive, true, true
}

// lookAgain bounds how late an expiry is noticed after the machine slept, because timers stop
// then.
const lookAgain = 10 * time.Second

// Run ends tokens that expire, and so their open streams, until ctx is done. Requests with an
// expired token are refused without it too.
func (s *Service) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
		}
		if wait, any := s.expire(); any {
			timer.Reset(min(max(wait, time.Millisecond), lookAgain))
		}
	}
}

// expire ends the tokens that have expired. It returns the time until the next expiry; any is
// false if no live token has one.
func (s *Service) expire() (wait time.Duration, any bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	for _, h := range s.live {
		if h.row.ExpiresAt.IsZero() {
			continue
		}
		if s.expired(h.row) {
			s.finish(h, Expired)
			continue
		}
		if left := h.row.ExpiresAt.Sub(now); !any || left < wait {
			wait, any = left, true
		}
	}
	return wait, any
}
