// Package backoff computes how long to wait before a retry. It has no clock and
// does not wait itself.
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
	// First is the wait before the first retry, Max the bound of doubling.
	First, Max time.Duration
	// Spread is the share of a wait by which it may be shorter or longer, from 0
	// to 1, so that clients that failed together do not retry together.
	Spread float64
}

// Wait returns the wait before a retry, counted from 1, with a random share
// of the spread.
func (b Backoff) Wait(retry int) time.Duration { return b.wait(retry, rand.Float64()) }

// WaitOf works like Wait, with a share that key determines: the result is always the same,
// also after a restart.
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
