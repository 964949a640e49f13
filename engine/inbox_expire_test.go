package engine_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/threads"
)

// retention is the setup of tests of retention: acknowledged items are kept for a
// day, identities for two.
func retention() setup {
	return setup{cfg: engine.Config{InboxRetention: 24 * time.Hour, DedupeFor: 48 * time.Hour}}
}

// look is how much later than its time retention may act.
const look = 11 * time.Minute

func (h *harness) rawRows(thread string) (n int) {
	h.t.Helper()
	if err := h.reader.Read(bg, func(r ledger.Reader) error {
		return r.Scan(ledger.Range{Index: inbox.RawOfThread, Prefix: []any{thread}}, func(ledger.Values) error { n++; return nil })
	}); err != nil {
		h.t.Fatal(err)
	}
	return n
}

func TestAcknowledgedEntriesExpireAndOthersStay(t *testing.T) {
	hosttest.Long(t)
	bubble(t, retention(), func(h *harness) {
		h.watchdog.Reset(60 * 24 * time.Hour)
		h.thread("a", "")
		r := h.ingest("a", item("1"), item("2"), grouped("3", "pr:1"), grouped("4", "pr:1"), item("5"))
		time.Sleep(time.Minute)
		digest := h.entries("a")[3].EntryID
		h.ackEntries("a", r.Results[0].EntryID, digest)
		time.Sleep(12 * time.Hour)
		h.ackEntries("a", r.Results[4].EntryID)
		time.Sleep(12*time.Hour - 2*time.Minute)
		synctest.Wait()
		if l := h.allEntries("a"); len(l) != 4 {
			t.Errorf("before its time: %s", ids(l))
		}
		time.Sleep(2*time.Minute + look)
		if l := h.allEntries("a"); len(l) != 2 || l[0].EntryID != r.Results[1].EntryID || l[1].EntryID != r.Results[4].EntryID {
			t.Errorf("after a day: %s", ids(l))
		}
		time.Sleep(12 * time.Hour)
		if l := h.allEntries("a"); len(l) != 1 || l[0].EntryID != r.Results[1].EntryID {
			t.Errorf("after a day and a half: %s", ids(l))
		}
		// Identities are remembered for longer.
		if again := h.ingest("a", item("1"), grouped("3", "pr:1")); !again.Results[0].Duplicate || !again.Results[1].Duplicate {
			t.Errorf("again: %+v", again)
		}
		if _, err := h.reader.ExpandEntry(bg, inbox.Expand{ThreadID: "a", EntryID: digest, Limit: 10}); err == nil {
			t.Error("an expired entry was expanded")
		}
		h.restart()
		time.Sleep(30 * 24 * time.Hour)
		if l := h.entries("a"); len(l) != 1 {
			t.Errorf("what is not acknowledged: %s", ids(l))
		}
	})
}

// An item that was not acknowledged when later ones expired is kept as long as any
// other, once it is.
func TestItemThatIsAcknowledgedLateIsKeptAsLongAsOthers(t *testing.T) {
	bubble(t, retention(), func(h *harness) {
		h.watchdog.Reset(60 * 24 * time.Hour)
		h.thread("a", "")
		r := h.ingest("a", item("old"), item("first"), item("second"))
		h.ackEntries("a", r.Results[1].EntryID)
		time.Sleep(23 * time.Hour)
		h.ackEntries("a", r.Results[0].EntryID)
		time.Sleep(2 * time.Hour) // first has expired
		if l := h.allEntries("a"); len(l) != 2 {
			t.Fatalf("entries %s", ids(l))
		}
		h.ackEntries("a", r.Results[2].EntryID)
		time.Sleep(20 * time.Hour)
		if l := h.allEntries("a"); len(l) != 2 {
			t.Errorf("entries %s", ids(l))
		}
		time.Sleep(2*time.Hour + look)
		if l := h.allEntries("a"); len(l) != 1 || l[0].EntryID != r.Results[2].EntryID {
			t.Errorf("entries %s", ids(l))
		}
		time.Sleep(24 * time.Hour)
		if l := h.allEntries("a"); len(l) != 0 {
			t.Errorf("entries %s", ids(l))
		}
	})
}

