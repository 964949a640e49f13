package engine

import (
	"context"
	"sync"
	"time"

	"github.com/seed82539d15/holon/inbox"
)

func newInboxes(e *Engine) *Inboxes {
	x := &Inboxes{e: e}
	x.alarm = alarm{x: x, bell: make(chan int64, 1)}
	return x
}

// start runs the alarm until ctx is done.
func (x *Inboxes) start(ctx context.Context) *sync.WaitGroup {
	var wg sync.WaitGroup
	wg.Go(func() { x.alarm.run(ctx) })
	return &wg
}

// inboxKeeper is the actor's side of its thread's inbox. It belongs to the actor's
// goroutine.
type inboxKeeper struct {
	a      *actor
	wakeAt time.Time // when a bound on wakes ends, while entries are new; zero = not needed
}

// followInbox follows a commit that changed the inbox of the thread, or what keeps
// it from being woken: the alarm learns when it is due, followers of ended
// subscriptions are removed, and the thread is judged again.
func (k *inboxKeeper) followInbox(d *decision) {
	s := k.a.state
	if b := d.change.inbox.b; b != nil && b.Changed() {
		if observe := k.a.e.rules.cfg.ObserveInbox; observe != nil {
			observe(b.Stats())
		}
		if at := dueAt(s.inbox); at != 0 {
			k.a.e.inboxes.alarm.earlier(at)
		}
		for i := range d.change.unit.Drafts {
			if body, ok := d.change.unit.Drafts[i].Body.(*inbox.Unsubscribed); ok {
				k.a.e.inboxes.unfollow(k.a.id, body.SubscriptionID)
			}
		}
	}
	if s.active == nil && len(s.queue) == 0 && s.inbox != nil && s.inbox.NewEntries > 0 && len(d.change.unit.Drafts) > 0 {
		if v := k.judgeWake(); v.OK || v.Stall != "" {
			k.a.in.post((*actor).startNext)
		}
	}
}

// dueAt is when an inbox has something to do by itself; 0 = never.
func dueAt(box *inbox.Inbox) int64 {
	if box == nil {
		return 0
	}
	return box.DueAt()
}
