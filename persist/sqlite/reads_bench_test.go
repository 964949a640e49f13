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

// BenchmarkReads measures the reads that the engine and clients repeat: rows,
// lists and their folds, in a log of 100 threads with an active turn and a
// queue, and one thread of 20,000 items.
func BenchmarkReads(b *testing.B) {
	s := running(b, Options{Dir: b.TempDir(), Normal: true})
	for i := range 100 {
		m := persisttest.NewMaker(b, s, fmt.Sprint("thread_", i)).Start()
		turn := fmt.Sprint("turn_", i)
		m.StartTurn(turn)
		m.Messages(turn, 20, 200)
		m.Create(turn, fmt.Sprint("item_open_", i), items.StatusInProgress, items.NewAgentMessage("a"))
		for d := range 50 {
			m.Delta(turn, fmt.Sprint("item_open_", i), "text", d+1)
		}
		for q := range 10 {
			m.QueueTurn(fmt.Sprint("turn_", i, "_", q), int64(q))
		}
		m.Commit()
	}
	m := persisttest.NewMaker(b, s, "thread_large").Start()
	m.Attempt("turn_large")
	for n := range 20 {
		m.Begin("turn_large", fmt.Sprint("step", n))
		m.Messages("turn_large", 1000, 200)
		m.Commit()
		clear(m.Items)
	}
	ctx, v := context.Background(), s.reader
	for _, c := range []struct {
		name string
		read func() (int, error)
		want int
	}{
		{"Load", func() (int, error) { l, err := v.Load(ctx, "thread_7"); return len(l.Turns), err }, 11},
		{"Turn", func() (int, error) { t, err := v.Turn(ctx, "turn_7"); return t.Attempt, err }, 1},
		{"ItemThread", func() (int, error) { id, err := v.ItemThread(ctx, "item_open_7"); return len(id), err }, 8},
		{"OpenItem", func() (int, error) { _, latest, err := v.ReadItem(ctx, "item_open_7"); return min(int(latest), 1), err }, 1},
		{"Steps", func() (int, error) { l, err := v.Steps(ctx, "turn_large"); return len(l), err }, 21},
		{"Unfinished", func() (int, error) { a, q, err := v.Unfinished(ctx); return len(a) + len(q), err }, 201},
		{"LastTurn", func() (int, error) { _, err := v.LastTurn(ctx, "thread_7"); return 0, err }, 0},
		{"LastMessage", func() (int, error) { it, err := v.LastMessage(ctx, "turn_7"); return it.Attempt, err }, 1},
		{"Transcript", func() (int, error) { l, err := v.Transcript(ctx, "thread_large", 50, 1<<20); return len(l), err }, 50},
		{"ListThreads", func() (int, error) { l, err := v.ListThreads(ctx, threads.Query{}); return len(l.Rows), err }, 100},
		{"ListTurns", func() (int, error) {
			l, err := v.ListTurns(ctx, turns.Query{State: turns.Queued})
			return len(l.Rows), err
		}, 100},
		{"ListItems", func() (int, error) {
			l, err := v.ListItems(ctx, items.Query{ThreadID: "thread_large"})
			return len(l.Rows), err
		}, 100},
		{"ListItemsOfATurn", func() (int, error) {
			l, err := v.ListItems(ctx, items.Query{TurnID: "turn_large", Newest: true, IncludeSuperseded: true})
			return len(l.Rows), err
		}, 100},
		{"ListItemsOfNoType", func() (int, error) {
			l, err := v.ListItems(ctx, items.Query{ThreadID: "thread_large", Type: items.KindPlan})
			return len(l.Rows), err
		}, 0},
		{"ListOpenItems", func() (int, error) {
			l, err := v.ListItems(ctx, items.Query{Status: items.StatusInProgress})
			return len(l.Rows), err
		}, 100},
		{"ListSteps", func() (int, error) {
			l, err := v.ListSteps(ctx, turns.StepQuery{TurnID: "turn_large"})
			return len(l.Rows), err
		}, 21},
		{"ReadThread", func() (int, error) { t, err := v.ReadThread(ctx, "thread_7", 5); return len(t.Turns), err }, 5},
		{"ReadTurn", func() (int, error) {
			t, err := v.ReadTurn(ctx, turns.TurnQuery{TurnID: "turn_large", Items: 100})
			return len(t.Items), err
		}, 100},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if n, err := c.read(); err != nil || n != c.want {
					b.Fatalf("%d, %v, want %d", n, err, c.want)
				}
			}
		})
	}
}
