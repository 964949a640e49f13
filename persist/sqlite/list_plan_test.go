package sqlite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// prepared are the statements that the readers' connections have prepared for
// ranges and rows since they were last asked.
func prepared(t testing.TB, s *Store) (sql []string, indexes []*ledger.Index) {
	t.Helper()
	for _, l := range s.reader.pools() {
		var list []*conn
		for range cap(l) {
			list = append(list, <-l)
		}
		for _, c := range list {
			for shape, text := range c.sql.ranges {
				sql, indexes = append(sql, text), append(indexes, shape.index)
			}
			for ix, text := range c.sql.gets {
				sql, indexes = append(sql, text), append(indexes, ix)
			}
			c.sql = newStatements()
			l <- c
		}
	}
	return sql, indexes
}

// TestEveryListFindsItsIndex enumerates the filters of all lists. Both queries
// of a page use the same index, and read no more of it than a window: no
// combination of filters scans or sorts.
func TestEveryListFindsItsIndex(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.NewMaker(t, s, "thread_a").Start()
	m.StartTurn("turn_ended")
	m.EndTurn("turn_ended")
	m.StartTurn("turn_active")
	m.Commit()
	const byKey = "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
	prepared(t, s)
	check := func(name, table, index string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		pages := 0
		statements, _ := prepared(t, s)
		for _, sql := range statements {
			if !strings.Contains(sql, " FROM "+table+" ") || !strings.Contains(sql, "ORDER BY") {
				continue // it reads the turn whose items are listed
			}
			pages++
			steps := planOf(t, s, sql)
			if !strings.HasPrefix(steps[0], "SEARCH "+table+" USING ") || !strings.Contains(steps[0], index) {
				t.Errorf("%s: %s, want %s\n%s", name, steps[0], index, sql)
			}
			for _, step := range steps[1:] {
				if step != "CORRELATED SCALAR SUBQUERY 1" && step != "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)" {
					t.Errorf("%s: %s\n%s", name, step, sql)
				}
			}
		}
		if pages != 2 {
			t.Errorf("%s: %d statements, want the reach of a window and its rows: %q", name, pages, statements)
		}
	}
	both := []bool{false, true}
	for _, newest := range both {
		for _, state := range []threads.State{"", threads.Running} {
			for _, agent := range []string{"", "echo"} {
				want := byKey
				if state != "" {
					want = "threads_state (state=? AND rowid>? AND rowid<?)"
				}
				_, err := s.reader.ListThreads(ctx, threads.Query{State: state, Agent: agent, Newest: newest})
				check(fmt.Sprintf("threads of state %q and agent %q", state, agent), "threads", want, err)
				_, err = s.reader.Summaries(ctx, turns.SummaryQuery{Query: threads.Query{State: state, Agent: agent, Newest: newest}})
				check(fmt.Sprintf("summaries of threads of state %q and agent %q", state, agent), "threads", want, err)
				_, err = s.reader.Summaries(ctx, turns.SummaryQuery{
					Query: threads.Query{State: state, Agent: agent, Newest: newest}, Statuses: []turns.ListStatus{turns.ListDone},
				})
				check(fmt.Sprintf("done threads of state %q and agent %q", state, agent), "threads", want, err)
			}
		}
		for _, thread := range []string{"", "thread_a"} {
			for _, state := range []turns.State{"", turns.Active, turns.Completed} {
				want := byKey
				if thread != "" {
					want = "turns_thread (thread_id=? AND rowid>? AND rowid<?)"
				} else if state != "" {
					want = "turns_state (state=? AND rowid>? AND rowid<?)"
				}
				_, err := s.reader.ListTurns(ctx, turns.Query{ThreadID: thread, State: state, Newest: newest})
				check(fmt.Sprintf("turns of thread %q and state %q", thread, state), "turns", want, err)
				_, err = s.reader.ListTurns(ctx, turns.Query{ThreadID: thread, State: state, EndedBy: turns.EndedByRestart, AfterSeq: 1, Newest: newest})
				check(fmt.Sprintf("turns of thread %q and state %q that a restart ended", thread, state), "turns", "turns_restart (restart_seq>? AND restart_seq<?)", err)
				if want = "turns_review (created_seq>? AND created_seq<?)"; thread != "" {
					want = "turns_review_thread (thread_id=? AND created_seq>? AND created_seq<?)"
				}
				_, err = s.reader.ListTurns(ctx, turns.Query{ThreadID: thread, State: state, Review: turns.ReviewPending, Newest: newest})
				check(fmt.Sprintf("turns in review of thread %q and state %q", thread, state), "turns", want, err)
			}
			for _, turn := range []string{"", "turn_active", "turn_ended"} {
				for _, kind := range []items.Kind{"", items.KindPlan} {
					for _, status := range []items.Status{"", items.StatusPending, items.StatusInProgress, items.StatusCompleted} {
						for _, superseded := range both {
							q := items.Query{ThreadID: thread, TurnID: turn, Type: kind, Status: status, IncludeSuperseded: superseded, Newest: newest}
							want := byKey
							if status.Open() {
								want = "items_unfinished (created_seq>? AND created_seq<?)"
							} else if thread != "" || turn != "" {
								want = "items_thread (thread_id=? AND created_seq>? AND created_seq<?)"
							}
							_, err := s.reader.ListItems(ctx, q)
							check(fmt.Sprintf("items %+v", q), "items", want, err)
						}
					}
				}
			}
		}
		for _, consumer := range []*string{nil, new("laptop")} {
			for _, subject := range []*string{nil, new(""), new("thread_a")} {
				for _, stream := range []*string{nil, new("events")} {
					want := byKey
					if consumer != nil {
						want = "cursors_consumer (consumer_id=? AND rowid>? AND rowid<?)"
					} else if subject != nil {
						want = "cursors_subject (subject_id=? AND rowid>? AND rowid<?)"
					}
					_, err := s.reader.ListCursors(ctx, cursors.Query{ConsumerID: consumer, StreamName: stream, SubjectID: subject, Newest: newest})
					check(fmt.Sprintf("cursors of a consumer %t, a stream %t, a subject %t", consumer != nil, stream != nil, subject != nil), "cursors", want, err)
				}
			}
		}
		for _, superseded := range both {
			_, err := s.reader.ListSteps(ctx, turns.StepQuery{TurnID: "turn_a", IncludeSuperseded: superseded, Newest: newest})
			check("steps", "steps", "steps_turn (turn_id=? AND rowid>? AND rowid<?)", err)
		}
	}
}

