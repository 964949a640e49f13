package follow

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/ledger"
)

// TestAnAddedFollowerLowersTheFloor to where it begins, and no further; the floor is that
// of a look at all followers.
func TestAnAddedFollowerLowersTheFloor(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		w.thread("a", 99)
		for i, after := range []int64{50, 70, -1, 20, 20, 60, 0, 100} {
			name := fmt.Sprint("f", i)
			if after >= 0 {
				if _, err := w.store.Append(&ledger.Unit{Rows: []ledger.Row{NewRow(name, w.d.cfg.LogID, after)}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.d.Add(context.Background(), Follower{Name: name, Interest: everything, Handle: (&seen{}).handle}); err != nil {
				t.Fatal(err)
			}
			w.d.mu.Lock()
			got := w.d.floor.Load()
			w.d.setFloor()
			want := w.d.floor.Load()
			w.d.mu.Unlock()
			if got != want {
				t.Errorf("after a follower at %d: the floor is %d, want %d", after, got, want)
			}
		}
	})
}
