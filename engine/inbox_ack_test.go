package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// fill stores n items in the inbox of a new thread, and returns the seq of the newest entry.
func (h *harness) fill(thread string, n int) (seq int64) {
	h.t.Helper()
	h.thread(thread, "")
	for at := 0; at < n; at += 250 {
		seq = h.ingest(thread, many(min(250, n-at), func(i int) inbox.Item { return item(fmt.Sprint(at + i)) })...).Seq
	}
	return seq
}

// Many entries are acknowledged in pieces, so that others can write in between. What arrives
// meanwhile is not among them.
func TestManyEntriesAreAcknowledgedInPieces(t *testing.T) {
	for name, ackOf := range map[string]func(seq int64) inbox.Ack{
		"all":     func(seq int64) inbox.Ack { return inbox.Ack{ThreadID: "a", All: true, AsOfSeq: &seq} },
		"through": func(seq int64) inbox.Ack { return inbox.Ack{ThreadID: "a", ThroughEntryID: inbox.EntryID(seq)} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{normal: true}, func(h *harness) {
				seq := h.fill("a", 2300)
				h.thread("b", "")
				var pieces []int
				var others sync.WaitGroup
				h.faults.afterCommit(func(u *ledger.Unit) {
					for i := range u.Drafts {
						if b, is := u.Drafts[i].Body.(*inbox.Acked); is {
							pieces = append(pieces, len(b.EntryIDs))
							if len(pieces) == 1 { // others write between two pieces
								others.Go(func() { h.send("a", "meanwhile") })
								others.Go(func() { h.send("b", "hello") })
							}
						}
					}
				})
				c := ackOf(seq)
				c.Key = key("k", "inbox/ack", c.AsOfSeq, c.ThroughEntryID)
				r, err := h.inboxes().Ack(bg, c)
				if err != nil || r.AckedEntries != 2300 || r.AckedItems != 2300 || len(r.RemainderEntryIDs) != 0 {
					t.Fatalf("acknowledged %+v, %v", r, err)
				}
				if !slices.Equal(pieces, []int{1000, 1000, 300}) {
					t.Errorf("pieces of %v", pieces)
				}
				h.faults.afterCommit(nil)
				again, err := h.inboxes().Ack(bg, c)
				if err != nil || fmt.Sprint(again) != fmt.Sprint(r) {
					t.Errorf("again %+v, %v; first %+v", again, err, r)
				}
				others.Wait()
				if l := h.entries("a"); len(l) != 1 || l[0].Summary != "meanwhile" {
					t.Errorf("entries %s", ids(l))
				}
			})
		})
	}
}

// A snapshot of an earlier piece and the one in the last piece are of one digest: nothing of
// it remains.
func TestPiecesLeaveNoRemainderThatTheLastOneHas(t *testing.T) {
	bubble(t, setup{normal: true}, func(h *harness) {
		h.thread("a", "")
		post := func(id string) notify.ID {
			h.ingest("a", grouped(id, "pr:0"))
			r, err := h.inboxes().Flush(bg, inbox.FlushNow{ThreadID: "a"})
			if err != nil || len(r.EntryIDs) != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			return r.EntryIDs[0]
		}
		post("first")
		for at := 0; at < 2200; at += 200 {
			h.ingest("a", many(200, func(i int) inbox.Item { return item(fmt.Sprint(at + i)) })...)
		}
		through := post("second")
		pieces := h.countUnits(notify.InboxAcked)
		r, err := h.inboxes().Ack(bg, inbox.Ack{ThreadID: "a", ThroughEntryID: through})
		if err != nil || r.AckedItems != 2202 || r.AckedEntries != 2202 || len(r.RemainderEntryIDs) != 0 || pieces() != 3 {
			t.Errorf("acknowledged %+v in %d pieces, %v", r, pieces(), err)
		}
		if n := h.box("a").UnackedEntries; n != 0 || len(h.entries("a")) != 0 {
			t.Errorf("%d entries are left", n)
		}
		h.sound()
	})
}

// Entries of many items count as many.
func TestPiecesAreBoundedInItems(t *testing.T) {
	bubble(t, setup{normal: true}, func(h *harness) {
		h.thread("a", "")
		most := int64(1000)
		h.configure("a", inbox.Policy{MaxItems: &most})
		for group := range 6 {
			for at := 0; at < 400; at += 200 {
				h.ingest("a", many(200, func(i int) inbox.Item { return grouped(fmt.Sprint(group, " ", at+i), fmt.Sprint("pr:", group)) })...)
			}
		}
		if _, err := h.inboxes().Flush(bg, inbox.FlushNow{ThreadID: "a"}); err != nil {
			t.Fatal(err)
		}
		units := h.countUnits(notify.InboxAcked)
		seq := h.store.Tail().Head()
		r, err := h.inboxes().Ack(bg, inbox.Ack{ThreadID: "a", All: true, AsOfSeq: &seq})
		if err != nil || r.AckedEntries != 6 || r.AckedItems != 2400 || units() != 2 {
			t.Errorf("acknowledged %+v in %d units, %v", r, units(), err)
		}
	})
}

