package engine

import (
	"context"
	"sync"

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

// followInbox follows a commit that changed the inbox of the thread, or what keeps
// it from being woken: the alarm learns when it is due, followers of
// subscriptions are added and removed, and the thread is judged again.
func (a *actor) followInbox(d *decision) {
	s := a.state
	if b := d.change.inbox.b; b != nil && b.Changed() {
		a.e.inboxes.metrics.add(b.Stats())
		if at := dueAt(s.inbox); at != 0 {
			a.e.inboxes.alarm.earlier(at)
		}
		for i := range d.change.unit.Drafts {
			switch body := d.change.unit.Drafts[i].Body.(type) {
			case *inbox.Subscribed:
				row := body.Subscription
				row.ThreadID = a.id
				a.e.inboxes.subscribed(row)
			case *inbox.Unsubscribed:
				a.e.inboxes.unfollow(a.id, body.SubscriptionID)
			}
		}
	}
	if s.active == nil && len(s.queue) == 0 && s.inbox != nil && s.inbox.NewEntries > 0 && len(d.change.unit.Drafts) > 0 {
		if v := a.judgeWake(); v.OK || v.Stall != "" {
			a.in.post((*actor).startNext)
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
