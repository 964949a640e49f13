package sqlite

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// BenchmarkSummaries reads the summaries of 1,000 threads with 20 turns and 200 items
// each, one in ten of them at work: when nothing is known of them, when ten have changed
// since, and when none has.
func BenchmarkSummaries(b *testing.B) {
	s := running(b, Options{Dir: b.TempDir(), Normal: true})
	const n, perThread, perTurn = 1000, 20, 10
	for i := range n {
		m := persisttest.NewMaker(b, s, fmt.Sprintf("thread_0193a1b2-0000-7000-8000-%012d", i)).Start()
		for j := range perThread {
			turn := fmt.Sprintf("turn_0193a1b2-0000-7000-%04d-%012d", j, i)
			m.Attempt(turn)
			for k := range perTurn - 1 {
				m.Create(turn, items.NewID(), items.StatusCompleted, items.CommandExecution{
					Type: items.KindCommandExecution, Title: fmt.Sprint("step ", k), ToolKind: "execute", Command: "go test ./...",
				})
			}
			m.Messages(turn, 1, 500)
			if j < perThread-1 || i%10 != 0 {
				m.EndTurn(turn)
			}
		}
		m.Commit()
	}
	ctx, known := context.Background(), map[string]turns.Summarized{}
	read := func(b *testing.B, cold bool, changed int) {
		rows, asked := 0, 0
		for cursor, more := "", true; more; more = cursor != "" {
			out, err := s.reader.Summaries(ctx, turns.SummaryQuery{
				Query: threads.Query{Limit: 1000, Cursor: cursor}, Consumer: "seen:owner",
				Known: func(id string) (*turns.Summary, int64) {
					k, ok := known[id]
					if !ok || cold {
						return nil, 0
					}
					if asked++; asked <= changed {
						return &k.Summary, k.Thread.LatestSeq - 1
					}
					return &k.Summary, k.Thread.LatestSeq
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			for i := range out.Rows {
				known[out.Rows[i].Thread.ThreadID] = out.Rows[i]
			}
			rows, cursor = rows+len(out.Rows), out.Next
		}
		if rows != n {
			b.Fatalf("%d threads", rows)
		}
	}
	read(b, true, 0)
	for _, c := range []struct {
		name    string
		cold    bool
		changed int
	}{{"cold", true, 0}, {"warm", false, 10}, {"unchanged", false, 0}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				read(b, c.cold, c.changed)
			}
		})
	}
}
