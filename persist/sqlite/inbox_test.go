package sqlite

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
)

// Each kind of damage to inboxes has its own finding.
func TestDoctorSeesDamagedInboxes(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ want, damage string }{
		{"inboxes", "UPDATE inboxes SET unacked_items = 9"},
		{"inboxes", "UPDATE inbox_items SET acked_seq = 7 WHERE created_seq = 8"},
		{"inboxes", "UPDATE inbox_digests SET pending = 0"},
		{"inboxes", "UPDATE inbox_entries SET superseded_by = 0"},
		{"inboxes", "UPDATE inbox_entries SET fresh = 0"},
		{"inboxes", "DELETE FROM inbox_timers"},
		{"inbox items", "DELETE FROM inboxes"},
		{"inbox items", "UPDATE inbox_items SET created_seq = 1 WHERE created_seq = 8"},
		{"rows", "UPDATE inboxes SET updated_seq = 100"},
		{"rows", "UPDATE inbox_entries SET superseded_by = 100 WHERE superseded_by > 0"},
		{"rows", "UPDATE inbox_items SET acked_seq = 100 WHERE acked_seq > 0"},
		{"rows", "UPDATE inbox_digests SET last_raw = 100"},
		{"rows", "UPDATE inbox_subscriptions SET created_seq = 100"},
		{"rows", "UPDATE inbox_timers SET created_seq = 100"},
	} {
		t.Run(c.damage, func(t *testing.T) {
			s := running(t, Options{Dir: t.TempDir()})
			persisttest.InboxExample(t, whole{s, s.reader})
			if bad := worst(t, s.reader); len(bad) > 0 {
				t.Errorf("of a sound log: %v", bad)
			}
			if err := s.Do(ctx, func() error { return s.w.conn.run(c.damage) }); err != nil {
				t.Fatal(err)
			}
			if bad := worst(t, s.reader); !slices.ContainsFunc(bad, func(f Finding) bool { return f.Name == c.want }) {
				t.Errorf("found %v, want %s", bad, c.want)
			}
		})
	}
}

// Refold sees every kind of damage to a table of inboxes, and nothing else.
func TestRefoldSeesTamperedInboxes(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir()})
	persisttest.InboxExample(t, whole{s, s.reader})
	differences := func() (list []string) {
		out, err := persist.Refold(ctx, s.reader)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range out.Differences {
			list = append(list, d.Table+" "+d.Column)
		}
		return list
	}
	for _, c := range []struct{ damage, repair, want string }{
		{"UPDATE inboxes SET due_at = due_at + 1", "UPDATE inboxes SET due_at = due_at - 1", "inboxes due_at"},
		{"UPDATE inboxes SET timer_at = timer_at + 1", "UPDATE inboxes SET timer_at = timer_at - 1", "inboxes timer_at"},
		{"UPDATE inboxes SET lagged = CAST('{\"x\":1}' AS BLOB)", "UPDATE inboxes SET lagged = NULL", ""},
		{"UPDATE inbox_items SET told = 1 WHERE created_seq = 8", "UPDATE inbox_items SET told = 0 WHERE created_seq = 8", "inbox_items told"},
		{"UPDATE inbox_items SET size = size + 1 WHERE created_seq = 8", "UPDATE inbox_items SET size = size - 1 WHERE created_seq = 8", "inbox_items size"},
		{"UPDATE inbox_digests SET waiting = 0", "UPDATE inbox_digests SET waiting = 1", "inbox_digests waiting"},
		{"UPDATE inbox_digests SET last_at = last_at + 1", "UPDATE inbox_digests SET last_at = last_at - 1", "inbox_digests last_at"},
		{"UPDATE inbox_entries SET summary = summary || 'x' WHERE created_seq = 7", "UPDATE inbox_entries SET summary = rtrim(summary, 'x') WHERE created_seq = 7", "inbox_entries summary"},
		{"UPDATE inbox_subscriptions SET filter = 'x'", "UPDATE inbox_subscriptions SET filter = ''", "inbox_subscriptions filter"},
		{"UPDATE inbox_timers SET text = 'x'", "UPDATE inbox_timers SET text = 'look'", "inbox_timers text"},
		{"UPDATE threads SET held = 1", "UPDATE threads SET held = 0", "threads held"},
		{"DELETE FROM inbox_timers", "", "inbox_timers row"},
	} {
		if list := differences(); len(list) > 0 {
			t.Fatalf("before %s: %v", c.damage, list)
		}
		run := func(sql string) {
			if err := s.Do(ctx, func() error { return s.w.conn.run(sql) }); err != nil {
				t.Fatal(err)
			}
		}
		run(c.damage)
		if list := differences(); c.want == "" && len(list) > 0 || c.want != "" && !slices.Equal(list, []string{c.want}) {
			t.Errorf("%s: found %v, want %s", c.damage, list, c.want)
		}
		if c.repair != "" {
			run(c.repair)
		}
	}
}

