package persisttest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
)

// comments returns n items that belong together, with numbers from first.
func comments(first, n int) (list []inbox.Item) {
	for i := first; i < first+n; i++ {
		list = append(list, inbox.Item{
			Source: "ci", NativeID: fmt.Sprint("comment-", i), Summary: fmt.Sprint("comment ", i),
			Payload: fmt.Appendf(nil, `{"n":%d}`, i), Grouping: &inbox.Grouping{ResourceRef: "pr:1", EventFamily: "comments"},
		})
	}
	return list
}

func alert(id string) inbox.Item {
	return inbox.Item{Source: "alerts", NativeID: id, Summary: id, Payload: []byte(`"` + id + `"`)}
}

// Ingest stores items in a unit of their own.
func (m *Maker) Ingest(items ...inbox.Item) (results []inbox.Ingested) {
	m.t.Helper()
	m.Book(func(b *inbox.Book) (err error) {
		results, err = b.Ingest(items)
		return err
	})
	first := m.Commit().First
	for i := range results {
		results[i].AssignSeqs(first)
	}
	return results
}

// FlushAll posts everything that is pending, in a unit of its own.
func (m *Maker) FlushAll() []notify.ID {
	m.t.Helper()
	var ids []notify.ID
	m.Book(func(b *inbox.Book) (err error) {
		ids, err = b.FlushAll(inbox.ReasonManual)
		return err
	})
	notify.AssignIDs(ids, m.Commit().First)
	return ids
}

// Ack acknowledges entries, in a unit of its own.
func (m *Maker) Ack(ids ...notify.ID) inbox.AckResult {
	m.t.Helper()
	var out inbox.AckResult
	m.Book(func(b *inbox.Book) (err error) {
		out, err = b.Ack(inbox.Ack{EntryIDs: ids})
		return err
	})
	out.AssignSeqs(m.Commit().First)
	return out
}

// inboxTest is an inbox with a reader of it.
type inboxTest struct {
	*Maker
	h Harness
}

// shown reads the inbox and returns its entries as short texts.
func (x *inboxTest) shown(q inbox.Read) string {
	x.t.Helper()
	q.ThreadID = x.ID
	page, err := x.h.Store.ReadInbox(context.Background(), q)
	if err != nil {
		x.t.Fatal(err)
	}
	var list []string
	for _, e := range page.Entries {
		list = append(list, fmt.Sprintf("%s:%d", e.EntryID, e.Count))
	}
	return strings.Join(list, " ")
}

// items reads the raw items of an entry, as the native ids and payloads.
func (x *inboxTest) items(id notify.ID) string {
	x.t.Helper()
	out, err := x.h.Store.ExpandEntry(context.Background(), inbox.Expand{ThreadID: x.ID, EntryID: id})
	if err != nil {
		x.t.Fatalf("expand %s: %v", id, err)
	}
	var list []string
	for _, it := range out.Items {
		list = append(list, it.NativeID+"="+string(it.Payload))
	}
	return strings.Join(list, " ")
}

