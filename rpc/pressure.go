package rpc

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// stalledFor is how long a client must have taken nothing before its stream may
// be ended for the memory of its page.
const stalledFor = time.Second

// pressure keeps the pages of all streams within their budget. A page has at
// least one event, however large, so streams whose clients do not read could hold
// any amount. While they hold more than the budget, those that hold the largest
// pages and whose clients have taken nothing for stalledFor are ended, as a
// stream is that does not finish a write. Their clients lose nothing: they return
// with their cursors. The zero value with its two fields is ready; its methods may
// be called from many goroutines.
type pressure struct {
	pages   *notify.Budget
	streams *streamSet
	armed   atomic.Bool // a look is due
}

// check is called when a stream has taken a page. It sees to a look at all
// streams if they hold too much.
func (p *pressure) check() {
	if p.pages.Excess() > 0 && p.armed.CompareAndSwap(false, true) {
		time.AfterFunc(stalledFor, p.look)
	}
}

// look ends streams that have written nothing since the last look, until the
// others are within the budget. It looks again as long as they are not: a stream
// may have written just before.
func (p *pressure) look() {
	if excess := p.pages.Excess(); excess > 0 {
		p.end(excess)
	}
	p.armed.Store(false)
	p.check()
}

// end ends stalled streams that hold so many bytes, the largest pages first.
func (p *pressure) end(excess int64) {
	p.streams.mu.Lock() // no stream is removed, so no connection is reused
	defer p.streams.mu.Unlock()
	var stalled []*outlet
	for o := range p.streams.open {
		sent := o.sent.Load()
		if sent == o.seen && o.holds.Load() > notify.SmallestPage && o.control != nil {
			stalled = append(stalled, o)
		}
		o.seen = sent
	}
	slices.SortFunc(stalled, func(a, b *outlet) int { return cmp.Compare(b.holds.Load(), a.holds.Load()) })
	for _, o := range stalled {
		if excess <= 0 {
			return
		}
		excess -= o.holds.Load()
		_ = o.control.SetWriteDeadline(time.Now()) // the write that waits fails now
	}
}
