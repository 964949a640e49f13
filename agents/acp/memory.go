package acp

import (
	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/turns"
)

var _ turns.Measured = (*Agent)(nil)

// Memory implements turns.Measured. A process that has not started yet is not counted.
func (a *Agent) Memory() int64 { return a.meter.Bytes(a.pool.groups()) }

// groups returns the processes that run.
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
