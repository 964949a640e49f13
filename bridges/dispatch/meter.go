package dispatch

import (
	"sync"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// latencies are the upper bounds of the histogram of attempts, in seconds.
var latencies = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20}

// meter counts what was done since the start.
type meter struct {
	mu       sync.Mutex
	attempts map[attemptKey]*Latency
	became   map[becameKey]int64
}

type attemptKey struct {
	bridge  string
	outcome bridges.Outcome
}

type becameKey struct {
	bridge string
	state  bridges.DeliveryState
}

// Latency is a histogram of attempts: Counts are by Latencies, cumulative.
type Latency struct {
	Count  uint64
	Sum    float64 // seconds
	Counts []uint64
}

func (m *meter) init() {
	m.attempts, m.became = map[attemptKey]*Latency{}, map[becameKey]int64{}
}

func (m *meter) attempt(bridge string, outcome bridges.Outcome, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := attemptKey{bridge, outcome}
	h := m.attempts[key]
	if h == nil {
		h = &Latency{Counts: make([]uint64, len(latencies))}
		m.attempts[key] = h
	}
	h.Count++
	h.Sum += took.Seconds()
	for i, bound := range latencies {
		if took.Seconds() <= bound {
			h.Counts[i]++
		}
	}
}

// taken counts a delivery that was settled without an attempt, or is a mismatch.
func (m *meter) taken(d *bridges.Delivery) {
	if d.State != bridges.StatePending {
		m.count(d)
	}
}

// settled counts a delivery that an attempt has settled.
func (m *meter) settled(d *bridges.Delivery) {
	if !d.State.Open() {
		m.count(d)
	}
}

func (m *meter) count(d *bridges.Delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.became[becameKey{d.BridgeID, d.State}]++
}

// Stats is what metrics show of deliveries.
type Stats struct {
	Bridges  []BridgeStats
	Lag      int64            // events between the log's newest and the follower that is furthest behind
	Attempts []AttemptStats   // since the start
	Became   []DeliveryCounts // since the start
}

// BridgeStats is the state of one bridge.
type BridgeStats struct {
	BridgeID      string
	State         bridges.State
	Subscriptions int
	Held          int // subscriptions that are held
	Blocked       int // subscriptions with a mismatch
	Pending       int
	Mismatches    int
	OldestPending time.Duration // age of the oldest delivery that is not settled
	InFlight      int
	Stuck         int // attempts that did not return in time, and have not since
}

// AttemptStats are the attempts of one bridge with one outcome.
type AttemptStats struct {
	BridgeID string
	Outcome  bridges.Outcome
	Latency
}

// DeliveryCounts is how many deliveries of a bridge came into a state.
type DeliveryCounts struct {
	BridgeID string
	State    bridges.DeliveryState
	Count    int64
}

// Latencies returns the upper bounds of Latency.Counts, in seconds.
func Latencies() []float64 { return latencies }

// Stats returns the present state.
func (s *Service) Stats() (out Stats) {
	now, head := s.now(), s.cfg.Head()
	byID := map[string]*BridgeStats{}
	s.known.mu.RLock()
	for id, b := range s.known.bridges {
		byID[id] = &BridgeStats{BridgeID: id, State: b.row.Load().State, Stuck: s.slots.stuckOf(&b.bridgeLoad)}
	}
	s.known.mu.RUnlock()
	for _, l := range s.known.all() {
		l.mu.Lock()
		b := byID[l.sub.BridgeID]
		if b == nil {
			l.mu.Unlock()
			continue
		}
		b.Subscriptions++
		if l.sub.State == bridges.Held {
			b.Held++
		}
		if blockedBy(l, l.sub, nil) != nil {
			b.Blocked++
		}
		out.Lag = max(out.Lag, head-l.follower.Status().Position)
		for _, d := range l.open {
			if d.State == bridges.StateMismatch {
				b.Mismatches++
			} else {
				b.Pending++
			}
			b.OldestPending = max(b.OldestPending, now.Sub(d.CreatedAt.Time))
		}
		if l.round != nil {
			b.InFlight++
		}
		l.mu.Unlock()
	}
	for _, b := range byID {
		out.Bridges = append(out.Bridges, *b)
	}
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	for k, h := range s.meter.attempts {
		c := *h
		c.Counts = append([]uint64(nil), h.Counts...)
		out.Attempts = append(out.Attempts, AttemptStats{k.bridge, k.outcome, c})
	}
	for k, n := range s.meter.became {
		out.Became = append(out.Became, DeliveryCounts{k.bridge, k.state, n})
	}
	return out
}
