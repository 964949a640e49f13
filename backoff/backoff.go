// Package backoff says how long to wait before something is tried again. It
// owns no clock and waits for nothing itself.
package backoff

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// Backoff is a series of waits that double. It is a value; any goroutine may
// use it.
type Backoff struct {
	// First is the wait before the first retry, Max the most that doubling
	// makes of it.
	First, Max time.Duration
	// Spread is the share of a wait by which it may be shorter or longer, from
	// 0 to 1, so that many who failed together do not come back together.
	Spread float64
}

// Wait returns the wait before a retry, counted from 1, with a random share
// of the spread.
func (b Backoff) Wait(retry int) time.Duration { return b.wait(retry, rand.Float64()) }

// WaitOf is Wait with the share that key determines: whoever asks again, also
// after a restart, gets the same wait.
func (b Backoff) WaitOf(key string, retry int) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never an error
	return b.wait(retry, float64(h.Sum32())/math.MaxUint32)
}

// wait applies a share from 0 (the shortest) to 1 (the longest).
func (b Backoff) wait(retry int, share float64) time.Duration {
	wait := min(float64(b.First)*math.Pow(2, float64(retry-1)), float64(b.Max))
	return time.Duration(wait * (1 + b.Spread*(2*share-1)))
}
