package persisttest

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// lostTurns follows turns that a restart has ended through what others do then: the list has
// those that nobody has gone on with.
func lostTurns(t *testing.T, h Harness) {
	want := func(what string, q turns.Query, want ...string) {
		t.Helper()
		q.EndedBy = turns.EndedByRestart
		l, err := h.Store.ListTurns(context.Background(), q)
		var got []string
		for _, row := range l.Rows {
			got = append(got, row.TurnID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
	all := turns.Query{}
	a, b := NewMaker(t, h.Store, "thread_a").Start(), NewMaker(t, h.Store, "thread_b").Start()
	for _, m := range []*Maker{a, b} {
		m.StartTurn("turn_" + m.ID)
		m.Commit()
		want("while it runs", all)
	}
	b.Lose("turn_thread_b", turns.ServerStopping)
	b.Commit()
	a.Lose("turn_thread_a", turns.ServerRestarted)
	first := a.Commit().Last
	want("in the order of their ends", all, "turn_thread_b", "turn_thread_a")
	want("the newest first", turns.Query{Newest: true}, "turn_thread_a", "turn_thread_b")
	want("after the first end", turns.Query{AfterSeq: first - 1}, "turn_thread_a")
	want("after both", turns.Query{AfterSeq: first})
	want("after a page", turns.Query{Cursor: strconv.FormatInt(first-1, 10)}, "turn_thread_a")
	want("of a thread", turns.Query{ThreadID: "thread_b"}, "turn_thread_b")
	want("of some threads", turns.Query{Within: Few{"thread_a"}, AfterSeq: 1}, "turn_thread_a")
	want("of no thread that has one", turns.Query{Within: Few{"thread_c"}})
	want("that failed", turns.Query{State: turns.Failed})

	// A child turn whose owner goes on is the owner's affair, and nobody's once it has ended.
	owner := NewMaker(t, h.Store, "thread_owner").Start()
	owner.StartTurn("turn_owner")
	owner.Commit()
	child := NewMaker(t, h.Store, "thread_child").Start()
	child.Add(notify.TurnStarted, "turn_child", "", &turns.StartedEvent{
		Type: "started", State: turns.Active, StartedAt: notify.TimeOf(child.clock),
		Parent: &threads.Parent{ThreadID: "thread_owner", TurnID: "turn_owner", Attempt: 1},
		Child:  turns.Child{AttentionPolicy: turns.Blocking, RootThreadID: "thread_owner"},
	})
	child.Lose("turn_child", turns.ServerRestarted)
	child.Commit()
	want("a child whose owner lives", turns.Query{AfterSeq: first})
	owner.EndTurn("turn_owner")
	owner.Commit()
	want("a child whose owner has ended", turns.Query{AfterSeq: first}, "turn_child")
	want("of that owner", turns.Query{ParentThreadID: "thread_owner"}, "turn_child")
	want("of another", turns.Query{ParentThreadID: "thread_a"})

	a.QueueTurn("turn_next", 1)
	a.Commit()
	want("one waits behind it", turns.Query{ThreadID: "thread_a"})
	a.Add(notify.TurnInterrupted, "turn_next", "", &turns.EndedEvent{Type: "interrupted", State: turns.Interrupted, CompletedAt: notify.TimeOf(a.clock), By: turns.ByClient})
	a.Commit()
	want("that one was withdrawn", turns.Query{ThreadID: "thread_a"}, "turn_thread_a")
	a.StartTurn("turn_again")
	a.EndTurn("turn_again")
	a.Commit()
	want("somebody went on", turns.Query{ThreadID: "thread_a"})
	a.Attempt("turn_older")
	a.EndTurn("turn_older")
	a.Commit()
	a.StartTurn("turn_newer")
	a.EndTurn("turn_newer")
	a.Rewind("turn_older", "", turns.CauseRequest)
	a.Commit()
	a.Attempt("turn_older")
	a.Commit()
	a.Lose("turn_older", turns.ServerRestarted)
	a.Commit()
	want("an older one was retried, and lost", turns.Query{ThreadID: "thread_a"}, "turn_older")
	a.Rewind("turn_older", "", turns.CauseRequest)
	a.Commit()
	want("it is retried again", turns.Query{ThreadID: "thread_a"})

	// A machine may start with an old clock, and a verdict comes after the end it is about.
	c := NewMaker(t, h.Store, "thread_c").Start()
	c.StartTurn("turn_before")
	c.EndInReview("turn_before")
	c.StartTurn("turn_lost")
	c.clock = c.clock.Add(-time.Hour)
	c.Lose("turn_lost", turns.ServerRestarted)
	c.Commit()
	c.Review("turn_before", turns.Approved, "")
	c.Commit()
	want("after a start with an old clock", turns.Query{ThreadID: "thread_c"}, "turn_lost")

	b.Add(notify.ThreadPaused, "", "", &threads.Changed{Type: "paused", State: threads.Paused})
	b.Commit()
	want("a paused thread", turns.Query{ThreadID: "thread_b"}, "turn_thread_b")
	b.Add(notify.ThreadClosed, "", "", &threads.Changed{Type: "closed", State: threads.Closed})
	b.Commit()
	want("a closed thread", turns.Query{ThreadID: "thread_b"})
}
