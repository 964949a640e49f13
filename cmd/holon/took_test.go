package main

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// TOOK and FOR are of the current attempt: those before it may be of another day.
func TestTimesAreOfTheCurrentAttempt(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	turn := &turns.Turn{State: turns.Active, FirstStartedAt: notify.Time{Time: now.Add(-24 * time.Hour)}, StartedAt: notify.Time{Time: now.Add(-5 * time.Second)}}
	if got := tookOf(turn, now); got != 5*time.Second {
		t.Errorf("of a running turn: %s", got)
	}
	turn.State, turn.CompletedAt = turns.Failed, notify.Time{Time: now.Add(-2 * time.Second)}
	if got := tookOf(turn, now); got != 3*time.Second {
		t.Errorf("of one that has ended: %s", got)
	}
	row, err := turnListing.row([]byte(`{"turn_id":"t","state":"failed","first_started_at":"2026-11-20T10:00:00Z","started_at":"2026-11-21T10:00:00Z","completed_at":"2026-11-21T10:00:05Z"}`))
	if err != nil || row[5] != "5.0s" {
		t.Errorf("in a list: %q, %v", row, err)
	}
}