func TestIdentitiesAreForgotten(t *testing.T) {
	bubble(t, retention(), func(h *harness) {
		h.watchdog.Reset(60 * 24 * time.Hour)
		h.thread("a", "")
		r := h.ingest("a", many(3, func(i int) inbox.Item { return item(fmt.Sprint(i)) })...)
		h.ackEntries("a", r.Results[0].EntryID, r.Results[1].EntryID, r.Results[2].EntryID)
		time.Sleep(40 * time.Hour)
		if again := h.ingest("a", item("1")); !again.Results[0].Duplicate {
			t.Errorf("again: %+v", again)
		}
		// They are removed with what expires next.
		h.ackEntries("a", h.ingest("a", item("later")).Results[0].EntryID)
		time.Sleep(24*time.Hour + look)
		if n := h.rawRows("a"); n != 1 {
			t.Errorf("%d rows are remembered", n)
		}
		if again := h.ingest("a", item("1")); again.Results[0].Duplicate {
			t.Errorf("again: %+v", again)
		}
	})
}

func TestInboxOfAClosedThreadIsRemoved(t *testing.T) {
	bubble(t, retention(), func(h *harness) {
		h.watchdog.Reset(60 * 24 * time.Hour)
		h.thread("a", "")
		h.ingest("a", many(40, func(i int) inbox.Item { return grouped(fmt.Sprint(i), fmt.Sprint("pr:", i%3)) })...)
		h.ingest("a", item("x"))
		h.thread("b", "")
		h.ingest("b", item("stays"))
		time.Sleep(time.Hour)
		h.change("a", threads.VerbClose)
		h.restart()
		time.Sleep(23 * time.Hour)
		if len(h.entries("a")) == 0 {
			t.Error("removed before its time")
		}
		time.Sleep(time.Hour + look)
		removed := h.of(func(e event) bool { return e.Method == notify.InboxExpired })
		if len(removed) != 1 || removed[0].ThreadID != "" || removed[0].body(t).(*inbox.Expired).SubjectThreadID != "a" {
			t.Fatalf("removed %s", list(removed))
		}
		if l := h.allEntries("a"); len(l) != 0 || h.rawRows("a") != 0 || h.box("a") != nil {
			t.Errorf("entries %s, %d items, inbox %+v", ids(l), h.rawRows("a"), h.box("a"))
		}
		if l := h.entries("b"); len(l) != 1 {
			t.Errorf("another inbox: %s", ids(l))
		}
		h.restart()
		time.Sleep(48 * time.Hour)
		if n := len(h.of(func(e event) bool { return e.Method == notify.InboxExpired })); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

// The removal of an inbox takes several units. Wherever it stops, by a full disk or
// by a crash, readers and checks see the inbox or none at all, and it is finished
// later.
func TestRemovalOfAnInboxCanStopAnywhere(t *testing.T) {
	stops := 0
	for ; stopRemovalAfter(t, stops); stops++ {
	}
	if stops != 5 { // after one unit for the inbox, one for entries, one for digests, two for items
		t.Errorf("the removal has %d units", stops)
	}
}

// stopRemovalAfter stops a removal after so many units, by each means. It reports
// whether there were more.
func stopRemovalAfter(t *testing.T, units int) (stopped bool) {
	for by, proceed := range map[string]func(*harness){
		"a full disk": func(h *harness) { h.faults.heal() },
		"a crash":     (*harness).restart,
	} {
		t.Run(fmt.Sprintf("%s after %d units", by, units), func(t *testing.T) {
			bubble(t, retention(), func(h *harness) {
				h.watchdog.Reset(60 * 24 * time.Hour)
				h.thread("a", "")
				first := h.ingest("a", item("x")).Results[0]
				atOnce := int64(1000)
				h.configure("a", inbox.Policy{MaxItems: &atOnce})
				h.ingest("a", many(int(atOnce), func(i int) inbox.Item { return grouped(fmt.Sprint(i), "pr:1") })...)
				h.thread("b", "")
				stays := h.ingest("b", item("stays")).Results[0]
				h.change("a", threads.VerbClose)
				time.Sleep(23 * time.Hour)
				var done atomic.Int64
				h.faults.fail(func(u *ledger.Unit) error {
					if len(u.Rows) == 0 {
						return nil
					}
					if _, removes := u.Rows[0].(*ledger.Removal); removes && done.Add(1) > int64(units) {
						return ledger.ErrStorageFull
					}
					return nil
				})
				time.Sleep(time.Hour + look)
				synctest.Wait()
				stopped = done.Load() > int64(units)
				h.sound()
				h.inboxOrNone("a", first)
				if needed := h.neededFrom(); h.box("a") == nil && inbox.RawID(needed) != stays.RawID {
					t.Errorf("the log is kept from %d, for an item of a removed inbox", needed)
				}
				proceed(h)
				time.Sleep(2 * look)
				synctest.Wait()
				h.sound()
				h.inboxOrNone("a", first)
				removed := h.of(func(e event) bool { return e.Method == notify.InboxExpired })
				if len(removed) != 1 || h.box("a") != nil || h.inboxRows("a") != 0 {
					t.Errorf("%d events, the inbox is %+v with %d rows", len(removed), h.box("a"), h.inboxRows("a"))
				}
				if l := h.entries("b"); len(l) != 1 {
					t.Errorf("another inbox: %s", ids(l))
				}
			})
		})
	}
	return stopped
}

// sound checks the store as doctor does.
func (h *harness) sound() {
	h.t.Helper()
	if out, err := persist.Refold(bg, h.reader); err != nil || len(out.Differences) > 0 {
		h.t.Errorf("refold: %d differences, the first is %v; %v", len(out.Differences), out.Differences[:min(1, len(out.Differences))], err)
	}
	list, err := h.reader.Check(bg)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range list {
		if f.Level == sqlite.Error && f.Name != "permissions" { // a test's directory is open
			h.t.Errorf("doctor: %s: %s", f.Name, f.Text)
		}
	}
}

// inboxOrNone checks that reads of a closed thread see its whole inbox, or that it
// was removed.
func (h *harness) inboxOrNone(thread string, first inbox.Ingested) {
	h.t.Helper()
	there := h.box(thread) != nil
	p := h.read(inbox.Read{ThreadID: thread})
	if all := h.allEntries(thread); there != (p.UnackedEntries > 0) || there != (len(p.Entries) > 0) || there != (len(all) > 0) {
		h.t.Errorf("the row of the inbox is there: %v, %d entries of %d can be read, %d with old ones", there, len(p.Entries), p.UnackedEntries, len(all))
	}
	_, err := h.reader.ExpandEntry(bg, inbox.Expand{ThreadID: thread, EntryID: first.EntryID})
	if there && err != nil || !there && !errors.Is(err, inbox.ErrEntryExpired) {
		h.t.Errorf("the row of the inbox is there: %v, the items of an entry: %v", there, err)
	}
}

// neededFrom is where a prune of everything would stop.
func (h *harness) neededFrom() (seq int64) {
	h.t.Helper()
	if err := h.reader.ReadToDecide(bg, func(r ledger.Reader) (err error) {
		seq, err = persist.NeededFrom(r)
		return err
	}); err != nil {
		h.t.Fatal(err)
	}
	return seq
}

// inboxRows counts the rows of a thread's inbox.
func (h *harness) inboxRows(thread string) (n int) {
	h.t.Helper()
	if err := h.reader.Read(bg, func(r ledger.Reader) error {
		for _, ix := range []*ledger.Index{inbox.EntryOfThread, inbox.DigestThread, inbox.RawOfThread} {
			if err := r.Scan(ledger.Range{Index: ix, Prefix: []any{thread}}, func(ledger.Values) error { n++; return nil }); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// An item that has expired still says that an older one about the same counts no more, as long as
// its digest is there: it is not forgotten before.
func TestTheNewestItemAboutSomethingIsRememberedWithItsDigest(t *testing.T) {
	bubble(t, retention(), func(h *harness) {
		h.watchdog.Reset(60 * 24 * time.Hour)
		h.thread("a", "")
		r := h.ingest("a", many(5, func(i int) inbox.Item {
			it := grouped(fmt.Sprint(i), "pr:1")
			it.About, it.Outcome = []string{"x", "x", "y", "", ""}[i], "success"
			return it
		})...)
		if _, err := h.inboxes().Flush(bg, inbox.FlushNow{ThreadID: "a"}); err != nil {
			t.Fatal(err)
		}
		ack := func(i int) {
			t.Helper()
			if out, err := h.inboxes().Ack(bg, inbox.Ack{ThreadID: "a", RawIDs: []notify.ID{r.Results[i].RawID}}); err != nil || out.AckedItems != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
		}
		ack(1)
		ack(3)
		for range 3 { // each time something expires, after which what is known no more is looked for
			time.Sleep(40 * time.Hour)
			h.ackEntries("a", h.ingest("a", item(fmt.Sprint("later ", h.store.Tail().Head()))).Results[0].EntryID)
		}
		time.Sleep(24*time.Hour + look)
		if again := h.ingest("a", grouped("1", "pr:1"), grouped("3", "pr:1")); !again.Results[0].Duplicate || again.Results[1].Duplicate {
			t.Errorf("again: %+v", again)
		}
		ack(4) // what is left is counted again
		h.sound()
		ack(0)
		ack(2)
		h.sound()
		for range 3 {
			time.Sleep(40 * time.Hour)
			h.ackEntries("a", h.ingest("a", item(fmt.Sprint("later ", h.store.Tail().Head()))).Results[0].EntryID)
		}
		h.sound()
	})
}
