package persisttest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// mixedLog writes a log with events of several threads and of none.
func mixedLog(t testing.TB, h Harness) []notify.Event {
	t.Helper()
	var makers []*Maker
	for i := range 5 {
		m := NewMaker(t, h.Store, fmt.Sprintf("thread_%d", i))
		m.Start().Commit()
		makers = append(makers, m)
	}
	var rt turns.Runtime
	for n := range 60 {
		m := makers[n*n%len(makers)]
		turn := fmt.Sprintf("turn_%d", n)
		m.StartTurn(turn)
		m.Create(turn, "item_"+turn, items.StatusInProgress, items.NewAgentMessage(""))
		m.Delta(turn, "item_"+turn, strings.Repeat("x", n*7), 0)
		m.Update(turn, "item_"+turn, items.StatusCompleted, items.NewAgentMessage(strings.Repeat("x", n*7)))
		m.EndTurn(turn)
		m.Commit()
		if n%20 == 0 {
			u := RuntimeUnit(t, rt, n%40 == 0)
			rt = *RowsOf[*turns.Runtime](u)[0]
			if _, err := h.Store.Append(u); err != nil {
				t.Fatal(err)
			}
		}
	}
	events := all(t, h.Store)
	dense(t, events)
	for i := range events {
		events[i].ThreadID = headerOf(t, events[i]).ThreadID
	}
	return events
}

func filteredPages(t *testing.T, h Harness) {
	events := mixedLog(t, h)
	for _, ids := range [][]string{nil, {"thread_1"}, {"thread_2", "thread_0"}, {"thread_3", "thread_3"}, {"thread_none"}, {"thread_none", "thread_4"}, {"thread_0", "thread_1", "thread_2", "thread_3", "thread_4"}} {
		for _, methods := range [][]string{nil, {notify.TurnStarted}, {"item/*"}, {"turn/*", notify.HolonPaused}, {"nothing/*"}} {
			for _, size := range []int{1, 7, 1000} {
				q := notify.Query{Filter: notify.Filter{ThreadIDs: ids, Methods: methods}, MaxEvents: size, MaxBytes: 1 << 20}
				sameEvents(t, fmt.Sprintf("%v %v by %d", ids, methods, size), paged(t, h.Store, q), matching(t, events, q.Filter))
				q.After = 101
				sameEvents(t, fmt.Sprintf("%v %v by %d after 101", ids, methods, size), paged(t, h.Store, q), matching(t, events[101:], q.Filter))
			}
		}
	}
	framePages(t, h, events)
	p, err := h.Store.Page(context.Background(), notify.Query{After: int64(len(events)), MaxEvents: 10, MaxBytes: 1000})
	if err != nil || len(p.Events) != 0 || p.More || p.Scanned != int64(len(events)) {
		t.Errorf("at the head: %+v, %v", p, err)
	}
}

// framePages asks for frames: what comes, frames or events, must be the same
// bytes, whether all of a page fits or not.
func framePages(t *testing.T, h Harness, events []notify.Event) {
	t.Helper()
	var want []byte
	for i := range events {
		want = events[i].AppendFrame(want)
	}
	for _, q := range []notify.Query{{MaxEvents: 1, MaxBytes: 1}, {MaxEvents: 7, MaxBytes: 2000}, {MaxEvents: 1000, MaxBytes: 1 << 20}} {
		var got []byte
		q.Frames = true
		for q.After < int64(len(events)) {
			p, err := h.Store.Page(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Frames) > 0 && (len(p.Events) > 0 || int64(bytes.Count(p.Frames, []byte("\n"))) != p.Scanned-q.After) || p.Scanned <= q.After {
				t.Fatalf("after %d: %d events and %d bytes of frames up to %d", q.After, len(p.Events), len(p.Frames), p.Scanned)
			}
			got = append(got, p.Frames...)
			for i := range p.Events {
				got = p.Events[i].AppendFrame(got)
			}
			q.After = p.Scanned
		}
		if !bytes.Equal(got, want) {
			t.Errorf("pages of %d: the frames are not those of the events", q.MaxEvents)
		}
	}
}

// sparseFilter looks for a few events in a log that is longer than what one
// page may look at.
func sparseFilter(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start().Commit()
	for range 9 {
		m.Messages("", 3000, 1)
		m.Commit()
	}
	if _, err := h.Store.Append(RuntimeUnit(t, turns.Runtime{}, true)); err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]string{nil, {"thread_a"}, {"thread_a", "thread_b"}} {
		q := notify.Query{Filter: notify.Filter{ThreadIDs: ids, Methods: []string{"holon/*", notify.ThreadStarted}}, MaxEvents: 100, MaxBytes: 1 << 20}
		p, err := h.Store.Page(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if p.Scanned > 25_000 || !p.More {
			t.Errorf("%v: one page looked at %d events, more is %v", ids, p.Scanned, p.More)
		}
		want := 2
		if ids != nil {
			want = 1
		}
		if got := paged(t, h.Store, q); len(got) != want {
			t.Errorf("%v: %d events, want %d", ids, len(got), want)
		}
	}
}

func pageBytes(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.Messages("", 20, 10_000)
	m.Commit()
	for _, ids := range [][]string{nil, {"thread_a"}, {"thread_a", "thread_b"}} {
		p, err := h.Store.Page(context.Background(), notify.Query{After: 1, Filter: notify.Filter{ThreadIDs: ids}, MaxEvents: 100, MaxBytes: 35_000})
		if err != nil || len(p.Events) != 3 || !p.More || p.Scanned != 4 {
			t.Errorf("%v: %d events, scanned %d, more %v, %v", ids, len(p.Events), p.Scanned, p.More, err)
		}
		if p, err = h.Store.Page(context.Background(), notify.Query{After: 1, Filter: notify.Filter{ThreadIDs: ids}, MaxEvents: 100, MaxBytes: 1}); err != nil || len(p.Events) != 1 {
			t.Errorf("%v: %d events, %v; want the one that is too large", ids, len(p.Events), err)
		}
	}
}

func export(t *testing.T, h Harness) {
	var want bytes.Buffer
	for _, e := range mixedLog(t, h) {
		want.Write(e.AppendFrame(nil))
	}
	var got bytes.Buffer
	last, err := persist.Export(context.Background(), h.Store, &got, 0)
	if err != nil || last != h.Tail.Head() || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("exported %d bytes up to %d, %v; want %d up to %d", got.Len(), last, err, want.Len(), h.Tail.Head())
	}
}
