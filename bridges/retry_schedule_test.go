package bridges

import (
	"testing"
	"time"
)

// Each retry comes up to a fifth earlier or later, so that those of many deliveries do
// not come at once. After the last one there is none.
func TestRetriesAreSpread(t *testing.T) {
	for n, wait := range []time.Duration{
		time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute,
		time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	} {
		for random, factor := range map[float64]float64{0: 0.8, 0.5: 1, 1: 1.2} {
			want := time.Duration(factor * float64(wait))
			if got, ok := RetryAfter(n+1, random); !ok || got.Round(time.Millisecond) != want.Round(time.Millisecond) {
				t.Errorf("after %d failures with %v: %v, %v, want %v", n+1, random, got, ok, want)
			}
			d, now := &Delivery{Attempts: n + 1}, time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
			d.Finish(Result{Outcome: Failed}, now, now, random)
			if in := d.NextAttemptAt.Sub(now); in != want.Round(time.Millisecond) {
				t.Errorf("attempt %d failed, with %v the next one comes after %v, want %v", n+1, random, in, want)
			}
		}
	}
	for _, c := range []struct {
		asked time.Duration
		times int
		want  time.Duration
	}{
		{0, 1, 30 * time.Second}, {0, 6, 32 * time.Second}, {time.Second, 1, time.Second}, {time.Second, 0, time.Second}, {time.Second, 10, 512 * time.Second},
		{time.Second, 1 << 40, 10 * time.Minute}, {time.Hour, 20, time.Hour}, {100 * time.Hour, 1, MaxWait},
	} {
		if got := WaitFor(c.asked, c.times); got != c.want {
			t.Errorf("asked for %v, %d times in a row: %v, want %v", c.asked, c.times, got, c.want)
		}
	}
	if wait, ok := RetryAfter(11, 0.5); ok {
		t.Errorf("after 11 failures it is tried again after %v", wait)
	}
}
