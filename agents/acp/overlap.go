package acp

import "github.com/seed82539d15/holon/agents/process"

// maxSpans is how many spans of overlap are remembered for a process. Above it
// the two oldest become one, with the time between them.
const maxSpans = 64

// overlap holds the spans in which more than one prompt ran in a process: a
// command that began in one may belong to any of them. It goes back to the last
// moment when nothing ran. The lock of the room guards it.
type overlap struct {
	spans []span
	open  bool // the last span has not ended
}

type span struct{ from, to process.Moment }

// now sets how many prompts run from now on.
func (o *overlap) now(running int) {
	switch {
	case running == 0:
		*o = overlap{spans: o.spans[:0]}
	case running == 1 && o.open:
		o.spans[len(o.spans)-1].to = process.Now()
		o.open = false
	case running > 1 && !o.open:
		if len(o.spans) == maxSpans {
			o.spans[1].from = o.spans[0].from
			o.spans = append(o.spans[:0], o.spans[1:]...)
		}
		o.spans = append(o.spans, span{from: process.Now()})
		o.open = true
	}
}

// at reports whether more than one prompt ran at that moment.
func (o *overlap) at(m process.Moment) bool {
	for i, s := range o.spans {
		if s.from <= m && (m <= s.to || o.open && i == len(o.spans)-1) {
			return true
		}
	}
	return false
}

// sharedAt reports whether more than one prompt ran in the process at that
// moment, one of which still runs.
func (p *pool) sharedAt(pr *proc, m process.Moment) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pr.overlap.at(m)
}
