package api

import "sync"

// maxParents bounds how many parents are remembered: about ten megabytes. A list
// within a thread asks for the parent of each thread of the server, so what does
// not fit is read anew for each such list.
const maxParents = 1 << 16

// parents remembers the parents of threads, which never change. The zero value is
// ready; it may be used from many goroutines.
type parents struct {
	mu     sync.Mutex
	of     map[string]string // "" = it is no child thread
	counts CacheCounts
}

func (p *parents) get(threadID string) (parent string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	parent, ok = p.of[threadID]
	p.counts.count(ok)
	return parent, ok
}

// put remembers a parent. When there are too many, it forgets any half: they are
// read again when they are needed.
func (p *parents) put(threadID, parent string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = make(map[string]string)
	}
	if len(p.of) >= maxParents {
		n := maxParents / 2
		for id := range p.of {
			if n--; n < 0 {
				break
			}
			delete(p.of, id)
		}
	}
	p.of[threadID] = parent
}
