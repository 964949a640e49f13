package dashboard

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
)

// whole waits until everything is listed.
func whole(t *testing.T, got <-chan tea.Msg) (all overview.Listed) {
	t.Helper()
	await(t, got, "everything is listed", func(msg tea.Msg) bool {
		listed, ok := msg.(overview.Listed)
		if ok && listed.Whole {
			all = listed
		}
		return ok && listed.Whole
	})
	return all
}

// The oldest thread of many that needs somebody is listed, and what is not listed is counted.
func TestWhatNeedsSomebodyIsListedHoweverManyAreDone(t *testing.T) {
	s := newFakeServer(t, newestDone+30)
	s.put("thread_000", "waiting", "")
	s.put("thread_001", "failed", "")
	for i := range newestClosed + 5 {
		s.put(fmt.Sprintf("closed_%03d", i), "closed", "")
	}
	all := whole(t, startFeed(t, s))
	if !lists(all, "thread_000", "waiting") || !lists(all, "thread_001", "failed") || len(all.Threads) != newestDone+newestClosed+2 || all.Cut {
		t.Errorf("%d threads are listed, cut %v", len(all.Threads), all.Cut)
	}
	if all.Counts == nil || *all.Counts != (overview.Counts{NeedsYou: 1, Failed: 1, Done: newestDone + 28, Closed: newestClosed + 5}) {
		t.Errorf("counted are %+v", all.Counts)
	}
}

// An older server refuses what it does not know, or ignores it.
func TestAnOlderServerIsListedByStates(t *testing.T) {
	s := newFakeServer(t, 700)
	s.old = true
	s.put("thread_000", "waiting", "")
	got := startFeed(t, s)
	if all := whole(t, got); len(all.Threads) != 700 || all.Counts != nil || !lists(all, "thread_000", "waiting") {
		t.Errorf("%d threads are listed, counted are %+v", len(all.Threads), all.Counts)
	}
	s.put("thread_003", "working", "")
	s.event("thread_003", "turn/started")
	await(t, got, "a change", func(msg tea.Msg) bool { return lists(msg, "thread_003", "working") })
}

// However much changes, threads are counted every two seconds at most, and what has changed
// last is counted, too, also if that was refused once.
func TestCountsFollowWhatChanges(t *testing.T) {
	s := newFakeServer(t, 3)
	got := startFeed(t, s)
	if all := whole(t, got); all.Counts == nil || all.Counts.Done != 3 {
		t.Fatalf("counted are %+v", all.Counts)
	}
	s.refuse = 1
	began, counted := time.Now(), 0
	s.put("thread_001", "failed", "")
	s.event("thread_001", "turn/failed")
	await(t, got, "a change without a further event", func(msg tea.Msg) bool { return lists(msg, "thread_001", "failed") })
	await(t, got, "its count", func(msg tea.Msg) bool {
		listed, ok := msg.(overview.Listed)
		if ok && listed.Counts != nil {
			counted++
		}
		return ok && listed.Counts != nil && listed.Counts.Failed == 1
	})
	if most := int(time.Since(began)/countsEvery) + 1; counted > most {
		t.Errorf("threads were counted %d times in %s", counted, time.Since(began))
	}
}
