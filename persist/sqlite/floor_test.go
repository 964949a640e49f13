package sqlite

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
)

func TestPruneStopsAtTheFloor(t *testing.T) {
	var floor atomic.Int64
	s := withEvents(t, 500)
	s.KeepFrom(floor.Load)
	for _, step := range []struct{ floor, before, first int64 }{
		{1, 400, 1}, {100, 50, 50}, {100, 400, 100}, {100, 450, 100}, {401, 400, 400}, {math.MaxInt64, 450, 450},
	} {
		floor.Store(step.floor)
		if out, err := s.Prune(context.Background(), step.before); err != nil || out.First != step.first {
			t.Errorf("with the floor %d, before %d: %+v, %v", step.floor, step.before, out, err)
		}
	}
}
