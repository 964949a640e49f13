package sqlite

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// running opens a store and runs it until the test ends.
func running(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestReopenedStoreHasEverything(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	var want turns.Loaded
	var events []notify.Event
	t.Run("write", func(t *testing.T) {
		s := running(t, Options{Dir: dir})
		m := persisttest.NewMaker(t, s, "thread_a")
		m.Start().Commit()
		m.StartTurn("turn_1")
		m.QueueTurn("turn_2", 7)
		m.Create("turn_2", "item_0", items.StatusCompleted, items.UserMessage{Type: items.KindUserMessage, Role: "user", Origin: "client"})
		m.Create("turn_1", "item_1", items.StatusInProgress, items.NewAgentMessage("a"))
		m.Commit()
		m.Delta("turn_1", "item_1", "b", 1)
		m.Delta("turn_1", "item_1", "ü", 2)
		if r := m.Commit(); r.First != 6 || r.Last != 7 {
			t.Fatalf("receipt %+v", r)
		}
		var err error
		if want, err = s.reader.Load(ctx, "thread_a"); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want.Thread, m.Thread) {
			t.Errorf("thread is %+v, want %+v", want.Thread, m.Thread)
		}
		if got := want.Turns; len(got) != 2 || !reflect.DeepEqual(got[0], m.Turns["turn_1"]) || !reflect.DeepEqual(got[1], m.Turns["turn_2"]) {
			t.Errorf("turns are %+v", got)
		}
		if len(want.Items) != 2 || string(want.Items[0].Content) != `{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"abü"}]}` {
			t.Errorf("items are %+v", want.Items)
		}
		p, err := s.reader.Page(ctx, notify.Query{MaxEvents: 100, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if events = p.Events; len(events) != 7 || p.Scanned != 7 || p.Latest != 7 || p.First != 1 || p.More {
			t.Errorf("page is %+v", p)
		}
	})
	s := running(t, Options{Dir: dir})
	got, err := s.reader.Load(ctx, "thread_a")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("loaded %+v, want %+v", got, want)
	}
	p, err := s.reader.Page(ctx, notify.Query{MaxEvents: 100, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.Events, events) {
		t.Errorf("events are %+v, want %+v", p.Events, events)
	}
	active, queued, err := s.reader.Unfinished(ctx)
	if err != nil || len(active) != 1 || len(queued) != 1 {
		t.Errorf("unfinished: %v, %v, %v", active, queued, err)
	}
}

// whole is both halves of a store.
type whole struct {
	*Store
	*Reader
}

// TestStorePassesTheSuite runs everything that a store is asked for, and then
// looks at the plans of all statements that the appender and the readers of rows
// have executed for it.
func TestStorePassesTheSuite(t *testing.T) {
	used := newExecuted()
	persisttest.Exercise(t, func(t testing.TB) persisttest.Harness {
		var now atomic.Pointer[time.Time]
		at := func(n time.Time) { now.Store(&n) }
		at(time.Now())
		s := running(t, Options{Dir: t.TempDir(), Now: func() time.Time { return *now.Load() }})
		used.collect(t, s)
		keep := func(all, each int64) {
			if err := s.Do(context.Background(), func() error { s.w.KeepKeys, s.w.KeepKeysEach = all, each; return nil }); err != nil {
				t.Error(err)
			}
		}
		return persisttest.Harness{Store: whole{s, s.reader}, Tail: s.Tail(), SetNow: at, KeepKeys: keep}
	})
	t.Run("NoStatementScans", used.check)
}
