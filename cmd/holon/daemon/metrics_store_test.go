package daemon

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Whoever looks at the server's log learns of a full disk, once each time.
func TestAFullDiskIsLoggedOnce(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	o := newStoreMetrics(zap.New(core)).observer()
	commit := func() { o.Committed(1, 1, 1, time.Millisecond) }
	commit()
	for range 2 {
		o.Refused("runtime_paused")
		for range 3 {
			o.Refused("storage_full")
		}
		commit()
		commit()
	}
	o.Refused("storage_full")
	o.Refused("storage_failed")
	var got []string
	for _, e := range logged.All() {
		got = append(got, e.Level.String()+" "+e.Message[:len("the disk is")])
	}
	want := []string{"error the disk is", "warn the disk ta", "error the disk is", "warn the disk ta", "error the disk is", "error the disk ha"}
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
