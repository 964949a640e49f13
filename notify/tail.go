package notify

import (
	"math"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/seed82539d15/holon/internal/limits"
)

// Tail keeps the newest frames of the log in memory, once for all streams. It
// is bounded in bytes: the oldest batches are dropped first, and a cursor that
// needs them reads the log instead. A frame is encoded once, when published.
//
// One goroutine publishes (the appender, after its commit); any number read.
type Tail struct {
	maxBytes int
	spans    map[int64]*heldSpan // by seq; only the publisher uses it

	pinned atomic.Int64 // bytes of batches that have left the tail and have pins

	mu      sync.RWMutex
	batches []*batch
	bytes   int
	head    int64
	wake    chan struct{} // closed and replaced at each publish
}

// heldSpan is a try that has frames in the tail. They share it, so that one
// store supersedes all of them.
type heldSpan struct {
	seq   int64        // of its first event
	last  int64        // of its newest event; only the publisher uses it
	after atomic.Int64 // frames above it are superseded; notHidden: none are
}

const notHidden = math.MaxInt64

// frameCost is the memory that a frame takes besides its bytes: its end and its
// meta (two string headers and a pointer). spanCost is the memory of a try with
// its entry in the map.
const (
	frameCost = 44
	spanCost  = 96
)

// NewTail makes an empty tail of at most maxBytes (0 = limits.TailBytes); head
// is the newest seq of the log.
func NewTail(maxBytes int, head int64) *Tail {
	return &Tail{maxBytes: limits.TailBytes.Or(maxBytes), spans: make(map[int64]*heldSpan), head: head, wake: make(chan struct{})}
}

// Publish makes committed events visible to all cursors and wakes them. The
// events must follow the head without a gap, and be durable (I1).
func (t *Tail) Publish(events []Event) {
	if len(events) == 0 {
		return
	}
	size := 0
	for i := range events {
		size += events[i].FrameSize()
	}
	b := &batch{
		first: events[0].Seq, last: events[len(events)-1].Seq,
		data: make([]byte, 0, size),
		ends: make([]int32, len(events)), meta: make([]frameMeta, len(events)),
	}
	for i := range events {
		b.data = events[i].AppendFrame(b.data)
		b.ends[i] = int32(len(b.data))
		b.meta[i] = frameMeta{events[i].ThreadID, events[i].Method, t.spanOf(&events[i], b)}
	}
	// A reader may see the effect before it can see the marker. That is no harm:
	// the marker is durable and never left out.
	for i := range events {
		t.hide(events[i].Hides)
	}

	t.mu.Lock()
	t.batches = append(t.batches, b)
	t.bytes += b.cost()
	drop := 0
	for t.bytes > t.maxBytes && drop < len(t.batches)-1 {
		t.bytes -= t.batches[drop].cost()
		drop++
	}
	old := t.batches[:drop]
	for _, b := range old {
		if b.pins.Add(dropped) > dropped {
			t.pinned.Add(int64(b.cost()))
		}
	}
	if drop > 0 {
		// A fresh slice, so that the dropped batches can be collected.
		t.batches = append(make([]*batch, 0, len(t.batches)), t.batches[drop:]...)
	}
	t.head = b.last
	close(t.wake)
	t.wake = make(chan struct{})
	t.mu.Unlock()
	for _, b := range old {
		t.forgetSpans(b)
	}
}

// spanOf returns the try of an event of the batch and counts it; nil if the
// event belongs to none.
func (t *Tail) spanOf(e *Event, b *batch) *heldSpan {
	if e.Span == 0 {
		return nil
	}
	s := t.spans[e.Span]
	if s == nil {
		s = &heldSpan{seq: e.Span}
		s.after.Store(notHidden)
		t.spans[e.Span] = s
	}
	if s.last < b.first {
		b.spans++
	}
	s.last = e.Seq
	return s
}

// hide notes what a marker supersedes. A try without frames in the tail needs no
// note: it gets no frames any more, since the store appends nothing to it after
// its marker (the fence).
func (t *Tail) hide(hidden []Hidden) {
	for _, h := range hidden {
		if s := t.spans[h.Span]; s != nil {
			s.after.Store(min(s.after.Load(), h.After))
		}
	}
}

// forgetSpans forgets the tries whose newest frame was in the batch.
func (t *Tail) forgetSpans(b *batch) {
	for i := range b.meta {
		if s := b.meta[i].span; s != nil && s.last <= b.last {
			delete(t.spans, s.seq)
		}
	}
}

// Head returns the newest published seq.
func (t *Tail) Head() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.head
}

// Bytes returns the memory that the tail holds, for metrics.
func (t *Tail) Bytes() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.bytes
}

// Wait returns a channel that is closed once the head is above after. If it
// already is, the channel is closed already.
func (t *Tail) Wait(after int64) <-chan struct{} {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.head > after {
		return closedChan
	}
	return t.wake
}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// find returns the batch that holds seq after+1. held is false if that event
// exists but is not, or no longer, in the tail. If there is nothing after the
// cursor yet, b is nil and held is true.
func (t *Tail) find(after int64) (b *batch, held bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if after >= t.head {
		return nil, true
	}
	i := sort.Search(len(t.batches), func(i int) bool { return t.batches[i].last > after })
	if i == len(t.batches) || t.batches[i].first > after+1 {
		return nil, false
	}
	return t.batches[i], true
}

// pin keeps a batch for a chunk that lies in it, which costs nothing while the tail has
// it. It returns false if the tail has not, or if readers that do not read hold as much of
// what has left the tail as the tail itself may have: the frames must then be copied. So
// such readers hold at most twice the size of the tail.
func (t *Tail) pin(b *batch) bool {
	for t.pinned.Load() <= int64(t.maxBytes) {
		n := b.pins.Load()
		if n >= dropped {
			return false
		}
		if b.pins.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// unpin undoes pin.
func (t *Tail) unpin(b *batch) {
	if b.pins.Add(-1) == dropped {
		t.pinned.Add(-int64(b.cost()))
	}
}

// distance returns the number of bytes between the cursor and the head. held is
// false if some of them are not in the tail.
func (t *Tail) distance(after int64) (n int, held bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if after >= t.head {
		return 0, true
	}
	for i := len(t.batches) - 1; i >= 0; i-- {
		b := t.batches[i]
		if b.first <= after+1 {
			return n + len(b.data) - b.offset(b.index(after)), true
		}
		n += len(b.data)
	}
	return 0, false
}
