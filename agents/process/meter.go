package process

import (
	"slices"
	"sync"
	"time"
)

// measuredFor is how long a measurement of the same groups counts as new: it reads the page
// tables of each process.
const measuredFor = 10 * time.Second

// Meter measures the memory of an agent's processes. The zero value is ready; it is safe for
// use by many goroutines.
type Meter struct {
	mu    sync.Mutex // held while it measures, so that only one does
	at    time.Time
	of    []*Group
	bytes int64
}

// Bytes returns the memory of groups together (Memory), as of 10 seconds ago at the latest;
// 0 if there are none, or that of one is not known.
func (m *Meter) Bytes(groups []*Group) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(groups, m.of) || time.Since(m.at) >= measuredFor {
		m.of, m.bytes, m.at = groups, sum(Memory(groups)), time.Now()
	}
	return m.bytes
}

// sum returns the sum, 0 if one of them is not known.
func sum(list []int64) (all int64) {
	for _, n := range list {
		if n < 0 {
			return 0
		}
		all += n
	}
	return all
}
