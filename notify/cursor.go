package notify

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// caughtUpBytes is how far behind the head a stream may be and still count as
// caught up: four chunks, what a socket's send buffer takes.
const caughtUpBytes = 4 * ChunkBytes

// Cursor is one reader's position in the log. It takes frames from the tail if
// the tail has them, else pages from the log. That is the only difference
// between live and replay (I3). Nothing waits for a cursor (I4).
//
// A chunk is all that a cursor holds, but for what a trusted reader has read ahead inside
// the budget: of a page or a large event, what was not returned is read again. So memory does not depend on what is in the log or on how much of it a
// reader misses. A chunk is a buffer of the cursor's budget, or lies in the tail.
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
	before   func(b []byte, seq int64) []byte
	behind   string
	after    int64

	budget  *Budget
	pinned  *batch    // of the tail, in which the chunk lies; nil: it does not
	lent    []byte    // the chunk's buffer, of the budget; nil: none
	ahead   []byte    // frames that were read and not returned, in memory that is reserved; nil: none
	aheadTo int64     // no frame of ahead is above it
	size    int       // of the chunk that was returned
	since   time.Time // when that was
	taken   int64     // bytes that the reader has taken since it last stalled
	buf     []byte    // the chunk: the part of lent that has frames

	part part

	// Of the last pages, for the size of the next one.
	count    int // frames in the chunk
	perFrame int // bytes of a frame
	perEvent int // bytes for each event that was looked at
}

// part is a frame that is larger than a chunk, of which a part was returned.
type part struct {
	seq     int64 // 0: there is none
	method  string
	summary bool
	at      int // bytes of the frame that were returned
}

