package notify

import "sync"

// minPageBytes is the page of a cursor when the budget is used up: about twenty
// usual events. Making them costs about as much as the query.
const minPageBytes = 8 << 10

// SmallestPage is the most, in bytes, that a cursor holds of usual events when the
// budget is used up: the page, what its decoded events take, and its frames.
const SmallestPage = 3 * minPageBytes

// eventBytes is the most that a usual event takes. A page of n bytes asks for
// n/eventBytes events.
const eventBytes = 512

// Budget bounds the memory of all pages of the log that cursors hold and their
// readers have not taken yet. No cursor waits for it: the more of it is used,
// the smaller pages become, down to 8 KiB or to one larger event: Excess says
// by how much such events exceed it. Its methods may be called from many
// goroutines.
type Budget struct {
	mu        sync.Mutex
	max, used int64
	holders   int64 // cursors that hold a page
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

// Excess is how many bytes cursors hold above the budget and above the smallest
// page of each: pages of large events. It is 0 if they hold no such pages.
func (b *Budget) Excess() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.used-b.max-b.holders*SmallestPage)
}

// take reserves a page and returns its size: an eighth of what is left, so
// that many cursors can share the budget.
func (b *Budget) take() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := max(minPageBytes, min(pageBytes, (b.max-b.used)/8))
	b.used += n
	b.holders++
	return n
}

// change says that a cursor that held so many bytes holds others now.
func (b *Budget) change(before, now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += now - before
	switch {
	case before == 0 && now != 0:
		b.holders++
	case before != 0 && now == 0:
		b.holders--
	}
}
