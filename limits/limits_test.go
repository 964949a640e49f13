package limits

import (
	"testing"
	"time"
)

func TestDefaultsAreWithinTheirRange(t *testing.T) {
	for i, r := range []Range[int]{FrameBytes, ItemBytes, TailBytes, InFlight, Connections, ActiveTurns, WaitingTurns, QueuedTurns} {
		if r.Default < r.Least || r.Default > r.Most || r.Or(0) != r.Default || r.Or(-1) != r.Default || r.Or(7) != 7 {
			t.Errorf("%d: %+v", i, r)
		}
	}
	for i, r := range []Range[time.Duration]{Drain, Interrupt, Heartbeat, WriteTimeout} {
		if r.Default < r.Least || r.Default > r.Most || r.Or(0) != r.Default || r.Or(time.Second) != time.Second {
			t.Errorf("%d: %+v", i, r)
		}
	}
	// A frame has room for an item's content twice, whatever both are set to by default.
	if FrameBytes.Default < 2*ItemBytes.Default || FrameBytes.Most < 2*ItemBytes.Default {
		t.Errorf("frames of %+v, items of %+v", FrameBytes, ItemBytes)
	}
}
