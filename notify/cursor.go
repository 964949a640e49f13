package notify

import (
	"context"
	"errors"
	"fmt"
	"unsafe"
)

// ErrBadCursor says that a position or page cursor cannot be read.
var ErrBadCursor = errors.New("the cursor is malformed")

// ChunkBytes is the most that a cursor returns at once, unless a single frame
// is larger: the unit in which a stream writes and renews its deadline.
const ChunkBytes = 64 << 10

// caughtUpBytes is how far behind the head a stream may be and still count as
// caught up: four chunks, what a socket's send buffer takes.
const caughtUpBytes = 4 * ChunkBytes

// idleBytes is the buffer a waiting cursor may keep: thousands wait at once.
const idleBytes = 4 << 10

// A page of the log is copied out whole before a byte of it is written, so that
// a slow reader never holds a query open.
const (
	pageEvents = 1000
	pageBytes  = 1 << 20
)

// Query asks the log for the events after a seq that pass a filter.
type Query struct {
	After     int64
	Filter    Filter
	MaxEvents int // at least 1
	MaxBytes  int // of params; a page has at least one event if there is one
	// Frames asks for Page.Frames instead of Page.Events. A log may answer with
	// Events all the same.
	Frames bool
	// Collapse leaves out what is superseded as of Page.AsOf, and turn/late. It
	// never leaves out markers.
	Collapse bool
	// Summary lets the log leave out what a summary has not: item/delta, except
	// those of the threads in Whole. The events come whole; see Page.Summarize.
	Summary bool
	Whole   []string
}

// Page is a part of the log. Its Events have Seq, Method, Time and Params; their
// other fields may be empty, since Params holds them too. Scanned is the last
// seq that was looked at: up to it, Events misses only what the query left out.
// More says that there was more when the page was read.
type Page struct {
	Events []Event
	// Frames replaces Events: the frames of all events from Query.After+1 to
	// Scanned, back to back. A log can make them of a whole page at once. With
	// a filter or Query.Collapse they are those of the events that pass.
	Frames  []byte
	Scanned int64
	Latest  int64 // the newest seq of the log, in the same snapshot
	First   int64 // the oldest seq that is kept (Latest+1 if none is)
	More    bool
	AsOf    int64 // the newest seq whose marker was looked at for Query.Collapse; else 0
}

// Log reads stored events. Implementations close their query before they
// return. They return what they have, also when After is below First: the
// caller compares the two.
type Log interface {
	Page(ctx context.Context, q Query) (Page, error)
}

// ExpiredError says that events after a cursor have been pruned.
type ExpiredError struct{ After, First int64 }

// Error implements error.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("events after %d are no longer kept, the oldest is %d", e.After, e.First)
}

// Cursor is one reader's position in the log. It takes frames from the tail if
// the tail has them, else pages from the log. That is the only difference
// between live and replay (I3). Nothing waits for a cursor (I4).
//
// A cursor belongs to one goroutine at a time. The owner must close a cursor
// that has a budget.
type Cursor struct {
	tail     *Tail
	log      Log
	filter   Filter
	matches  matcher // made of filter
	collapse bool
	summary  bool
	whole    []string  // threads
	isWhole  threadSet // made of whole
	after    int64

	budget *Budget // nil: pages have their full size
	held   int64   // bytes of the budget; 0 if no page is held

	page    []Event // read from the log and not returned yet
	frames  *batch  // a page that the log made as frames; nil once returned
	scanned int64   // the position once page is used up
	buf     []byte  // frames of the last chunk, if they had to be copied
	ends    []int32
	seqs    []int64
}

// NewCursor returns a cursor that is positioned after the given seq.
func NewCursor(tail *Tail, log Log, filter Filter, after int64) *Cursor {
	return &Cursor{tail: tail, log: log, filter: filter, matches: filter.matcher(), after: after}
}

// Collapse makes the cursor leave out what is superseded, and turn/late. It
// must be called before the first Next. Each chunk is made as of the tail's
// head at that moment, or of a later seq: it leaves out what is superseded as
// of that seq, also by markers that follow later in the stream. Markers
// (stream/rewind) are never left out.
func (c *Cursor) Collapse() { c.collapse = true }

// Summarize makes the cursor return summaries: without item/delta, and of the other
// events what AppendSummary leaves. The events of the threads in whole come whole,
// item/delta too. It must be called before the first Next.
func (c *Cursor) Summarize(whole ...string) {
	c.summary, c.whole, c.isWhole = true, whole, threadSetOf(whole)
}

// Share makes the cursor take its pages from a budget. It must be called before
// the first Next.
func (c *Cursor) Share(b *Budget) { c.budget = b }

// Close gives back what the cursor holds of its budget. It must not be used
// afterwards; closing twice is fine.
func (c *Cursor) Close() {
	c.page, c.frames, c.buf = nil, nil, nil
	c.release()
}

// release gives the budget back if the whole page has been returned. Its last
// chunk has been written by then.
func (c *Cursor) release() {
	if c.held != 0 && len(c.page) == 0 && c.frames == nil {
		c.setHeld(0)
	}
}