// NewCursor returns a cursor that is positioned after the given seq. It has a budget
// of its own.
func NewCursor(tail *Tail, log Log, filter Filter, after int64) *Cursor {
	return &Cursor{tail: tail, log: log, filter: filter, matches: filter.matcher(), after: after, budget: NewBudget(0), perFrame: usualEvent, perEvent: usualEvent}
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

// Share makes the cursor take its chunks from a budget. It must be called before
// the first Next.
func (c *Cursor) Share(b *Budget) { c.budget = b }

// Wrap puts something before and behind each frame. before appends at most
// maxBefore bytes, behind has at most one. It must be called before the first Next.
func (c *Cursor) Wrap(before func(b []byte, seq int64) []byte, behind string) {
	c.before, c.behind = before, behind
}

// maxBefore is the most that is written before a frame: an event's id.
const maxBefore = 128

// Close gives back what the cursor holds of its budget. It must not be used
// afterwards; closing twice is fine.
func (c *Cursor) Close() {
	c.release()
	c.drop()
}

// drop gives back what was read ahead. What was not returned is read again.
func (c *Cursor) drop() {
	if c.ahead != nil {
		c.budget.free()
		c.ahead = nil
	}
}

// release gives the chunk back. It has been written by then.
func (c *Cursor) release() {
	if c.pinned != nil {
		c.tail.unpin(c.pinned)
		c.pinned = nil
	}
	if c.size > 0 {
		if c.taken += int64(c.size); time.Since(c.since) > stalledFor {
			c.taken = 0
		}
		c.size = 0
	}
	if c.ahead != nil && (len(c.ahead) == 0 || c.taken < trustedBytes) {
		c.drop()
	}
	if c.lent != nil {
		c.budget.give(c.lent)
		c.lent, c.buf = nil, nil
	}
}

// take begins a chunk with room for so many bytes, or less.
func (c *Cursor) take(want int) {
	c.lent = c.budget.take(want, c.taken >= trustedBytes)
	c.buf, c.count = c.lent, 0
}

// room returns how many bytes the chunk has room for.
func (c *Cursor) room() int { return cap(c.buf) - len(c.buf) }

// After returns the cursor's position: everything up to this seq has been returned
// or left out.
func (c *Cursor) After() int64 { return c.after }

// Inside reports whether the last chunk ended inside a frame. The next one goes on
// there: nothing else may be written between.
func (c *Cursor) Inside() bool { return c.part.seq != 0 }

// CaughtUp reports whether the stream is so near to the head that it should
// reach it before anything else is written.
func (c *Cursor) CaughtUp() bool {
	n, held := c.tail.distance(c.after)
	return held && n <= caughtUpBytes
}

// Wait returns a channel that is closed once there may be something to read.
func (c *Cursor) Wait() <-chan struct{} {
	c.release()
	if c.Inside() || len(c.ahead) > 0 {
		return closedChan
	}
	return c.tail.Wait(c.after)
}

// Next returns the frames that follow and moves the cursor. It returns at most
// ChunkBytes and no frame above upTo (0 = no bound). A frame that is larger than a
// chunk comes in several: see Inside; After is below its seq until its end was
// returned. The chunk must not be changed, and is valid until the cursor's next call.
//
// An empty chunk with a nil error means that the cursor moved over what is left out,
// or is at the head: look at After, or Wait. The error is an *ExpiredError if the
// next event has been pruned, else the log's.
func (c *Cursor) Next(ctx context.Context, upTo int64) ([]byte, error) {
	c.release()
	chunk, err := c.next(ctx, upTo)
	c.size, c.since = len(chunk), time.Now()
	return chunk, err
}

func (c *Cursor) next(ctx context.Context, upTo int64) ([]byte, error) {
	if c.Inside() {
		c.take(ChunkBytes)
		return c.goOn(ctx)
	}
	if upTo > 0 && c.after >= upTo {
		return nil, nil
	}
	if len(c.ahead) > 0 && (upTo == 0 || c.aheadTo <= upTo) {
		return c.fromAhead(), nil
	}
	c.drop()
	b, held := c.tail.find(c.after)
	switch {
	case b != nil:
		return c.fromTail(ctx, b, upTo)
	case held:
		return nil, nil
	}
	return c.fromLog(ctx, upTo)
}

// fromTail copies the frames of one batch that pass the filter and, with
// collapse, are not superseded; of a summary, their summaries. If it cannot be told
// whether one passes, it ends before that frame; the error comes once nothing is left
// to return.
func (c *Cursor) fromTail(ctx context.Context, b *batch, upTo int64) ([]byte, error) {
	i := b.index(c.after)
	plain := c.plain()
	if plain && c.tail.pin(b) {
		c.pinned = b
		return c.run(b, i, ChunkBytes, upTo), nil
	}
	c.take(len(b.data) - b.offset(i) + (len(b.ends)-i)*c.wrapping())
	if plain {
		c.buf = append(c.buf, c.run(b, i, c.room(), upTo)...)
		return c.buf, nil
	}
	var short []byte
	for ; i < len(b.ends); i++ {
		seq := b.seq(i)
		if upTo > 0 && seq > upTo {
			break
		}
		m, frame := &b.meta[i], b.frame(i)
		cut := c.cuts(m.threadID)
		passes := c.matches.match(m.threadID, m.method) && !(c.collapse && m.superseded(seq)) && (inSummary(m.method) || !cut)
		if passes && c.filter.Within != nil {
			var err error
			if passes, err = c.filter.Within.Has(ctx, m.threadID); err != nil {
				if len(c.buf) > 0 {
					break
				}
				return nil, err
			}
		}
		if !passes {
			c.after = seq
			continue
		}
		if cut {
			short = appendFrameSummary(short[:0], m.method, frame)
			frame = short
		}
		if !c.put(seq, m.method, cut, frame) {
			break
		}
	}
	return c.buf, nil
}

// plain reports whether the cursor returns the bytes of the log as they are.
func (c *Cursor) plain() bool {
	return c.filter.All() && !c.collapse && !c.summary && c.before == nil
}

// run returns the frames of a batch from index i on that have at most so many bytes, as
// they are, and moves the cursor.
func (c *Cursor) run(b *batch, i, most int, upTo int64) []byte {
	start := b.offset(i)
	j := i
	for j < len(b.ends) && int(b.ends[j])-start <= most && (upTo == 0 || b.seq(j) <= upTo) {
		j++
	}
	switch {
	case j > i:
		c.after = b.seq(j - 1)
		return b.data[start:b.offset(j)]
	case upTo == 0 || b.seq(i) <= upTo: // larger than a chunk
		c.part = part{seq: b.seq(i), method: b.meta[i].method, at: most}
		return b.data[start : start+most]
	}
	return nil
}

// cuts reports whether the cursor returns summaries of the events of a thread.
func (c *Cursor) cuts(threadID string) bool { return c.summary && !c.isWhole.has(threadID) }

// wrapping returns the most that is put around a frame.
func (c *Cursor) wrapping() int {
	if c.before == nil {
		return 0
	}
	return maxBefore + len(c.behind)
}

// put adds a frame to the chunk and moves the cursor to it; summary says that it is
// one. It returns false if the chunk is full, and may have the beginning of the frame.
func (c *Cursor) put(seq int64, method string, summary bool, frame []byte) bool {
	switch {
	case c.room() >= len(frame)+c.wrapping():
		c.open(seq)
		c.buf = append(c.buf, frame...)
		c.close(seq)
		return true
	case len(c.buf) == 0:
		c.part = part{seq: seq, method: method, summary: summary}
		c.open(seq)
		c.addPart(frame)
	}
	return false
}

// open adds what is before a frame.
func (c *Cursor) open(seq int64) {
	if c.before != nil {
		c.buf = c.before(c.buf, seq)
	}
}

// close adds what is behind a frame, whose end has been returned then.
func (c *Cursor) close(seq int64) {
	c.buf = append(c.buf, c.behind...)
	c.after, c.part = seq, part{}
	c.count++
}

// addPart adds what the frame has beyond the part that was returned, as far as there
// is room, and closes the frame at its end.
func (c *Cursor) addPart(frame []byte) {
	n := min(c.room()-len(c.behind), len(frame)-c.part.at)
	c.buf = append(c.buf, frame[c.part.at:c.part.at+n]...)
	if c.part.at += n; c.part.at == len(frame) {
		c.close(c.part.seq)
	}
}

// goOn returns the next part of a frame: from the tail while that has it, else from
// the log, whose bytes are the same.
func (c *Cursor) goOn(ctx context.Context) ([]byte, error) {
	p := &c.part
	if p.at == 0 {
		c.open(p.seq)
	}
	if b, _ := c.tail.find(p.seq - 1); b != nil && !p.summary {
		c.addPart(b.frame(b.index(p.seq - 1)))
		return c.buf, nil
	}
	begin := frameMethod + p.method + frameParams
	if p.at < len(begin) {
		c.buf = append(c.buf, begin[p.at:]...)
		p.at = len(begin)
	}
	const end = "}\n"
	n, size, err := c.log.Part(ctx, p.seq, p.at-len(begin), p.summary, c.buf[len(c.buf):cap(c.buf)-len(end)-len(c.behind)])
	if err != nil {
		return nil, fmt.Errorf("read the rest of event %d: %w", p.seq, err)
	}
	c.buf = c.buf[:len(c.buf)+n]
	if p.at += n; p.at >= len(begin)+size { // a chunk may have ended inside end
		c.buf = append(c.buf, end[p.at-len(begin)-size:]...)
		c.close(p.seq)
	}
	return c.buf, nil
}

// The pages of a cursor have as many events as one chunk has room for.
const (
	usualEvent = 512 // bytes of its frame
	pageEvents = 1000
	fewEvents  = 8
	// envelope is what a frame has besides params, for a method of 25 bytes.
	envelope = len(frameMethod+frameParams+"}\n") + 25
	// leftBytes is how many bytes of params a page may have of which much is left
	// out: by summaries, by collapse, or by Within.
	leftBytes = 4 * ChunkBytes
)

// query asks for the next page, with so many bytes of frames.
func (c *Cursor) query(room int) Query {
	n := min(max(room*7/8/max(c.perEvent, c.perFrame/4, 1), fewEvents), pageEvents)
	q := Query{
		After: c.after, Filter: c.filter, Parts: true,
		MaxEvents: n, MaxBytes: max(room-n*(envelope+c.wrapping()), room/2),
		Frames:   len(c.filter.Methods) == 0 && c.filter.Within == nil && !c.summary,
		Collapse: c.collapse, Summary: c.summary, Whole: c.whole,
	}
	if c.summary || c.collapse || c.filter.Within != nil {
		q.MaxBytes = leftBytes
	}
	return q
}

// fromLog returns the frames of the next page of the log, as many as there is room for.
func (c *Cursor) fromLog(ctx context.Context, upTo int64) ([]byte, error) {
	c.take(ChunkBytes)
	from, room := c.after, c.room()
	ahead := room == ChunkBytes && (upTo == 0 || from+pageEvents <= upTo) && c.plain() && c.taken >= trustedBytes && c.budget.reserve()
	if ahead {
		c.ahead, c.aheadTo, room = noFrames, from+pageEvents, aheadBytes
	}
	p, err := c.log.Page(ctx, c.query(room))
	if err == nil && c.after+1 < p.First {
		err = &ExpiredError{After: c.after, First: p.First}
	}
	if err != nil {
		return nil, err
	}
	if e := p.Large(); e != nil {
		return c.begin(ctx, e, upTo)
	}
	if ahead && len(p.Frames) > 0 {
		c.ahead = p.Frames
		c.budget.give(c.lent)
		c.lent, c.buf = nil, nil
		return c.fromAhead(), nil
	}
	looked := len(p.Events)
	if err := p.KeepWithin(ctx, c.filter.Within); err != nil {
		return nil, err
	}
	if c.summary {
		if err := p.Summarize(c.whole...); err != nil {
			return nil, err
		}
	}
	var all bool
	if len(p.Frames) > 0 {
		all, err = c.putFrames(&p, upTo)
	} else {
		n := c.putEvents(&p, upTo)
		all = n == len(p.Events)
		looked = looked * max(n, 1) / max(len(p.Events), 1)
	}
	if err != nil {
		return nil, err
	}
	if all {
		c.after = max(c.after, p.Scanned)
	}
	if len(p.Frames) > 0 {
		looked = int(c.after - from)
	}
	if looked > 0 {
		c.perEvent = len(c.buf) / looked
	}
	if c.count > 0 {
		c.perFrame = len(c.buf) / c.count
	}
	return c.buf, nil
}

var noFrames = []byte{}

// fromAhead returns a chunk of what was read ahead, as it is.
func (c *Cursor) fromAhead() []byte {
	n := bytes.LastIndexByte(c.ahead[:min(len(c.ahead), ChunkBytes)], '\n') + 1
	if n == 0 { // larger than a chunk
		chunk := c.ahead[:min(len(c.ahead), ChunkBytes)]
		c.part = part{seq: c.after + 1, method: methodOf(chunk), at: len(chunk)}
		c.ahead = noFrames
		return chunk
	}
	chunk := c.ahead[:n]
	frames := bytes.Count(chunk, []byte{'\n'})
	c.after += int64(frames)
	c.perFrame, c.perEvent = n/frames, n/frames
	c.ahead = c.ahead[n:]
	return chunk
}

// begin returns the first part of a large event, if it passes the filter.
func (c *Cursor) begin(ctx context.Context, e *Event, upTo int64) ([]byte, error) {
	if upTo > 0 && e.Seq > upTo {
		c.stopBefore(e.Seq, upTo)
		return nil, nil
	}
	cut := c.cuts(e.ThreadID)
	passes := inSummary(e.Method) || !cut
	if passes && c.filter.Within != nil {
		var err error
		if passes, err = c.filter.Within.Has(ctx, e.ThreadID); err != nil {
			return nil, err
		}
	}
	if !passes {
		c.after = e.Seq
		return nil, nil
	}
	c.part = part{seq: e.Seq, method: e.Method, summary: cut}
	chunk, err := c.goOn(ctx)
	if err != nil {
		c.part = part{} // nothing of it was returned
	}
	return chunk, err
}

// stopBefore moves the cursor as far as upTo, but not to a frame above it.
func (c *Cursor) stopBefore(seq, upTo int64) { c.after = max(c.after, min(upTo, seq-1)) }

// putEvents adds the frames of a page's events. It returns of how many it has.
func (c *Cursor) putEvents(p *Page, upTo int64) (n int) {
	for i := range p.Events {
		e := &p.Events[i]
		switch {
		case upTo > 0 && e.Seq > upTo:
			c.stopBefore(e.Seq, upTo)
			return i
		case c.room() >= e.FrameSize()+c.wrapping():
			c.open(e.Seq)
			c.buf = e.AppendFrame(c.buf)
			c.close(e.Seq)
		case len(c.buf) > 0:
			return i
		default:
			cut := c.summary
			if cut && !c.isWhole.empty() {
				id, _ := threadOf(e.Params) // Page.Summarize has read it too
				cut = !c.isWhole.has(id)
			}
			c.put(e.Seq, e.Method, cut, e.AppendFrame(nil))
			return i
		}
	}
	return len(p.Events)
}

// putFrames adds the frames that the log has made of a page. It returns whether it has
// added all.
func (c *Cursor) putFrames(p *Page, upTo int64) (all bool, err error) {
	sparse := c.collapse || !c.filter.All()
	if !sparse && c.before == nil && upTo == 0 && len(p.Frames) <= c.room() {
		c.buf = append(c.buf, p.Frames...)
		c.count += int(p.Scanned - c.after)
		return true, nil
	}
	for rest := p.Frames; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			return false, fmt.Errorf("the last frame after event %d is not whole", c.after)
		}
		frame, seq, ok := rest[:n], c.after+1, true
		if sparse {
			seq, ok = seqOf(frame)
		}
		if !ok || seq <= c.after || seq > p.Scanned {
			return false, fmt.Errorf("a frame after event %d does not begin with a seq up to %d", c.after, p.Scanned)
		}
		if upTo > 0 && seq > upTo {
			c.stopBefore(seq, upTo)
			return false, nil
		}
		if !c.put(seq, "", false, frame) {
			if c.Inside() {
				c.part.method = methodOf(frame)
			}
			return false, nil
		}
		rest = rest[n:]
	}
	return true, nil
}
