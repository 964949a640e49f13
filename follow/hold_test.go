package follow

import (
	"context"
	"errors"
	"testing"

	"github.com/seed82539d15/holon/ledger"
)

// TestAHeldFollowerKeepsItsPositionUntilItIsReleased: what comes meanwhile is handled after
// the release, once, and retention waits for it.
func TestAHeldFollowerKeepsItsPositionUntilItIsReleased(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		s := &seen{}
		progress := w.add(Follower{Name: "a", Interest: everything, Handle: s.handle, Held: true})
		w.run()
		w.thread("a", 9)
		s.want(t, "")
		if floor := w.d.Floor(); floor != 1 {
			t.Errorf("retention may remove events before %d", floor)
		}
		progress.Release()
		s.want(t, "1-10")
		progress.Hold()
		w.thread("b", 4)
		s.want(t, "")
		progress.Release()
		s.want(t, "11-15")
	})
}

// TestHandleCanHoldItsFollower: it moves past a part of a batch and holds the rest, which
// is no failure and comes again after the release.
func TestHandleCanHoldItsFollower(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var progress *Progress
		full, got := true, &seen{}
		progress = w.add(Follower{Name: "a", Interest: everything, Handle: func(ctx context.Context, b *Batch) ([]Task, error) {
			if !full {
				return got.handle(ctx, b)
			}
			part := *b
			part.Events = b.Events[:5]
			if _, err := got.handle(ctx, &part); err != nil {
				return nil, err
			}
			u := &ledger.Unit{}
			b.Move(u, 5)
			if _, err := w.life.Append(u); err != nil {
				return nil, err
			}
			progress.Hold()
			return nil, errors.New("full")
		}})
		w.thread("a", 9)
		w.run()
		got.want(t, "1-5")
		if s := progress.Status(); s.Failures != 0 || s.Position != 5 || len(w.life.reports("a")) != 0 {
			t.Errorf("%+v, reports %v", s, w.life.reports("a"))
		}
		full = false
		progress.Release()
		got.want(t, "6-10")
	})
}
