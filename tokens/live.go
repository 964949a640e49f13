package tokens

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// Prefix is how the text of every token begins, so that one that is not live any more
// is refused everywhere, instead of being ignored.
const Prefix = "holon_token_"

// Find returns the live token that has this text, and a context that ends when the
// token does. mine says that the text looks like that of a token; ok, that it is one
// and live. It keeps and writes no text.
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

// lookAgain bounds how late an expiry is noticed when the machine slept meanwhile: a
// timer stands still then.
const lookAgain = 10 * time.Second

// Run ends tokens that expire, with what they have open, until ctx is done. Requests
// of an expired token are refused in any case.
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

// expire ends what has expired. It returns how long it is until the next expiry; any
// is false if no live token has one.
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
