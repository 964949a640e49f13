package acp

import (
	"slices"
	"time"
)

// waiter is work that waits for room for one more process.
type waiter struct {
	woken chan struct{} // capacity 1
}

func newWaiter() *waiter { return &waiter{woken: make(chan struct{}, 1)} }

// chooseApart is choose with ProcessPerThread: the thread's own process, or a new
// one. A process is never given to another thread than its first. What waits for
// room is queued; turns and calls that open sessions bound how much there can be.
func (p *pool) chooseApart(threadID string, w *waiter) (pr *proc, wait time.Duration) {
	if pr = p.ofThread(threadID); pr != nil {
		pr.thread = threadID
		p.keep(pr)
		return pr, 0
	}
	if first := len(p.line) == 0 || p.line[0] == w; !first || len(p.procs) >= p.a.cfg.MaxProcesses {
		if !slices.Contains(p.line, w) {
			p.line = append(p.line, w)
		}
		p.makeRoom()
		return nil, 0
	}
	if wait = time.Until(p.notUntil); wait > 0 {
		return nil, wait
	}
	pr = p.start()
	pr.thread = threadID
	p.keep(pr)
	return pr, 0
}

// ofThread returns the thread's process, or one that was started before any thread
// needed it.
func (p *pool) ofThread(threadID string) (spare *proc) {
	for _, pr := range p.procs {
		switch {
		case pr.retired:
		case pr.thread == threadID:
			return pr
		case pr.thread == "":
			spare = pr
		}
	}
	return spare
}

// makeRoom ends as many idle processes as there is work in line for, those first
// that are idle for longest. The lock is held.
func (p *pool) makeRoom() {
	if len(p.line) == 0 {
		return
	}
	room := p.a.cfg.MaxProcesses - len(p.procs)
	for _, pr := range p.procs {
		if pr.retired && pr.running == 0 { // it is about to end
			room++
		}
	}
	for ; room < len(p.line); room++ {
		var oldest *proc
		for _, pr := range p.procs {
			if !pr.retired && pr.running == 0 && (oldest == nil || pr.used < oldest.used) {
				oldest = pr
			}
		}
		if oldest == nil {
			return
		}
		oldest.retired = true
		oldest.stop.fire()
	}
}

// leaveLine ends the wait of w. It may not have waited.
func (p *pool) leaveLine(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.line, w); i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
		p.wakeFirst()
	}
}

// wakeFirst has the first in line look for room. The lock is held.
func (p *pool) wakeFirst() {
	if len(p.line) == 0 {
		return
	}
	select {
	case p.line[0].woken <- struct{}{}:
	default:
	}
}
