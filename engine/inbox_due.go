package engine

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/inbox"
)

// alarm wakes actors whose inbox has something to do by itself: a digest to
// flush, a timer to fire. It has one timer for all inboxes. What is due is in the
// rows of inboxes, so it needs no memory, and a restart misses nothing.
type alarm struct {
	x    *Inboxes
	bell chan int64 // a time in milliseconds that may be earlier than the timer's; capacity 1
}

// The bounds of the alarm.
const (
	dueAtOnce   = 256              // actors that it wakes before it looks again
	dueRetry    = time.Second      // after a failure
	expireEvery = 10 * time.Minute // how often it looks for what retention removes
)

// earlier says that an inbox has something to do at a time. It does not block.
func (al *alarm) earlier(at int64) {
	for {
		select {
		case al.bell <- at:
			return
		case was := <-al.bell:
			at = min(at, was)
		}
	}
}

// run wakes actors until ctx is done.
func (al *alarm) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	wakeAt := time.Now() // of timer
	expireAt := time.Now().Add(expireEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-al.bell:
			if t := time.UnixMilli(at); t.Before(wakeAt) {
				wakeAt = t
				timer.Reset(time.Until(wakeAt))
			}
			continue
		case <-timer.C:
		}
		now := time.Now()
		next, err := al.ring(ctx, now)
		if err != nil && ctx.Err() == nil {
			al.x.e.log.Warn("inboxes that are due cannot be read now", zap.Error(err))
			next = now.Add(dueRetry)
		}
		if !now.Before(expireAt) {
			expireAt = now.Add(expireEvery)
			al.expire(ctx, now)
		}
		if next.IsZero() || next.After(expireAt) {
			next = expireAt
		}
		wakeAt = next
		timer.Reset(max(0, time.Until(wakeAt)))
	}
}

// ring wakes the actors whose time has come, and waits for each: what it did is in
// its row then. It returns when the next one is due; zero = never.
func (al *alarm) ring(ctx context.Context, now time.Time) (next time.Time, err error) {
	ids, at, err := al.x.e.rules.inboxes.DueInboxes(ctx, now.UnixMilli(), dueAtOnce)
	if err != nil {
		return time.Time{}, err
	}
	failed := false
	waits := make([]<-chan bool, 0, len(ids))
	for _, id := range ids {
		done := make(chan bool, 1)
		if al.x.e.owners.submit(id, func(a *actor) { done <- a.inboxDue(done) }, true) == nil {
			waits = append(waits, done)
		}
	}
	for _, w := range waits {
		select {
		case ok := <-w:
			failed = failed || !ok
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
	switch {
	case failed:
		return now.Add(dueRetry), nil
	case len(ids) == dueAtOnce:
		return now, nil
	case at == 0:
		return time.Time{}, nil
	}
	return time.UnixMilli(at), nil
}

// inboxDue flushes the digests and fires the timers whose time has come. It
// reports whether it could. A panic reports a failure, too.
func (a *actor) inboxDue(done chan<- bool) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			done <- false
			panic(v)
		}
	}()
	if err := a.load(); err != nil || a.mayDecide() != nil {
		return false
	}
	d := a.decide()
	if d.mustBeOpen() != nil {
		return true // a closed inbox has nothing to do
	}
	err := d.inbox.inSnapshot(func(b *inbox.Book) error {
		if err := b.FlushDue(); err != nil {
			return err
		}
		if err := b.FireDue(); err != nil {
			return err
		}
		b.Reschedule()
		return b.Err()
	})
	if err == nil && !d.change.empty() {
		_, err = a.commit(d)
	}
	if err != nil {
		a.e.log.Warn("what is due in an inbox cannot be done now", zap.String("thread_id", a.id), zap.Error(err))
	}
	return err == nil
}
