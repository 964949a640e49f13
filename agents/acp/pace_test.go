package acp

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPaceLetsBurstsThroughAndBoundsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		took := func(n int) time.Duration {
			began := time.Now()
			for range n / yieldEvery {
				p.take(yieldEvery)
			}
			return time.Since(began)
		}
		if d := took(paceBurst); d != 0 {
			t.Errorf("a burst took %v", d)
		}
		if d := took(pacePerSecond); d < 990*time.Millisecond || d > 1010*time.Millisecond {
			t.Errorf("a second's messages took %v", d)
		}
		time.Sleep(time.Second)
		if d := took(paceBurst); d != 0 {
			t.Errorf("after a pause a burst took %v", d)
		}
	})
}
