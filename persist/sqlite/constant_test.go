package sqlite

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// BenchmarkFenceOfARestart is what the appender does before it takes a restart
// of a step: it must not depend on how many tries the step, or the turn, has
// had.
func BenchmarkFenceOfARestart(b *testing.B) {
	for _, tries := range []int{10, 5000} {
		b.Run(fmt.Sprintf("tries=%d", tries), func(b *testing.B) {
			s := running(b, Options{Dir: b.TempDir(), Normal: true})
			m := persisttest.NewMaker(b, s, "thread_a").Start()
			m.Attempt("turn_a")
			for i := range tries {
				step := fmt.Sprint("s", i%2) // two steps share them
				if i >= 2 {
					m.Rewind("turn_a", step, turns.CauseStep)
				}
				m.Begin("turn_a", step)
				m.Commit()
			}
			m.Rewind("turn_a", "s0", turns.CauseStep)
			m.Begin("turn_a", "s0")
			u := m.Unit()
			if err := s.Do(context.Background(), func() error {
				return s.w.Transaction(func(tx persist.Tx) error {
					for b.Loop() {
						if refused, err := turns.LiveTries.Check(rewound{tx}, u); refused != nil || err != nil {
							return fmt.Errorf("%v, %v", refused, err)
						}
					}
					return nil
				})
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// rewound is a transaction of a log whose newest event may be a marker.
type rewound struct{ persist.Tx }

func (rewound) LastRewind() int64 { return math.MaxInt64 }

// BenchmarkLoadOfQueuedTurns is what a thread with a full queue costs at the
// start of a server: it must not depend on how much was said since its turns
// were queued.
func BenchmarkLoadOfQueuedTurns(b *testing.B) {
	for _, after := range []int{0, 50_000} {
		b.Run(fmt.Sprintf("items=%d", after), func(b *testing.B) {
			s := running(b, Options{Dir: b.TempDir(), Normal: true})
			m := persisttest.NewMaker(b, s, "thread_a").Start()
			m.StartTurn("turn_active")
			said := items.UserMessage{Type: items.KindUserMessage, Role: "user", Origin: items.OriginClient}
			for i := range 64 {
				id := fmt.Sprint("turn_", i)
				m.QueueTurn(id, int64(i))
				m.Create(id, "item_of_"+id, items.StatusCompleted, said)
			}
			m.Commit()
			for left := after; left > 0; left -= 1000 {
				m.Messages("turn_active", 1000, 100)
				m.Commit()
				clear(m.Items) // the maker need not know them
			}
			for b.Loop() {
				if l, err := s.reader.Load(context.Background(), "thread_a"); err != nil || len(l.Items) != 64 {
					b.Fatal(len(l.Items), err)
				}
			}
		})
	}
}
