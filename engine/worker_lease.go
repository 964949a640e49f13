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

// leaseSecret is what leases are signed with, read once. It is safe for use by
// many goroutines.
type leaseSecret struct {
	store turns.Store

	mu  sync.Mutex
	key []byte
}

// token is what makes a lease of the attempt: no more than proof that this log
// has given it, so that nothing about it is stored.
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

// check says whether this log has given the lease.
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

// leased is one command of a worker.
type leased[R any] struct {
	lease turns.Lease
	key   *ledger.Key
	// do decides, as in keyed; the lease is good and its attempt stands.
	do func(a *actor, b *builder) (R, error)
	// then follows the commit, or the answer by the key; nil = nothing.
	then func(a *actor, r *R, replayed bool)
	// written is what a turn/late is to keep of the command if its attempt has
	// been given up; nil = nothing.
	written func(b *builder) ([]lateEvent, error)
}

// lateEvent is what a worker wanted to write in a try that was taken back.
type lateEvent struct {
	step   string
	epoch  int
	method string
	params any
}

// lateError says that a try has been taken back, and what it still wrote.
type lateError struct {
	stands  turns.SupersededError
	written []lateEvent
}

func (e *lateError) Error() string { return e.stands.Error() }

// byLease runs a worker's command in the actor of its turn. What is of a try
// that was taken back is kept as turn/late and refused.
func byLease[R any, P answerer[R]](ctx context.Context, e *Engine, c leased[R]) (R, error) {
	var none R
	if err := e.secret.check(ctx, c.lease); err != nil {
		return none, err
	}
	threadID, err := e.threadOf(ctx, c.lease.TurnID)
	if err != nil {
		return none, err
	}
	return call(ctx, e, threadID, func(a *actor) (R, error) {
		r, replayed, err := keyed[R, P](a, c.key, func(b *builder) (R, error) {
			if err := a.holds(c.lease); err != nil {
				return none, err
			}
			return c.do(a, b)
		})
		var late *lateError
		switch {
		case errors.As(err, &late):
			return none, a.refuseLate(c.lease, late, c.written)
		case err == nil && c.then != nil:
			c.then(a, &r, replayed)
		}
		return r, err
	})
}

// holds says whether the lease, whose token is good, is of the attempt that
// runs: nil, ErrNotActive if that attempt has ended, a *lateError if it has
// been given up.
func (a *actor) holds(l turns.Lease) error {
	switch { // the turn is there, and we are not
	case a.gone:
		return turns.ErrDraining
	case a.dead != nil:
		return a.dead
	}
	if act := a.active; act != nil && act.turn.TurnID == l.TurnID && act.turn.Attempt == l.Attempt {
		if act.worker == nil || act.worker.unclaimed() { // its agent is not one of workers any more
			return turns.ErrLease
		}
		return nil
	}
	t, err := a.turnRow(l.TurnID)
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
	return &lateError{stands: turns.SupersededError{TurnID: l.TurnID, Attempt: t.Attempt, Epoch: t.Attempt}}
}

// turnRow is the row of a turn of the thread, in memory or in the log.
func (a *actor) turnRow(turnID string) (*turns.Turn, error) {
	if a.active != nil && a.active.turn.TurnID == turnID {
		return a.active.turn, nil
	}
	for _, t := range a.queue {
		if t.TurnID == turnID {
			return t, nil
		}
	}
	return a.e.store.Turn(context.Background(), turnID)
}