// Held is how many bytes of its budget the cursor holds.
func (c *Cursor) Held() int64 { return c.held }

// setHeld sets how many bytes of the budget the cursor holds.
func (c *Cursor) setHeld(n int64) {
	if c.budget != nil {
		c.budget.change(c.held, n)
		c.held = n
	}
}

// Chunk is a run of whole frames. Data is shared or reused memory: it must
// not be changed, and is valid until the cursor's next call.
type Chunk struct {
	Data []byte
	ends []int32
	base int32   // subtracted from ends
	seqs []int64 // of each frame; nil: first, first+1, …
	from int64
}

// Len is the number of frames.
func (c Chunk) Len() int { return len(c.ends) }

// Each calls f with each frame, its line feed included.
func (c Chunk) Each(f func(seq int64, frame []byte)) {
	start := int32(0)
	for i, end := range c.ends {
		seq := c.from + int64(i)
		if c.seqs != nil {
			seq = c.seqs[i]
		}
		f(seq, c.Data[start:end-c.base])
		start = end - c.base
	}
}

// After is the cursor's position: everything up to this seq has been returned
// or left out.
func (c *Cursor) After() int64 { return c.after }

// CaughtUp reports whether the stream is so near to the head that it should
// reach it before anything else is written.
func (c *Cursor) CaughtUp() bool {
	if len(c.page) > 0 || c.frames != nil {
		return false
	}
	n, held := c.tail.distance(c.after)
	return held && n <= caughtUpBytes
}

// Wait returns a channel that is closed once there may be something to read.
func (c *Cursor) Wait() <-chan struct{} {
	if len(c.page) > 0 || c.frames != nil {
		return closedChan
	}
	c.release()
	if cap(c.buf) > idleBytes {
		c.buf, c.ends, c.seqs = nil, nil, nil
	}
	return c.tail.Wait(c.after)
}

// Next returns the frames that follow and moves the cursor. It returns at most
// ChunkBytes and no frame above upTo (0 = no bound). An empty chunk with a nil
// error means that the cursor moved over what is left out, or is at the head:
// look at After, or Wait. The error is an *ExpiredError if the next event has
// been pruned, else the log's.
func (c *Cursor) Next(ctx context.Context, upTo int64) (Chunk, error) {
	if upTo > 0 && c.after >= upTo {
		return Chunk{}, nil
	}
	if len(c.page) > 0 {
		return c.fromPage(upTo), nil
	}
	if c.frames != nil {
		return c.fromFrames(upTo), nil
	}
	c.release()
	b, held := c.tail.find(c.after)
	switch {
	case b != nil && c.filter.All() && !c.collapse && !c.summary:
		return c.fromBatch(b, upTo), nil
	case b != nil:
		return c.copyMatching(ctx, b, upTo)
	case held:
		return Chunk{}, nil
	}
	p, err := c.read(ctx)
	if err != nil {
		return Chunk{}, err
	}
	if len(p.Frames) > 0 {
		if c.frames, err = batchOf(c.after+1, p.Scanned, p.Frames, c.collapse || !c.filter.All()); err != nil {
			return Chunk{}, err
		}
		return c.fromFrames(upTo), nil
	}
	c.page, c.scanned = p.Events, p.Scanned
	if len(c.page) == 0 {
		c.after = max(c.after, p.Scanned)
		return Chunk{}, nil
	}
	return c.fromPage(upTo), nil
}

// read reads the next page of the log, as large as the budget allows.
func (c *Cursor) read(ctx context.Context) (Page, error) {
	q := Query{
		After: c.after, Filter: c.filter, MaxEvents: pageEvents, MaxBytes: pageBytes,
		Frames:   len(c.filter.Methods) == 0 && c.filter.Within == nil && !c.summary,
		Collapse: c.collapse, Summary: c.summary, Whole: c.whole,
	}
	if c.budget != nil {
		c.held = c.budget.take()
		q.MaxBytes, q.MaxEvents = int(c.held), int(min(pageEvents, c.held/eventBytes))
	}
	p, err := c.log.Page(ctx, q)
	if err == nil && c.after+1 < p.First {
		err = &ExpiredError{After: c.after, First: p.First}
	}
	if err == nil {
		err = p.KeepWithin(ctx, c.filter.Within)
	}
	if err == nil && c.summary {
		err = p.Summarize(c.whole...)
	}
	if c.budget != nil {
		held := int64(0)
		if err == nil {
			held = p.bytes() + c.fitBuffer(p.Events)
		}
		c.setHeld(held)
	}
	return p, err
}

// fitBuffer makes the buffer as large as the chunks of a page need, and returns
// its size.
func (c *Cursor) fitBuffer(page []Event) int64 {
	need := 0
	for i := range page {
		if need += page[i].FrameSize(); need > ChunkBytes {
			need = max(ChunkBytes, page[0].FrameSize())
			break
		}
	}
	if cap(c.buf) < need || cap(c.buf) > 2*need {
		c.buf, c.ends, c.seqs = make([]byte, 0, need), nil, nil
	}
	return int64(cap(c.buf))
}

