package notify

import "sync"

// minPageBytes is the page of a cursor when the budget is used up: some twenty
// of the usual events, which a query costs little more than to make.
const minPageBytes = 8 << 10

// eventBytes is what one of the usual events takes at most: so many of them
// make a page of a size.
const eventBytes = 512

// Budget bounds what cursors hold together of pages of the log that their
// readers have not taken yet. No cursor waits for it: as it is used up their
// pages become smaller, down to 8 KiB, or one event where that is larger.
// Its methods may be called from many goroutines.
type Budget struct {
	mu        sync.Mutex
	max, used int64
}

// NewBudget makes a budget of so many bytes (0 = 32 MiB).
func NewBudget(max int) *Budget {
	if max <= 0 {
		max = 32 << 20
	}
	return &Budget{max: int64(max)}
}

// Used is what cursors hold now, for metrics. It may be above the budget by
// the smallest pages.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// take reserves a page and returns its size: an eighth of what is left, so
// that many cursors share it.
func (b *Budget) take() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := max(minPageBytes, min(pageBytes, (b.max-b.used)/8))
	b.used += n
	return n
}

// add changes what is used by n, which may be negative.
func (b *Budget) add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
}
