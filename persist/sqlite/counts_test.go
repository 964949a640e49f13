package sqlite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// TestCountsSeek checks that no statement of counts, and of lists by what indexes find,
// scans or sorts, and that large columns are not read.
func TestCountsSeek(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.NewMaker(t, s, "thread_a").Start()
	m.Attempt("turn_failed")
	m.FailTurn("turn_failed")
	m.Attempt("turn_review")
	m.EndInReview("turn_review")
	m.Attempt("turn_active")
	m.Create("turn_active", "item_ask", items.StatusPending, items.PermissionRequest{Type: items.KindPermissionRequest, Title: "May I?"})
	m.Commit()
	failed := persisttest.NewMaker(t, s, "thread_b").Start()
	failed.Attempt("turn_b")
	failed.FailTurn("turn_b")
	failed.Commit()
	prepared(t, s)
	l, err := s.reader.Summaries(context.Background(), turns.SummaryQuery{
		Query: threads.Query{IDs: []string{}}, Counts: true, Matches: func(*threads.Thread, string) bool { return true },
	})
	if err != nil || l.Counts.NeedsYou != 1 || l.Counts.Failed != 1 {
		t.Fatalf("%+v, %v", l.Counts, err)
	}
	statements, _ := prepared(t, s)
	if len(statements) < 5 {
		t.Fatalf("only %q", statements)
	}
	for _, sql := range statements {
		if strings.Contains(sql, "metadata") || strings.Contains(sql, "config") || strings.Contains(sql, "content") {
			t.Errorf("it reads large columns: %s", sql)
		}
		for _, step := range planOf(t, s, sql) {
			if !strings.HasPrefix(step, "SEARCH ") {
				t.Errorf("%s\n%s", step, sql)
			}
		}
	}
}

// TestAtLeastIsSaid has more threads, and then more failed and queued turns, than one
// request looks at: what it can still find is right, and the counts say that there may be
// more. Lists have everything, in more pages.
func TestAtLeastIsSaid(t *testing.T) {
	dir := t.TempDir()
	const n = turns.MaxListScan + 50
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	insert := func(rows int, into, values string) {
		t.Helper()
		if _, err := s.w.conn.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO `+into+` SELECT `+values+` FROM n`, int64(rows)); err != nil {
			t.Fatal(err)
		}
	}
	insertTurns := func(rows, from int, thread, state string) {
		t.Helper()
		insert(rows, `turns (created_seq, turn_id, thread_id, state, attempt, rank, progress, progress_message, origin, message, reason, stop_reason,
			parent_thread_id, parent_turn_id, timeout_seconds, queued_at, started_at, completed_at, updated_seq)`,
			fmt.Sprintf(`%d + i, 'turn_' || (%[1]d + i), '%s', '%s', 1, 0, '', '', '', '', '', '', '', '', 0, 1, 1, %[1]d + i, %[1]d + i`, from, thread, state))
	}
	lists := func(check func(list func(turns.SummaryQuery) turns.SummaryList)) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		t.Run("", func(t *testing.T) {
			s := running(t, Options{Dir: dir})
			check(func(q turns.SummaryQuery) (all turns.SummaryList) {
				for {
					l, err := s.reader.Summaries(context.Background(), q)
					if err != nil {
						t.Fatal(err)
					}
					all.Counts, all.Rows = l.Counts, append(all.Rows, l.Rows...)
					if q.Cursor = l.Next; l.Next == "" {
						return all
					}
				}
			})
		})
		if s, err = Open(Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = s.Close() }()

	insert(n, `threads (created_seq, thread_id, state, agent, title, cwd, agent_session_id, parent_thread_id, parent_turn_id, reason, started_at, closed_at,
		updated_seq, latest_seq, latest_thread_seq)`, `i, 'thread_' || i, 'running', 'echo', 'title', '', '', '', '', '', 1, 0, i, i, 1`)
	insertTurns(1, 1_000_000, "thread_1", "active") // an old thread, which the scan does not reach
	insert(1, `items (created_seq, item_id, thread_id, turn_id, attempt, type, status, truncated, total_bytes, created_at, updated_at, updated_seq, content)`,
		`1000002, 'item_ask', 'thread_1', 'turn_1000001', 1, 'question', 'pending', 0, 0, 7, 7, 1000002, x'7b2274797065223a227175657374696f6e227d'`)
	insertTurns(1, 1_000_003, "thread_2", "failed")
	none := threads.Query{IDs: []string{}}
	want := turns.StatusCounts{NeedsYou: 1, Failed: 1, Done: turns.MaxListScan, AtLeast: true, WaitingSince: notify.TimeFromMilli(7)}
	lists(func(list func(turns.SummaryQuery) turns.SummaryList) {
		if c := list(turns.SummaryQuery{Query: none, Counts: true}).Counts; *c != want {
			t.Errorf("of %d threads %+v, want %+v", n, *c, want)
		}
		if c := list(turns.SummaryQuery{Query: threads.Query{IDs: []string{}, Agent: "none"}, Counts: true}).Counts; *c != (turns.StatusCounts{AtLeast: true}) {
			t.Errorf("of an agent without threads %+v", *c)
		}
		if l := list(turns.SummaryQuery{Statuses: []turns.ListStatus{turns.ListDone}, Query: threads.Query{Limit: 1000}}); len(l.Rows) != n-2 {
			t.Errorf("%d are done, want %d", len(l.Rows), n-2)
		}
	})
	insertTurns(n, 2_000_000, "thread_3", "failed")
	failed := turns.SummaryQuery{Statuses: []turns.ListStatus{turns.ListFailed}, Query: threads.Query{Limit: 1000}}
	lists(func(list func(turns.SummaryQuery) turns.SummaryList) {
		if l := list(failed); len(l.Rows) != 2 || l.Rows[0].Thread.ThreadID != "thread_2" || l.Rows[1].Thread.ThreadID != "thread_3" {
			t.Errorf("with many failed turns: %+v", l.Rows)
		}
	})
	insertTurns(n, 3_000_000, "thread_4", "queued")
	working := turns.SummaryQuery{Statuses: []turns.ListStatus{turns.ListNeedsYou, turns.ListWorking}, Query: threads.Query{Limit: 1000}}
	lists(func(list func(turns.SummaryQuery) turns.SummaryList) {
		if l := list(working); len(l.Rows) != 2 || l.Rows[0].Thread.ThreadID != "thread_1" || l.Rows[1].Thread.ThreadID != "thread_4" {
			t.Errorf("with many queued turns: %+v", l.Rows)
		}
		c := list(turns.SummaryQuery{Query: none, Counts: true}).Counts
		if c.NeedsYou != 1 || c.Working != 1 || !c.AtLeast {
			t.Errorf("with many queued turns: %+v", *c)
		}
	})
}
