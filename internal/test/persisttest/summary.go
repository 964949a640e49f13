package persisttest

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// summaryOf reads the summary of one thread.
func summaryOf(t testing.TB, store Store, threadID string) turns.Summary {
	t.Helper()
	l, err := store.Summaries(context.Background(), turns.SummaryQuery{Query: threads.Query{IDs: []string{threadID}}, Consumer: "seen:owner"})
	if err != nil || len(l.Rows) != 1 || l.Rows[0].Thread.ThreadID != threadID {
		t.Fatalf("summary of %s: %+v, %v", threadID, l, err)
	}
	return l.Rows[0].Summary
}

// summaries takes a thread through its life, and looks at it after each step.
func summaries(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	// want changes what is expected, and compares.
	want := turns.Summary{Title: "thread_a", Status: turns.SummaryIdle} // a client has chosen the id
	step := func(name string, change func(now notify.Time)) {
		t.Helper()
		m.Commit()
		want.UpdatedAt = notify.TimeOf(m.clock)
		change(want.UpdatedAt)
		if got := summaryOf(t, h.Store, "thread_a"); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\n%+v, want\n%+v", name, got, want)
		}
	}
	m.Add(notify.ThreadStarted, "", "", &threads.Changed{Type: "started", State: threads.Running, StartedAt: notify.TimeOf(m.clock), Agent: "echo"})
	want.Since = m.startedAt()
	step("a new thread", func(notify.Time) {})

	m.QueueTurn("turn_a", 1)
	m.Create("turn_a", "item_in", items.StatusInProgress, userMessage("Fix\tthe test\n\nthat fails, and "+long(100)))
	queuedAt := notify.TimeOf(m.clock.Add(-2e6))
	step("a queued turn", func(notify.Time) {
		want.Status, want.Since, want.Queued = turns.SummaryWorking, queuedAt, 1
		want.Title = "Fix the test that fails, and " + long(50) + "…"
		want.Text = "1 turn waits in the queue"
	})
	m.Attempt("turn_a")
	m.QueueTurn("turn_b", 2)
	m.Create("turn_a", "item_run", items.StatusInProgress, items.CommandExecution{
		Type: items.KindCommandExecution, ToolKind: "execute", Title: "Run", Command: "go test\n./..." + long(300),
	})
	m.Create("turn_a", "item_say", items.StatusInProgress, items.NewAgentMessage("I "))
	m.Delta("turn_a", "item_say", " look", 2)
	m.Add(notify.TurnProgress, "turn_a", "", &turns.ProgressEvent{Type: "progress", State: turns.Running, Message: "running\ntests " + long(200)})
	started := m.turn("turn_a").StartedAt
	step("a turn at work", func(notify.Time) {
		want.Progress = "running tests " + long(185) + "…"
		want.TurnID, want.Since = "turn_a", started
		want.Doing = &turns.Doing{ItemID: "item_run", Type: items.KindCommandExecution, Kind: "execute", Title: "Run", Target: "go test ./..." + long(186) + "…"}
		want.Text = "I look"
	})
	m.Create("turn_a", "item_blank", items.StatusCompleted, items.NewAgentMessage(" \n"))
	m.Create("turn_a", "item_gone", items.StatusCompleted, items.NewAgentMessage("gone"))
	m.Add(notify.ItemDeleted, "turn_a", "item_gone", &items.Deleted{ItemID: "item_gone", Type: "deleted", Status: items.StatusDeleted})
	m.Create("turn_a", "item_ask", items.StatusPending, items.PermissionRequest{Type: items.KindPermissionRequest, Title: "Push?", Subject: items.Subject{Type: "command", Command: "git push # now\nrm -r build"}})
	asked := notify.TimeOf(m.clock)
	m.Create("turn_a", "item_q", items.StatusPending, items.Question{Type: items.KindQuestion, Message: "Which\nbranch?"})
	step("two questions", func(now notify.Time) {
		want.Status, want.Since, want.WaitingCount = turns.SummaryWaiting, asked, 2
		want.Waiting = []turns.WaitingItem{
			{ItemID: "item_ask", TurnID: "turn_a", Type: items.KindPermissionRequest, Title: "run git push # now⏎rm -r build", Since: asked},
			{ItemID: "item_q", TurnID: "turn_a", Type: items.KindQuestion, Title: "Which branch?", Since: now},
		}
		want.Text = want.Waiting[0].Title
	})
	for i := range 12 {
		m.Create("turn_a", "item_q"+string(rune('a'+i)), items.StatusPending, items.Question{Type: items.KindQuestion, Message: "More?"})
	}
	m.Commit()
	if got := summaryOf(t, h.Store, "thread_a"); got.WaitingCount != 14 || len(got.Waiting) != turns.MaxWaitingItems || got.Waiting[0].ItemID != "item_ask" {
		t.Fatalf("many questions: %+v", got)
	}
	m.Interrupt("turn_a", "")
	m.Rewind("turn_a", "", turns.CauseCrash)
	m.Wait("turn_a")
	first := started
	step("an attempt that is superseded", func(notify.Time) {
		want.Progress = ""
		want.Status, want.Since, want.Waiting, want.WaitingCount, want.Doing, want.Text = turns.SummaryWorking, first, nil, 0, nil, "waits for its next attempt"
		want.Spent = &turns.Spent{TotalTokens: 5}
	})
	m.Attempt("turn_a")
	m.Create("turn_a", "item_edit", items.StatusInProgress, items.FileChange{Type: items.KindFileChange, Title: "Edit", Changes: []items.Change{{Path: "a.go"}}})
	step("the next attempt", func(notify.Time) {
		want.Doing = &turns.Doing{ItemID: "item_edit", Type: items.KindFileChange, Title: "Edit", Target: "a.go"}
		want.Since, want.Text = m.turn("turn_a").StartedAt, "Edit: a.go"
	})
	m.Interrupt("turn_a", "")
	m.Add(notify.TurnFailed, "turn_a", "", &turns.EndedEvent{
		Type: "failed", State: turns.Failed, CompletedAt: notify.TimeOf(m.clock), Error: &turns.Failure{Kind: "agent_failed", Message: "no\nway"},
		Usage: &items.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3, Cost: &items.Cost{Amount: .25, Currency: "USD"}},
	})
	step("a turn that failed, and one in the queue", func(now notify.Time) {
		want.Doing, want.Error, want.Since = nil, &turns.Failure{Kind: "agent_failed", Message: "no way"}, m.turn("turn_b").QueuedAt
		want.Text = "1 turn waits in the queue"
		want.Spent = &turns.Spent{InputTokens: 1, OutputTokens: 2, TotalTokens: 8, Cost: &items.Cost{Amount: .25, Currency: "USD"}}
	})
	m.Add(notify.TurnInterrupted, "turn_b", "", &turns.EndedEvent{Type: "interrupted", State: turns.Interrupted, CompletedAt: notify.TimeOf(m.clock)})
	step("it left the queue", func(notify.Time) {
		want.Queued, want.Status, want.Since, want.Text = 0, turns.SummaryFailed, m.turn("turn_a").CompletedAt, "no way"
	})
	m.Attempt("turn_c")
	m.Messages("turn_c", 1, 300)
	m.EndInReview("turn_c")
	step("an end that waits for a review", func(notify.Time) {
		want.TurnID, want.Error, want.Reviews, want.Text = "turn_c", nil, 1, "1 result waits for a review"
		want.Status, want.Since = turns.SummaryWaiting, m.turn("turn_c").CompletedAt
	})
	m.Review("turn_c", turns.Approved, "")
	step("its verdict", func(notify.Time) { want.Reviews, want.Status, want.Text = 0, turns.SummaryIdle, long(199)+"…" })
	m.Attempt("turn_blocked")
	m.Commit()
	m.EndInReview("turn_blocked")
	m.Commit()
	m.Review("turn_blocked", turns.Blocked, "")
	step("a verdict that refuses the end", func(notify.Time) {
		want.TurnID, want.Since, want.Status, want.Review = "turn_blocked", m.turn("turn_blocked").CompletedAt, turns.SummaryFailed, turns.Blocked
		want.Reason, want.Text = "the note", "blocked: the note; last: "+long(174)+"…"
	})
	m.Rewind("turn_a", "", turns.CauseRequest)
	m.Attempt("turn_a")
	m.Commit()
	m.Add(notify.TurnFailed, "turn_a", "", &turns.EndedEvent{Type: "failed", State: turns.Failed, CompletedAt: notify.TimeOf(m.clock.Add(1e6))})
	step("an older turn that failed again", func(now notify.Time) {
		want.TurnID, want.Status, want.Since, want.Error = "turn_a", turns.SummaryFailed, now, nil
		want.Review, want.Reason, want.Text = "", "", long(199)+"…"
	})
	m.Attempt("turn_d")
	m.Commit()
	m.Add(notify.TurnInterrupted, "turn_d", "", &turns.EndedEvent{Type: "interrupted", State: turns.Interrupted, Reason: "server\trestarted", CompletedAt: notify.TimeOf(m.clock.Add(2e6))})
	step("a turn that was interrupted", func(notify.Time) {
		want.TurnID, want.Status, want.Since = "turn_d", turns.SummaryIdle, m.turn("turn_d").CompletedAt
		want.Interrupted, want.Reason = true, "server restarted"
		want.Text = "interrupted: server restarted; last: " + long(162) + "…"
	})
	m.Attempt("turn_e")
	m.Commit()
	m.Add(notify.TurnCompleted, "turn_e", "", &turns.EndedEvent{Type: "completed", State: turns.Completed, StopReason: "re\tfusal", CompletedAt: notify.TimeOf(m.clock.Add(3e6))})
	step("a turn that completed but stopped early", func(notify.Time) {
		want.TurnID, want.Since, want.Interrupted, want.Reason, want.StopReason = "turn_e", m.turn("turn_e").CompletedAt, false, "", "re fusal"
		want.Text = "stopped early (re fusal); last: " + long(167) + "…"
	})
	m.Add(notify.ThreadUpdated, "", "", &threads.Updated{Type: "updated", Title: "New\ttitle"})
	prompt := want.Title
	step("another title", func(notify.Time) { want.Title = "New title" })
	m.Add(notify.ThreadUpdated, "", "", &threads.Updated{Type: "updated", TitleBy: threads.ByClient})
	step("a title that was given back", func(notify.Time) { want.Title = prompt })
	m.Add(notify.ThreadClosed, "", "", &threads.Changed{Type: "closed", State: threads.Closed})
	step("a closed thread", func(now notify.Time) {
		want.Status, want.Since, want.Text = turns.SummaryClosed, now, long(199)+"…"
	})
	if _, err := h.Store.Prune(context.Background(), 1<<40); err != nil {
		t.Fatal(err)
	}
	if got := summaryOf(t, h.Store, "thread_a"); !reflect.DeepEqual(got, want) {
		t.Fatalf("after its events were removed:\n%+v, want\n%+v", got, want)
	}
}

