package engine

import (
	"sync"
	"time"

	"github.com/seed82539d15/holon/inbox"
)

// InboxMetrics counts what inboxes have done since the start.
type InboxMetrics struct {
	mu       sync.Mutex
	received int64
	dup      int64
	merged   int64
	opened   int64
	woken    int64
	closed   map[string]int64
	posted   map[inbox.Reason]int64
	observe  func(sizes []int, waits []time.Duration)
}

// InboxCounts is a copy of the counters. Closed is by what closed a digest: a
// reason, or acked.
type InboxCounts struct {
	Received, Duplicates, Merged, Opened, Woken int64
	Closed                                      map[string]int64
	Posted                                      map[inbox.Reason]int64
}

// Counts returns the counters of now.
func (x *Inboxes) Counts() InboxCounts {
	m := &x.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	out := InboxCounts{m.received, m.dup, m.merged, m.opened, m.woken, map[string]int64{}, map[inbox.Reason]int64{}}
	for k, n := range m.closed {
		out.Closed[k] = n
	}
	for k, n := range m.posted {
		out.Posted[k] = n
	}
	return out
}

// Observe makes f called with the sizes of snapshots and with how long the first
// item of each had waited. It is called once, before Run; f must not block.
func (x *Inboxes) Observe(f func(sizes []int, waits []time.Duration)) { x.metrics.observe = f }

func (m *InboxMetrics) add(s *inbox.Stats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.received += int64(s.Received)
	m.dup += int64(s.Duplicates)
	m.merged += int64(s.Merged)
	m.opened += int64(s.Opened)
	m.woken += int64(s.Woken)
	if m.closed == nil {
		m.closed, m.posted = map[string]int64{}, map[inbox.Reason]int64{}
	}
	for k, n := range s.Closed {
		m.closed[k] += int64(n)
	}
	for k, n := range s.Posted {
		m.posted[k] += int64(n)
	}
	if m.observe != nil && len(s.Sizes)+len(s.Waits) > 0 {
		m.observe(s.Sizes, s.Waits)
	}
}
