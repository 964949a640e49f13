package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sync"

	"github.com/seed82539d15/holon/turns"
)

// leaseSecret is the key that signs leases, read once. It is safe for use by many
// goroutines.
type leaseSecret struct {
	rows turns.Rows

	mu  sync.Mutex
	key []byte
}

// token returns the signature of a lease of a prompt. It proves that this log has given the
// lease, so that nothing about it needs to be stored.
func (s *leaseSecret) token(ctx context.Context, l turns.Lease) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == nil {
		key, err := s.rows.LeaseSecret(ctx)
		if err != nil {
			return "", fmt.Errorf("read what leases are signed with: %w", err)
		}
		s.key = key
	}
	mac := hmac.New(sha256.New, s.key)
	_, _ = fmt.Fprintf(mac, "%s\x00%d", l.TurnID, l.Attempt) // never an error
	if l.Prompt > 0 {
		_, _ = fmt.Fprintf(mac, "\x00%d", l.Prompt)
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}

// check returns ErrLease unless this log has given the lease.
func (s *leaseSecret) check(ctx context.Context, l turns.Lease) error {
	want, err := s.token(ctx, l)
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(want), []byte(l.Token)) {
		return turns.ErrLease
	}
	return nil
}

// mustHold returns nil if the lease, whose token is valid, is of the running prompt,
// ErrLease if another prompt of the attempt runs, ErrNotActive if the attempt has ended,
// and a *lateError if the attempt was superseded.
func (r *rules) mustHold(s *state, l turns.Lease) error {
	if act := s.active; act != nil && act.turn.TurnID == l.TurnID && act.turn.Attempt == l.Attempt {
		// The agent's kind is no longer worker, or the prompt of the lease has ended.
		if act.claimedWorker() == nil || act.turn.Prompts != l.Prompt {
			return turns.ErrLease
		}
		return nil
	}
	t, err := r.turnRow(s, l.TurnID)
	switch {
	case err != nil:
		return err
	case t == nil:
		return turns.ErrNotFound
	case t.Attempt == l.Attempt:
		return turns.ErrNotActive
	case t.Attempt < l.Attempt:
		return turns.ErrLease
	}
	return &lateError{live: turns.SupersededError{TurnID: l.TurnID, Attempt: t.Attempt, Epoch: t.Attempt}}
}

// turnRow returns the row of a turn of the thread, from its state or the log.
func (r *rules) turnRow(s *state, turnID string) (*turns.Turn, error) {
	if s.isActive(turnID) {
		return s.active.turn, nil
	}
	if q := s.queued(turnID); q != nil {
		return q.turn, nil
	}
	return r.log.Turn(context.Background(), turnID)
}
