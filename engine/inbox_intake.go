package engine

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// What arrives for inboxes waits for their actors in a box of its own, behind
// commands and in turn with agent output: a flood of webhooks delays a command of
// the thread by one transaction at most. Beyond these bounds it is refused.
const (
	arrivalBytes    = 4 << 20  // that wait at one thread
	allArrivalBytes = 64 << 20 // that wait at all threads
	arrivalOverhead = 512      // of an item, besides its payload

	// Items are stored in units of about this size, so that a command of the thread waits
	// only shortly for the unit before it: 32 items take some 4 ms, several times as long
	// as their fsync.
	arrivalUnitItems = 32
	arrivalUnitBytes = 128 << 10
)

// arrival is items that arrive together for one inbox.
type arrival struct {
	items []inbox.Item
	key   *ledger.Key
	by    string // the named token that has sent them; "" = none
	// lags says that items which do not fit are counted instead of refused.
	lags bool
	// ends says that the items are these ends of child turns: they do not count in any
	// bound, and are refused together if one of them is superseded.
	ends turns.EndsLive
	size int
	done chan arrived // receives the outcome; has room for it
}

type arrived struct {
	r   inbox.IngestResult
	err error
}

// arrive hands items to the actor of a thread, and waits until they are durable,
// or for ctx. The end of ctx does not undo what is stored.
func (x *Inboxes) arrive(ctx context.Context, threadID string, in *arrival) (inbox.IngestResult, error) {
	for i := range in.items {
		in.size += arrivalOverhead + len(in.items[i].Payload)
	}
	if x.waiting.Add(int64(in.size)) > allArrivalBytes && in.size < allArrivalBytes && in.ends == nil {
		x.waiting.Add(-int64(in.size))
		return inbox.IngestResult{}, turns.ErrOverloaded
	}
	in.done = make(chan arrived, 1)
	if err := x.e.actors.arrive(threadID, in); err != nil {
		x.waiting.Add(-int64(in.size))
		return inbox.IngestResult{}, err
	}
	select {
	case out := <-in.done:
		return out.r, out.err
	case <-ctx.Done():
		return inbox.IngestResult{}, context.Cause(ctx)
	}
}

// arrive puts items into the intake of a thread's actor. It starts the actor if
// there is none.
func (o *actors) arrive(threadID string, in *arrival) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	l, err := o.loop(threadID)
	if err != nil {
		return err
	}
	return l.in.arrive(in)
}

// arrive puts items in. Errors: ErrOverloaded.
func (in *intake) arrive(a *arrival) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.arrivalBytes > 0 && in.arrivalBytes+a.size > arrivalBytes && a.ends == nil {
		return turns.ErrOverloaded
	}
	in.arrivals = append(in.arrivals, a)
	in.arrivalBytes += a.size
	in.ring()
	return nil
}

// takeArrivals returns what waits, as much as fits into one unit. Items that
// arrived together stay together, however many they are. One with a key comes
// alone, because a unit has one key; ends of child turns come alone too, because they may
// be refused.
func (in *intake) takeArrivals() (list []*arrival) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n, size := 0, 0
	for len(in.arrivals) > 0 {
		a := in.arrivals[0]
		alone := a.key.Given() || a.ends != nil
		if len(list) > 0 && (alone || n+len(a.items) > arrivalUnitItems || size+a.size > arrivalUnitBytes) {
			break
		}
		list = append(list, a)
		in.arrivals[0] = nil
		in.arrivals = in.arrivals[1:]
		in.arrivalBytes -= a.size
		n, size = n+len(a.items), size+a.size
		if alone {
			break
		}
	}
	return list
}

// takeArrivals stores what has arrived for the inbox, as much as fits into one
// unit. It reports whether there was anything.
func (l *loop) takeArrivals() bool {
	list := l.in.takeArrivals()
	if len(list) == 0 {
		return false
	}
	outcomes := make([]arrived, len(list))
	err := turns.ErrInternal // if it panics: outcomes may then have what is not in the log
	defer func() {
		for i, in := range list {
			l.a.e.inboxes.waiting.Add(-int64(in.size))
			if err != nil {
				outcomes[i] = arrived{err: err}
			}
			in.done <- outcomes[i]
		}
	}()
	err = l.a.inbox.store(list, outcomes)
	return true
}

// keyOf returns the key of one arrival, or of several, none of which has a given one: that of
// their callers.
func keyOf(list []*arrival) *ledger.Key {
	if len(list) == 1 {
		return list[0].key
	}
	var callers ledger.Callers
	for _, in := range list {
		if in.key != nil && in.key.Caller != nil {
			callers = append(callers, in.key.Caller)
		}
	}
	return &ledger.Key{Caller: callers}
}

// store commits arrivals in one unit. Each is stored whole or has an error of its
// own; an error of store is that of all.
func (k *inboxKeeper) store(list []*arrival, outcomes []arrived) error {
	if err := k.a.load(); err != nil {
		return err
	}
	if err := k.a.mayDecide(); err != nil {
		return err
	}
	r, replayed, err := keyed(k.a, keyOf(list), func(d *decision) (all inbox.IngestResult, err error) {
		if err := d.mustBeOpen(); err != nil {
			return all, err
		}
		if list[0].ends != nil {
			d.fence(list[0].ends)
		}
		err = d.inbox.inSnapshot(func(b *inbox.Book) error {
			if err := b.PostLags(); err != nil {
				return err
			}
			for i, in := range list {
				var results []inbox.Ingested
				var err error
				if b.RequestedBy = in.by; in.lags {
					results, err = b.IngestOrLag(in.items)
				} else {
					results, err = b.Ingest(in.items)
				}
				outcomes[i] = arrived{inbox.IngestResult{Results: results}, err}
				all.Results = append(all.Results, results...)
				if b.Err() != nil {
					return b.Err()
				}
			}
			return nil
		})
		if len(list) == 1 && err == nil {
			err = outcomes[0].err
		}
		return all, err
	})
	if err != nil {
		return err
	}
	for turnID := range list[0].ends {
		k.a.e.awaits.takenIn(k.a.id, turnID)
	}
	if replayed {
		outcomes[0] = arrived{r: r}
		return nil
	}
	// The results of all, one after the other, have their real ids now.
	for i := range outcomes {
		n := len(outcomes[i].r.Results)
		outcomes[i].r, r.Results = inbox.IngestResult{Results: r.Results[:n:n], Seq: r.Seq}, r.Results[n:]
	}
	return nil
}
