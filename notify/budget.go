package notify

import "sync"

// minPageBytes is the page of a cursor when the budget is used up: about twenty
// usual events. Making them costs about as much as the query.
const minPageBytes = 8 << 10

// eventBytes is the most that a usual event takes. A page of n bytes asks for
// n/eventBytes events.
const eventBytes = 512

// Budget bounds the memory of all pages of the log that cursors hold and their
// readers have not taken yet. No cursor waits for it: the more of it is used,
// the smaller pages become, down to 8 KiB or to one larger event. Its methods
// may be called from many goroutines.
type Budget struct {
	mu        sync.Mutex
	max, used int64
}

// NewBudget makes a budget of max bytes (0 = 32 MiB).
func NewBudget(max int) *Budget {
	if max <= 0 {
		max = 32 << 20
	}
	return &Budget{max: int64(max)}
}

// Used is how many bytes cursors hold now, for metrics. Pages of the smallest
// size are granted also above the budget, so it may be exceeded by them.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// take reserves a page and returns its size: an eighth of what is left, so
// that many cursors can share the budget.
func (b *Budget) take() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := max(minPageBytes, min(pageBytes, (b.max-b.used)/8))
	b.used += n
	return n
}

// add adds n to the used bytes; n may be negative.
func (b *Budget) add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
}