func (x *inboxTest) want(what, got, want string) {
	x.t.Helper()
	if got != want {
		x.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// row checks that the stored row is the one that the unit left.
func (x *inboxTest) row() {
	x.t.Helper()
	got, err := x.h.Store.LoadInbox(context.Background(), x.ID)
	if err != nil || (got == nil) != (x.Inbox == nil) {
		x.t.Fatalf("the row is %+v, %v; want %+v", got, err, x.Inbox)
	}
	if got == nil {
		return
	}
	have, err := got.Values(0)
	want, err2 := x.Inbox.Values(0)
	if err != nil || err2 != nil || !reflect.DeepEqual(have, want) {
		x.t.Errorf("the row is %+v, %v; want %+v", got, err, x.Inbox)
	}
}

// inboxes writes an inbox as an engine does and reads it.
func inboxes(t *testing.T, h Harness) {
	ctx := context.Background()
	x := &inboxTest{NewMaker(t, h.Store, "thread_a").Start(), h}
	x.Commit()
	if got, err := h.Store.LoadInbox(ctx, "thread_a"); got != nil || err != nil {
		t.Errorf("a thread without an inbox has %+v, %v", got, err)
	}
	x.want("nothing", x.shown(inbox.Read{}), "")
	// Events 2 to 4 are comments, 5 an alert, 6 its entry.
	list := x.Ingest(append(comments(1, 3), alert("disk"))...)
	if want := []inbox.Ingested{
		{RawID: "raw_2", DigestID: "dig_2"}, {RawID: "raw_3", DigestID: "dig_2"}, {RawID: "raw_4", DigestID: "dig_2"}, {RawID: "raw_5", EntryID: "ent_6"},
	}; !reflect.DeepEqual(list, want) {
		t.Fatalf("stored %+v, want %+v", list, want)
	}
	x.row()
	if list = x.Ingest(alert("disk"), comments(2, 1)[0]); !list[0].Duplicate || list[0].RawID != "raw_5" || list[1].RawID != "raw_3" {
		t.Errorf("duplicates: %+v", list)
	}
	x.want("before the flush", x.shown(inbox.Read{}), "ent_6:1")
	due := x.Inbox.FlushAt
	if ids, next, err := h.Store.DueInboxes(ctx, due-1, 10); len(ids) > 0 || next != due || err != nil {
		t.Errorf("due too early: %v, next %d, %v", ids, next, err)
	}
	if ids, next, err := h.Store.DueInboxes(ctx, due, 10); !slices.Equal(ids, []string{"thread_a"}) || next != 0 || err != nil {
		t.Errorf("due: %v, next %d, %v", ids, next, err)
	}
	if _, next, err := h.Store.DueInboxes(ctx, due, 0); next != due || err != nil {
		t.Errorf("without room: next %d, %v", next, err)
	}
	x.Later(30 * time.Second)
	x.Book(func(b *inbox.Book) error { return b.FlushDue() })
	x.Commit() // 7
	x.row()
	x.want("after the flush", x.shown(inbox.Read{}), "ent_6:1 ent_7:3")
	x.want("the newest first", x.shown(inbox.Read{Newest: true}), "ent_7:3 ent_6:1")
	x.Ingest(comments(4, 2)...) // 8, 9
	x.FlushAll()                // 10
	x.want("grown", x.shown(inbox.Read{}), "ent_6:1 ent_10:5")
	x.want("with what is superseded", x.shown(inbox.Read{IncludeSuperseded: true}), "ent_6:1 ent_7:3 ent_10:5")
	x.want("items of a superseded entry", x.items("ent_7"), `comment-1={"n":1} comment-2={"n":2} comment-3={"n":3}`)
	x.Ingest(comments(6, 1)...) // 11, pending
	// Acknowledging the old snapshot leaves the rest in a new one. 12, 13.
	if out := x.Ack("ent_7"); out.AckedItems != 3 || !slices.Equal(out.RemainderEntryIDs, []notify.ID{"ent_13"}) {
		t.Errorf("acknowledged %+v", out)
	}
	x.row()
	x.want("the rest", x.shown(inbox.Read{}), "ent_6:1 ent_13:2")
	x.want("items of the rest", x.items("ent_13"), `comment-4={"n":4} comment-5={"n":5}`)
	x.want("items of what was acknowledged", x.items("ent_10"), `comment-1={"n":1} comment-2={"n":2} comment-3={"n":3} comment-4={"n":4} comment-5={"n":5}`)
	x.want("with what was acknowledged", x.shown(inbox.Read{IncludeAcked: true, IncludeSuperseded: true}), "ent_6:1 ent_7:3 ent_10:5 ent_13:2")
	x.want("without what is superseded", x.shown(inbox.Read{IncludeAcked: true}), "ent_6:1 ent_13:2")
	x.pages()
	x.telling()
	x.timers()
	x.expiry()
	refolded(t, h)
}

func refolded(t *testing.T, h Harness) {
	t.Helper()
	out, err := persist.Refold(context.Background(), h.Store)
	if err != nil || len(out.Differences) > 0 || out.Threads == 0 {
		t.Errorf("refold %+v, %v", out, err)
	}
}

// pages reads page by page, and what is not there.
func (x *inboxTest) pages() {
	x.t.Helper()
	ctx, store := context.Background(), x.h.Store
	all := inbox.Read{ThreadID: x.ID, IncludeAcked: true, IncludeSuperseded: true, Limit: 3}
	page, err := store.ReadInbox(ctx, all)
	if err != nil || page.Next != "ent_10" || page.UnackedEntries != 2 || page.PendingItems != 1 || page.Latest != 13 {
		x.t.Errorf("first page %+v, %v", page, err)
	}
	all.AfterEntryID = page.Next
	if page, err = store.ReadInbox(ctx, all); err != nil || page.Next != "" || len(page.Entries) != 1 || page.Entries[0].EntryID != "ent_13" {
		x.t.Errorf("second page %+v, %v", page, err)
	}
	for _, id := range []notify.ID{"raw_3", "ent_", "ent_-1", "ent_x"} {
		if _, err := store.ReadInbox(ctx, inbox.Read{ThreadID: x.ID, AfterEntryID: id}); !errors.Is(err, inbox.ErrEntryNotFound) {
			x.t.Errorf("after %s: %v", id, err)
		}
	}
	q := inbox.Expand{ThreadID: x.ID, EntryID: "ent_10", Limit: 2}
	for i, want := range []notify.ID{"raw_3", "raw_8", ""} {
		out, err := store.ExpandEntry(ctx, q)
		if err != nil || out.Next != want || len(out.Items) != []int{2, 2, 1}[i] || out.Latest != 13 {
			x.t.Errorf("items after %s: %+v, %v", q.AfterRawID, out, err)
		}
		q.AfterRawID = out.Next
	}
	for _, q := range []inbox.Expand{
		{ThreadID: x.ID, EntryID: "ent_2"}, {ThreadID: x.ID, EntryID: "ent_99"}, {ThreadID: "thread_b", EntryID: "ent_6"},
		{ThreadID: x.ID, EntryID: "raw_6"}, {ThreadID: x.ID, EntryID: "ent_6", AfterRawID: "ent_6"},
	} {
		if _, err := store.ExpandEntry(ctx, q); !errors.Is(err, inbox.ErrEntryNotFound) {
			x.t.Errorf("items of %+v: %v", q, err)
		}
	}
	if err := store.ReadToDecide(ctx, func(r ledger.Reader) error {
		got, err := store.Payloads(r, []int64{2, 5, 6, 99})
		if err != nil || len(got) != 2 || string(got[2].Payload) != `{"n":1}` || got[5].NativeID != "disk" {
			x.t.Errorf("payloads %+v, %v", got, err)
		}
		pending, unacked, err := persist.InboxTotals(r)
		if pending != 1 || unacked != 4 {
			x.t.Errorf("in all %d pending, %d unacknowledged", pending, unacked)
		}
		return err
	}); err != nil {
		x.t.Error(err)
	}
	if rows, err := store.InboxRows(ctx, []string{"thread_none", x.ID}); err != nil || len(rows) != 1 || !reflect.DeepEqual(rows[x.ID], x.Inbox) {
		x.t.Errorf("rows %+v, %v", rows, err)
	}
}

// telling shows the agent what is new, and takes it back.
func (x *inboxTest) telling() {
	x.t.Helper()
	fresh := func(want ...string) {
		x.t.Helper()
		if ids, err := x.h.Store.InboxesWithNew(context.Background()); err != nil || !slices.Equal(ids, want) {
			x.t.Errorf("inboxes with something new: %v, %v; want %v", ids, err, want)
		}
		x.row()
	}
	fresh(x.ID)
	tell := func(turn string) {
		x.t.Helper()
		x.Book(func(b *inbox.Book) error {
			list, err := b.Fresh(nil)
			b.Tell(list, turn)
			return err
		})
		x.Commit()
	}
	tell("turn_a")
	fresh()
	x.Book(func(b *inbox.Book) error { return b.Untell("turn_a", true, 0) })
	x.Commit()
	fresh(x.ID)
	tell("turn_b")
	x.FlushAll() // the pending comment is new
	fresh(x.ID)
	x.Book(func(b *inbox.Book) error { return b.AckTold("turn_b") })
	x.Commit()
	fresh(x.ID)
}

// timers connects a source, and fires timers.
func (x *inboxTest) timers() {
	x.t.Helper()
	ctx, store := context.Background(), x.h.Store
	x.Book(func(b *inbox.Book) error {
		for _, c := range []inbox.Subscribe{{SubscriptionID: "b", Source: "ci", Filter: "true"}, {SubscriptionID: "a", Source: "events"}, {SubscriptionID: "c", Source: "ci"}} {
			if _, _, err := b.Subscribe(c); err != nil {
				return err
			}
		}
		for _, c := range []inbox.CreateTimer{{TimerID: "once", At: notify.TimeOf(x.clock.Add(time.Hour)), Text: "look"}, {TimerID: "often", EverySeconds: 600, Text: "again"}, {TimerID: "never", EverySeconds: 600, Text: "no"}} {
			if _, _, err := b.CreateTimer(c); err != nil {
				return err
			}
		}
		return nil
	})
	x.Commit()
	x.Book(func(b *inbox.Book) error { return errors.Join(b.Unsubscribe("c"), b.DeleteTimer("never")) })
	x.Commit()
	x.row()
	if at := x.clock.Add(10 * time.Minute).UnixMilli(); x.Inbox.TimerAt != at {
		x.t.Errorf("the first timer is at %d, want %d", x.Inbox.TimerAt, at)
	}
	x.Later(2 * time.Hour)
	x.Book(func(b *inbox.Book) error { return b.FireDue() })
	x.Commit()
	x.row()
	list, err := store.ListTimers(ctx, x.ID)
	if err != nil || len(list) != 1 || list[0].TimerID != "often" || !list[0].LastFiredAt.Equal(x.clock) {
		x.t.Errorf("timers %+v, %v", list, err)
	}
	out, err := store.InboxOf(ctx, x.ID)
	if err != nil || !reflect.DeepEqual(out.Inbox, x.Inbox) || len(out.Subscriptions) != 2 || out.Subscriptions[0].SubscriptionID != "b" {
		x.t.Errorf("overview %+v, %v", out, err)
	}
	subs, err := store.SubscriptionsOf(ctx, "ci")
	if err != nil || len(subs) != 1 || subs[0].SubscriptionID != "b" || subs[0].ThreadID != x.ID || subs[0].Filter != "true" {
		x.t.Errorf("subscriptions of a source: %+v, %v", subs, err)
	}
}

// expiry removes what was acknowledged.
func (x *inboxTest) expiry() {
	x.t.Helper()
	ctx, store := context.Background(), x.h.Store
	acked := x.Inbox.AckedAt
	if ids, err := store.InboxesToExpire(ctx, acked, 10); err != nil || len(ids) > 0 {
		x.t.Errorf("to expire too early: %v, %v", ids, err)
	}
	if ids, err := store.InboxesToExpire(ctx, acked+1, 10); err != nil || !slices.Equal(ids, []string{x.ID}) {
		x.t.Errorf("to expire: %v, %v", ids, err)
	}
	x.Book(func(b *inbox.Book) error {
		_, err := b.Expire(time.UnixMilli(acked + 1))
		return err
	})
	x.Commit()
	x.row()
	if x.Inbox.Expired == 0 {
		x.t.Fatal("nothing has expired")
	}
	if _, err := store.ExpandEntry(ctx, inbox.Expand{ThreadID: x.ID, EntryID: "ent_10"}); !errors.Is(err, inbox.ErrEntryExpired) {
		x.t.Errorf("items of an expired entry: %v", err)
	}
	// A reader that has read up to an entry that is gone reads on from there.
	every := inbox.Read{IncludeAcked: true, IncludeSuperseded: true}
	left := x.shown(every)
	if every.AfterEntryID = "ent_10"; left == "" || strings.Contains(left, "ent_10:") {
		x.t.Errorf("after the removal: %s", left)
	}
	x.want("after an entry that is gone", x.shown(every), left)
	// The identity of what is gone is remembered.
	if list := x.Ingest(comments(1, 1)...); !list[0].Duplicate || list[0].RawID != "raw_2" {
		x.t.Errorf("an expired item again: %+v", list)
	}
}

func closedThread() *threads.Changed { return &threads.Changed{Type: "closed", State: threads.Closed} }

// removedInbox removes the inbox of a closed thread. Nothing reads the rows that are
// left, except to remove them.
func removedInbox(t *testing.T, h Harness) {
	ctx := context.Background()
	m := InboxExample(t, h.Store)
	other := NewMaker(t, h.Store, "thread_other").Start()
	other.Commit()
	stays := other.Ingest(alert("stays"))[0]
	m.Book(func(b *inbox.Book) error { return b.Close() })
	m.Commit()
	m.Add(notify.ThreadClosed, "", "", closedThread())
	m.Commit()
	rest := func(want ...string) {
		t.Helper()
		if ids, err := h.Store.RemovedInboxes(ctx); err != nil || !slices.Equal(ids, want) {
			t.Errorf("removed inboxes of which something is left: %v, %v; want %v", ids, err, want)
		}
	}
	rest()
	RemoveInbox(t, h.Store, m.ID)
	rest(m.ID)
	refolded(t, h)
	page, err := h.Store.ReadInbox(ctx, inbox.Read{ThreadID: m.ID, IncludeAcked: true, IncludeSuperseded: true})
	if err != nil || len(page.Entries) > 0 || page.UnackedEntries > 0 || page.PendingItems > 0 || page.Latest == 0 {
		t.Errorf("read %+v, %v", page, err)
	}
	last := inbox.EntryID(m.Thread.LatestSeq)
	expand := func(thread string, id notify.ID, want error) {
		t.Helper()
		if _, err := h.Store.ExpandEntry(ctx, inbox.Expand{ThreadID: thread, EntryID: id}); !errors.Is(err, want) {
			t.Errorf("items of %s of %s: %v, want %v", id, thread, err, want)
		}
	}
	expand(m.ID, "ent_6", inbox.ErrEntryExpired) // its row is left
	expand(m.ID, last, inbox.ErrEntryExpired)
	expand(m.ID, inbox.EntryID(m.Thread.LatestSeq+1), inbox.ErrEntryNotFound)
	expand(m.ID, stays.EntryID, inbox.ErrEntryNotFound)
	expand(m.ID, "ent_x", inbox.ErrEntryNotFound)
	expand(other.ID, "ent_6", inbox.ErrEntryNotFound)
	if p, err := h.Store.Prune(ctx, 1000); err != nil || inbox.RawID(p.First) != stays.RawID {
		t.Errorf("pruned %+v, %v; want all before %s", p, err, stays.RawID)
	}
}
