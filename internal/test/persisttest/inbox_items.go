package persisttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
)

// inboxItems lists the items of an inbox.
func inboxItems(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a").Start()
	m.Commit()
	x := &inboxTest{m, h}
	list := func(q inbox.ItemQuery) string {
		t.Helper()
		q.ThreadID = m.ID
		var out []string
		for n := 0; ; n++ {
			page, err := h.Store.InboxItems(ctx, q)
			if err != nil || q.Limit > 0 && len(page.Items) > q.Limit {
				t.Fatalf("items of %+v: %+v, %v", q, page, err)
			}
			for _, it := range page.Items {
				if it.Payload != nil {
					t.Errorf("%s has a payload", it.RawID)
				}
				out = append(out, string(it.NativeID)+" "+string(it.State))
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return strings.Join(out, ", ")
			}
		}
	}
	x.want("nothing", list(inbox.ItemQuery{}), "")
	it := comments(3, 1)[0]
	it.About, it.Outcome, it.SubscriptionIDs = "3", "failure", []string{"sub_a", "sub_b"}
	x.Ingest(append(comments(1, 2), it, alert("disk"))...)
	x.want("before the flush", list(inbox.ItemQuery{Newest: true}), "disk posted, comment-3 pending, comment-2 pending, comment-1 pending")
	x.FlushAll()
	x.Ingest(comments(4, 2)...)
	x.Book(func(b *inbox.Book) error {
		_, err := b.Ack(inbox.Ack{RawIDs: []notify.ID{"raw_3"}})
		return err
	})
	x.Commit()
	x.want("all", list(inbox.ItemQuery{}), "comment-1 posted, comment-2 acked, comment-3 posted, disk posted, comment-4 pending, comment-5 pending")
	x.want("in pages", list(inbox.ItemQuery{Limit: 2, Newest: true}), "comment-5 pending, comment-4 pending, disk posted, comment-3 posted, comment-2 acked, comment-1 posted")
	x.want("pending", list(inbox.ItemQuery{State: inbox.ItemPending, Limit: 1}), "comment-4 pending, comment-5 pending")
	x.want("posted", list(inbox.ItemQuery{State: inbox.ItemPosted, Limit: 1}), "comment-1 posted, comment-3 posted, disk posted")
	x.want("acknowledged", list(inbox.ItemQuery{State: inbox.ItemAcked}), "comment-2 acked")
	x.want("of a source", list(inbox.ItemQuery{Source: "alerts"}), "disk posted")
	x.want("of a digest", list(inbox.ItemQuery{DigestID: "dig_2", State: inbox.ItemPosted}), "comment-1 posted, comment-3 posted")
	page, err := h.Store.InboxItems(ctx, inbox.ItemQuery{ThreadID: m.ID, Source: "ci", State: inbox.ItemPosted, Newest: true, Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Latest != m.Thread.LatestSeq {
		t.Fatalf("%+v, %v", page, err)
	}
	if got := page.Items[0]; got.RawID != "raw_4" || got.DigestID != "dig_2" || got.About != "3" || got.Outcome != "failure" || got.Summary != "comment 3" ||
		!slices.Equal(got.SubscriptionIDs, it.SubscriptionIDs) || got.ReceivedAt.IsZero() {
		t.Errorf("the item is %+v", got)
	}
	if out, err := h.Store.ExpandEntry(ctx, inbox.Expand{ThreadID: m.ID, EntryID: "ent_7"}); err != nil || len(out.Items) != 3 ||
		out.Items[1].State != inbox.ItemAcked || out.Items[2].State != inbox.ItemPosted || out.Items[2].Outcome != "failure" || !slices.Equal(out.Items[2].SubscriptionIDs, it.SubscriptionIDs) {
		t.Errorf("expanded %+v, %v", out, err)
	}
	for _, id := range []notify.ID{"dig_5", "raw_2", "dig_x", "dig_99"} {
		if _, err := h.Store.InboxItems(ctx, inbox.ItemQuery{ThreadID: m.ID, DigestID: id}); !errors.Is(err, inbox.ErrUnknownDigest) {
			t.Errorf("items of %s: %v", id, err)
		}
	}
	other := NewMaker(t, h.Store, "thread_other").Start()
	other.Commit()
	other.Ingest(alert("other"))
	if _, err := h.Store.InboxItems(ctx, inbox.ItemQuery{ThreadID: other.ID, DigestID: "dig_2"}); !errors.Is(err, inbox.ErrUnknownDigest) {
		t.Errorf("items of the digest of another thread: %v", err)
	}
	for _, cursor := range []string{"x", "-1", "raw_3"} {
		if _, err := h.Store.InboxItems(ctx, inbox.ItemQuery{ThreadID: m.ID, Cursor: cursor}); !errors.Is(err, notify.ErrBadCursor) {
			t.Errorf("the cursor %s: %v", cursor, err)
		}
	}
	x.itemIDs()

	x.Book(func(b *inbox.Book) error {
		_, err := b.Expire(x.clock.Add(time.Minute))
		return err
	})
	x.Commit()
	x.want("without what has expired", list(inbox.ItemQuery{DigestID: "dig_2"}), "comment-1 posted, comment-3 posted, comment-4 pending, comment-5 pending")
	x.want("kept item ids", x.namedIn(inbox.Read{IncludeSuperseded: true, Limit: 2}), "ent_6[raw_5] ent_7[raw_2 raw_4]")
	x.Book(func(b *inbox.Book) error { return b.Close() })
	x.Commit()
	x.Add(notify.ThreadClosed, "", "", closedThread())
	x.Commit()
	x.want("of a closed thread", list(inbox.ItemQuery{State: inbox.ItemPosted, Source: "ci"}), "comment-1 posted, comment-3 posted, comment-4 posted, comment-5 posted")
	RemoveInbox(t, h.Store, m.ID)
	x.want("of a removed inbox", list(inbox.ItemQuery{}), "")
}

// itemIDs reads what entries show.
func (x *inboxTest) itemIDs() {
	x.t.Helper()
	all := inbox.Read{IncludeAcked: true, IncludeSuperseded: true}
	x.want("item ids", x.namedIn(all), "ent_6[raw_5] ent_7[raw_2 raw_3 raw_4] ent_11[raw_2 raw_4]")
	all.Newest, all.Limit = true, 1
	x.want("item ids, the newest first", x.namedIn(all), "ent_11[raw_2 raw_4]")
	if page, err := x.h.Store.ReadInbox(context.Background(), inbox.Read{ThreadID: x.ID}); err != nil || page.Entries[0].ItemIDs != nil {
		x.t.Errorf("entries have ids that nobody asked for: %+v, %v", page, err)
	}
}

// namedIn reads a page of entries with the ids of their items.
func (x *inboxTest) namedIn(q inbox.Read) string {
	x.t.Helper()
	q.ThreadID, q.IncludeItemIDs = x.ID, true
	page, err := x.h.Store.ReadInbox(context.Background(), q)
	if err != nil {
		x.t.Fatal(err)
	}
	var out []string
	for _, e := range page.Entries {
		if e.MoreItems {
			x.t.Errorf("%s has more items", e.EntryID)
		}
		out = append(out, fmt.Sprint(e.EntryID, e.ItemIDs))
	}
	return strings.Join(out, " ")
}
