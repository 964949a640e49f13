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
	e.rules.sources = &x.sources
	return x
}

// start runs the alarm, the look at leases and retention until ctx is done.
func (x *Inboxes) start(ctx context.Context) *sync.WaitGroup {
	var wg sync.WaitGroup
	wg.Go(func() { x.alarm.run(ctx) })
	wg.Go(func() { x.expire(ctx) })
	wg.Go(func() { x.lookAtLeases(ctx) })
	return &wg
}

// inboxKeeper is the actor's side of its thread's inbox. It belongs to the actor's
// goroutine.
type inboxKeeper struct {
	a      *actor
	wakeAt time.Time // when to judge again whether new entries wake the thread; zero = not needed
	inLine bool      // they do, and the thread waits for a slot
}

// followInbox follows a commit that changed the inbox of the thread, or what keeps
// it from being woken: the alarm learns when it is due, followers
// become those of the subscriptions, and the thread is judged again.
func (k *inboxKeeper) followInbox(d *decision) {
	s := k.a.state
	if b := d.change.inbox.b; b != nil {
		if observe := k.a.e.rules.cfg.ObserveInbox; observe != nil {
			observe(b.Stats())
		}
		if at := dueAt(s.inbox); at != 0 {
			k.a.e.inboxes.alarm.earlier(at)
		}
		k.a.e.inboxes.sources.committed(k.a.e.inboxes, k.a.id, d.change.unit.Drafts)
	}
	if act := s.active; act != nil && act.turn.WaitsForChildren() && len(d.change.unit.Drafts) > 0 {
		k.a.in.post(look)
	}
	if s.active == nil && len(s.queue) == 0 && s.inbox != nil && s.inbox.NewEntries > 0 && len(d.change.unit.Drafts) > 0 {
		if v := k.judgeWake(); v.OK || v.Stall != "" {
			k.a.in.post((*actor).startNext)
		}
	}
}

// dueAt returns when an inbox has something to do by itself; 0 = never.
func dueAt(box *inbox.Inbox) int64 {
	if box == nil {
		return 0
	}
	return box.DueAt()
}
