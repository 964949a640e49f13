package rpc

import (
	"context"
	"fmt"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// fakeInboxes records its commands and answers the minimum. It also reads: the
// thread "full" has an inbox, others have none.
type fakeInboxes struct {
	*fakeEngine
	read   inbox.Read   // of the last ReadInbox
	expand inbox.Expand // of the last ExpandEntry
	items  inbox.ItemQuery
}

// fakeSources has one configured source, gh. The filter of a subscription must be
// true.
type fakeSources struct{}

func (fakeSources) Has(name string) bool { return name == "gh" }

func (fakeSources) CheckFilter(filter string) error {
	if filter != "true" {
		return turns.Invalid("filter", turns.ReasonInvalid, "is not true")
	}
	return nil
}

// withInboxes gives a server inboxes. Its threads are full and empty.
func withInboxes(t interface{ Helper() }, r *rig) *fakeInboxes {
	t.Helper()
	f := &fakeInboxes{fakeEngine: r.engine}
	r.server.api.Inboxes, r.server.api.InboxReader, r.server.api.Sources = f, f, fakeSources{}
	for _, id := range []string{"full", "empty"} {
		_, _ = r.post(request("1", "thread/start", `{"thread_id":"`+id+`"}`))
	}
	r.engine.mu.Lock()
	r.engine.calls = nil
	r.engine.mu.Unlock()
	return f
}

func (f *fakeInboxes) done(k *ledger.Key, format string, args ...any) error {
	f.note("%s%s", fmt.Sprintf(format, args...), keyName(k))
	return f.failWith
}

func (f *fakeInboxes) Ingest(_ context.Context, c inbox.Ingest) (inbox.IngestResult, error) {
	err := f.done(c.Key, "Ingest %s %d %s", c.ThreadID, len(c.Items), string(c.Items[0].Payload))
	return inbox.IngestResult{Results: []inbox.Ingested{{RawID: "raw_7", DigestID: "dig_7"}}, Seq: 7}, err
}

func (f *fakeInboxes) Send(_ context.Context, c inbox.Send) (inbox.SendResult, error) {
	err := f.done(c.Key, "Send %s %s %s", c.ThreadID, c.Text, c.Sender)
	return inbox.SendResult{Ingested: inbox.Ingested{RawID: "raw_7", EntryID: "ent_8"}, Seq: 8}, err
}

func (f *fakeInboxes) Configure(_ context.Context, c inbox.Configure) (inbox.ConfigureResult, error) {
	err := f.done(c.Key, "Configure %s %v", c.ThreadID, c.Reset)
	return inbox.ConfigureResult{ThreadID: c.ThreadID, Policy: f.Policy("", c.Policy), Seq: 7}, err
}

func (f *fakeInboxes) Ack(_ context.Context, c inbox.Ack) (inbox.AckResult, error) {
	err := f.done(c.Key, "Ack %s %v %s %v", c.ThreadID, c.EntryIDs, c.ThroughEntryID, c.All)
	return inbox.AckResult{Seq: 7}, err
}

func (f *fakeInboxes) Flush(_ context.Context, c inbox.FlushNow) (inbox.EntriesResult, error) {
	err := f.done(c.Key, "Flush %s %s", c.ThreadID, c.DigestID)
	return inbox.EntriesResult{EntryIDs: []notify.ID{"ent_7"}, Seq: 7}, err
}

func (f *fakeInboxes) Wake(_ context.Context, c inbox.WakeNow) (inbox.EntriesResult, error) {
	return inbox.EntriesResult{Seq: 7}, f.done(c.Key, "Wake %s", c.ThreadID)
}

func (f *fakeInboxes) Subscribe(_ context.Context, c inbox.Subscribe) (inbox.SubscribeResult, error) {
	err := f.done(c.Key, "Subscribe %s %s", c.ThreadID, c.Source)
	return inbox.SubscribeResult{Subscription: inbox.Subscription{SubscriptionID: "sub_1", Source: c.Source}, Created: true, Seq: 7}, err
}

func (f *fakeInboxes) Unsubscribe(_ context.Context, c inbox.Unsubscribe) (inbox.UnsubscribeResult, error) {
	err := f.done(c.Key, "Unsubscribe %s %s", c.ThreadID, c.SubscriptionID)
	return inbox.UnsubscribeResult{SubscriptionID: c.SubscriptionID, Seq: 7}, err
}

func (f *fakeInboxes) CreateTimer(_ context.Context, c inbox.CreateTimer) (inbox.TimerResult, error) {
	err := f.done(c.Key, "CreateTimer %s %d %s", c.ThreadID, c.EverySeconds, c.Text)
	return inbox.TimerResult{Timer: inbox.Timer{TimerID: "timer_1", Text: c.Text}, Created: true, Seq: 7}, err
}

func (f *fakeInboxes) DeleteTimer(_ context.Context, c inbox.DeleteTimer) (inbox.DeleteTimerResult, error) {
	err := f.done(c.Key, "DeleteTimer %s %s", c.ThreadID, c.TimerID)
	return inbox.DeleteTimerResult{TimerID: c.TimerID, Seq: 7}, err
}

func (f *fakeInboxes) PolicySet(_ string, set inbox.Policy) inbox.PolicySet {
	return inbox.PolicySet{Thread: set}
}

func (f *fakeInboxes) Policy(_ string, set inbox.Policy) inbox.Policy {
	return set.Settings(inbox.WakeNone).Policy()
}

func (f *fakeInboxes) Activity(threadID, subscriptionID string) inbox.Activity {
	return inbox.Activity{Received: 3, LastError: threadID + "/" + subscriptionID}
}

func (f *fakeInboxes) ReadInbox(_ context.Context, q inbox.Read) (inbox.Page, error) {
	f.read = q
	return inbox.Page{Next: "ent_9", UnackedEntries: 2, PendingItems: 1, Latest: 9}, f.failWith
}

func (f *fakeInboxes) ExpandEntry(_ context.Context, q inbox.Expand) (inbox.Expanded, error) {
	f.expand = q
	return inbox.Expanded{Items: []inbox.RawItem{{RawID: "raw_7", Payload: []byte(`{"a":1}`)}}, Next: "raw_7", Latest: 9}, f.failWith
}

func (f *fakeInboxes) InboxItems(_ context.Context, q inbox.ItemQuery) (inbox.ItemPage, error) {
	f.items = q
	return inbox.ItemPage{Items: []inbox.RawItem{{RawID: "raw_7", State: inbox.ItemPending}}, Next: "7", Latest: 9}, f.failWith
}

func (f *fakeInboxes) ListTimers(context.Context, string) ([]inbox.Timer, error) {
	return []inbox.Timer{{TimerID: "timer_1"}}, f.failWith
}

func fullInbox() *inbox.Inbox {
	window := int64(500)
	return &inbox.Inbox{ThreadID: "full", UnackedEntries: 2, PendingItems: 1, Timers: 4, Policy: inbox.Policy{WindowMs: &window}}
}

func (f *fakeInboxes) InboxOf(_ context.Context, threadID string) (inbox.Overview, error) {
	if threadID != "full" {
		return inbox.Overview{}, f.failWith
	}
	return inbox.Overview{Inbox: fullInbox(), Subscriptions: []inbox.Subscription{{SubscriptionID: "sub_1", Source: "hub"}}}, f.failWith
}

func (f *fakeInboxes) InboxRows(_ context.Context, ids []string) (map[string]*inbox.Inbox, error) {
	rows := map[string]*inbox.Inbox{}
	for _, id := range ids {
		if id == "full" {
			rows[id] = fullInbox()
		}
	}
	return rows, f.failWith
}
