package persisttest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func textOf(t testing.TB, it *items.Item) string {
	t.Helper()
	if it == nil {
		t.Fatal("the item is not there")
	}
	c, err := items.Decode(it.Content)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := items.TextOf(c)
	return text
}

func openItem(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.StartTurn("turn_a")
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage("a"))
	m.Delta("turn_a", "item_a", "ü", 1)
	m.Commit()
	m.Delta("turn_a", "item_a", "\"\n", 3)
	m.Commit()
	it, latest, err := h.Store.ReadItem(ctx, "item_a")
	if err != nil || textOf(t, it) != "aü\"\n" || latest != 5 {
		t.Errorf("read %+v at %d, %v", it, latest, err)
	}
	// An update in the middle has the text so far: earlier deltas must not
	// count twice.
	m.Update("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage("aü\"\n"))
	m.Delta("turn_a", "item_a", "z", 5)
	m.Commit()
	for _, read := range []func() (*items.Item, error){
		func() (*items.Item, error) { return h.Store.Item(ctx, "item_a") },
		func() (*items.Item, error) {
			l, err := h.Store.ListItems(ctx, items.Query{TurnID: "turn_a"})
			return &l.Rows[0], err
		},
		func() (*items.Item, error) {
			l, err := h.Store.Load(ctx, "thread_a")
			return l.Items[0], err
		},
		func() (*items.Item, error) {
			s, err := h.Store.ReadTurn(ctx, turns.TurnQuery{TurnID: "turn_a", Items: 10})
			return &s.Items[0], err
		},
	} {
		if it, err := read(); err != nil || textOf(t, it) != "aü\"\nz" {
			t.Errorf("read %s, %v", it.Content, err)
		}
	}
	m.Update("turn_a", "item_a", items.StatusCompleted, items.NewAgentMessage("end"))
	m.Commit()
	if it, err = h.Store.Item(ctx, "item_a"); err != nil || textOf(t, it) != "end" || !reflect.DeepEqual(it, m.Items["item_a"]) {
		t.Errorf("at the end %+v, %v", it, err)
	}
	if it, err := h.Store.Item(ctx, "item_b"); it != nil || err != nil {
		t.Errorf("an item that is not there: %+v, %v", it, err)
	}
}

func load(t *testing.T, h Harness) {
	ctx := context.Background()
	if l, err := h.Store.Load(ctx, "thread_none"); err != nil || l.Thread != nil || len(l.Turns)+len(l.Items) != 0 {
		t.Errorf("no thread: %+v, %v", l, err)
	}
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.StartTurn("turn_old")
	m.Create("turn_old", "item_old", items.StatusCompleted, items.NewAgentMessage("x"))
	m.EndTurn("turn_old")
	m.StartTurn("turn_active")
	message := items.UserMessage{Type: items.KindUserMessage, Role: "user", Origin: items.OriginClient}
	m.Create("turn_active", "item_said", items.StatusCompleted, message)
	m.Create("turn_active", "item_done", items.StatusCompleted, items.NewAgentMessage("x"))
	m.Create("turn_active", "item_open", items.StatusInProgress, items.NewAgentMessage("x"))
	m.Create("turn_active", "item_asked", items.StatusPending, items.PermissionRequest{Type: items.KindPermissionRequest})
	for _, q := range []struct {
		id   string
		rank int64
	}{{"turn_third", 30}, {"turn_first", -1}, {"turn_second", 2}} {
		m.QueueTurn(q.id, q.rank)
		m.Create(q.id, "item_"+q.id, items.StatusCompleted, message)
	}
	m.Commit()
	l, err := h.Store.Load(ctx, "thread_a")
	if err != nil {
		t.Fatal(err)
	}
	want := turns.Loaded{Thread: m.Thread}
	for _, id := range []string{"turn_active", "turn_first", "turn_second", "turn_third"} {
		want.Turns = append(want.Turns, m.Turns[id])
	}
	for _, id := range []string{"item_open", "item_asked", "item_turn_first", "item_turn_second", "item_turn_third"} {
		want.Items = append(want.Items, m.Items[id])
	}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("loaded %+v, want %+v", l, want)
	}
	for id, want := range map[string]string{"turn_first": "thread_a", "turn_none": ""} {
		if got, err := h.Store.TurnThread(ctx, id); got != want || err != nil {
			t.Errorf("thread of %s is %q, %v", id, got, err)
		}
	}
	if got, err := h.Store.ItemThread(ctx, "item_old"); got != "thread_a" || err != nil {
		t.Errorf("thread of item_old is %q, %v", got, err)
	}
}

