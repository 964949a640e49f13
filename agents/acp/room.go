package acp

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed82539d15/holon/turns"
)

var _ turns.Lender = (*Agent)(nil)

const (
	// mostByDefault is DefaultProcesses without a bound of memory: as many as the children
	// that one turn can have.
	mostByDefault = 64
	// processBytes is what a process of an agent with ProcessPerThread uses, with what it
	// starts.
	processBytes = 512 << 20
	// crowdedIdle is how long an idle process is kept while more than half of the room is
	// taken.
	crowdedIdle = time.Minute
)

// DefaultProcesses returns how many processes may run in this much memory; 0 = not known. Half
// of it is for them.
func DefaultProcesses(memory int64) int {
	if memory <= 0 {
		return mostByDefault
	}
	return int(min(mostByDefault, max(2, memory/2/processBytes)))
}

// Room bounds the processes of several agents together. Each takes a slot from its start to
// its end, except while it is lent: its turn waits in a call for turns that may need a slot
// themselves. An agent with ProcessPerThread starts one only if there is a slot, and its
// threads wait in one line with those of other agents. Other agents never wait: their few
// processes serve all threads. If these take all slots, one process with ProcessPerThread
// may run all the same.
//
// Its lock guards the state of all pools in it. No holder of the lock waits.
type Room struct {
	most int // 0 = any number

	mu    sync.Mutex
	pools []*pool
	line  []*waiter   // the first comes first
	uses  int64       // how often the last work of a process has ended
	later *time.Timer // looks again for idle processes; nil = not needed
}

// NewRoom returns a room for this many processes; 0 = any number.
func NewRoom(most int) *Room { return &Room{most: most} }

// waiter is work that waits for a slot for one more process of an agent.
type waiter struct {
	p     *pool
	woken chan struct{} // capacity 1
}

func newWaiter(p *pool) *waiter { return &waiter{p: p, woken: make(chan struct{}, 1)} }

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// slots counts those that are taken, or would be if some processes had ended and others
// had started.
type slots struct {
	room  *Room
	all   int
	apart int // of agents with ProcessPerThread
	of    map[*pool]int
}

// taken counts the slots. Without ending those of processes do not count that are about
// to end. The lock is held.
func (r *Room) taken(ending bool) slots {
	t := slots{room: r, of: map[*pool]int{}}
	for _, p := range r.pools {
		for _, pr := range p.procs {
			if !pr.lent && (ending || !pr.ending()) {
				t.add(p, 1)
			}
		}
	}
	return t
}

func (t *slots) add(p *pool, n int) {
	t.all += n
	t.of[p] += n
	if p.a.cfg.ProcessPerThread {
		t.apart += n
	}
}

// full reports whether the agent has as many processes as it may have itself.
func (t *slots) full(p *pool) bool {
	return p.a.cfg.MaxProcesses > 0 && t.of[p] >= p.a.cfg.MaxProcesses
}

// over reports whether one more process with ProcessPerThread would be one too many in the
// room.
func (t *slots) over() bool { return t.room.most > 0 && t.all >= t.room.most && t.apart > 0 }

// mayStart reports whether w may have a slot: there is one for it, and nobody in line
// before it can have it. The lock is held.
func (r *Room) mayStart(w *waiter) bool {
	t := r.taken(true)
	if t.full(w.p) || t.over() {
		return false
	}
	for _, v := range r.line {
		switch {
		case v == w:
			return true
		case !t.full(v.p) && v.p.mayTry():
			return false
		}
	}
	return true
}

// wakeNext makes the first in line that may have a slot look for it, and those before it
// whose agent may not try again yet: they wait for that moment themselves, and nobody wakes
// them then. It is called whenever a slot may have come free. The lock is held.
func (r *Room) wakeNext() {
	if len(r.line) == 0 {
		return
	}
	t := r.taken(true)
	for _, w := range r.line {
		if t.full(w.p) || t.over() {
			continue
		}
		w.wake()
		if w.p.mayTry() {
			return
		}
	}
}

// leaveLine ends the wait of w. It may not have waited.
func (r *Room) leaveLine(w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.line, w); i >= 0 {
		r.line = slices.Delete(r.line, i, i+1)
		r.wakeNext()
	}
}

