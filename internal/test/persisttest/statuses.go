package persisttest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// memory is a turns.Memory without a bound.
type memory map[string]turns.Remembered

func (m memory) Get(id string) turns.Remembered    { return m[id] }
func (m memory) Put(id string, r turns.Remembered) { m[id] = r }

// listStatusOf returns the status of a thread as its summary has it.
func listStatusOf(s *turns.Summarized) turns.ListStatus {
	switch s.Summary.Status {
	case turns.SummaryClosed:
		return turns.ListClosed
	case turns.SummaryWaiting:
		return turns.ListNeedsYou
	case turns.SummaryWorking:
		return turns.ListWorking
	case turns.SummaryFailed:
		return turns.ListFailed
	}
	return turns.ListDone
}

// allSummaries reads the summaries of these threads, nil = all, with nothing known.
func allSummaries(t testing.TB, store Store, ids []string) (list []turns.Summarized) {
	t.Helper()
	q := turns.SummaryQuery{Query: threads.Query{IDs: ids, Limit: 1000}}
	for {
		l, err := store.Summaries(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, l.Rows...); l.Next == "" {
			return list
		}
		q.Cursor = l.Next
	}
}

// countOf counts summaries of these threads, nil = all.
func countOf(list []*turns.Summarized, within Few) (c turns.StatusCounts) {
	for _, s := range list {
		status := listStatusOf(s)
		below := s.Thread.Level > 0 && (within == nil || slices.Contains(within, s.Thread.Parent.ThreadID))
		if below && status != turns.ListNeedsYou || s.Thread.Agent == "mailbox" {
			continue
		}
		switch status {
		case turns.ListNeedsYou:
			c.NeedsYou++
			if c.WaitingSince.IsZero() || s.Summary.Since.Before(c.WaitingSince.Time) {
				c.WaitingSince = s.Summary.Since
			}
		case turns.ListWorking:
			c.Working++
		case turns.ListFailed:
			c.Failed++
		case turns.ListDone:
			c.Done++
		case turns.ListClosed:
			c.Closed++
		}
	}
	return c
}

// listStatuses reads a page of the threads with some statuses, and the counts of all: what
// indexes find is what the summaries of all threads say.
func (m *model) listStatuses(r *rapid.T, p paging) {
	q := turns.SummaryQuery{Query: threads.Query{Cursor: p.cursor, Limit: p.limit, Newest: p.newest}, Uncounted: []string{"mailbox"}}
	if pick(r, 8, "of all threads") > 0 {
		few := Few{"thread_none"}
		for range 12 {
			few = append(few, m.known(r).ID)
		}
		q.Within = few
	}
	q.State = rapid.SampledFrom([]threads.State{"", "", threads.Running, threads.Closing, threads.Closed}).Draw(r, "state")
	q.Agent = rapid.SampledFrom([]string{"", "", "echo", "none"}).Draw(r, "agent")
	q.Counts = rapid.Bool().Draw(r, "counts")
	for _, s := range turns.ListStatuses {
		if rapid.Bool().Draw(r, "with "+string(s)) {
			q.Statuses = append(q.Statuses, s)
		}
	}
	if rapid.Bool().Draw(r, "named") {
		q.IDs = []string{"thread_none", m.known(r).ID, m.known(r).ID}
	}
	word := rapid.SampledFrom([]string{"", "1", "of thread", "told"}).Draw(r, "word")
	if word != "" {
		q.Matches = func(_ *threads.Thread, title string) bool { return strings.Contains(title, word) }
	}
	if rapid.Bool().Draw(r, "remembered") {
		q.Memory = m.memory
	}
	var counted, want []*turns.Summarized
	few, _ := q.Within.(Few)
	for _, s := range allSummaries(m.t, m.h.Store, few) {
		if !is(q.State, s.Thread.State) || !is(q.Agent, s.Thread.Agent) || !strings.Contains(s.Summary.Title, word) {
			continue
		}
		counted = append(counted, &s)
		if (q.Statuses == nil || slices.Contains(q.Statuses, listStatusOf(&s))) && (q.IDs == nil || slices.Contains(q.IDs, s.Thread.ThreadID)) {
			want = append(want, &s)
		}
	}
	what := fmt.Sprintf("threads of %v with %q within %v, the state %q, the agent %q, named %v", q.Statuses, word, q.Within, q.State, q.Agent, q.IDs)
	got, err := m.h.Store.Summaries(context.Background(), q)
	listed(m, what, got.List, err, want, func(s *turns.Summarized) int64 { return s.Thread.CreatedSeq }, p)
	var counts *turns.StatusCounts
	if q.Counts {
		c := countOf(counted, few)
		counts = &c
	}
	if !reflect.DeepEqual(got.Counts, counts) {
		m.t.Fatalf("%s: the counts are %s, want %s", what, said(got.Counts), said(counts))
	}
}