// A crash between two pieces leaves what the first has acknowledged. The repetition with the key
// does the rest and counts it; a further one has the same answer.
func TestCrashBetweenTwoPiecesOfAnAcknowledgement(t *testing.T) {
	bubble(t, setup{normal: true}, func(h *harness) {
		seq := h.fill("a", 1700)
		later := h.send("a", "later")
		c := inbox.Ack{ThreadID: "a", All: true, AsOfSeq: &seq, Key: key("k", "inbox/ack", "all")}
		pieces := 0
		h.crashBefore(func(u *ledger.Unit) bool {
			if has(notify.InboxAcked)(u) {
				pieces++
			}
			return pieces > 1
		}, func() {
			if r, err := h.inboxes().Ack(bg, c); err == nil {
				t.Errorf("acknowledged %+v", r)
			}
		})
		if b := h.box("a"); b.UnackedEntries != 701 {
			t.Errorf("%d entries are left", b.UnackedEntries)
		}
		r, err := h.inboxes().Ack(bg, c)
		if err != nil || r.AckedEntries != 700 {
			t.Errorf("the rest: %+v, %v", r, err)
		}
		if again, err := h.inboxes().Ack(bg, c); err != nil || fmt.Sprint(again) != fmt.Sprint(r) {
			t.Errorf("again %+v, %v", again, err)
		}
		if l := h.entries("a"); len(l) != 1 || l[0].EntryID != later {
			t.Errorf("entries %s", ids(l))
		}
	})
}

// A key that belongs to something else is refused before the first piece.
func TestKeyOfSomethingElseAcknowledgesNothing(t *testing.T) {
	bubble(t, setup{normal: true}, func(h *harness) {
		seq := h.fill("a", 1200)
		if _, err := h.inboxes().Send(bg, inbox.Send{ThreadID: "a", Text: "x", Key: key("k", "inbox/send")}); err != nil {
			t.Fatal(err)
		}
		_, err := h.inboxes().Ack(bg, inbox.Ack{ThreadID: "a", All: true, AsOfSeq: &seq, Key: key("k", "inbox/ack")})
		if err == nil || h.box("a").UnackedEntries != 1201 {
			t.Errorf("%v, %d entries are left", err, h.box("a").UnackedEntries)
		}
	})
}

// An item of a snapshot that an agent was told is acknowledged while its turn runs. The rest of
// the snapshot is no news, and the end of the turn acknowledges it; a restart knows all of it.
func TestAnItemAcknowledgedDuringATurnLeavesTheRestToTheTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		most := int64(4)
		h.configure("a", inbox.Policy{MaxItems: &most})
		r := h.ingest("a", many(4, func(i int) inbox.Item { return grouped(fmt.Sprint(i), "pr:1") })...)
		c := h.next(h.model)
		k := key("k", "inbox/ack", "raw_ids")
		ask := inbox.Ack{ThreadID: "a", RawIDs: []notify.ID{r.Results[3].RawID, r.Results[1].RawID}, Key: k}
		got, err := h.inboxes().Ack(bg, ask)
		if err != nil || got.AckedItems != 2 || got.AckedEntries != 0 || len(got.RemainderEntryIDs) != 1 {
			t.Fatalf("acknowledged %+v, %v", got, err)
		}
		if again, err := h.inboxes().Ack(bg, ask); err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
			t.Errorf("again %+v, %v", again, err)
		}
		if box := h.box("a"); box.NewEntries != 0 || box.UnackedEntries != 1 || box.UnackedItems != 2 {
			t.Errorf("the inbox is %+v", box)
		}
		h.sound()
		h.speak(c)
		h.idle(h.model)
		acked := bodies[inbox.Acked](h, notify.InboxAcked, "a")
		if len(acked) != 2 || acked[1].By != inbox.ByTurn || acked[1].RawCount != 2 || len(h.entries("a")) != 0 || h.wakes("a") != 1 {
			t.Errorf("acked %+v, entries %s, %d wakes", acked, ids(h.entries("a")), h.wakes("a"))
		}
		h.sound()
		h.restart()
		h.sound()
	})
}
