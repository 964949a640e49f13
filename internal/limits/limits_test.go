package limits

import (
	"testing"
	"time"
)

func TestDefaultsAreWithinTheirRange(t *testing.T) {
	for i, r := range []Range[int]{FrameBytes, ItemBytes, TailBytes, InFlight, Connections, ActiveTurns, WaitingTurns, QueuedTurns, PendingItems, UnackedItems, Timers, InboxSubscriptions} {
		if r.Default < r.Least || r.Default > r.Most || r.Or(0) != r.Default || r.Or(-1) != r.Default || r.Or(7) != 7 {
			t.Errorf("%d: %+v", i, r)
		}
	}
	for i, r := range []Range[time.Duration]{Drain, Interrupt, Heartbeat, WriteTimeout, InboxRetention, Dedupe, LaneLag} {
		if r.Default < r.Least || r.Default > r.Most || r.Or(0) != r.Default || r.Or(time.Second) != time.Second {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if r := UnackedBytes; r.Default < r.Least || r.Default > r.Most || r.Or(0) != r.Default || r.Or(7) != 7 {
		t.Errorf("%+v", r)
	}
	// An inbox can be allowed to hold a million items of 1 KiB.
	if UnackedItems.Most < 1_000_000 || UnackedBytes.Most < 1_000_000*(1<<10) {
		t.Errorf("%+v, %+v", UnackedItems, UnackedBytes)
	}
	// A frame has room for an item's content twice, whatever both are set to by default.
	if FrameBytes.Default < 2*ItemBytes.Default || FrameBytes.Most < 2*ItemBytes.Default {
		t.Errorf("frames of %+v, items of %+v", FrameBytes, ItemBytes)
	}
}
