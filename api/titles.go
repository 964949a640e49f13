package api

import (
	"sync"

	"github.com/seed82539d15/holon/turns"
)

// maxTitles bounds of how many threads something is remembered: a few megabytes, and
// twice of what one list looks at.
const maxTitles = 2 * turns.MaxListScan

// titles is a turns.Memory: what lists of many threads, which read no summaries, need of
// each. The zero value is ready.
type titles struct {
	mu     sync.Mutex
	of     map[string]turns.Remembered
	counts CacheCounts
}

var _ turns.Memory = (*titles)(nil)

// Get implements turns.Memory.
func (m *titles) Get(threadID string) turns.Remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.of[threadID]
	m.counts.count(ok)
	return r
}

// Put implements turns.Memory. When there are too many, it forgets any half: they are
// read again when they are needed.
func (m *titles) Put(threadID string, r turns.Remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = make(map[string]turns.Remembered)
	}
	old, ok := m.of[threadID]
	if !ok && len(m.of) >= maxTitles {
		n := maxTitles / 2
		for id := range m.of {
			if n--; n < 0 {
				break
			}
			delete(m.of, id)
		}
	}
	if r.Prompt == "" { // it never changes: of another read at the same time
		r.Prompt = old.Prompt
	}
	if r.At < old.At {
		r.Failed, r.At = old.Failed, old.At
	}
	m.of[threadID] = r
}

func (m *titles) count() CacheCounts {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.counts
	n.Entries = len(m.of)
	return n
}
