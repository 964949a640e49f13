package notify

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// Cursors whose readers stop hold the budget and a small chunk each, whatever the
// events are, and none of them waits.
func TestCursorsThatStopReadingShareOneBudget(t *testing.T) {
	hosttest.Long(t)
	for _, c := range []struct {
		name   string
		filter Filter
		frames bool
		live   bool
		size   int
	}{
		{"frames", Filter{}, true, false, 200},
		{"events", Filter{}, false, false, 200},
		{"a filter", Filter{ThreadIDs: []string{"t"}}, false, false, 200},
		{"a filter of the tail", Filter{ThreadIDs: []string{"t"}}, false, true, 200},
		{"large events", Filter{}, true, false, 1 << 20},
		{"large events of the tail", Filter{ThreadIDs: []string{"t"}}, true, true, 1 << 20},
		{"large events, a filter", Filter{Methods: []string{"item/*"}}, false, false, 1 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			const cursors, size = 200, 8 << 20
			events := many(max(3, 600_000/int64(c.size)), c.size)
			last := int64(len(events))
			log := &memoryLog{frames: c.frames, events: events}
			tail := NewTail(1, last)
			if c.live {
				tail = NewTail(64<<20, 0)
				tail.Publish(events)
			}
			budget := NewBudget(size)
			all := make([]*Cursor, cursors)
			got := make([]strings.Builder, cursors)
			read := func(i int) bool {
				chunk, err := all[i].Next(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				got[i].Write(chunk)
				return all[i].After() < last
			}
			for i := range all {
				all[i] = NewCursor(tail, log, c.filter, 0)
				all[i].Share(budget)
				read(i)
			}
			if used := budget.Used(); used < size/2 || used > size/2+cursors*SmallChunkBytes {
				t.Fatalf("%d bytes are held, the budget is %d", used, size)
			}
			for i := range all {
				for read(i) {
				}
				if got[i].String() != got[0].String() || int64(strings.Count(got[i].String(), "\n")) != last {
					t.Fatalf("cursor %d got %d events", i, strings.Count(got[i].String(), "\n"))
				}
				if i%2 == 0 {
					all[i].Wait()
				} else {
					all[i].Close()
					all[i].Close()
				}
			}
			if used := budget.Used(); used != 0 {
				t.Fatalf("%d bytes are held by no cursor", used)
			}
		})
	}
}

// Chunks that lie in the tail cost nothing, until the tail has moved on: what readers that
// do not read keep of it is bounded, too, and they miss nothing.
func TestReadersThatStopInTheTailKeepLittleOfIt(t *testing.T) {
	for size, readers := range map[int]int{2000: 2000, 200_000: 60} {
		const most = 1 << 20
		log, tail, budget := &memoryLog{frames: true}, NewTail(most, 0), NewBudget(0)
		var all []*Cursor
		got := make([][]byte, readers)
		read := func(i int) {
			chunk, err := all[i].Next(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = append(got[i], chunk...)
		}
		peak := int64(0)
		for i := range readers {
			e := draft(int64(i+1), "t", ItemDelta, size)
			log.add(e)
			tail.Publish([]Event{e})
			c := NewCursor(tail, log, Filter{}, int64(i))
			c.Share(budget)
			all = append(all, c)
			read(i)
			peak = max(peak, tail.pinned.Load())
		}
		if peak < most/2 || peak > 2*most+int64(size)+1000 || budget.Used() == 0 {
			t.Errorf("%d bytes of the tail are kept, %d of the budget", peak, budget.Used())
		}
		for i, c := range all {
			for c.After() < int64(min(i+3, readers)) {
				read(i)
			}
			e := &log.events[i]
			if !bytes.HasPrefix(got[i], e.AppendFrame(nil)) {
				t.Fatalf("reader %d got %.100s", i, got[i])
			}
			c.Close()
		}
		if kept := tail.pinned.Load(); kept != 0 || budget.Used() != 0 {
			t.Errorf("%d bytes are kept for nobody, %d of the budget", kept, budget.Used())
		}
	}
}

// Half of the budget is for readers that have shown that they read. One that stalls is
// a stranger again.
func TestReadersThatReadHaveLargeChunksBesideThoseThatDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		events := many(40_000, 200)
		log, tail, budget := &memoryLog{frames: true, events: events}, NewTail(1, int64(len(events))), NewBudget(size)
		open := func() *Cursor {
			c := NewCursor(tail, log, Filter{}, 0)
			c.Share(budget)
			t.Cleanup(c.Close)
			return c
		}
		read := func(c *Cursor) int {
			chunk, err := c.Next(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			return len(chunk)
		}
		for range 100 {
			read(open())
		}
		c := open()
		taken := read(c)
		if taken > SmallChunkBytes {
			t.Fatalf("a stranger has a chunk of %d bytes", taken)
		}
		for taken < trustedBytes {
			taken += read(c)
		}
		if n := read(c); n <= SmallChunkBytes || c.ahead == nil {
			t.Fatalf("a reader of %d bytes has a chunk of %d", taken, n)
		}
		if used := budget.Used(); used > size+101*SmallChunkBytes {
			t.Fatalf("%d bytes are held", used)
		}
		time.Sleep(2 * stalledFor)
		if n := read(c); n > SmallChunkBytes {
			t.Fatalf("a reader that has stalled has a chunk of %d", n)
		}
	})
}

func TestCursorClosedInsideAnEventReturnsItsBudget(t *testing.T) {
	log := &memoryLog{events: many(3, 1<<20)}
	budget := NewBudget(0)
	c := NewCursor(NewTail(1, 3), log, Filter{}, 0)
	c.Share(budget)
	if _, err := c.Next(t.Context(), 0); err != nil || budget.Used() != ChunkBytes || !c.Inside() || c.After() != 0 {
		t.Fatal(budget.Used(), err)
	}
	log.first = 2 // pruned: the rest of the frame is gone
	if chunk, err := c.Next(t.Context(), 0); err == nil {
		t.Fatalf("%d bytes of an event that is gone", len(chunk))
	}
	c.Close()
	late := NewCursor(NewTail(1, 3), log, Filter{}, 0)
	late.Share(budget)
	if _, err := late.Next(t.Context(), 0); err == nil {
		t.Fatal("the events are gone")
	}
	late.Close()
	if budget.Used() != 0 {
		t.Fatal(fmt.Sprint(budget.Used(), " bytes are held by no cursor"))
	}
}

// many makes events of one thread.
func many(n int64, size int) (events []Event) {
	for seq := range n {
		events = append(events, draft(seq+1, "t", ItemDelta, size))
	}
	return events
}
