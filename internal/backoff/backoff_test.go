package backoff

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestWaitsDoubleUpToTheMaximum(t *testing.T) {
	b := Backoff{First: 100 * time.Millisecond, Max: time.Second}
	for retry, want := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 4: 800 * time.Millisecond, 5: time.Second,
		64: time.Second, 5000: time.Second, math.MaxInt: time.Second,
	} {
		if got := b.Wait(retry); got != want {
			t.Errorf("retry %d waits %v, want %v", retry, got, want)
		}
	}
}

func TestSpreadMovesWaitsBothWays(t *testing.T) {
	b := Backoff{First: time.Second, Max: time.Minute, Spread: 0.2}
	shortest, longest := time.Hour, time.Duration(0)
	for i := range 1000 {
		for _, wait := range []time.Duration{b.Wait(2), b.WaitOf(fmt.Sprint("turn_", i), 2)} {
			shortest, longest = min(shortest, wait), max(longest, wait)
		}
	}
	if shortest < 1600*time.Millisecond || shortest > 1700*time.Millisecond || longest > 2400*time.Millisecond || longest < 2300*time.Millisecond {
		t.Errorf("waits from %v to %v", shortest, longest)
	}
	if wait := b.WaitOf("a", 3); wait != b.WaitOf("a", 3) || wait == b.WaitOf("b", 3) {
		t.Error("a key does not determine its wait")
	}
}
