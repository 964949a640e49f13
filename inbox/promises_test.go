package inbox

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Each test here is a promise that a naive build of such an inbox breaks; the
// comment says how.

func (w *world) set(t *testing.T, p Policy) {
	t.Helper()
	w.must(t, func(b *Book) {
		if _, err := b.Configure(Configure{Policy: p}, w.inForce); err != nil {
			t.Fatal(err)
		}
	})
}

func ms(n int64) *int64 { return &n }

func methodsOf(events []logged) (list []string) {
	for _, e := range events {
		list = append(list, e.method)
	}
	return list
}

func (w *world) entry(t *testing.T, id notify.ID) *Entry {
	t.Helper()
	for _, e := range all[*Entry](w.store, EntryTable) {
		if e.EntryID == id {
			return e
		}
	}
	t.Fatalf("there is no %s", id)
	return nil
}

func (w *world) digests() []*Digest { return all[*Digest](w.store, DigestTable) }

// Naive: the item is committed, its entry in a second transaction. A crash between
// the two leaves an item that nobody ever sees, and that counts as a duplicate
// when it is sent again.
func TestItemAndItsEntryAreOneUnit(t *testing.T) {
	immediate, after := grouped(2), grouped(3)
	immediate.Grouping.Flush, after.Grouping.Breaks = FlushImmediate, BreaksAfter
	for _, it := range []Item{single(1), immediate, after} {
		w := newWorld()
		_, b := w.begin()
		if _, err := b.Ingest([]Item{it}); err != nil { // this unit is lost
			t.Fatal(err)
		}
		events := w.must(t, func(b *Book) {
			if got, err := b.Ingest([]Item{it}); err != nil || got[0].Duplicate || got[0].EntryID == "" {
				t.Errorf("sent again: %+v, %v", got, err)
			}
		})
		if got := methodsOf(events); !slices.Equal(got, []string{notify.InboxReceived, notify.InboxPosted}) {
			t.Errorf("one unit has %v", got)
		}
	}
}

// Naive: a digest that is too old, or that is broken, is closed with what is
// pending in it; that is then in no entry and cannot be acknowledged.
func TestWhatIsPendingIsPostedBeforeItsDigestCloses(t *testing.T) {
	for _, why := range []string{"age", "break"} {
		w := newWorld()
		w.set(t, Policy{MaxDigestAgeMs: ms(60_000)})
		w.ingest(t, grouped(1))
		next := grouped(2)
		if why == "age" {
			w.advance(time.Minute + time.Millisecond)
		} else {
			next.Grouping.Breaks = BreaksBefore
		}
		got := w.ingest(t, next)
		d := w.digests()
		if len(d) != 2 || d[0].Open || !d[1].Open || got[0].DigestID != DigestID(d[1].Seq) {
			t.Fatalf("%s: %+v", why, d)
		}
		page := w.visible()
		if len(page) != 1 || page[0].DigestID != DigestID(d[0].Seq) || page[0].Count != 1 {
			t.Errorf("%s: visible are %+v", why, page)
		}
		if out := w.ack(t, Ack{EntryIDs: []notify.ID{page[0].EntryID}}); out.AckedItems != 1 {
			t.Errorf("%s: acknowledged %+v", why, out)
		}
	}
	w := newWorld()
	w.ingest(t, grouped(1))
	off := false
	w.set(t, Policy{Enabled: &off})
	if box := w.box(); box.PendingItems != 0 || box.UnackedEntries != 1 {
		t.Errorf("after grouping was switched off: %+v", box)
	}
}

// Naive: a flush clears the digest's timer when it ends, also for an item that
// came meanwhile, which then waits for ever.
func TestItemBehindAFlushHasItsOwnWindow(t *testing.T) {
	w := newWorld()
	w.ingest(t, grouped(1))
	w.must(t, func(b *Book) {
		if _, err := b.Flush(""); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Ingest([]Item{grouped(2)}); err != nil {
			t.Fatal(err)
		}
	})
	if at := w.box().FlushAt; at != w.now.Add(30*time.Second).UnixMilli() {
		t.Errorf("the item behind the flush waits until %d", at)
	}
	w.advance(30 * time.Second)
	w.must(t, func(b *Book) { _ = b.FlushDue() })
	if page := w.visible(); len(page) != 1 || page[0].Count != 2 {
		t.Errorf("visible are %+v", page)
	}
}

