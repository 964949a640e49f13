package dispatch

import (
	"sync"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
)

// registry has the bridges, and the lanes of subscriptions that were not deleted and have not ended. Its
// methods may be called from many goroutines.
type registry struct {
	mu      sync.RWMutex
	bridges map[string]*bridge
	lanes   map[string]*lane
	leaving map[string]*lane // deleted ones whose last attempt is under way
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

// put notes the lane of a subscription, in the place of any other.
func (r *registry) put(l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes[l.id] = l
}

// remove forgets a lane, unless another one has taken its place.
func (r *registry) remove(l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lanes[l.id] == l {
		delete(r.lanes, l.id)
	}
}

// locked returns the lane of a subscription with its mu held; nil = there is none. A lane may
// be replaced while somebody waits for it.
func (r *registry) locked(id string) *lane {
	for {
		l := r.lane(id)
		if l == nil {
			return nil
		}
		l.mu.Lock()
		if r.lane(id) == l {
			return l
		}
		l.mu.Unlock()
	}
}

// leave records that an attempt of a deleted subscription is under way, until left.
func (r *registry) leave(l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaving[l.id] = l
}

func (r *registry) left(l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving[l.id] == l {
		delete(r.leaving, l.id)
	}
}

// last returns the lane of a deleted subscription whose attempt is under way; nil = there is none.
func (r *registry) last(id string) *lane {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.leaving[id]
}

// subscriptions counts those that have a lane: all, and those that one requester has
// made.
func (r *registry) subscriptions(requester ledger.Requester) (all, own int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, l := range r.lanes {
		if l.requester == requester {
			own++
		}
	}
	return len(r.lanes), own
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
