package engine

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/threads"
)

// alarm wakes actors whose inbox has something to do by itself: a digest to
// flush, a timer to fire, told entries that are new again because nobody has acknowledged them. It has one timer for all inboxes. What is due is in the
// rows of inboxes, so it needs no memory, and a restart misses nothing.
type alarm struct {
	x      *Inboxes
	bell   chan int64           // a time in milliseconds that may be earlier than the timer's; capacity 1
	failed map[string]time.Time // threads that could not do what is due, and when to try again
}

// The bounds of the alarm.
const (
	dueAtOnce = 256              // actors that it wakes before it looks again
	dueWait   = time.Second      // for all of them; one that takes longer is asked again later
	dueRetry  = time.Second      // after a failure
	maxSleep  = 30 * time.Second // the clock may be set, and a laptop may sleep
)

// earlier signals that an inbox has something to do at a time. It does not block.
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
		if latest := now.Add(maxSleep); next.IsZero() || next.After(latest) {
			next = latest
		}
		wakeAt = next
		timer.Reset(max(0, time.Until(wakeAt)))
	}
}

// ring wakes the actors whose time has come, and waits for each: what it did is in
// its row then. It returns when the next one is due; zero = never. Threads that
// failed are left out until their time, so that they do not hide others.
func (al *alarm) ring(ctx context.Context, now time.Time) (next time.Time, err error) {
	ids, at, err := al.x.e.rules.inboxes.DueInboxes(ctx, now.UnixMilli(), dueAtOnce+len(al.failed))
	if err != nil {
		return time.Time{}, err
	}
	if at != 0 {
		next = time.UnixMilli(at)
	}
	type waiting struct {
		id   string
		done chan bool
	}
	var list []waiting
	for _, id := range ids {
		if retry, ok := al.failed[id]; ok && now.Before(retry) {
			continue
		}
		w := waiting{id, make(chan bool, 1)}
		if al.x.e.actors.submit(id, func(a *actor) { a.inbox.inboxDue(w.done) }, true) == nil {
			list = append(list, w)
		}
	}
	failed := map[string]time.Time{}
	for id, retry := range al.failed {
		if now.Before(retry) {
			failed[id] = retry
		}
	}
	enough := time.NewTimer(dueWait)
	defer enough.Stop()
	late := false
	for _, w := range list {
		ok := false
		if late {
			select {
			case ok = <-w.done:
			default:
			}
		} else {
			select {
			case ok = <-w.done:
			case <-enough.C:
				late = true
			case <-ctx.Done():
				return time.Time{}, ctx.Err()
			}
		}
		if !ok {
			failed[w.id] = now.Add(dueWait + dueRetry)
		}
	}
	if al.failed = failed; len(list) >= dueAtOnce {
		return now, nil
	}
	for _, retry := range failed {
		if next.IsZero() || retry.Before(next) {
			next = retry
		}
	}
	return next, nil
}

// inboxDue does the work that is due in the inbox, and reports on done whether it could.
func (k *inboxKeeper) inboxDue(done chan<- bool) {
	ok := false // also after a panic
	defer func() { done <- ok }()
	ok = k.doDue(false)
}

// doDue flushes the digests, fires the timers and ends the leases whose time has come. It reports
// whether it could. leases says to look at the leases even if their time has not come.
func (k *inboxKeeper) doDue(leases bool) bool {
	if err := k.a.load(); err != nil || k.a.mayDecide() != nil {
		return false
	}
	d := k.a.decide()
	if err := d.mustBeOpen(); err != nil {
		// A closing thread is asked again: once it is closed, nothing is due.
		return d.next().thread == nil || d.next().thread.State == threads.Closed
	}
	err := d.inbox.inSnapshot(func(b *inbox.Book) error {
		if err := b.FlushDue(); err != nil {
			return err
		}
		if err := b.FireDue(); err != nil {
			return err
		}
		if err := inbox.EndLeases(b, leases); err != nil {
			return err
		}
		b.Reschedule()
		return b.Err()
	})
	if err == nil && !d.change.empty() {
		_, err = k.a.commit(d)
	}
	if err != nil {
		k.a.e.log.Warn("what is due in an inbox cannot be done now", zap.String("thread_id", k.a.id), zap.Error(err))
	}
	return err == nil
}
