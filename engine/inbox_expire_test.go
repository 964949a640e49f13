package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
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
	if err := h.view.Read(bg, func(r ledger.Reader) error {
		return r.Scan(ledger.Range{Index: inbox.RawOfThread, Prefix: []any{thread}}, func(ledger.Values) error { n++; return nil })
	}); err != nil {
		h.t.Fatal(err)
	}
	return n
}

func TestAcknowledgedEntriesExpireAndOthersStay(t *testing.T) {
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
		if _, err := h.view.ExpandEntry(bg, inbox.Expand{ThreadID: "a", EntryID: digest, Limit: 10}); err == nil {
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
