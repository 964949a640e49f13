package inbox

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// grouped is an item of a digest.
func grouped(n int) Item {
	return Item{Source: "gh", NativeID: "n" + strconv.Itoa(n), Grouping: &Grouping{ResourceRef: "pr:1", EventFamily: "comments"}}
}

// single is an item without a group.
func single(n int) Item { return Item{Source: "gh", NativeID: "n" + strconv.Itoa(n)} }

// must makes a unit, commits it, and compares all rows with those that the log gives.
func (w *world) must(t *testing.T, decide func(*Book)) []logged {
	t.Helper()
	events, err := w.do(decide)
	if err == nil {
		err = w.sameRows()
	}
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// ingest stores items, each alone or all in one unit.
func (w *world) ingest(t *testing.T, items ...Item) []Ingested {
	t.Helper()
	var out []Ingested
	first := w.last + 1
	w.must(t, func(b *Book) {
		var err error
		if out, err = b.Ingest(items); err != nil {
			t.Fatal(err)
		}
	})
	for i := range out {
		out[i].AssignSeqs(first)
	}
	return out
}

func (w *world) ack(t *testing.T, c Ack) AckResult {
	t.Helper()
	var out AckResult
	first := w.last + 1
	w.must(t, func(b *Book) {
		var err error
		if out, err = b.Ack(c); err != nil {
			t.Fatal(err)
		}
	})
	out.AssignSeqs(first)
	return out
}

// flush posts what is pending, and returns the ids of the entries.
func (w *world) flush(t *testing.T) []notify.ID {
	t.Helper()
	var ids []notify.ID
	first := w.last + 1
	w.must(t, func(b *Book) { ids, _ = b.Flush("") })
	notify.AssignIDs(ids, first)
	return ids
}

// An item that is sent twice in one request takes its room once, and no item
// takes more room than there is: the sender that is found in a payload counts.
func TestItemsTakeTheirRoomOnce(t *testing.T) {
	w := newWorld()
	w.bounds.MaxUnackedItems = 1
	if got := w.ingest(t, single(1), single(1)); got[0].Duplicate || !got[1].Duplicate {
		t.Errorf("got %+v", got)
	}
	w = newWorld()
	it := single(1)
	it.Payload = []byte(`{"sender":"ann"}`)
	w.bounds.MaxUnackedBytes = int64(256 + len(it.Payload) + len(it.NativeID))
	w.must(t, func(b *Book) {
		if _, err := b.Ingest([]Item{it}); err != ErrFull {
			t.Errorf("an item that does not fit: %v", err)
		}
	})
}

// An event that did not fit is counted once: not again when its follower brings it
// again, nor for another subscription that wants it. One that a slower follower
// brings is no repetition.
func TestEventsThatDoNotFitAreCountedOnce(t *testing.T) {
	w := newWorld()
	w.bounds.MaxUnackedItems = 1
	w.last = 10
	subscribe := func(id string, threadIDs ...string) {
		w.must(t, func(b *Book) {
			if _, _, err := b.Subscribe(Subscribe{SubscriptionID: id, Source: SourceEvents, ThreadIDs: threadIDs}); err != nil {
				t.Fatal(err)
			}
		})
	}
	bring := func(id, threadID string, seq, lagged int64) (stored int) {
		t.Helper()
		w.must(t, func(b *Book) {
			got, err := b.IngestOrLag([]Item{{
				Source: SourceEvents, NativeID: strconv.FormatInt(seq, 10),
				Event: &Event{SubscriptionID: id, Seq: seq, ThreadID: threadID, Method: notify.TurnCompleted},
			}})
			if stored = len(got); err != nil {
				t.Fatal(err)
			}
		})
		if n := w.box().Lagged[SourceEvents]; n != lagged {
			t.Errorf("%s brings %d: %d are counted, want %d", id, seq, n, lagged)
		}
		return stored
	}
	subscribe("x", "x")
	subscribe("y", "y")
	subscribe("all")
	first := w.ingest(t, single(1))[0].EntryID
	bring("x", "x", 100, 1)
	bring("x", "x", 100, 1) // after a crash
	bring("y", "y", 90, 2)  // x does not want it
	bring("all", "y", 90, 2)
	bring("all", "x", 100, 2)
	bring("all", "z", 110, 3)
	bring("y", "y", 120, 4)
	w.last = 200
	subscribe("late")
	bring("late", "z", 300, 5)
	bring("x", "x", 150, 6) // late does not get it
	w.ack(t, Ack{EntryIDs: []notify.ID{first}})
	if bring("x", "x", 150, 6)+bring("all", "x", 100, 6) != 0 {
		t.Error("what was counted is stored when there is room")
	}
	if bring("x", "x", 310, 6) != 1 || bring("late", "x", 310, 6) != 1 {
		t.Error("a new event is not stored, or has no result the second time")
	}
	bring("all", "z", 320, 7)
	if bring("x", "x", 310, 7) != 1 {
		t.Error("an event that was stored before others were counted is no duplicate")
	}
	w.must(t, func(b *Book) {
		if err := b.Unsubscribe("x"); err != nil {
			t.Fatal(err)
		}
	})
	if through := w.box().LaggedThrough; len(through) != 3 || through["x"] != 0 {
		t.Errorf("after x has ended: %v", through)
	}
}

// Who makes room has not asked for the item that counts what did not fit before.
func TestWhoMakesRoomHasNotSentWhatLagged(t *testing.T) {
	w := newWorld()
	w.bounds.MaxUnackedItems = 1
	first := w.ingest(t, single(1))[0].EntryID
	w.must(t, func(b *Book) { b.Lag(SourceEvents, 3) })
	events := w.must(t, func(b *Book) {
		b.RequestedBy = "token:ann"
		_, _ = b.Ack(Ack{EntryIDs: []notify.ID{first}})
		if err := b.PostLags(); err != nil {
			t.Fatal(err)
		}
		if b.RequestedBy != "token:ann" {
			t.Error("what she asks for next has no name")
		}
	})
	settled := 0
	for _, e := range events {
		if r, ok := e.body.(*Received); ok {
			if settled++; r.RequestedBy != "" {
				t.Errorf("%s is requested by %s", r.Summary, r.RequestedBy)
			}
		}
	}
	if settled != 1 {
		t.Errorf("%d items were stored", settled)
	}
}

// What was not acknowledged when later items were removed is removed later, and
// not before its own time has come.
func TestEachItemIsKeptForItsOwnTime(t *testing.T) {
	w := newWorld()
	got := w.ingest(t, single(1), single(2))
	w.ack(t, Ack{EntryIDs: []notify.ID{got[1].EntryID}})
	expire := func(kept time.Duration) (expired []bool) {
		w.must(t, func(b *Book) {
			if _, err := b.Expire(w.now.Add(-kept)); err != nil {
				t.Fatal(err)
			}
		})
		for _, r := range all[*Raw](w.store, RawTable) {
			expired = append(expired, r.Expired)
		}
		return expired
	}
	w.advance(time.Hour)
	if got := expire(time.Minute); !slices.Equal(got, []bool{false, true}) {
		t.Fatalf("expired %v", got)
	}
	w.ack(t, Ack{EntryIDs: []notify.ID{got[0].EntryID}})
	w.advance(time.Second)
	third := w.ingest(t, single(3))
	w.ack(t, Ack{EntryIDs: []notify.ID{third[0].EntryID}})
	w.advance(time.Second)
	if got := expire(time.Minute); !slices.Equal(got, []bool{false, true, false}) {
		t.Errorf("expired %v, and the first was acknowledged a second ago", got)
	}
	w.advance(time.Hour)
	if got := expire(time.Minute); !slices.Equal(got, []bool{true, true, true}) {
		t.Errorf("expired %v, and all were acknowledged an hour ago", got)
	}
}

// A flush in the unit of an item posts it, also if its digest was there before.
func TestFlushSeesTheItemsOfItsOwnUnit(t *testing.T) {
	w := newWorld()
	first := grouped(1)
	first.Grouping.Flush = FlushImmediate
	w.ingest(t, first)
	w.must(t, func(b *Book) {
		if _, err := b.Ingest([]Item{grouped(2)}); err != nil {
			t.Fatal(err)
		}
		if ids, err := b.FlushAll(ReasonLifecycle); err != nil || len(ids) != 1 {
			t.Errorf("flushed %v, %v", ids, err)
		}
	})
	if n := w.box().PendingItems; n != 0 {
		t.Errorf("%d items are pending after everything was flushed", n)
	}
}

// A prompt tells what its own unit posts.
func TestFreshSeesTheEntriesOfItsOwnUnit(t *testing.T) {
	w := newWorld()
	w.ingest(t, single(1), grouped(2))
	w.flush(t)
	w.ingest(t, grouped(3))
	w.must(t, func(b *Book) {
		if _, err := b.FlushAll(ReasonManual); err != nil {
			t.Fatal(err)
		}
		list, err := b.Fresh(nil)
		if err != nil || len(list) != 2 || list[0].Kind != KindItem || list[1].Revision != 2 {
			t.Fatalf("new are %+v, %v", list, err)
		}
		b.Tell(list, "turn_1")
	})
	if n := w.box().NewEntries; n != 0 {
		t.Errorf("%d entries are new after everything was told", n)
	}
}

// A firing whose item was stored before, because the clock was set back and the
// timer created anew, still moves the timer on.
func TestFiringThatIsADuplicateMovesTheTimerOn(t *testing.T) {
	w := newWorld()
	begin := w.now
	create := func() {
		w.must(t, func(b *Book) {
			if _, _, err := b.CreateTimer(CreateTimer{TimerID: "a", EverySeconds: 60, Text: "look"}); err != nil {
				t.Fatal(err)
			}
		})
	}
	fire := func() {
		w.must(t, func(b *Book) {
			for range 2 { // the second time nothing is due
				if err := b.FireDue(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	create()
	w.advance(time.Minute)
	fire()
	w.must(t, func(b *Book) { _ = b.DeleteTimer("a") })
	w.now = begin
	create()
	w.advance(time.Minute)
	fire()
	if at := w.box().TimerAt; at != begin.Add(2*time.Minute).UnixMilli() {
		t.Errorf("the inbox waits until %d, the timer until %d", at, begin.Add(2*time.Minute).UnixMilli())
	}
	if n := len(all[*Raw](w.store, RawTable)); n != 1 {
		t.Errorf("%d items of one planned time", n)
	}
}

// Every item counts once: with the entry that shows it first.
func TestWaitsAreThoseOfItemsUntilTheirFirstEntry(t *testing.T) {
	w := newWorld()
	waits := func(want []time.Duration, decide func(*Book) error) {
		t.Helper()
		w.must(t, func(b *Book) {
			if err := decide(b); err != nil {
				t.Fatal(err)
			}
			if got := b.Stats().Waits; !slices.Equal(got, want) {
				t.Errorf("waited %v, want %v", got, want)
			}
		})
	}
	ingest := func(items ...Item) func(*Book) error {
		return func(b *Book) error {
			_, err := b.Ingest(items)
			return err
		}
	}
	waits([]time.Duration{0}, ingest(single(1), grouped(2)))
	w.advance(10 * time.Second)
	waits(nil, ingest(grouped(3), single(1)))
	w.advance(30 * time.Second)
	waits([]time.Duration{30 * time.Second, 40 * time.Second}, (*Book).FlushDue)
	first := w.visible()[1].EntryID
	at := grouped(4)
	at.Grouping.Flush = FlushImmediate
	waits([]time.Duration{0}, ingest(at))
	waits(nil, func(b *Book) error { // a remainder shows nothing new
		out, err := b.Ack(Ack{EntryIDs: []notify.ID{first}})
		if err == nil && len(out.RemainderEntryIDs) != 1 {
			t.Errorf("acknowledged %+v", out)
		}
		return err
	})
}

// The newest item of a snapshot may expire long before the others are acknowledged. The snapshot
// is removed with the last of them all the same, and its digest too.
func TestASnapshotIsRemovedWithTheLastOfItsItems(t *testing.T) {
	w := newWorld()
	var raws []notify.ID
	for i := range 3 {
		raws = append(raws, w.ingest(t, grouped(i))[0].RawID)
	}
	w.flush(t)
	expire := func() {
		w.must(t, func(b *Book) {
			if _, err := b.Expire(w.now.Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
		})
	}
	w.ack(t, Ack{RawIDs: raws[2:]})
	w.advance(time.Hour)
	expire()
	if n := len(all[*Entry](w.store, EntryTable)); n != 2 {
		t.Fatalf("%d entries, want the snapshot and the rest of it", n)
	}
	w.ack(t, Ack{RawIDs: raws[:2]})
	w.advance(time.Hour)
	expire()
	if entries, digests := all[*Entry](w.store, EntryTable), w.digests(); len(entries) != 0 || len(digests) != 0 {
		t.Errorf("left are the entries %+v and the digests %+v", entries, digests)
	}
	if err := w.sameRows(); err != nil {
		t.Error(err)
	}
}