// TestSummariesSeek checks that no statement of a summary scans or sorts, and that large
// columns of the threads are not read.
func TestSummariesSeek(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Add(notify.ThreadStarted, "", "", &threads.Changed{Type: "started", State: threads.Running, Agent: "echo"})
	m.Attempt("turn_ended")
	m.EndTurn("turn_ended")
	m.Attempt("turn_active")
	m.Create("turn_active", "item_ask", items.StatusPending, items.PermissionRequest{Type: items.KindPermissionRequest, Title: "May I?"})
	m.Create("turn_active", "item_run", items.StatusInProgress, items.ToolCall{Type: items.KindToolCall, Title: "Run"})
	m.Commit()
	m = persisttest.NewMaker(t, s, "thread_b").Start()
	m.Attempt("turn_b")
	m.Create("turn_b", "item_say", items.StatusInProgress, items.NewAgentMessage(""))
	m.Delta("turn_b", "item_say", "hello", 0)
	m.Commit()
	m = persisttest.NewMaker(t, s, "thread_c").Start()
	m.Attempt("turn_c")
	m.Commit()
	prepared(t, s)
	l, err := s.reader.Summaries(context.Background(), turns.SummaryQuery{Consumer: "seen:owner"})
	if err != nil || len(l.Rows) != 3 || l.Rows[0].Summary.Doing == nil || len(l.Rows[0].Summary.Waiting) != 1 || l.Rows[1].Summary.Text != "hello" || l.Rows[2].Summary.Text != "" {
		t.Fatalf("%+v, %v", l.Rows, err)
	}
	statements, _ := prepared(t, s)
	if len(statements) < 12 {
		t.Fatalf("only %d statements", len(statements))
	}
	for _, sql := range statements {
		if strings.Contains(sql, " FROM threads ") && (strings.Contains(sql, "metadata") || strings.Contains(sql, "config")) {
			t.Errorf("it reads large columns: %s", sql)
		}
		for _, step := range planOf(t, s, sql) {
			if !strings.HasPrefix(step, "SEARCH ") {
				t.Errorf("%s\n%s", step, sql)
			}
		}
	}
}

// TestPageLooksAtABoundedNumberOfRows asks for what is rare among many rows: a
// page ends with its place moved on, and the pages together have everything.
func TestPageLooksAtABoundedNumberOfRows(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const rows = 45_000
	if _, err := s.w.conn.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO items (`+strings.Join(items.Table.Columns, ", ")+`) SELECT 2 * i, 'item_' || i, 'thread_' || (i % 2), 'turn_a', 1,
			CASE WHEN i IN (1, 44990) THEN 'plan' ELSE 'agent_message' END, CASE WHEN i IN (1, 44990) THEN 'failed' ELSE 'completed' END,
			0, 1, 1, 1, 2 * i, x'7b7d', 0 FROM n`, int64(rows)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = running(t, Options{Dir: dir})
	for name, c := range map[string]struct {
		q           items.Query
		pages, rows int
	}{
		"of a type":               {items.Query{Type: items.KindPlan}, 5, 2},
		"of a status":             {items.Query{Status: items.StatusFailed}, 5, 2},
		"that there are none of":  {items.Query{Type: items.KindPlan, Status: items.StatusDeclined}, 5, 0},
		"newest first":            {items.Query{Type: items.KindPlan, Newest: true}, 5, 2},
		"of a thread":             {items.Query{ThreadID: "thread_0", Type: items.KindPlan}, 3, 1},
		"of a set of threads":     {items.Query{Within: persisttest.Few{"thread_0", "thread_9"}, Type: items.KindPlan}, 5, 1},
		"of a set without any":    {items.Query{Within: persisttest.Few{"thread_9"}}, 5, 0},
		"that wait":               {items.Query{Status: items.StatusPending}, 1, 0},
		"of a thread without any": {items.Query{ThreadID: "thread_9", Type: items.KindPlan}, 1, 0},
	} {
		found, pages := 0, 0
		for more := true; more; pages++ {
			out, err := s.reader.ListItems(context.Background(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			found += len(out.Rows)
			c.q.Cursor = out.Next
			more = out.Next != ""
		}
		if found != c.rows || pages != c.pages {
			t.Errorf("items %s: %d in %d pages, want %d in %d", name, found, pages, c.rows, c.pages)
		}
	}
}
