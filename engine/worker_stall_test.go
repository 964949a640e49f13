package engine_test

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// A disk that stalls for longer than a lease delays the worker's renewal, which
// came in time, behind the write that waits for the disk. The worker has not
// been silent: its attempt continues. The attempt of a silent worker ends.
func TestRenewalThatWaitsForTheDiskKeepsTheLease(t *testing.T) {
	for name, renews := range map[string]bool{"renewed": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, remotely(false), func(h *harness) {
				c := h.work()
				stalled := make(chan struct{})
				h.faults.holdBack(func(*ledger.Unit) <-chan struct{} { return stalled })
				done := make(chan error, 2)
				go func() {
					_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{message("m", "x")}})
					done <- err
				}()
				time.Sleep(turns.DefaultLease / 3)
				waiting := 1
				if renews {
					waiting++
					go func() {
						_, err := h.workers.Renew(bg, turns.Renew{Lease: *c.Lease})
						done <- err
					}()
				}
				time.Sleep(turns.DefaultLease)
				h.faults.heal()
				close(stalled)
				for range waiting {
					if err := <-done; err != nil {
						t.Errorf("refused: %v", err)
					}
				}
				if !renews {
					if e := h.ended(c.Turn.TurnID); e.State != string(turns.Interrupted) {
						t.Errorf("ended %s", e)
					}
					return
				}
				h.complete(c.Lease)
			})
		})
	}
}
