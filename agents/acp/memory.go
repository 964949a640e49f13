package acp

import (
	"slices"
	"sync"
	"time"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/turns"
)

var _ turns.Measured = (*Agent)(nil)

// measuredFor is how long a measurement of the same processes counts as new: it reads the
// page tables of each.
const measuredFor = 10 * time.Second

// memory is the newest measurement of the memory of an agent.
type memory struct {
	mu    sync.Mutex // held while it measures, so that only one does
	at    time.Time
	of    []*process.Group
	bytes int64
}

// Memory implements turns.Measured. A process that has not started yet is not counted.
func (a *Agent) Memory() int64 {
	m := &a.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if groups := a.pool.groups(); !slices.Equal(groups, m.of) || time.Since(m.at) >= measuredFor {
		m.of, m.bytes, m.at = groups, sum(process.Memory(groups)), time.Now()
	}
	return m.bytes
}

// sum is 0 if one of them is not known.
func sum(list []int64) (all int64) {
	for _, n := range list {
		if n < 0 {
			return 0
		}
		all += n
	}
	return all
}

// groups are the processes that run.
func (p *pool) groups() (list []*process.Group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pr := range p.procs {
		select {
		case <-pr.ready:
			if pr.group != nil {
				list = append(list, pr.group)
			}
		default:
		}
	}
	return list
}
