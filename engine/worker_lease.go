package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// leaseSecret is the key that signs leases, read once. It is safe for use by many
// goroutines.
type leaseSecret struct {
	store turns.Store

	mu  sync.Mutex
	key []byte
}

// token is the signature of a lease of the attempt. It proves only that this log
// has given the lease, so that nothing about it is stored.
func (s *leaseSecret) token(ctx context.Context, turnID string, attempt int) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == nil {
		key, err := s.store.LeaseSecret(ctx)
		if err != nil {
			return "", fmt.Errorf("read what leases are signed with: %w", err)
		}
		s.key = key
	}
	mac := hmac.New(sha256.New, s.key)
	_, _ = fmt.Fprintf(mac, "%s\x00%d", turnID, attempt) // never an error
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}

// check returns ErrLease unless this log has given the lease.
func (s *leaseSecret) check(ctx context.Context, l turns.Lease) error {
	want, err := s.token(ctx, l.TurnID, l.Attempt)
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(want), []byte(l.Token)) {
		return turns.ErrLease
	}
	return nil
}

// leaseCommand is one command of a worker.
type leaseCommand[R any] struct {
	lease turns.Lease
	key   *ledger.Key
	// decide is f of keyed. The lease is valid and its attempt is live.
	decide func(d *decision) (R, error)
	// renews says that the command shows that the worker is there, also while
	// nothing can be stored.
	renews bool
	// afterCommit follows the commit, or the answer by the key; nil = nothing.
	afterCommit func(a *actor, r *R, replayed bool)
	// lateEvents is what turn/late keeps of the command if its attempt was
	// superseded; nil = nothing.
	lateEvents func(d *decision) ([]lateEvent, error)
}

// withLease runs a worker's command in the actor of its turn. Writes to a
// superseded try are kept as turn/late and refused.
func withLease[R any, P ledger.Result[R]](ctx context.Context, e *Engine, c leaseCommand[R]) (R, error) {
	var none R
	if err := e.secret.check(ctx, c.lease); err != nil {
		return none, err
	}
	threadID, err := e.threadOf(ctx, c.lease.TurnID)
	if err != nil {
		return none, err
	}
	return inActor(ctx, e, threadID, func(a *actor) (R, error) {
		if c.renews && e.rules.mustHold(a.state, c.lease) == nil {
			a.state.active.claimedWorker().renew()
		}
		if err := a.mayDecide(); err != nil {
			return none, err
		}
		r, replayed, err := keyed[R, P](a, c.key, func(d *decision) (R, error) {
			if err := a.e.rules.mustHold(d.next(), c.lease); err != nil {
				return none, err
			}
			return c.decide(d)
		})
		var late *lateError
		switch {
		case errors.As(err, &late):
			return none, refuseLate(a, c.lease, late, c.lateEvents)
		case err == nil && c.afterCommit != nil:
			c.afterCommit(a, &r, replayed)
		}
		return r, err
	})
}

// mustHold returns nil if the lease, whose token is valid, is of the attempt that
// runs, ErrNotActive if that attempt has ended, and a *lateError if it was
// superseded.
func (r *rules) mustHold(s *state, l turns.Lease) error {
	if act := s.active; act != nil && act.turn.TurnID == l.TurnID && act.turn.Attempt == l.Attempt {
		if act.claimedWorker() == nil { // its agent is no longer one of workers
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

// turnRow is the row of a turn of the thread, from its state or the log.
func (r *rules) turnRow(s *state, turnID string) (*turns.Turn, error) {
	if s.isActive(turnID) {
		return s.active.turn, nil
	}
	if q := s.queued(turnID); q != nil {
		return q.turn, nil
	}
	return r.log.Turn(context.Background(), turnID)
}
