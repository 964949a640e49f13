package acp

import "github.com/seed82539d15/holon/agents/process"

// maxSpans is how many times of overlap are remembered in a process; above it
// the two oldest become one, with what is between them.
const maxSpans = 64

// overlap is when more than one thing ran in a process: a command that began
// then may be of any of them. It goes back as far as something has run without
// a break. The pool's lock guards it.
type overlap struct {
	spans []span
	open  bool // the last one goes on
}

type span struct{ from, to process.Moment }

// now says how many run from now on.
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

// at reports whether more than one ran at that moment.
func (o *overlap) at(m process.Moment) bool {
	for i, s := range o.spans {
		if s.from <= m && (m <= s.to || o.open && i == len(o.spans)-1) {
			return true
		}
	}
	return false
}

// sharedAt reports whether more than one thing ran in the process at that
// moment, one of which runs still.
func (p *pool) sharedAt(pr *proc, m process.Moment) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pr.overlap.at(m)
}
