package persisttest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// Store is all interfaces of a store.
type Store interface {
	turns.Store
	turns.Rows
	turns.Reader
	persist.Pruner
	inbox.Reader
	cursors.Reader

	// What the engine reads of inboxes.
	ReadToDecide(context.Context, func(ledger.Reader) error) error
	LoadInbox(ctx context.Context, threadID string) (*inbox.Inbox, error)
	DueInboxes(ctx context.Context, until int64, limit int) (ids []string, next int64, err error)
	InboxesWithNew(context.Context) ([]string, error)
	InboxesToExpire(ctx context.Context, ackedBefore int64, limit int) ([]string, error)
	RemovedInboxes(context.Context) ([]string, error)
	SubscriptionsOf(ctx context.Context, source string) ([]inbox.Subscription, error)
	Payloads(r ledger.Reader, seqs []int64) (map[int64]*inbox.Received, error)
	OldestWaits(context.Context) (persist.Waits, error)
}

// Harness is a running, empty store. SetNow moves the clock that it dates
// idempotency keys with, and KeepKeys sets how many of them are kept.
type Harness struct {
	Store    Store
	Tail     *notify.Tail
	SetNow   func(time.Time)
	KeepKeys func(all, each int64)
}

// Exercise holds a store to everything that turns, rpc and notify rely on.
// open makes a new store, which lives until t ends.
func Exercise(t *testing.T, open func(t testing.TB) Harness) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"ConcurrentUnitsGetOneDenseOrder", concurrentUnits},
		{"MixedThreadsAreRefused", mixedThreads},
		{"FailingUnitFailsAlone", failingUnit},
		{"LargeUnitIsCommittedAlone", largeUnit},
		{"KeyIsUsedOnceAlsoBetweenConcurrentRequests", keyRace},
		{"KeysOfOneRequesterPushOutNoOthers", keyShares},
		{"NoTurnStartsInAPause", pauseFence},
		{"FencesKnowTheNewestMarker", rewindFence},
		{"SupersededTriesAreNotWritten", triesFence},
		{"UnitsWithWrongTriesLeaveNoTrace", wrongTries},
		{"SparseFilterMovesOnWithinABound", sparseFilter},
		{"BadCursorsAreRefused", badCursors},
		{"WholeThreadsOfSummariesHaveTheirDeltas", wholeThreads},
		{"ListPageEndsAtOneMiB", listBytes},
		{"ReadsAreSnapshots", snapshots},
		{"RetentionKeepsWhatItPromises", retention},
		{"WhatWaitsForAPersonIsFound", waits},
		{"NoReadIsAheadOfThePosition", position},
		{"InboxesAreReadAsTheyWereWritten", inboxes},
		{"ItemsAreListedByWhatBecameOfThem", inboxItems},
		{"WhatIsNotWokenIsFound", notWoken},
		{"RestOfARemovedInboxIsNotRead", removedInbox},
		{"InboxesAreFoldsOfTheirLog", inboxHistories},
		{"CursorsAreReadAsTheyWereWritten", cursorRows},
		{"CursorsThatAreRacedForOnlyRise", cursorRace},
		{"CursorsTellTheLoserOfARaceWhatIsStored", cursorOfMany},
		{"CursorIsMadeOnceForAKey", cursorKeys},
		{"CursorD10EveryStoreBehavesAsTheModel", cursorHistories},
		{"SummariesFollowFromRows", summaries},
		{"SummariesSeeOtherThreads", summariesOfOthers},
		{"NowIsTheLastLineOfTheOpenMessage", nowOf},
		{"ThreadsAreCalledByTheirFirstPrompt", titlesOf},
		{"CountsAreWhatListsHave", countedThreads},
		{"TurnsThatARestartEndedAreListedUntilSomebodyGoesOn", lostTurns},
		{"StoreBehavesAsItsModel", property},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
	t.Run("AfterTheEndEverythingIsRefused", func(t *testing.T) { afterEnd(t, open) })
}

// all reads the whole log in pages.
func all(t testing.TB, log notify.Log) []notify.Event {
	t.Helper()
	return paged(t, log, notify.Query{MaxEvents: 100, MaxBytes: 1 << 20})
}

// paged reads everything after q.After that passes its filter.
func paged(t testing.TB, log notify.Log, q notify.Query) (events []notify.Event) {
	t.Helper()
	for {
		p, err := log.Page(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Events) > max(1, q.MaxEvents) {
			t.Fatalf("%d events in a page of %d", len(p.Events), q.MaxEvents)
		}
		events = append(events, p.Events...)
		if !p.More {
			if p.Scanned < p.Latest {
				t.Fatalf("the last page after %d looked at %d of %d only", q.After, p.Scanned, p.Latest)
			}
			return events
		}
		if p.Scanned <= q.After {
			t.Fatalf("a page after %d did not move on", q.After)
		}
		q.After = p.Scanned
	}
}

// dense fails unless seqs and thread_seqs have no gap.
func dense(t testing.TB, events []notify.Event) {
	t.Helper()
	threads := map[string]int64{}
	for i := range events {
		e := headerOf(t, events[i])
		if e.Seq != int64(i)+1 || e.Seq != events[i].Seq {
			t.Fatalf("event %d has seq %d (I3)", i+1, e.Seq)
		}
		if e.ThreadID == "" {
			if e.ThreadSeq != 0 {
				t.Fatalf("event %d has no thread but thread_seq %d", e.Seq, e.ThreadSeq)
			}
			continue
		}
		threads[e.ThreadID]++
		if e.ThreadSeq != threads[e.ThreadID] {
			t.Fatalf("event %d is %d of %s, want %d (I3)", e.Seq, e.ThreadSeq, e.ThreadID, threads[e.ThreadID])
		}
	}
}

// headerOf returns the header in the params of an event.
func headerOf(t testing.TB, e notify.Event) notify.Header {
	t.Helper()
	h, _, err := events.Decode(e.Method, e.Params)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func sameEvents(t testing.TB, what string, got, want []notify.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d events, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Seq != w.Seq || g.Method != w.Method || !g.Time.Equal(w.Time.Time) || !bytes.Equal(g.Params, w.Params) {
			t.Fatalf("%s: event %d is\n%+v, want\n%+v", what, i, g, w)
		}
	}
}
