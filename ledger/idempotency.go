package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/notify"
)

// ErrKeyConflict says that an idempotency key was used for something else.
var ErrKeyConflict = errors.New("the idempotency key was used for something else")

// Log is where units are committed. It is safe for use by many goroutines.
type Log interface {
	// Append commits the unit, together with others that wait, and returns
	// when it is durable. It takes no context on purpose: a client that hangs
	// up does not decide whether a commit happens.
	Append(u *Unit) (Receipt, error)
	// Stored looks an idempotency key up; nil if it has not been used.
	Stored(ctx context.Context, key string) (*Stored, error)
}

// Result is what a command answers, by which it knows the seq of its commit. It
// must survive a round trip through JSON. If it has ids of its own unit, it also
// has a method AssignSeqs(first int64), which makes the real ones.
type Result[R any] interface {
	*R
	SetSeq(int64)
}

// Keyed carries a command out once for each idempotency key. decide makes its
// unit and its result, and commit hands the unit in; a key that has been used
// answers its first result instead, and replayed is true. Of two commands that
// race for one key the transaction tells which was first. key may be nil.
// Errors: those of decide and commit, which leave the key unused,
// ErrKeyConflict, and those of reading the key.
func Keyed[R any, P Result[R]](log Log, key *Key, decide func() (*Unit, R, error), commit func(*Unit) (Receipt, error)) (r R, replayed bool, err error) {
	if r, replayed, err = Replay[R, P](log, key); replayed || err != nil {
		return r, replayed, err
	}
	u, r, err := decide()
	if err != nil {
		return r, false, err
	}
	if key != nil {
		u.Caller = key.Caller
	}
	if key.Given() {
		if u.Result, u.Holes, err = notify.Marshal(&r); err != nil {
			return r, false, fmt.Errorf("encode the result of %s: %w", key.Method, err)
		}
		u.Key = key
	}
	rc, err := commit(u)
	if err != nil {
		return r, false, err
	}
	if rc.Stored != nil {
		r, err = again[R, P](rc.Stored, key)
		return r, true, err
	}
	P(&r).SetSeq(rc.Last)
	if s, ok := any(&r).(assigner); ok {
		s.AssignSeqs(rc.First)
	}
	return r, false, nil
}

// assigner is a Result with ids of its own unit. AssignSeqs makes the real ids; first
// is the seq of the unit's first draft.
type assigner interface{ AssignSeqs(first int64) }

// Replay returns the result that the key has given before; ok is false if it
// has not been used, or is nil.
func Replay[R any, P Result[R]](log Log, key *Key) (r R, ok bool, err error) {
	if !key.Given() {
		return r, false, nil
	}
	stored, err := log.Stored(context.Background(), key.Key)
	if err != nil || stored == nil {
		return r, false, err
	}
	r, err = again[R, P](stored, key)
	return r, true, err
}

// again gives the first result, if it was to the same question.
func again[R any, P Result[R]](stored *Stored, key *Key) (r R, err error) {
	if stored.Key.Method != key.Method || stored.Key.Hash != key.Hash {
		return r, ErrKeyConflict
	}
	if err := json.Unmarshal(stored.Result, &r); err != nil {
		return r, fmt.Errorf("decode the result of %s: %w", key.Method, err)
	}
	P(&r).SetSeq(stored.Seq)
	return r, nil
}

// Once runs a change that writes no events, and keeps its result under the
// key. It must be a change that may run twice: a crash before its result is
// kept lets the next request with the key run it again, and of requests that
// run at once all get the result that was kept first. Errors: as Keyed.
func Once[R any, P Result[R]](log Log, key *Key, run func() (R, error)) (R, error) {
	r, _, err := Keyed[R, P](log, key, func() (*Unit, R, error) {
		r, err := run()
		return &Unit{}, r, err
	}, log.Append)
	return r, err
}