// The payload of a raw item is in its event alone, so a prune stops at the first
// one that is not acknowledged.
func TestPruneKeepsWhatIsNotAcknowledged(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.InboxExample(t, whole{s, s.reader})
	items := func(id notify.ID) error {
		_, err := s.reader.ExpandEntry(ctx, inbox.Expand{ThreadID: m.ID, EntryID: id})
		return err
	}
	if p, err := s.Prune(ctx, 1000); err != nil || p.First != 5 { // the alert
		t.Errorf("pruned %+v, %v", p, err)
	}
	if err := items("ent_6"); err != nil {
		t.Errorf("what is kept: %v", err)
	}
	if err := items("ent_7"); !errors.Is(err, inbox.ErrEntryExpired) {
		t.Errorf("what was acknowledged and pruned: %v", err)
	}
	m.Ack("ent_6")
	if p, err := s.Prune(ctx, 1000); err != nil || p.First != 8 { // the first comment of the remainder
		t.Errorf("pruned %+v, %v", p, err)
	}
	if bad := worst(t, s.reader); len(bad) > 0 {
		t.Errorf("doctor: %v", bad)
	}
}

// The log may be pruned to its end: what comes next has greater seqs and ids all the
// same, also after a restart.
func TestIdsRiseAfterEverythingWasPruned(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	var old inbox.Ingested
	var last int64
	item := func(id string) inbox.Item { return inbox.Item{Source: "ci", NativeID: id} }
	t.Run("prune", func(t *testing.T) {
		s := running(t, Options{Dir: dir})
		m := persisttest.NewMaker(t, whole{s, s.reader}, "thread_a").Start()
		m.Commit()
		old = m.Ingest(item("1"))[0]
		m.Ack(old.EntryID)
		last = m.Thread.LatestSeq
		if p, err := s.Prune(ctx, last+1); err != nil || p.First != last+1 {
			t.Fatalf("pruned %+v, %v", p, err)
		}
	})
	t.Run("go on", func(t *testing.T) {
		s := running(t, Options{Dir: dir})
		if at, err := s.reader.Position(ctx); err != nil || at.Latest != last {
			t.Errorf("the log ends at %d, %v; want %d", at.Latest, err, last)
		}
		m := persisttest.NewMaker(t, whole{s, s.reader}, "thread_b").Start()
		if first := m.Commit().First; first != last+1 {
			t.Errorf("after %d comes %d", last, first)
		}
		got := m.Ingest(item("1"))[0]
		x, _ := got.EntryID.Seq(inbox.EntryPrefix)
		y, _ := old.EntryID.Seq(inbox.EntryPrefix)
		if got.Duplicate || x <= y {
			t.Errorf("%+v comes after %+v", got, old)
		}
	})
}

// The database itself refuses a second open digest of a key, and a second item of an
// identity.
func TestDatabaseKeepsDigestsAndItemsUnique(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	persisttest.InboxExample(t, whole{s, s.reader})
	copied := func(table *ledger.Table, where string) error {
		columns := strings.Join(table.Columns[1:], ", ")
		return s.Do(context.Background(), func() error {
			return s.w.conn.run("INSERT INTO " + table.Name + " (created_seq, " + columns + ") SELECT created_seq + 1000, " + columns +
				" FROM " + table.Name + " WHERE " + where)
		})
	}
	if err := copied(inbox.DigestTable, "open = 1"); !isUnique(err) {
		t.Errorf("a second open digest: %v", err)
	}
	if err := copied(inbox.RawTable, "native_id = 'disk'"); !isUnique(err) {
		t.Errorf("a second item: %v", err)
	}
	if err := s.Do(context.Background(), func() error { return s.w.conn.run("UPDATE inbox_digests SET open = 0") }); err != nil {
		t.Fatal(err)
	}
	if err := copied(inbox.DigestTable, "open = 0"); err != nil {
		t.Errorf("a second digest that is not open: %v", err)
	}
}

// An event of the whole log removes the inbox of a closed thread: then it must be
// gone. Items, digests and entries are removed later.
func TestChecksKnowTheRemovedInboxOfAClosedThread(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.InboxExample(t, whole{s, s.reader})
	want := func(what string, differences ...string) {
		t.Helper()
		out, err := persist.Refold(ctx, s.reader)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, d := range out.Differences {
			list = append(list, d.Table)
		}
		if !slices.Equal(list, differences) {
			t.Errorf("%s: refold finds %v, want %v", what, list, differences)
		}
		if bad := worst(t, s.reader); len(bad) > 0 {
			t.Errorf("%s: doctor finds %v", what, bad)
		}
	}
	run := func(sql string) {
		t.Helper()
		if err := s.Do(ctx, func() error { return s.w.conn.run(sql) }); err != nil {
			t.Fatal(err)
		}
	}
	m.Book(func(b *inbox.Book) error { return b.Close() })
	m.Commit()
	m.Add(notify.ThreadClosed, "", "", &threads.Changed{Type: "closed", State: threads.Closed})
	m.Commit()
	want("a closed thread")
	run("CREATE TEMP TABLE kept AS SELECT * FROM inboxes")
	persisttest.RemoveInbox(t, whole{s, s.reader}, m.ID)
	want("the inbox is removed")
	run("INSERT INTO inboxes SELECT * FROM kept")
	want("the inbox is left", "inboxes")
	run("DELETE FROM inboxes; DELETE FROM inbox_entries")
	want("entries are removed")
	run("DELETE FROM inbox_digests; DELETE FROM inbox_items")
	want("everything is removed")
}
