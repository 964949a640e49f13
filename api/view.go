package api

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/threads"
)

// ThreadView is a thread as thread/read and thread/list return it. Summary is set by
// thread/read, and by thread/list with the view summary.
type ThreadView struct {
	threads.Thread
	Summary *ThreadSummary `json:"summary,omitzero"`
	Inbox   InboxCounts    `json:"inbox"`

	box *inbox.Inbox // what Inbox counts; nil = none
}

// InboxCounts are what waits in an inbox: entries that are neither acknowledged
// nor superseded, and raw items that are in no entry yet. They are read right
// after the thread, so they can be newer than latest_seq.
type InboxCounts struct {
	Unacked int `json:"unacked"`
	Pending int `json:"pending"`
}

func (v *ThreadView) show(b *inbox.Inbox) {
	if v.box = b; b != nil {
		v.Inbox = InboxCounts{Unacked: b.UnackedEntries, Pending: b.PendingItems}
	}
}

// summarized sets the summary of a thread. What keeps it from being woken is kept in no
// cache: it depends on the configuration and the time, too.
func (h *Handlers) summarized(v *ThreadView, s *ThreadSummary) {
	if v.Summary = s; s == nil || h.api.InboxReader == nil {
		return
	}
	var set inbox.Policy
	if v.box != nil {
		set = v.box.Policy
	}
	s.Wakes = inbox.WakesOf(v.box, &v.Thread, h.api.Inboxes.Policy(v.Agent, set).Wake, s.HeldSince, time.Now())
}

// SubscriptionView is a subscription and what it has done since the server
// started.
type SubscriptionView struct {
	inbox.Subscription
	Activity inbox.Activity `json:"activity"`
}

// viewsOf adds the counts of inboxes to threads.
func (h *Handlers) viewsOf(ctx context.Context, rows []threads.Thread) ([]ThreadView, error) {
	views := make([]ThreadView, len(rows))
	ids := make([]string, len(rows))
	for i := range rows {
		views[i].Thread, ids[i] = rows[i], rows[i].ThreadID
	}
	if h.api.InboxReader == nil || len(rows) == 0 {
		return views, nil
	}
	boxes, err := h.api.InboxReader.InboxRows(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range views {
		views[i].show(boxes[ids[i]])
	}
	return views, nil
}

// showInbox adds a thread with all that thread/read shows of its inbox.
func (h *Handlers) showInbox(ctx context.Context, t *threads.Thread, r *ThreadReadResult) error {
	in, err := h.inboxes()
	if err != nil {
		return err
	}
	over, err := h.api.InboxReader.InboxOf(ctx, t.ThreadID)
	if err != nil {
		return err
	}
	r.Thread = &ThreadView{Thread: *t}
	r.Thread.show(over.Inbox)
	set, timers := inbox.Policy{}, 0
	if over.Inbox != nil {
		set, timers = over.Inbox.Policy, over.Inbox.Timers
	}
	policy, from := in.Policy(t.Agent, set), in.PolicySet(t.Agent, set)
	r.Policy, r.PolicySet, r.Timers = &policy, &from, &timers
	r.Subscriptions = make([]SubscriptionView, len(over.Subscriptions))
	for i, s := range over.Subscriptions {
		r.Subscriptions[i] = SubscriptionView{s, in.Activity(t.ThreadID, s.SubscriptionID)}
	}
	return nil
}
