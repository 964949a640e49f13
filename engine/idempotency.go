package engine

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// answerer is a result that an idempotency key can give again.
type answerer[R any] interface {
	*R
	SetSeq(int64)
}

// keyed decides one command of a thread and commits it: f adds its events to
// the builder and says what to answer. With a key that has been used, f is
// not asked and the first answer is given again; two that race are told apart
// by the appending transaction.
func keyed[R any, P answerer[R]](a *actor, key *ledger.Key, f func(b *builder) (R, error)) (result R, replayed bool, err error) {
	if key != nil {
		if r, ok, err := replay[R, P](a.e.store, key); ok || err != nil {
			return r, true, err
		}
	}
	b := a.build()
	r, err := f(b)
	if err != nil {
		return r, false, err
	}
	b.change.flushDelta() // or a text alone would look like nothing
	if b.change.empty() && key == nil {
		if b.open != nil { // text beyond an item's bound makes no event, and yet counts
			a.active.open = *b.open
		}
		P(&r).SetSeq(a.thread.LatestSeq)
		return r, false, nil
	}
	if err := b.change.setKey(key, r); err != nil {
		return r, false, err
	}
	rc, err := a.commit(b)
	if err != nil {
		return r, false, err
	}
	if rc.Stored != nil {
		r, err = again[R, P](rc.Stored, key)
		return r, true, err
	}
	P(&r).SetSeq(rc.Last)
	return r, false, nil
}

func (c *change) setKey(key *ledger.Key, result any) error {
	if key == nil {
		return nil
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode result of %s: %w", key.Method, err)
	}
	c.unit.Key, c.unit.Result = key, raw
	return nil
}

// replay looks a key up; ok is false if it has not been used.
func replay[R any, P answerer[R]](store turns.Store, key *ledger.Key) (r R, ok bool, err error) {
	stored, err := store.Stored(context.Background(), key.Key)
	if err != nil || stored == nil {
		return r, false, err
	}
	r, err = again[R, P](stored, key)
	return r, true, err
}

// again gives the first answer, if it was to the same question.
func again[R any, P answerer[R]](stored *ledger.Stored, key *ledger.Key) (r R, err error) {
	if stored.Key.Method != key.Method || stored.Key.Hash != key.Hash {
		return r, turns.ErrKeyConflict
	}
	if err := json.Unmarshal(stored.Result, &r); err != nil {
		return r, fmt.Errorf("decode result of %s: %w", key.Method, err)
	}
	P(&r).SetSeq(stored.Seq)
	return r, nil
}