// bytes is the memory that the page takes.
func (p *Page) bytes() int64 {
	n := int64(cap(p.Frames)) + int64(cap(p.Events))*int64(unsafe.Sizeof(Event{}))
	for i := range p.Events {
		n += int64(cap(p.Events[i].Params))
	}
	return n
}

// fromFrames returns a part of the frames that the log has made.
func (c *Cursor) fromFrames(upTo int64) Chunk {
	chunk := c.fromBatch(c.frames, upTo)
	if c.after == c.frames.last {
		c.frames = nil // the chunk still refers to its memory
	}
	return chunk
}

// fromBatch returns a part of the batch's own bytes, without copying.
func (c *Cursor) fromBatch(b *batch, upTo int64) Chunk {
	i := b.index(c.after)
	start := b.offset(i)
	j := i
	for j < len(b.ends) && (j == i || int(b.ends[j])-start <= ChunkBytes) && (upTo == 0 || b.seq(j) <= upTo) {
		j++
	}
	chunk := Chunk{Data: b.data[start:b.offset(j)], ends: b.ends[i:j], base: int32(start), from: b.first + int64(i)}
	if b.seqs != nil {
		chunk.seqs = b.seqs[i:j]
	}
	switch {
	case j == len(b.ends):
		c.after = b.last
	case j > i:
		c.after = b.seq(j - 1)
	default: // all that is left is above upTo: the caller has what it asked for
		c.after = max(c.after, min(upTo, b.seq(j)-1))
	}
	return chunk
}

// copyMatching copies the frames of one batch that pass the filter and, with
// collapse, are not superseded; of a summary, their summaries. If it cannot be told
// whether one passes, it ends before that frame; the error comes once nothing is left
// to return.
func (c *Cursor) copyMatching(ctx context.Context, b *batch, upTo int64) (Chunk, error) {
	c.reset()
	for i := b.index(c.after); i < len(b.ends); i++ {
		seq := b.seq(i)
		if upTo > 0 && seq > upTo {
			break
		}
		m := &b.meta[i]
		passes := c.matches.match(m.threadID, m.method) && !(c.collapse && m.superseded(seq)) && (inSummary(m.method) || !c.cuts(m.threadID))
		if passes && c.filter.Within != nil {
			var err error
			if passes, err = c.filter.Within.Has(ctx, m.threadID); err != nil {
				if len(c.ends) > 0 {
					break
				}
				return Chunk{}, err
			}
		}
		if passes {
			if !c.copyFrame(m, b.data[b.offset(i):b.ends[i]]) {
				break
			}
			c.add(seq)
		}
		c.after = seq
	}
	return c.chunk(), nil
}

// cuts reports whether the cursor returns summaries of the events of a thread.
func (c *Cursor) cuts(threadID string) bool { return c.summary && !c.isWhole.has(threadID) }

// copyFrame copies a frame, or its summary, into the buffer. It reports false if the
// chunk is full.
func (c *Cursor) copyFrame(m *frameMeta, frame []byte) bool {
	before := len(c.buf)
	if c.cuts(m.threadID) {
		c.buf = appendFrameSummary(c.buf, m.method, frame)
	} else if before == 0 || before+len(frame) <= ChunkBytes {
		c.buf = append(c.buf, frame...)
	} else {
		return false
	}
	if before > 0 && len(c.buf) > ChunkBytes {
		c.buf = c.buf[:before]
		return false
	}
	return true
}

// fromPage splices stored params into frames, without decoding them.
func (c *Cursor) fromPage(upTo int64) Chunk {
	c.reset()
	n := 0
	for n < len(c.page) {
		e := &c.page[n]
		if upTo > 0 && e.Seq > upTo {
			break
		}
		if n > 0 && len(c.buf)+e.FrameSize() > ChunkBytes {
			break
		}
		c.buf = e.AppendFrame(c.buf)
		c.add(e.Seq)
		c.after = e.Seq
		n++
	}
	if c.page = c.page[n:]; len(c.page) == 0 {
		c.page = nil
		c.after = max(c.after, c.scanned)
		c.setHeld(int64(cap(c.buf)))
	} else if n == 0 {
		// All that is left is above upTo: the caller has what it asked for.
		c.after = max(c.after, min(upTo, c.page[0].Seq-1))
	}
	return c.chunk()
}

func (c *Cursor) reset() {
	if cap(c.buf) > 2*ChunkBytes { // do not keep the memory of one huge frame until the stream ends
		c.buf = nil
	}
	c.buf, c.ends, c.seqs = c.buf[:0], c.ends[:0], c.seqs[:0]
}

func (c *Cursor) add(seq int64) {
	c.ends = append(c.ends, int32(len(c.buf)))
	c.seqs = append(c.seqs, seq)
}

func (c *Cursor) chunk() Chunk { return Chunk{Data: c.buf, ends: c.ends, seqs: c.seqs} }
