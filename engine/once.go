package engine

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// Once runs a change that writes no events, and keeps its result under the key
// once it is done; with a key that has been used, nothing runs and the first
// result comes again. Key may be nil. The change has to be one that may run
// twice: a crash before its result is kept lets the next request with the key
// run it again, and of requests that run at once all get the result that was
// kept first. Errors: run's, ErrKeyConflict, and those of turns.Store.Append.
func Once[R any, P answerer[R]](store turns.Store, key *ledger.Key, run func() (R, error)) (R, error) {
	if key != nil {
		if r, ok, err := replay[R, P](store, key); ok || err != nil {
			return r, err
		}
	}
	r, err := run()
	if err != nil {
		return r, err
	}
	c := &change{}
	if err := c.setKey(key, r); err != nil {
		return r, err
	}
	rc, err := store.Append(&c.unit)
	if err != nil {
		return r, err
	}
	if rc.Stored != nil {
		return again[R, P](rc.Stored, key)
	}
	P(&r).SetSeq(rc.Last)
	return r, nil
}