// makeRoom ends as many idle processes as there is work in line for, those first that are
// idle for longest: of any agent if the room is full, of the same one if only that may have
// no more. The lock is held.
func (r *Room) makeRoom() {
	if len(r.line) == 0 || r.oldestIdle(anyPool) == nil {
		return
	}
	t := r.taken(false)
	end := func(of func(*pool) bool) bool {
		pr := r.oldestIdle(of)
		if pr != nil {
			pr.endIdle()
			t.add(&pr.a.pool, -1)
		}
		return pr != nil
	}
	for _, w := range r.line {
		if t.full(w.p) && !end(func(p *pool) bool { return p == w.p }) || t.over() && !end(anyPool) {
			continue
		}
		t.add(w.p, 1)
	}
}

// tend ends idle processes while more than half of the room is taken, the oldest first: at
// once if there are too many, else when they have been idle for a minute. It is called
// whenever a slot was taken, or a process has become idle. The lock is held.
func (r *Room) tend() {
	if r.most == 0 {
		return
	}
	if r.later != nil {
		r.later.Stop()
		r.later = nil
	}
	for n := r.taken(false).all; 2*n > r.most; n-- {
		pr := r.oldestIdle(func(p *pool) bool { return p.a.cfg.IdleAfter > 0 })
		if pr == nil {
			return
		}
		if left := crowdedIdle - time.Since(pr.idleSince); left > 0 && n <= r.most {
			r.later = time.AfterFunc(left, func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.tend()
			})
			return
		}
		pr.endIdle()
	}
}

func anyPool(*pool) bool { return true }

// oldestIdle returns the process of some agents that is idle for longest; nil = there is none. A
// shared process that is kept for ever is not among them. The lock is held.
func (r *Room) oldestIdle(of func(*pool) bool) (oldest *proc) {
	for _, p := range r.pools {
		if !of(p) || !p.a.cfg.ProcessPerThread && p.a.cfg.IdleAfter < 0 {
			continue
		}
		for _, pr := range p.procs {
			if !pr.retired && pr.running == 0 && (oldest == nil || pr.used < oldest.used) {
				oldest = pr
			}
		}
	}
	return oldest
}

// ending reports whether the process is about to end.
func (pr *proc) ending() bool { return pr.retired && pr.running == 0 }

// endIdle ends the process in order. Nothing runs in it.
func (pr *proc) endIdle() {
	pr.retired = true
	pr.stop.fire()
}

// Lend implements turns.Lender.
func (a *Agent) Lend(threadID string) { a.pool.lend(threadID, true) }

// Reclaim implements turns.Lender.
func (a *Agent) Reclaim(threadID string) { a.pool.lend(threadID, false) }

// lend sets whether the process of a thread takes no slot. What is lent ends with the work
// in the process at the latest.
func (p *pool) lend(threadID string, lent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.a.cfg.ProcessPerThread {
		return // other threads may work in the process
	}
	for _, pr := range p.procs {
		if pr.thread == threadID && pr.running > 0 {
			pr.lent = lent
		}
	}
	if lent {
		p.room.wakeNext()
	} else {
		p.room.tend()
	}
}

// asks records that the work in the process waits for a person, until answered is called.
// Then work in line is told what it waits for: a process with an open question keeps its
// slot, and only a person can end that.
func (p *pool) asks(pr *proc) (answered func()) {
	change := func(by int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		pr.asking += by
		for _, w := range p.room.line {
			w.wake()
		}
	}
	change(1)
	return func() { change(-1) }
}

// whatFor describes what work of the agent waits for in line. The lock is held.
func (p *pool) whatFor() string {
	t := p.room.taken(true)
	n, whose, of := t.all, "that may run at once", p.room.pools
	if t.full(p) {
		n, whose, of = t.of[p], "of "+p.a.name, []*pool{p}
	}
	asking := 0
	for _, p := range of {
		for _, pr := range p.procs {
			if !pr.lent && pr.asking > 0 {
				asking++
			}
		}
	}
	if asking == n && n > 0 {
		return fmt.Sprintf("all %d processes %s wait for a person: answer their questions", n, whose)
	}
	return fmt.Sprintf("all %d processes %s are at work; waiting for one to end", n, whose)
}