// Naive: acknowledging flushes all that is pending, so that it appears early,
// without an event, and its timer is cleared.
func TestAckLeavesOtherDigestsAlone(t *testing.T) {
	w := newWorld()
	other := grouped(2)
	other.Grouping.ResourceRef = "pr:2"
	first := w.ingest(t, single(1))
	w.ingest(t, other)
	before, _ := w.digests()[0].Values(0)
	flushAt := w.box().FlushAt
	w.advance(time.Second)
	events := w.must(t, func(b *Book) { _, _ = b.Ack(Ack{EntryIDs: []notify.ID{first[0].EntryID}}) })
	if got := methodsOf(events); !slices.Equal(got, []string{notify.InboxAcked}) {
		t.Errorf("the unit has %v", got)
	}
	if after, _ := w.digests()[0].Values(0); !sameValues(before, after) || w.box().FlushAt != flushAt {
		t.Errorf("the other digest was %v and is %v", before, after)
	}
}

// Naive: a superseded entry is no boundary, and nothing is acknowledged; or the
// items of the entry that supersedes it are acknowledged too.
func TestSupersededEntryIsABoundary(t *testing.T) {
	w := newWorld()
	alone := w.ingest(t, single(1))[0].EntryID
	w.ingest(t, grouped(2))
	old := w.flush(t)[0]
	later := w.ingest(t, single(3))[0].EntryID
	w.ingest(t, grouped(4))
	newest := w.flush(t)[0]
	if by := w.entry(t, old).SupersededBy; by != newest {
		t.Fatalf("superseded by %q", by)
	}
	out := w.ack(t, Ack{ThroughEntryID: old})
	if out.AckedItems != 2 || out.AckedEntries != 2 || len(out.RemainderEntryIDs) != 1 {
		t.Errorf("acknowledged %+v", out)
	}
	if w.entry(t, alone).Visible() || !w.entry(t, later).Visible() {
		t.Error("through is not: that entry, and what was visible before it")
	}
	rest := w.entry(t, out.RemainderEntryIDs[0])
	if rest.Count != 1 || !rest.Visible() || w.entry(t, newest).Visible() {
		t.Errorf("the rest is %+v", rest)
	}
	// Repeating it changes nothing.
	if n := len(w.must(t, func(b *Book) { _, _ = b.Ack(Ack{ThroughEntryID: old}) })); n != 0 {
		t.Errorf("a repetition has %d events", n)
	}
}