func unfinished(t *testing.T, h Harness) {
	make := func(id string, f func(*Maker)) {
		m := NewMaker(t, h.Store, id)
		m.Start()
		f(m)
		m.Commit()
	}
	make("thread_idle", func(m *Maker) { m.StartTurn("turn_1"); m.EndTurn("turn_1") })
	make("thread_c", func(m *Maker) { m.QueueTurn("turn_2", 1); m.QueueTurn("turn_3", 2) })
	make("thread_b", func(m *Maker) { m.StartTurn("turn_4"); m.QueueTurn("turn_5", 1) })
	make("thread_a", func(m *Maker) {
		m.Add(notify.ThreadUpdated, "", "", &threads.Updated{Type: "updated", State: threads.Closing})
	})
	active, queued, err := h.Store.Unfinished(context.Background())
	if err != nil || !slices.Contains(active, "thread_a") || !slices.Contains(active, "thread_b") || len(active) != 2 {
		t.Errorf("active: %v, %v", active, err)
	}
	if !slices.Equal(queued, []string{"thread_c", "thread_b"}) {
		t.Errorf("queued: %v", queued)
	}
}

func lists(t *testing.T, h Harness) {
	ctx := context.Background()
	var ids []string
	for i := range 25 {
		m := NewMaker(t, h.Store, fmt.Sprintf("thread_%02d", 99-i))
		m.Start()
		turn := "turn_of_" + m.ID
		m.StartTurn(turn)
		m.Messages(turn, 3, 5)
		if i%5 == 0 {
			m.Create(turn, "item_ask_"+m.ID, items.StatusPending, items.Question{Type: items.KindQuestion, Message: "?"})
		} else {
			m.EndTurn(turn)
		}
		m.Commit()
		ids = append(ids, m.ID)
	}
	var got []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		l, err := h.Store.ListThreads(ctx, threads.Query{Cursor: cursor, Limit: 10})
		if err != nil || len(l.Rows) > 10 || l.Latest != h.Tail.Head() {
			t.Fatalf("%d threads at %d, %v", len(l.Rows), l.Latest, err)
		}
		for _, r := range l.Rows {
			got = append(got, r.ThreadID)
		}
		cursor = l.Next
	}
	if !slices.Equal(got, ids) {
		t.Errorf("threads are %v, want %v", got, ids)
	}
	newestFirst(t, h, ids)
	if l, err := h.Store.ListThreads(ctx, threads.Query{State: threads.Closed}); err != nil || len(l.Rows) != 0 {
		t.Errorf("closed threads: %v, %v", l.Rows, err)
	}
	if l, err := h.Store.ListThreads(ctx, threads.Query{State: threads.Running, Agent: "echo"}); err != nil || len(l.Rows) != 25 {
		t.Errorf("running threads: %d, %v", len(l.Rows), err)
	}
	if l, err := h.Store.ListTurns(ctx, turns.Query{State: turns.Active}); err != nil || len(l.Rows) != 5 || l.Rows[0].ThreadID != ids[0] {
		t.Errorf("active turns: %+v, %v", l.Rows, err)
	}
	if l, err := h.Store.ListTurns(ctx, turns.Query{ThreadID: ids[1], State: turns.Completed}); err != nil || len(l.Rows) != 1 || l.Next != "" {
		t.Errorf("completed turns: %+v, %v", l, err)
	}
	if l, err := h.Store.ListItems(ctx, items.Query{Status: items.StatusPending, Limit: 3}); err != nil || len(l.Rows) != 3 || l.Next == "" {
		t.Errorf("questions: %+v, %v", l, err)
	}
	if l, err := h.Store.ListItems(ctx, items.Query{ThreadID: ids[0], Type: items.KindAgentMessage}); err != nil || len(l.Rows) != 3 {
		t.Errorf("messages: %+v, %v", l, err)
	}
	if l, err := h.Store.ListItems(ctx, items.Query{Limit: 5000}); err != nil || len(l.Rows) != 80 {
		t.Errorf("%d items, %v", len(l.Rows), err)
	}
	for _, q := range []items.Query{{TurnID: "turn_none"}, {TurnID: "turn_of_" + ids[0], ThreadID: ids[1]}} {
		if l, err := h.Store.ListItems(ctx, q); err != nil || len(l.Rows) != 0 || l.Latest != h.Tail.Head() {
			t.Errorf("items of %+v: %+v, %v", q, l, err)
		}
	}
	if l, err := h.Store.ListItems(ctx, items.Query{TurnID: "turn_of_" + ids[1], ThreadID: ids[1]}); err != nil || len(l.Rows) != 3 {
		t.Errorf("items of a finished turn: %+v, %v", l, err)
	}
	if _, err := h.Store.ListItems(ctx, items.Query{Cursor: "x"}); !errors.Is(err, notify.ErrBadCursor) {
		t.Errorf("bad cursor: %v", err)
	}
	s, err := h.Store.ReadThread(ctx, ids[0], 20)
	if err != nil || s.Thread == nil || len(s.Turns) != 1 || s.Latest != h.Tail.Head() {
		t.Errorf("thread: %+v, %v", s, err)
	}
	u, err := h.Store.ReadTurn(ctx, turns.TurnQuery{TurnID: "turn_of_" + ids[0], Items: 2})
	if err != nil || len(u.Items) != 2 || u.Next == "" {
		t.Fatalf("turn: %+v, %v", u, err)
	}
	if l, err := h.Store.ListItems(ctx, items.Query{TurnID: "turn_of_" + ids[0], Cursor: u.Next}); err != nil || len(l.Rows) != 2 {
		t.Errorf("the rest of the items: %+v, %v", l, err)
	}
}

