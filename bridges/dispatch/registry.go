package dispatch

import (
	"sync"

	"github.com/seed82539d15/holon/bridges"
)

// registry has the bridges, and the lanes of subscriptions that are not deleted. Its
// methods may be called from many goroutines.
type registry struct {
	mu      sync.RWMutex
	bridges map[string]*bridge
	lanes   map[string]*lane
}

func (r *registry) add(row *bridges.Bridge) *bridge {
	b := &bridge{}
	b.row.Store(row)
	b.sends = row.State == bridges.Active
	b.heldUntil = row.HeldUntil.Time
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bridges[row.BridgeID] = b
	return b
}

func (r *registry) bridge(id string) *bridge {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.bridges[id]
}

func (r *registry) lane(id string) *lane {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.lanes[id]
}

// all returns the lanes, in no order.
func (r *registry) all() []*lane {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := make([]*lane, 0, len(r.lanes))
	for _, l := range r.lanes {
		list = append(list, l)
	}
	return list
}
