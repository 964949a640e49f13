package inbox

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

func TestWhatKeepsAThreadFromBeingWokenIsSaid(t *testing.T) {
	now := time.Date(2026, 11, 28, 13, 20, 0, 0, time.UTC)
	ago := func(d time.Duration) notify.Time { return notify.TimeOf(now.Add(-d)) }
	stalled := func(why Stall, until time.Time) *Inbox {
		b := &Inbox{NewEntries: 3, Stalled: why, StalledAt: ago(time.Minute).Milli()}
		if !until.IsZero() {
			b.WakeAt = until.UnixMilli()
		}
		return b
	}
	for name, c := range map[string]struct {
		box   *Inbox
		held  bool
		state threads.State
		wake  Wake
		want  Wakes // State "" = nil
		says  string
	}{
		"nothing":            {box: &Inbox{NewEntries: 3}},
		"no inbox":           {},
		"a growing pause":    {box: &Inbox{NewEntries: 3, Silent: 2, WakeAt: now.Add(time.Second).UnixMilli()}},
		"held, and no inbox": {held: true, want: Wakes{State: WakesHeld, Reason: ReasonInterrupted, Since: ago(time.Hour)}},
		"held": {
			held: true, box: stalled(StallSilent, time.Time{}), says: "3 new, not told: it was interrupted",
			want: Wakes{State: WakesHeld, Reason: ReasonInterrupted, Since: ago(time.Hour), Waiting: 3},
		},
		"silent": {
			box: stalled(StallSilent, time.Time{}), says: "3 new, not told: 5 wakes without a word",
			want: Wakes{State: WakesStalled, Reason: "silent", Since: ago(time.Minute), Waiting: 3},
		},
		"chain, paused": {
			box: stalled(StallChain, time.Time{}), state: threads.Paused, says: "3 new, not told: 16 wakes caused each other",
			want: Wakes{State: WakesStalled, Reason: "chain", Since: ago(time.Minute), Waiting: 3},
		},
		"rate": {
			box: stalled(StallRate, now.Add(time.Hour)), says: "3 new, not told: 30 wakes within an hour, until 14:20",
			want: Wakes{State: WakesStalled, Reason: "rate", Since: ago(time.Minute), Until: ago(-time.Hour), Waiting: 3},
		},
		"rate is over": {box: stalled(StallRate, now)},
		"wake is none": {held: true, box: stalled(StallSilent, time.Time{}), wake: WakeNone},
		"closing":      {held: true, box: stalled(StallSilent, time.Time{}), state: threads.Closing},
		"closed":       {held: true, state: threads.Closed},
	} {
		if c.state == "" {
			c.state = threads.Running
		}
		if c.wake == "" {
			c.wake = WakeIdle
		}
		got := WakesOf(c.box, &threads.Thread{State: c.state, Held: c.held}, c.wake, ago(time.Hour), now)
		if (got != nil) != (c.want.State != "") || got != nil && *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if says := got.Says(time.UTC); says != c.says {
			t.Errorf("%s: %q, want %q", name, says, c.says)
		}
	}
}
