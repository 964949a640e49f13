package follow

import (
	"context"
	"runtime"
	"testing"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// TestMarkersComeOnceTheyAreWanted: none before, and none is missed after the batch in
// which the follower asks for them, though the dispatcher has passed it meanwhile.
func TestMarkersComeOnceTheyAreWanted(t *testing.T) {
	for _, all := range []bool{true, false} {
		inWorld(t, 0, func(t *testing.T, w *world) {
			var progress *Progress
			got, batches, ask := &seen{}, 0, false
			committed := make(chan struct{}) // the maker is free
			m := w.thread("a", 0)            // 1
			other := w.add(Follower{Name: "other", Interest: methods("holon/*"), Handle: (&seen{}).handle})
			interest := Interest{All: all, Methods: []string{notify.ItemCreated}, MarkersLater: true}
			if !all {
				interest.Threads = []string{"a"}
			}
			progress = w.add(Follower{Name: "f", Interest: interest, Handle: func(ctx context.Context, b *Batch) ([]Task, error) {
				batches++
				if ask {
					ask = false
					<-committed
					m.Rewind("t1", "", turns.CauseRequest)
					marker := m.Commit().Last
					m.Attempt("t1")
					m.Commit()
					for other.Status().Position < marker {
						runtime.Gosched()
					}
					progress.WantMarkers()
				}
				return got.handle(ctx, b)
			}})
			w.run()
			rewind := func() {
				m.Rewind("t1", "", turns.CauseRequest)
				m.Commit()
				m.Attempt("t1")
				m.Commit()
			}
			m.Attempt("t1") // 2, 3
			m.Commit()
			rewind() // 4, 5
			got.want(t, "")
			if batches != 0 {
				t.Errorf("%d batches without an event", batches)
			}
			ask = true
			m.Messages("t1", 1, 10)
			item := m.Commit().Last
			close(committed)
			got.want(t, ranges([]int64{item, item + 1}))
			rewind()
			got.want(t, ranges([]int64{item + 3}))
		})
	}
}
