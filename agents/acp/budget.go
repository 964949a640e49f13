package acp

import "sync"

// overhead is roughly the memory of a message besides its bytes.
const overhead = 256

// budget bounds the bytes that wait. One goroutine calls take, many call give.
type budget struct {
	mu    sync.Mutex
	max   int
	used  int
	peak  int
	freed chan struct{} // capacity 1
}

func newBudget(max int) *budget { return &budget{max: max, freed: make(chan struct{}, 1)} }

// take waits until n fits. More than the whole budget fits if nothing else is
// taken.
func (b *budget) take(n int) {
	for {
		b.mu.Lock()
		if b.used == 0 || b.used+n <= b.max {
			b.used += n
			b.peak = max(b.peak, b.used)
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		<-b.freed
	}
}

func (b *budget) give(n int) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	b.wake()
}

// waiting returns how much is taken.
func (b *budget) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// lift removes the bound: the remaining output of a dead process is bounded by
// its pipe.
func (b *budget) lift() {
	b.mu.Lock()
	b.max = int(^uint(0) >> 1)
	b.mu.Unlock()
	b.wake()
}

func (b *budget) wake() {
	select {
	case b.freed <- struct{}{}:
	default:
	}
}
