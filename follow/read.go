package follow

import (
	"bytes"
	"context"

	"github.com/seed82539d15/holon/notify"
)

// Bounds of a batch: a few milliseconds of work, and 64 MiB for all batches that
// are handled at once. A larger event is a batch alone.
const (
	batchEvents = 256
	batchBytes  = 64 << 10
)

// filterThreads is up to how many threads a page of the log is read by thread.
// For more threads all events are read.
const filterThreads = 64

// fill collects what the follower wants of the events after b.Through, up to b.upTo.
// Unless it fails, it holds a slot when it returns.
func (d *Dispatcher) fill(ctx context.Context, l *Progress, b *Batch) error {
	for {
		if err := acquire(ctx, d.slots); err != nil {
			return err
		}
		if done := d.fillFromTail(l, b); done {
			return nil
		}
		<-d.slots // a follower that waits for the log needs no slot
		if err := d.fillFromLog(ctx, l, b); err != nil {
			return err
		}
	}
}

// fillFromTail reports whether the batch is full or complete.
func (d *Dispatcher) fillFromTail(l *Progress, b *Batch) (done bool) {
	l.interest.RLock()
	defer l.interest.RUnlock()
	for b.Through < b.upTo && !done && b.Lost == nil {
		through, held := d.cfg.Tail.Walk(b.Through, func(e *notify.Walked) bool {
			if e.Seq > b.upTo {
				return false
			}
			if !l.wants(e.ThreadID, e.Method) || l.f.Collapse && e.Superseded {
				return true
			}
			if done = !b.fits(len(e.Params)); !done {
				b.add(Event{e.Seq, e.ThreadID, e.Method, bytes.Clone(e.Params)})
			}
			return !done
		})
		if b.Through = through; !held {
			return len(b.Events) > 0
		}
	}
	return true
}

// fillFromLog reads a page of the log into the batch, which has no events.
func (d *Dispatcher) fillFromLog(ctx context.Context, l *Progress, b *Batch) error {
	if err := acquire(ctx, d.pages); err != nil {
		return err
	}
	defer func() { <-d.pages }()
	p, err := d.cfg.Reader.Page(ctx, notify.Query{
		After: b.Through, Filter: l.filter(), MaxEvents: batchEvents, MaxBytes: batchBytes, Collapse: l.f.Collapse,
	})
	if err != nil {
		return err
	}
	if b.Through+1 < p.First {
		b.Lost = &Lost{From: b.Through + 1, To: p.First - 1}
		b.Through = p.First - 1
		return nil
	}
	l.interest.RLock()
	defer l.interest.RUnlock()
	for i := range p.Events {
		e := &p.Events[i]
		if e.Seq > b.upTo {
			break
		}
		if id := notify.ThreadIDOf(e.Params); l.wants(id, e.Method) {
			b.add(Event{e.Seq, id, e.Method, e.Params})
		}
	}
	b.Through = min(p.Scanned, b.upTo)
	return nil
}

func (b *Batch) fits(bytes int) bool {
	return len(b.Events) == 0 || len(b.Events) < batchEvents && b.bytes+bytes <= batchBytes
}

func (b *Batch) add(e Event) {
	b.Events = append(b.Events, e)
	b.bytes += len(e.Params)
}

// wants reports whether the follower wants such an event. l.interest is held.
func (l *Progress) wants(threadID, method string) bool {
	if !l.f.All {
		if _, ok := l.threads[threadID]; !ok {
			return false
		}
	}
	return l.methods.Match("", method)
}

// filter returns a filter for the log. It may let through more than is wanted.
func (l *Progress) filter() notify.Filter {
	l.interest.RLock()
	defer l.interest.RUnlock()
	f := l.methods
	if n := len(l.threads); n > 0 && n <= filterThreads {
		for id := range l.threads {
			f.ThreadIDs = append(f.ThreadIDs, id)
		}
	}
	return f
}

func acquire(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