// countedThreads checks the counts of threads of each status, with children and
// an inbox of a person.
func countedThreads(t *testing.T, h Harness) {
	make := func(id, agent string, level int) *Maker {
		m := NewMaker(t, h.Store, id)
		body := &threads.Changed{Type: "started", State: threads.Running, StartedAt: notify.TimeOf(m.clock), Agent: agent, Level: level}
		if level > 0 {
			body.Parent, body.RootThreadID = &threads.Parent{ThreadID: "thread_done"}, "thread_done"
		}
		m.Add(notify.ThreadStarted, "", "", body)
		return m
	}
	asks := func(id string, level int) {
		m := make(id, "echo", level)
		m.Attempt("turn_of_" + id)
		m.Create("turn_of_"+id, "item_of_"+id, items.StatusPending, items.Question{Type: items.KindQuestion, Message: "Which?"})
		m.Commit()
	}
	make("me", "mailbox", 0).Commit()
	make("thread_done", "echo", 0).Commit()
	asks("thread_asks", 0)
	asks("thread_child_asks", 1)
	works := make("thread_child_works", "echo", 1)
	works.Attempt("turn_w")
	works.Commit()
	queued := make("thread_queued", "echo", 0)
	queued.QueueTurn("turn_q", 1)
	queued.Commit()
	failed := make("thread_failed", "echo", 0)
	failed.Attempt("turn_f")
	failed.FailTurn("turn_f")
	failed.Commit()
	again := make("thread_again", "echo", 0)
	again.Attempt("turn_a")
	again.FailTurn("turn_a")
	again.Attempt("turn_b")
	again.EndTurn("turn_b")
	again.Commit()
	review := make("thread_review", "echo", 0)
	review.Attempt("turn_r")
	review.EndInReview("turn_r")
	review.Commit()
	refused := make("thread_refused", "echo", 0)
	refused.Attempt("turn_x")
	refused.EndInReview("turn_x")
	refused.Review("turn_x", turns.Blocked, "")
	refused.Commit()
	closing := make("thread_closing", "echo", 0)
	closing.Attempt("turn_c")
	closing.Create("turn_c", "item_c", items.StatusPending, items.Question{Type: items.KindQuestion, Message: "Which?"})
	closing.Add(notify.ThreadUpdated, "", "", &threads.Updated{Type: "updated", State: threads.Closing})
	closing.Commit()

	kept := memory{}
	listOf := func(statuses ...turns.ListStatus) string {
		l, err := h.Store.Summaries(context.Background(), turns.SummaryQuery{Statuses: statuses, Memory: kept})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range l.Rows {
			ids = append(ids, l.Rows[i].Thread.ThreadID)
		}
		return strings.Join(ids, " ")
	}
	for status, want := range map[turns.ListStatus]string{
		turns.ListNeedsYou: "thread_asks thread_child_asks thread_review", turns.ListWorking: "thread_child_works thread_queued",
		turns.ListFailed: "thread_failed thread_refused", turns.ListDone: "me thread_done thread_again", turns.ListClosed: "thread_closing",
	} {
		if got := listOf(status); got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
	if got := listOf(turns.ListFailed, turns.ListWorking); got != "thread_child_works thread_queued thread_failed thread_refused" {
		t.Errorf("two statuses: %s", got)
	}
	counts := func(want turns.StatusCounts) {
		t.Helper()
		l, err := h.Store.Summaries(context.Background(), turns.SummaryQuery{Counts: true, Uncounted: []string{"mailbox"}, Query: threads.Query{Limit: 1}, Memory: kept})
		if err != nil || l.Counts == nil || *l.Counts != want || len(l.Rows) != 1 {
			t.Errorf("%s, %v; want %+v", said(l.Counts), err, want)
		}
	}
	want := turns.StatusCounts{NeedsYou: 3, Working: 1, Failed: 2, Done: 2, Closed: 1, WaitingSince: summaryOf(t, h.Store, "thread_review").Since}
	counts(want)

	failed.Attempt("turn_g")
	failed.EndTurn("turn_g")
	failed.Commit()
	refused.Attempt("turn_y")
	refused.EndTurn("turn_y")
	refused.Commit()
	review.Attempt("turn_s")
	review.Create("turn_s", "item_s", items.StatusPending, items.Question{Type: items.KindQuestion, Message: "Which?"})
	review.Commit()
	below := Few{"thread_child_works", "thread_failed"} // without their owner: what one sees of them is no child
	l, err := h.Store.Summaries(context.Background(), turns.SummaryQuery{Counts: true, Query: threads.Query{Within: below, Limit: 1}})
	if err != nil || *l.Counts != (turns.StatusCounts{Working: 1, Done: 1}) {
		t.Errorf("within %v: %s, %v", below, said(l.Counts), err)
	}
	want.Failed, want.Done, want.WaitingSince = 0, 4, summaryOf(t, h.Store, "thread_asks").Since
	counts(want)
	if got := listOf(turns.ListFailed); got != "" {
		t.Errorf("failed, and completed since: %s", got)
	}
}
