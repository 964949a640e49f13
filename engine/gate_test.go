package engine

import (
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// refusesAll is a store that refuses every unit.
type refusesAll struct{ turns.Store }

func (refusesAll) Append(*ledger.Unit) (ledger.Receipt, error) {
	return ledger.Receipt{}, ledger.ErrStorageFull
}

// A pause or its refusal at the moment of the drain does not open the gate
// again: turns would start in a server that stops.
func TestPauseDoesNotEndTheDrain(t *testing.T) {
	for i := range 50_000 {
		g := newGate(1, 1, func(string) {})
		p := newPause(refusesAll{}, g, zap.NewNop())
		var both sync.WaitGroup
		both.Go(p.drain)
		both.Go(func() { _, _ = p.change("holon/paused", &turns.RuntimeEvent{Type: "paused"}, nil) })
		both.Wait()
		if _, draining := g.state(); !draining {
			t.Fatalf("after %d rounds the gate does not drain", i)
		}
	}
}
