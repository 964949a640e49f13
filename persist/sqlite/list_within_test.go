package sqlite

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// What a list leaves out costs its place among the rows that are looked at, not its
// size: a list of a few threads beside others with long outputs is cheap.
func TestAListOfThreadsDoesNotReadWhatItLeavesOut(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir(), Normal: true})
	for _, id := range []string{"thread_large", "thread_small"} {
		m := persisttest.NewMaker(t, s, id).Start()
		size := 10
		if id == "thread_large" {
			size = 200_000
		}
		m.Messages("", 30, size)
		m.Commit()
	}
	ctx, q := context.Background(), items.Query{Within: persisttest.Few{"thread_small"}, Limit: 1000}
	if _, err := s.reader.ListItems(ctx, q); err != nil { // each connection prepares its statements once
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l, err := s.reader.ListItems(ctx, q)
	runtime.ReadMemStats(&after)
	if err != nil || len(l.Rows) != 30 || l.Next != "" {
		t.Fatalf("%d items, %v, next %q", len(l.Rows), err, l.Next)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 3_000_000 { // half of what it leaves out
		t.Errorf("the list took %d bytes", n)
	}
}

func TestAListEndsWhenItCannotBeToldWhoseRowsAreWhose(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir(), Normal: true})
	m := persisttest.NewMaker(t, s, "thread_a").Start()
	m.StartTurn("turn_a")
	m.Messages("turn_a", 3, 10)
	m.Commit()
	ctx, bad := context.Background(), persisttest.Few{"bad"}
	for name, list := range map[string]func() error{
		"threads": func() error { _, err := s.reader.ListThreads(ctx, threads.Query{Within: bad}); return err },
		"turns":   func() error { _, err := s.reader.ListTurns(ctx, turns.Query{Within: bad}); return err },
		"items":   func() error { _, err := s.reader.ListItems(ctx, items.Query{Within: bad}); return err },
	} {
		if err := list(); err == nil || !strings.Contains(err.Error(), "cannot be told") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