// startedAt returns the time of the event that was added last, before it is committed.
func (m *Maker) startedAt() notify.Time { return m.next.StartedAt }

// long returns a text of so many characters.
func long(n int) string { return string(slices.Repeat([]byte{'x'}, n)) }

// summariesOfOthers reads what is in the rows of other threads, and of consumers: it
// changes while the thread does not.
func summariesOfOthers(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a").Start()
	m.Commit()
	before := summaryOf(t, h.Store, "thread_a")
	child := NewMaker(t, h.Store, "thread_b").Start()
	for i, id := range []string{"turn_q", "turn_w", "turn_f", "turn_r", "turn_d", "turn_j"} {
		child.Add(notify.TurnQueued, id, "", &turns.QueuedEvent{
			Type: "queued", State: turns.Queued, Rank: int64(i), Parent: &threads.Parent{ThreadID: "thread_a", TurnID: "turn_a"},
			Child: turns.Child{AttentionPolicy: turns.Notify, RootThreadID: "thread_a"},
		})
	}
	child.Attempt("turn_w")
	child.Add(notify.TurnProgress, "turn_w", "", &turns.ProgressEvent{Type: "progress", State: turns.Waiting})
	for id, end := range map[string]turns.State{"turn_f": turns.Failed, "turn_d": turns.Completed} {
		method := notify.TurnCompleted
		if end == turns.Failed {
			method = notify.TurnFailed
		}
		child.Attempt(id)
		child.Add(method, id, "", &turns.EndedEvent{Type: string(end), State: end, CompletedAt: notify.TimeOf(child.clock)})
	}
	child.Attempt("turn_r")
	child.EndInReview("turn_r")
	child.Commit()
	child.Attempt("turn_j")
	child.EndInReview("turn_j")
	child.Review("turn_j", turns.Rejected, "turn_d") // its end is that of turn_d
	child.Commit()

	seen := cursors.Cursor{ConsumerID: "seen:owner", StreamName: cursors.StreamEvents, SubjectID: "thread_a"}
	next := seen
	next.Exists, next.LastSequence, next.UpdatedAt = true, 2, notify.TimeOf(m.clock)
	u := &ledger.Unit{}
	cursors.Write(u, cursors.Zero(seen.Name()), next)
	if _, err := h.Store.Append(u); err != nil {
		t.Fatal(err)
	}
	want := before
	want.Children, want.SeenSeq = turns.ChildCounts{Working: 1, Waiting: 2, Failed: 1, Total: 6}, 2
	if got := summaryOf(t, h.Store, "thread_a"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	l, err := h.Store.Summaries(context.Background(), turns.SummaryQuery{Known: func(id string) (*turns.Summary, int64) {
		if id != "thread_a" {
			return nil, 0
		}
		return &turns.Summary{Title: "as it is known"}, m.Thread.LatestSeq
	}})
	if err != nil || len(l.Rows) != 2 || l.Rows[0].Summary.Title != "as it is known" || l.Rows[0].Summary.Children != want.Children ||
		l.Rows[0].Summary.SeenSeq != 0 || l.Rows[1].Summary.Title != "title of thread_b" || l.Rows[0].Thread.Metadata != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// kept are summaries as they were read last.
type kept map[string]turns.Summarized

func (k kept) known(id string) (*turns.Summary, int64) {
	s, ok := k[id]
	if !ok {
		return nil, 0
	}
	return &s.Summary, s.Thread.LatestSeq
}

// summaries reads a page of summaries, with and without what is known: both say the same,
// so nothing that they say changes without an event of the thread. Some members are
// compared with all rows.
func (m *model) summaries(r *rapid.T, p paging) {
	q := turns.SummaryQuery{Query: threads.Query{Cursor: p.cursor, Limit: p.limit, Newest: p.newest}}
	q.State = rapid.SampledFrom([]threads.State{"", threads.Running, threads.Closed}).Draw(r, "state")
	if rapid.Bool().Draw(r, "named") {
		for range pick(r, 5, "ids") {
			q.IDs = append(q.IDs, m.known(r).ID)
		}
		q.IDs = append(q.IDs, "thread_none")
	}
	var want []*turns.Summarized
	for _, k := range m.actors {
		if is(q.State, k.Thread.State) && (q.IDs == nil || slices.Contains(q.IDs, k.ID)) {
			s := turns.Summarized{Thread: *k.Thread}
			s.Thread.Metadata, s.Thread.Config = nil, nil
			want = append(want, &s)
		}
	}
	ctx := context.Background()
	fresh, err := m.h.Store.Summaries(ctx, q)
	if err != nil {
		m.t.Fatal(err)
	}
	q.Known = m.kept.known
	cached, err := m.h.Store.Summaries(ctx, q)
	q.Known = nil
	same(m, said(q)+" from what is known", cached.Rows, fresh.Rows, err)
	for i := range fresh.Rows {
		s := &fresh.Rows[i]
		m.kept[s.Thread.ThreadID] = *s
		m.glance(s)
		if s.Thread.ForkedFrom == nil {
			m.t.Fatalf("%s has lost a member", s.Thread.ThreadID)
		}
		s.Summary = turns.Summary{}
	}
	listed(m, said(q), fresh.List, err, want, func(s *turns.Summarized) int64 { return s.Thread.CreatedSeq }, p)
}

// glance compares a summary with all rows of its thread.
func (m *model) glance(s *turns.Summarized) {
	k := m.actors[slices.IndexFunc(m.actors, func(k *actor) bool { return k.ID == s.Thread.ThreadID })]
	queued, reviews, busy, waiting := 0, 0, "", 0
	for _, row := range rowsOf(k.Turns, turnSeq) {
		switch {
		case row.State == turns.Queued:
			queued++
		case row.State == turns.Active:
			busy = row.TurnID
		case row.InReview():
			reviews++
		}
	}
	text, saying, newest := "", "", "" // the last message; what the active turn is writing, or has done
	for _, it := range m.itemsOf(k) {
		if it.TurnID == busy && busy != "" && it.Type.IsQuestion() && it.Status.Open() {
			waiting++
		}
		if it.Type != items.KindAgentMessage || it.Superseded || it.Status == items.StatusDeleted {
			continue
		}
		last, _ := turns.LastLine(textOf(m.t, it))
		line := sanitize.Line(textOf(m.t, it), turns.MaxSummaryText)
		if it.Status.Open() {
			line = last
		}
		if text = cmp.Or(line, text); busy != "" && it.TurnID == busy {
			if newest = cmp.Or(last, newest); it.Status.Open() {
				saying = last // also if it has no line: an older one is not what is written now
			}
		}
	}
	u := &s.Summary
	if now := cmp.Or(saying, newest); u.Status == turns.SummaryWorking && now != "" {
		text = now
	} else if u.Status != turns.SummaryClosed && (u.Status != turns.SummaryIdle || u.Interrupted || u.StopReason != "") {
		text = ""
	}
	if u.Queued != queued || u.Reviews != min(reviews, turns.MaxSummaryTurns) || u.WaitingCount != waiting || text != "" && u.Text != text ||
		busy != "" && u.TurnID != busy || !reflect.DeepEqual(u.Spent, turns.SpentOf(k.Thread.Spent)) || !reflect.DeepEqual(u.Changed, k.Thread.Lines) {
		m.t.Fatalf("%s is summarized as %+v; it has %d queued, %d reviews, %q active, %d questions, the text %q, and has spent %+v",
			k.ID, u, queued, reviews, busy, waiting, text, k.Thread.Spent)
	}
}
