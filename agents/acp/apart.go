package acp

import (
	"slices"
	"time"
)

// chooseApart works like choose with ProcessPerThread: the thread's own process, or a new
// one. A process is never given to another thread than its first. What waits for
// room is queued; turns and calls that open sessions bound how much there can be.
func (p *pool) chooseApart(threadID string, w *waiter) (pr *proc, wait time.Duration) {
	if pr = p.ofThread(threadID); pr != nil {
		pr.thread = threadID
		p.keep(pr)
		return pr, 0
	}
	if !p.room.mayStart(w) {
		if !slices.Contains(p.room.line, w) {
			p.room.line = append(p.room.line, w)
		}
		p.room.makeRoom()
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

// mayTry reports whether a process may be started now: the last one did not fail a moment
// ago, and the agent is not stopping. The lock is held.
func (p *pool) mayTry() bool { return !p.closed && !time.Now().Before(p.notUntil) }

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
