package notify

import (
	"sync"
	"sync/atomic"
	"time"
)

// ChunkBytes is the most that a cursor returns at once: the unit in which a stream
// writes and renews its deadline, and what it holds while its client does not read.
const ChunkBytes = 64 << 10

// SmallChunkBytes is the chunk of a cursor that needs no more, or finds the budget
// used up: about twenty usual events. Making their frames costs about as much as the
// query.
const SmallChunkBytes = 8 << 10

// A reader is trusted with the second half of the budget once it has taken
// trustedBytes, which is more than sockets buffer, and no chunk took it stalledFor.
// So clients that do not read leave half of the budget to those that do.
const (
	trustedBytes = 1 << 20
	stalledFor   = time.Second
)

// aheadBytes is what a trusted reader reads ahead of a log without a filter while the
// budget allows it: queries of several chunks give way to other work less often.
const aheadBytes = 8 * ChunkBytes

// Budget bounds the memory of the chunks that cursors have returned and their readers
// have not written yet. No cursor waits for it: when it is used up, chunks are small.
// It has no bound for small ones, of which each cursor holds at most one. Its methods
// may be called from many goroutines.
type Budget struct {
	max   int64
	large atomic.Int64 // bytes in large chunks
	used  atomic.Int64 // bytes in all chunks
}

// NewBudget makes a budget of max bytes (0 = 32 MiB).
func NewBudget(max int) *Budget {
	if max <= 0 {
		max = 32 << 20
	}
	return &Budget{max: int64(max)}
}

// Used returns how many bytes cursors hold now, for metrics.
func (b *Budget) Used() int64 { return b.used.Load() }

// Buffers of both sizes go from stream to stream: a stream that waits for events has
// none.
var (
	largeChunks = sync.Pool{New: func() any { return new([ChunkBytes]byte) }}
	smallChunks = sync.Pool{New: func() any { return new([SmallChunkBytes]byte) }}
)

// take returns an empty buffer for so many bytes, or for less. give must return it.
func (b *Budget) take(want int, trusted bool) []byte {
	if want > SmallChunkBytes && b.takeLarge(trusted) {
		b.used.Add(ChunkBytes)
		return largeChunks.Get().(*[ChunkBytes]byte)[:0]
	}
	b.used.Add(SmallChunkBytes)
	return smallChunks.Get().(*[SmallChunkBytes]byte)[:0]
}

func (b *Budget) takeLarge(trusted bool) bool {
	limit := b.max
	if !trusted {
		limit /= 2
	}
	if b.large.Add(ChunkBytes) <= limit {
		return true
	}
	b.large.Add(-ChunkBytes)
	return false
}

// reserve takes aheadBytes for a trusted reader, while a quarter of the budget is left for
// chunks. free must return them.
func (b *Budget) reserve() bool {
	if b.large.Add(aheadBytes) <= b.max/4*3 {
		b.used.Add(aheadBytes)
		return true
	}
	b.large.Add(-aheadBytes)
	return false
}

func (b *Budget) free() {
	b.large.Add(-aheadBytes)
	b.used.Add(-aheadBytes)
}

// give takes a buffer of take back.
func (b *Budget) give(buf []byte) {
	b.used.Add(-int64(cap(buf)))
	if cap(buf) == ChunkBytes {
		b.large.Add(-ChunkBytes)
		largeChunks.Put((*[ChunkBytes]byte)(buf[:ChunkBytes]))
		return
	}
	smallChunks.Put((*[SmallChunkBytes]byte)(buf[:SmallChunkBytes]))
}
