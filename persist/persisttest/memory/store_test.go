package memory_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed82539d15/holon/persist/persisttest"
	"github.com/seed82539d15/holon/persist/persisttest/memory"
)

func TestStorePassesTheSuite(t *testing.T) {
	persisttest.Exercise(t, func(t testing.TB) persisttest.Harness {
		var now atomic.Pointer[time.Time]
		at := func(n time.Time) { now.Store(&n) }
		at(time.Now())
		s := memory.New(func() time.Time { return *now.Load() })
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		return persisttest.Harness{Store: s, Tail: s.Tail(), SetNow: at, KeepKeys: s.KeepKeys}
	})
}