// Naive: that something is new is known in memory only. After a crash nothing
// wakes the thread until the next item comes.
func TestStoredRowAloneSaysThatTheThreadIsWoken(t *testing.T) {
	w := newWorld()
	w.ingest(t, single(1))
	v, err := w.store.Get(ByThread, testThread)
	if err != nil {
		t.Fatal(err)
	}
	box, err := ReadRow(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := MayWake(box, &threads.Thread{State: threads.Running}, w.settings(), w.now.Time, 0); !got.OK {
		t.Errorf("after a restart: %+v", got)
	}
	if v, err := w.store.Get(WithNew, testThread); err != nil || v == nil {
		t.Errorf("the index of inboxes with new entries does not have it: %v", err)
	}
}

// Naive: a wake that was decided starts a turn although everything was
// acknowledged meanwhile.
func TestNothingNewMeansNoWake(t *testing.T) {
	for name, handle := range map[string]func(*world, *testing.T){
		"acknowledged": func(w *world, t *testing.T) { w.ack(t, Ack{EntryIDs: []notify.ID{w.visible()[0].EntryID}}) },
		"told": func(w *world, t *testing.T) {
			w.must(t, func(b *Book) { list, _ := b.Fresh(nil); b.Tell(list, "turn_1") })
		},
	} {
		w := newWorld()
		w.ingest(t, single(1))
		handle(w, t)
		if got := MayWake(w.box(), &threads.Thread{State: threads.Running}, w.settings(), w.now.Time, 0); got.OK {
			t.Errorf("%s: the thread is woken", name)
		}
		_, b := w.begin()
		if list, err := b.Fresh(nil); err != nil || len(list) != 0 {
			t.Errorf("%s: new are %v, %v", name, list, err)
		}
	}
}

// Naive: max_items counts what is not acknowledged, so that from then on each item
// makes a snapshot.
func TestMaxItemsCountsWhatIsPending(t *testing.T) {
	w := newWorld()
	w.set(t, Policy{MaxItems: ms(3)})
	posted := 0
	for n := range 8 {
		if w.ingest(t, grouped(n))[0].EntryID != "" {
			posted++
		}
	}
	if posted != 2 || w.box().PendingItems != 2 {
		t.Errorf("8 items made %d snapshots, and %d are pending", posted, w.box().PendingItems)
	}
}

// Naive: each item starts the window anew, so that a trickle is never shown.
func TestTrickleIsShownAfterTheGreatestDelay(t *testing.T) {
	w := newWorld()
	w.set(t, Policy{WindowMs: ms(1000), MaxDelayMs: ms(5000)})
	begin := w.now
	for n := range 20 {
		w.ingest(t, grouped(n))
		if at, most := w.box().FlushAt, begin.Add(5*time.Second).UnixMilli(); at > most {
			t.Fatalf("the inbox waits until %d, at most until %d", at, most)
		}
		if w.advance(900 * time.Millisecond); w.now.Milli() >= w.box().FlushAt {
			w.now = notify.TimeFromMilli(w.box().FlushAt)
			w.must(t, func(b *Book) { _ = b.FlushDue() })
			break
		}
	}
	if page := w.visible(); len(page) != 1 || w.now.Sub(begin.Time) != 5*time.Second {
		t.Errorf("after %s visible are %+v", w.now.Sub(begin.Time), page)
	}
}

// Naive: a summary is made of the last one, and grows: "1 3 comments on pr:1".
func TestSummaryIsMadeOfTheItems(t *testing.T) {
	w := newWorld()
	w.ingest(t, grouped(1), grouped(2))
	first := w.flush(t)[0]
	w.ingest(t, grouped(3))
	second := w.flush(t)[0]
	out := w.ack(t, Ack{EntryIDs: []notify.ID{first}})
	for id, want := range map[notify.ID]string{first: "2 comments on pr:1", second: "3 comments on pr:1", out.RemainderEntryIDs[0]: "1 comment on pr:1"} {
		if got := w.entry(t, id).Summary; got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
}

// Naive: the id of a raw item acknowledges the newest snapshot with all that is
// in it, and unknown ids are ignored.
func TestAckTakesOnlyKnownEntriesAndAllOrNone(t *testing.T) {
	w := newWorld()
	got := w.ingest(t, single(1), grouped(2))
	w.flush(t)
	for _, id := range []notify.ID{got[1].RawID, got[1].DigestID, "ent_999", "ent_0", "ent_-1", "ent_01", "", notify.ID("ent_" + string(got[1].RawID[4:]))} {
		for _, c := range []Ack{{EntryIDs: []notify.ID{got[0].EntryID, id}}, {ThroughEntryID: id}} {
			if c.EntryIDs == nil && id == "" {
				continue
			}
			events := w.must(t, func(b *Book) {
				if _, err := b.Ack(c); !errors.Is(err, ErrEntryNotFound) {
					t.Errorf("ack %+v: %v", c, err)
				}
			})
			if len(events) != 0 || w.box().UnackedItems != 2 {
				t.Errorf("ack %+v changed something: %v", c, methodsOf(events))
			}
		}
	}
	// An entry of another inbox.
	u, _ := w.begin()
	b := NewBook("other", w.now, w.settings(), w.bounds, nil, u, w.store)
	if _, err := b.Ack(Ack{EntryIDs: []notify.ID{got[0].EntryID}}); !errors.Is(err, ErrEntryNotFound) {
		t.Errorf("an entry of another inbox: %v", err)
	}
}

// Naive: whether an item is a duplicate is read from a counter of changed rows,
// which other statements change too.
func TestSameItemIsStoredOnce(t *testing.T) {
	w := newWorld()
	got := w.ingest(t, single(1), single(1), single(2))
	again := w.ingest(t, grouped(2), single(1))
	for i, want := range []bool{false, true, false} {
		if got[i].Duplicate != want {
			t.Errorf("item %d: %+v", i, got[i])
		}
	}
	if !again[0].Duplicate || again[0].RawID != got[2].RawID || !again[1].Duplicate || again[1].RawID != got[0].RawID {
		t.Errorf("sent again: %+v", again)
	}
	other := single(1)
	other.Source = "ci"
	if w.ingest(t, other)[0].Duplicate {
		t.Error("an id of another source is a duplicate")
	}
	if n := len(all[*Raw](w.store, RawTable)); n != 3 {
		t.Errorf("%d items are stored", n)
	}
}

// Naive: seqs are the greatest that is stored plus one. After removal they begin
// anew, and old cursors and ids mean other things.
func TestIdsRiseAfterEverythingWasRemoved(t *testing.T) {
	w := newWorld()
	old := w.ingest(t, single(1))[0]
	w.ack(t, Ack{EntryIDs: []notify.ID{old.EntryID}})
	next := w.ingest(t, single(2))[0]
	w.ack(t, Ack{EntryIDs: []notify.ID{next.EntryID}})
	w.advance(time.Hour)
	w.must(t, func(b *Book) { _, _ = b.Expire(w.now.Time) })
	got := w.ingest(t, single(3), single(1))
	if seqOf(got[0].RawID) <= seqOf(next.EntryID) {
		t.Errorf("%s comes after %s", got[0].RawID, next.EntryID)
	}
	if !got[1].Duplicate || got[1].RawID != old.RawID {
		t.Errorf("a removed item that is sent again: %+v", got[1])
	}
	for want, id := range map[error]notify.ID{ErrEntryExpired: old.EntryID, ErrEntryNotFound: "ent_999"} {
		for _, c := range []Ack{{ThroughEntryID: id}, {EntryIDs: []notify.ID{got[0].EntryID, id}}} {
			events := w.must(t, func(b *Book) {
				if _, err := b.Ack(c); !errors.Is(err, want) {
					t.Errorf("ack %+v: %v, want %v", c, err, want)
				}
			})
			if len(events) != 0 {
				t.Errorf("ack %+v changed something: %v", c, methodsOf(events))
			}
		}
	}
}

// Naive: "all" acknowledges what arrived after the read.
func TestAllIsWhatTheReadShowed(t *testing.T) {
	w := newWorld()
	w.ingest(t, single(1), grouped(2))
	w.flush(t)
	asOf := w.last
	w.ingest(t, single(3), grouped(4))
	w.flush(t)
	out := w.ack(t, Ack{All: true, AsOfSeq: &asOf})
	if out.AckedItems != 2 || out.AckedEntries != 2 || len(out.RemainderEntryIDs) != 1 {
		t.Errorf("acknowledged %+v", out)
	}
	if box := w.box(); box.UnackedItems != 2 || box.UnackedEntries != 2 {
		t.Errorf("what arrived later is left as %+v", box)
	}
}

// Naive: items are grouped by guessing when a part of the key is missing.
func TestItemWithoutAWholeKeyIsNotGrouped(t *testing.T) {
	w := newWorld()
	for n, g := range []*Grouping{nil, {}, {ResourceRef: "pr:1"}, {EventFamily: "comments"}} {
		it := single(n)
		it.Grouping = g
		if got := w.ingest(t, it)[0]; got.DigestID != "" || got.EntryID == "" || w.entry(t, got.EntryID).Kind != KindItem {
			t.Errorf("%+v: %+v", g, got)
		}
	}
}

// Naive: nothing says why an entry was posted.
func TestEveryEntrySaysWhyItWasPosted(t *testing.T) {
	w := newWorld()
	var got []Reason
	note := func(events []logged) {
		for _, e := range events {
			if p, ok := e.body.(*Posted); ok {
				got = append(got, p.Reason)
			}
		}
	}
	ingest := func(it Item) { note(w.must(t, func(b *Book) { _, _ = b.Ingest([]Item{it}) })) }
	w.set(t, Policy{MaxItems: ms(2)})
	ingest(single(0))
	ofJob := single(20)
	ofJob.OfJob = true
	ingest(ofJob)
	ingest(grouped(1))
	w.advance(30 * time.Second)
	note(w.must(t, func(b *Book) { _ = b.FlushDue() }))
	ingest(grouped(2))
	ingest(grouped(3))
	immediate := grouped(4)
	immediate.Grouping.Flush = FlushImmediate
	ingest(immediate)
	ingest(grouped(5))
	rollover := grouped(6)
	rollover.Grouping.Breaks = BreaksBefore
	ingest(rollover)
	note(w.must(t, func(b *Book) { _, _ = b.Flush("") }))
	ingest(grouped(7))
	off := false
	note(w.must(t, func(b *Book) { _, _ = b.Configure(Configure{Policy: Policy{Enabled: &off}}, w.inForce) }))
	entries := w.visible()
	snapshots := all[*Entry](w.store, EntryTable)
	note(w.must(t, func(b *Book) { _, _ = b.Ack(Ack{EntryIDs: []notify.ID{snapshots[len(snapshots)-2].EntryID}}) }))
	want := []Reason{ReasonItem, ReasonJob, ReasonWindow, ReasonSize, ReasonImmediate, ReasonRollover, ReasonManual, ReasonLifecycle, ReasonRemainder}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v (visible %v)", got, want, entries)
	}
	slices.Sort(want)
	if known := slices.Sorted(slices.Values(Reasons)); !slices.Equal(known, want) {
		t.Errorf("the reasons are %v, tried %v", known, want)
	}
}

// Naive: grouping is off unless it is configured, and nobody configures it.
func TestGroupingIsOnByDefault(t *testing.T) {
	w := newWorld()
	if got := w.ingest(t, grouped(1), grouped(2)); got[0].DigestID == "" || got[0].DigestID != got[1].DigestID {
		t.Errorf("without a policy: %+v", got)
	}
}

// Naive: counts mix entries with items, and what was told with what was not.
func TestCountsAreOfEntriesAndOfItems(t *testing.T) {
	w := newWorld()
	w.ingest(t, single(1), grouped(2), grouped(3), grouped(4))
	w.flush(t)
	w.ingest(t, grouped(5))
	box := w.box()
	if box.UnackedEntries != 2 || box.NewEntries != 2 || box.UnackedItems != 5 || box.PendingItems != 1 {
		t.Errorf("got %+v", box)
	}
	if e := w.visible()[1]; e.Count != 3 {
		t.Errorf("the snapshot of 3 items counts %d", e.Count)
	}
	w.must(t, func(b *Book) { list, _ := b.Fresh(nil); b.Tell(list[:1], "turn_1") })
	if box := w.box(); box.UnackedEntries != 2 || box.NewEntries != 1 {
		t.Errorf("after one was told: %+v", box)
	}
}

// Naive: each source wakes the thread by itself, and most of these turns find
// nothing.
func TestOneTurnIsToldWhatCameFromAllSources(t *testing.T) {
	w := newWorld()
	items := []Item{single(1), single(1), single(1), grouped(2)}
	items[1].Source, items[2].Source = "ci", SourceEvents
	items[3].Grouping.Flush = FlushImmediate
	w.ingest(t, items...)
	w.must(t, func(b *Book) {
		list, err := b.Fresh(nil)
		if err != nil || len(list) != 4 {
			t.Fatalf("new are %v, %v", list, err)
		}
		b.Tell(list, "turn_1")
	})
	if box := w.box(); box.NewEntries != 0 || MayWake(box, &threads.Thread{State: threads.Running}, w.settings(), w.now.Time, 0).OK {
		t.Errorf("another wake follows: %+v", box)
	}
}

// Naive: a wake makes everything new, also what a turn is working on. Then the end
// of that turn decides about nothing, and the agent is told it twice.
func TestWakeLeavesWhatTheActiveTurnWasTold(t *testing.T) {
	now := func(n int) Item {
		it := grouped(n)
		it.Grouping.Flush = FlushImmediate
		return it
	}
	w := newWorld()
	alone := w.ingest(t, single(1))[0].EntryID
	tell := func(turnID string) {
		w.must(t, func(b *Book) {
			list, err := b.Fresh(nil)
			if err != nil {
				t.Fatal(err)
			}
			b.Tell(list, turnID)
		})
	}
	wake := func(active string, want ...notify.ID) {
		t.Helper()
		w.must(t, func(b *Book) {
			if ids, err := b.WakeNow(active); err != nil || !slices.Equal(ids, want) {
				t.Errorf("woken %v, %v; want %v", ids, err, want)
			}
		})
	}
	tell("turn_1") // it ends with a word, and acknowledges nothing
	first := w.ingest(t, now(2))[0].EntryID
	both := w.ingest(t, now(3))[0].EntryID
	tell("turn_2")
	remainder := w.ack(t, Ack{EntryIDs: []notify.ID{first}}).RemainderEntryIDs[0] // of what turn_2 was told in both
	wake("turn_2", alone)
	w.must(t, func(b *Book) { _ = b.Untell("turn_2", true, 0) })
	if box := w.box(); box.Silent != 1 || box.NewEntries != 2 || !w.entry(t, remainder).Fresh {
		t.Errorf("after the end without a word: %+v", box)
	}
	tell("turn_3")
	w.must(t, func(b *Book) { _ = b.AckTold("turn_3") })
	if box := w.box(); box.UnackedItems != 0 || w.entry(t, both).AckedAt.IsZero() {
		t.Errorf("after it was acknowledged: %+v", box)
	}
}

// Naive: the first and the last time are those of the first and the last arrival,
// so that the last can be before the first.
func TestTimesAreTheLeastAndTheGreatest(t *testing.T) {
	w := newWorld()
	items := []Item{grouped(1), grouped(2), grouped(3)}
	for i, at := range []int64{2000, 3000, 1000} {
		items[i].OccurredAt = notify.TimeFromMilli(at)
	}
	w.ingest(t, items...)
	e := w.entry(t, w.flush(t)[0])
	if e.FirstAt.Milli() != 1000 || e.LastAt.Milli() != 3000 {
		t.Errorf("from %d to %d", e.FirstAt.Milli(), e.LastAt.Milli())
	}
}

// Naive: the time of a sender that knows none is stored, and is none when its row
// is read again.
func TestItemWithAnImpossibleTimeOccurredWhenItArrived(t *testing.T) {
	for _, at := range strangeTimes {
		w := newWorld()
		items := []Item{grouped(1), single(2), grouped(3)}
		for i := range items {
			items[i].OccurredAt = notify.TimeOf(at)
		}
		want := w.now
		if at.Equal(time.UnixMilli(1)) { // possible
			want = notify.TimeOf(at)
		}
		got := w.ingest(t, items[0], items[1])
		w.advance(time.Minute)
		items[2].OccurredAt = notify.TimeOf(w.now.Time)
		w.ingest(t, items[2])
		if e := w.entry(t, got[1].EntryID); e.FirstAt != want || e.LastAt != want {
			t.Errorf("%s: the item occurred from %s to %s", at, e.FirstAt, e.LastAt)
		}
		if e := w.entry(t, w.flush(t)[0]); e.FirstAt != want || e.LastAt != w.now {
			t.Errorf("%s: the digest occurred from %s to %s", at, e.FirstAt, e.LastAt)
		}
	}
}

// Naive: two items that come together each open a digest of one key.
func TestOneDigestOfAKeyIsOpen(t *testing.T) {
	w := newWorld()
	before, after := grouped(2), grouped(3)
	before.Grouping.Breaks, after.Grouping.Breaks = BreaksBefore, BreaksAfter
	w.ingest(t, grouped(1), before, after, grouped(4), grouped(5))
	open := 0
	for _, d := range w.digests() {
		if d.Open {
			open++
		}
	}
	if len(w.digests()) != 3 || open != 1 {
		t.Errorf("%d digests, %d of them open", len(w.digests()), open)
	}
	d := w.digests()[2]
	second := *d
	second.Seq = -1
	if err := w.store.clone().put(&second, 1000); err == nil {
		t.Error("the store takes a second open digest of the key")
	}
}

// Naive: a firing is named by its planned time, in seconds. Then the reminder of a timer that
// is created anew counts as a duplicate of the one before, and is lost.
func TestEveryFiringIsAnItem(t *testing.T) {
	w := newWorld()
	began := w.now
	fire := func(after time.Duration) {
		t.Helper()
		w.must(t, func(b *Book) {
			if _, created, err := b.CreateTimer(CreateTimer{TimerID: "t", Text: "look", At: notify.TimeOf(began.Add(after))}); err != nil || !created {
				t.Fatalf("create: %v, %v", created, err)
			}
		})
		w.now = notify.TimeOf(began.Add(after))
		events := w.must(t, func(b *Book) {
			if err := b.FireDue(); err != nil {
				t.Fatal(err)
			}
		})
		if want := []string{notify.TimerFired, notify.InboxReceived, notify.InboxPosted}; !slices.Equal(methodsOf(events), want) {
			t.Errorf("after %v: %v, want %v", after, methodsOf(events), want)
		}
	}
	for ms := range time.Duration(3) {
		fire(time.Second + ms*time.Millisecond)
	}
}

// Naive: acknowledged is a prefix of what a digest has, so that an item in the middle takes the
// older ones with it, and a snapshot that shows the newest item counts all of them as its own.
func TestNamedItemsAloneAreAcknowledged(t *testing.T) {
	w := newWorld()
	single := w.ingest(t, single(1))[0]
	var raws []notify.ID
	for i := range 5 {
		raws = append(raws, w.ingest(t, grouped(2+i))[0].RawID)
	}
	whole := w.flush(t)[0]
	waits := w.ingest(t, grouped(9))[0].RawID
	out := w.ack(t, Ack{RawIDs: []notify.ID{raws[4], raws[1], raws[4], single.RawID}})
	if out.AckedItems != 3 || out.AckedEntries != 1 || len(out.RemainderEntryIDs) != 1 {
		t.Fatalf("acknowledged %+v", out)
	}
	last := w.log[len(w.log)-2].body.(*Acked)
	if want := []notify.ID{raws[4], raws[1], single.RawID}; !slices.Equal(last.RawIDs, want) || !slices.Equal(last.EntryIDs, []notify.ID{single.EntryID}) || last.RawCount != 3 {
		t.Errorf("inbox/acked has %+v", last)
	}
	rest := w.entry(t, out.RemainderEntryIDs[0])
	if old := w.entry(t, whole); rest.Count != 3 || rest.LastRawID != raws[3] || old.Unacked != 3 || old.SupersededBy != rest.EntryID {
		t.Errorf("the rest is %+v of %+v", rest, old)
	}
	if d := w.digests()[0]; d.Pending != 1 || d.Unacked != 3 || !d.Open {
		t.Errorf("the digest is %+v", d)
	}
	// Again, or what is pending beside it, changes nothing.
	if out := w.ack(t, Ack{RawIDs: []notify.ID{raws[4]}}); out.AckedItems != 0 || out.AckedEntries != 0 || len(out.RemainderEntryIDs) != 0 {
		t.Errorf("a repetition acknowledges %+v", out)
	}
	for _, other := range []notify.ID{waits, "raw_99", "ent_3"} {
		var err error
		if n := len(w.must(t, func(b *Book) { _, err = b.Ack(Ack{RawIDs: []notify.ID{raws[0], other}}) })); n != 0 || err == nil || !strings.Contains(err.Error(), "raw_ids[1]") {
			t.Errorf("with %s the unit has %d events: %v", other, n, err)
		}
	}
	// The snapshot of before acknowledges what is left of it, and the last named one the last entry.
	if out := w.ack(t, Ack{EntryIDs: []notify.ID{whole}}); out.AckedItems != 3 || len(out.RemainderEntryIDs) != 0 {
		t.Errorf("the older snapshot acknowledges %+v", out)
	}
	entry := w.flush(t)[0]
	if out := w.ack(t, Ack{RawIDs: []notify.ID{waits}}); out.AckedEntries != 1 || w.entry(t, entry).Visible() || w.digests()[0].Open {
		t.Errorf("the last item acknowledges %+v", out)
	}
}