// newestFirst reads the lists backwards, by pages.
func newestFirst(t *testing.T, h Harness, threadIDs []string) {
	t.Helper()
	ctx := context.Background()
	read := func(what string, page func(newest bool, cursor string) (ids []string, next string, err error)) {
		forward, back := []string{}, []string{}
		for _, into := range []*[]string{&forward, &back} {
			cursor := ""
			for more := true; more; more = cursor != "" {
				ids, next, err := page(into == &back, cursor)
				if err != nil || len(ids) > 7 {
					t.Fatalf("%s: %d rows, %v", what, len(ids), err)
				}
				*into = append(*into, ids...)
				cursor = next
			}
		}
		slices.Reverse(back)
		if len(back) == 0 || !slices.Equal(forward, back) {
			t.Errorf("%s: the newest first are %v, the oldest first %v", what, back, forward)
		}
	}
	read("threads", func(newest bool, cursor string) (ids []string, next string, err error) {
		l, err := h.Store.ListThreads(ctx, threads.Query{Cursor: cursor, Limit: 7, Newest: newest})
		for _, r := range l.Rows {
			ids = append(ids, r.ThreadID)
		}
		return ids, l.Next, err
	})
	read("turns", func(newest bool, cursor string) (ids []string, next string, err error) {
		l, err := h.Store.ListTurns(ctx, turns.Query{State: turns.Completed, Cursor: cursor, Limit: 7, Newest: newest})
		for _, r := range l.Rows {
			ids = append(ids, r.TurnID)
		}
		return ids, l.Next, err
	})
	read("items of a turn", func(newest bool, cursor string) (ids []string, next string, err error) {
		l, err := h.Store.ListItems(ctx, items.Query{TurnID: "turn_of_" + threadIDs[1], Cursor: cursor, Limit: 2, Newest: newest})
		for _, r := range l.Rows {
			ids = append(ids, r.ItemID)
		}
		return ids, l.Next, err
	})
	if l, err := h.Store.ListThreads(ctx, threads.Query{Limit: 1, Newest: true}); err != nil || len(l.Rows) != 1 || l.Rows[0].ThreadID != threadIDs[len(threadIDs)-1] {
		t.Errorf("the newest thread: %+v, %v", l.Rows, err)
	}
	if _, err := h.Store.ListTurns(ctx, turns.Query{Cursor: "-1", Newest: true}); !errors.Is(err, notify.ErrBadCursor) {
		t.Errorf("bad cursor: %v", err)
	}
}

func listBytes(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.Messages("", 30, 100_000)
	m.Commit()
	seen := 0
	for cursor, first := "", true; first || cursor != ""; first = false {
		l, err := h.Store.ListItems(context.Background(), items.Query{Cursor: cursor, Limit: 1000})
		if err != nil || len(l.Rows) > 10 || len(l.Rows) == 0 {
			t.Fatalf("%d rows, %v", len(l.Rows), err)
		}
		seen += len(l.Rows)
		cursor = l.Next
	}
	if seen != 30 {
		t.Errorf("%d items, want 30", seen)
	}
}

// snapshots reads an item while its text grows by one byte per event: text
// and latest_seq must be of one moment.
func snapshots(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.StartTurn("turn_a")
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage(""))
	m.Commit()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				it, latest, err := h.Store.ReadItem(context.Background(), "item_a")
				if err != nil || it == nil {
					t.Errorf("read: %v", err)
					return
				}
				if n := int64(len(textOf(t, it))); n != latest-3 {
					t.Errorf("%d bytes at seq %d", n, latest)
					return
				}
			}
		})
	}
	for n := range 200 {
		m.Delta("turn_a", "item_a", "x", n)
		m.Commit()
	}
	close(done)
	wg.Wait()
}

func counts(t *testing.T, h Harness) {
	check := func(threads, queued, active, waiting int64, last string) {
		t.Helper()
		c, err := h.Store.Counts(context.Background())
		if err != nil || c.Threads != threads || c.TurnsQueued != queued || c.TurnsActive != active || c.TurnsWaiting != waiting ||
			c.LastThreadID != last || c.Latest != h.Tail.Head() || c.LogID == "" || c.First != 1 || c.DatabaseBytes == 0 {
			t.Errorf("counts are %+v, %v", c, err)
		}
	}
	check(0, 0, 0, 0, "")
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.StartTurn("turn_a")
	m.QueueTurn("turn_b", 1)
	m.Commit()
	check(1, 1, 1, 0, "thread_a")
	m.Add(notify.TurnProgress, "turn_a", "", &turns.ProgressEvent{Type: "progress", State: turns.Waiting})
	m.Commit()
	check(1, 1, 1, 1, "thread_a")
	m.EndTurn("turn_a")
	m.StartTurn("turn_b")
	m.Commit()
	check(1, 0, 1, 0, "thread_a")
	NewMaker(t, h.Store, "thread_b").Start().Commit()
	m.EndTurn("turn_b")
	m.Commit()
	check(2, 0, 0, 0, "thread_b")
}
