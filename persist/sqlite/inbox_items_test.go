package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/turns"
)

// One page looks at a bounded number of items, also if none of them matches or an entry shows few
// of many.
func TestPagesOfItemsAreBoundedInWhatTheyLookAt(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.NewMaker(t, whole{s, s.reader}, "thread_a").Start()
	m.Commit()
	first := m.Ingest(inbox.Item{Source: "ci", NativeID: "first", Grouping: &inbox.Grouping{ResourceRef: "pr:1", EventFamily: "comments"}})[0]
	entry := m.FlushAll()[0]
	digest, _ := first.DigestID.Seq(inbox.DigestPrefix)
	const n = 2*turns.MaxListScan + 50
	run := func(sql string, args ...driver.Value) {
		t.Helper()
		if err := s.Do(ctx, func() error { _, err := s.w.conn.exec(sql, args...); return err }); err != nil {
			t.Fatal(err)
		}
	}
	run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO inbox_items (created_seq, thread_id, source, native_id, digest, occurred_at, received_at, sender, size, acked_seq, acked_at, told, expired, chain)
		SELECT 1000 + i, 'thread_a', 'ci', 'n' || i, ?, 1, 1, '', 256, 1, 1, 0, 0, 0 FROM n`, int64(n), digest)
	run("UPDATE inbox_entries SET last_raw = 1000000")

	for _, q := range []inbox.ItemQuery{{Source: "none"}, {State: inbox.ItemPosted, Newest: true}, {Source: "none", DigestID: first.DigestID}} {
		q.ThreadID, q.Limit = m.ID, 1000
		var sizes []int
		for {
			page, err := s.reader.InboxItems(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(page.Items))
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		found := 0
		if q.Source == "" {
			found = 1
		}
		if len(sizes) != 3 || sizes[0] != 0 || sizes[1] != 0 || sizes[2] != found {
			t.Errorf("the pages of %+v have %v items", q, sizes)
		}
	}
	page, err := s.reader.ReadInbox(ctx, inbox.Read{ThreadID: m.ID, IncludeItemIDs: true})
	if err != nil || len(page.Entries) != 1 || page.Entries[0].EntryID != entry || len(page.Entries[0].ItemIDs) != 1 || !page.Entries[0].MoreItems {
		t.Errorf("read %+v, %v", page, err)
	}
}

// A page of items ends before it has read many times what it may have, and a page of entries with
// the ids of their items before it is larger than that.
func TestPagesOfItemsAreBoundedInBytes(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir(), Normal: true})
	m := persisttest.NewMaker(t, whole{s, s.reader}, "thread_a").Start()
	m.Commit()
	payload := []byte(`"` + strings.Repeat("x", 60_000) + `"`)
	group := &inbox.Grouping{ResourceRef: "pr:1", EventFamily: "comments"}
	for unit := range 4 {
		var list []inbox.Item
		for i := range 50 {
			list = append(list, inbox.Item{Source: "large", NativeID: fmt.Sprint(unit, " ", i), Payload: payload})
		}
		m.Ingest(list...)
	}
	seen, pages := 0, 0
	for q := (inbox.ItemQuery{ThreadID: m.ID, Limit: 1000}); pages == 0 || q.Cursor != ""; pages++ {
		page, err := s.reader.InboxItems(ctx, q)
		if err != nil || len(page.Items) > 150 {
			t.Fatalf("a page of %d items, %v", len(page.Items), err)
		}
		seen += len(page.Items)
		q.Cursor = page.Next
	}
	if seen != 200 || pages != 2 {
		t.Errorf("%d items in %d pages", seen, pages)
	}
	for unit := range 50 {
		var list []inbox.Item
		for i := range 30 {
			list = append(list, inbox.Item{Source: "small", NativeID: fmt.Sprint(unit, " ", i), Grouping: group})
		}
		m.Ingest(list...)
		m.FlushAll()
	}
	snapshots, ids := 0, 0
	pages = 0
	for q := (inbox.Read{ThreadID: m.ID, Limit: 1000, IncludeSuperseded: true, IncludeItemIDs: true}); pages == 0 || q.AfterEntryID != ""; pages++ {
		page, err := s.reader.ReadInbox(ctx, q)
		if err != nil || len(page.Entries) == 0 {
			t.Fatalf("%+v, %v", page, err)
		}
		looked := 0
		for _, e := range page.Entries {
			if e.Kind == inbox.KindSnapshot {
				snapshots++
			}
			looked += len(e.ItemIDs)
			if len(e.ItemIDs) != min(e.Count, 1000) || e.MoreItems != (e.Count > 1000) {
				t.Fatalf("%s has %d ids of %d items, more: %v", e.EntryID, len(e.ItemIDs), e.Count, e.MoreItems)
			}
		}
		if ids += looked; looked > turns.MaxListScan {
			t.Errorf("a page has %d ids", looked)
		}
		q.AfterEntryID = page.Next
	}
	if snapshots != 100 || ids < 30_000 || pages < 3 {
		t.Errorf("%d snapshots with %d ids in %d pages", snapshots, ids, pages)
	}
}
