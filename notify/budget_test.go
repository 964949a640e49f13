package notify

import (
	"fmt"
	"strings"
	"testing"
)

func TestCursorsThatStopReadingShareOneBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		filter Filter
		frames bool
	}{{"frames", Filter{}, true}, {"events", Filter{}, false}, {"a filter", Filter{ThreadIDs: []string{"t"}}, false}} {
		t.Run(c.name, func(t *testing.T) {
			const events, cursors, size = 3000, 200, 8 << 20
			log := &memoryLog{frames: c.frames, events: many(events)}
			tail := NewTail(1, events)
			budget := NewBudget(size)
			all := make([]*Cursor, cursors)
			got := make([]strings.Builder, cursors)
			read := func(i int) bool {
				chunk, err := all[i].Next(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				got[i].Write(chunk.Data)
				return all[i].After() < events
			}
			for i := range all {
				all[i] = NewCursor(tail, log, c.filter, 0)
				all[i].Share(budget)
				read(i)
			}
			if used := budget.Used(); used == 0 || used > size+cursors*SmallestPage || budget.Excess() != 0 {
				t.Fatalf("%d bytes are held, the budget is %d", used, size)
			}
			for i := range all {
				for read(i) {
				}
				if got[i].String() != got[0].String() || strings.Count(got[i].String(), "\n") != events {
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

func TestCursorClosedInMidPageReturnsItsBudget(t *testing.T) {
	log := &memoryLog{events: many(3000)}
	budget := NewBudget(0)
	c := NewCursor(NewTail(1, 3000), log, Filter{}, 0)
	c.Share(budget)
	if _, err := c.Next(t.Context(), 0); err != nil || budget.Used() == 0 {
		t.Fatal(budget.Used(), err)
	}
	log.first = 2000
	c.Close()
	late := NewCursor(NewTail(1, 3000), log, Filter{}, 0)
	late.Share(budget)
	if _, err := late.Next(t.Context(), 0); err == nil {
		t.Fatal("the events are gone")
	}
	if budget.Used() != 0 {
		t.Fatal(fmt.Sprint(budget.Used(), " bytes are held by no cursor"))
	}
}

// many makes events of one thread.
func many(n int64) (events []Event) {
	for seq := range n {
		events = append(events, draft(seq+1, "t", ItemDelta, 200))
	}
	return events
}
