package acp

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/backoff"
)

// The wait before a process is started again after one that failed to start,
// or ended before it had opened a session.
var restarts = backoff.Backoff{First: 250 * time.Millisecond, Max: 30 * time.Second, Spread: 0.2}

// pool holds the processes of an agent. All its state changes under the lock of its room.
type pool struct {
	a    *Agent
	room *Room
	mu   *sync.Mutex // of the room

	procs    []*proc // that accept work or still run some
	fails    int     // failed starts in a row
	notUntil time.Time
	lastErr  string
	known    agentSays // of the newest process that answered
	modes    []string  // of the newest session
	models   []string
	begun    choice // the mode in which the newest new session was, before it was configured
	closed   bool
	starts   int64 // and failures: for Stats
	failures int64
}

// enterRoom makes a the owner of the pool, whose processes take slots of the room.
func (p *pool) enterRoom(a *Agent, r *Room) {
	p.a, p.room, p.mu = a, r, &r.mu
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pools = append(r.pools, p)
}

// enter finds the process for new work of a thread and keeps it from being ended:
// the process with the least work, or a new one if all have work and MaxProcesses
// allows it; with ProcessPerThread see chooseApart. leave releases it. The process
// may not be ready yet. waits is called if it must wait for room, with what for, and
// again when that changes; nil = nothing is.
func (p *pool) enter(ctx context.Context, threadID string, waits func(whatFor string)) (*proc, error) {
	w := newWaiter(p)
	defer p.room.leaveLine(w)
	told := ""
	for {
		pr, wait, whatFor, err := p.choose(threadID, w)
		if err != nil || pr != nil {
			return pr, err
		}
		var later <-chan time.Time // never, without room
		if wait > 0 {
			later = time.After(wait)
		} else if waits != nil && whatFor != told {
			told = whatFor
			waits(whatFor)
		}
		select {
		case <-later:
		case <-w.woken:
		case <-p.a.closing.c:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// choose returns a process, or how long to wait until one may be started: 0 = until
// w is woken, and then whatFor it waits.
func (p *pool) choose(threadID string, w *waiter) (pr *proc, wait time.Duration, whatFor string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, "", errStopping
	}
	if !p.a.cfg.ProcessPerThread {
		pr, wait = p.chooseShared()
		return pr, wait, "", nil
	}
	if pr, wait = p.chooseApart(threadID, w); pr == nil && wait == 0 {
		whatFor = p.whatFor()
	}
	return pr, wait, whatFor, nil
}

// chooseShared works like choose without ProcessPerThread.
func (p *pool) chooseShared() (pr *proc, wait time.Duration) {
	n := 0
	for _, c := range p.procs {
		if c.retired {
			continue
		}
		n++
		if pr == nil || c.running < pr.running {
			pr = c
		}
	}
	if pr != nil && (pr.running == 0 || n >= p.a.cfg.MaxProcesses) {
		p.keep(pr)
		return pr, 0
	}
	if wait := time.Until(p.notUntil); wait > 0 {
		if pr != nil {
			p.keep(pr)
			return pr, 0
		}
		return nil, wait
	}
	pr = p.start()
	p.keep(pr)
	return pr, 0
}

// start makes a process and starts its goroutine. The lock is held.
func (p *pool) start() *proc {
	pr := newProc(p.a)
	p.starts++
	p.procs = append(p.procs, pr)
	p.a.running.Go(pr.live)
	return pr
}

// enterSame works like enter, for work that needs this process. It reports false if the
// process accepts no new work.
func (p *pool) enterSame(pr *proc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || pr.retired {
		return false
	}
	p.keep(pr)
	return true
}

func (p *pool) keep(pr *proc) {
	if pr.running++; pr.running == 1 {
		p.room.tend() // it was idle, or is new
	}
	pr.overlap.now(pr.running)
	if pr.idle != nil {
		pr.idle.Stop()
		pr.idle = nil
	}
}

// leave releases a process after enter. A process that did not end a prompt in
// time is killed when its last work ends.
func (p *pool) leave(pr *proc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pr.running--
	pr.overlap.now(pr.running)
	if pr.running > 0 {
		return
	}
	p.room.uses++
	pr.used, pr.idleSince, pr.lent = p.room.uses, time.Now(), false
	defer p.room.tend()
	defer p.room.makeRoom()
	switch {
	case pr.spoiled:
		pr.kill.fire()
	case p.a.cfg.IdleAfter > 0 && !pr.retired:
		p.setIdle(pr)
	}
}

// setIdle ends the process in order after IdleAfter if nothing runs in it until
// then.
func (p *pool) setIdle(pr *proc) {
	var timer *time.Timer
	timer = time.AfterFunc(p.a.cfg.IdleAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if pr.idle == timer && pr.running == 0 {
			pr.endIdle()
		}
	})
	pr.idle = timer
}

// killUnlessShared kills a process in which nothing else runs. A shared process
// accepts no new work from now on. It reports whether the process was killed.
func (p *pool) killUnlessShared(pr *proc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	pr.retired, pr.spoiled = true, true
	if pr.running > 1 { // the caller is one
		return false
	}
	pr.kill.fire()
	return true
}

// answered stores an agent's answer to initialize.
func (p *pool) answered(says agentSays) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = says
}

// opened records that a process has opened a session, so its start has not
// failed.
func (p *pool) opened(pr *proc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !pr.opened {
		pr.opened, p.fails, p.notUntil, p.lastErr = true, 0, time.Time{}, ""
		p.room.wakeNext()
	}
}

// gone removes a process that has ended. why is nil if it was ended on purpose.
func (p *pool) gone(pr *proc, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pr.retired = true
	if pr.idle != nil {
		pr.idle.Stop()
	}
	for i, c := range p.procs {
		if c == pr {
			p.procs = append(p.procs[:i:i], p.procs[i+1:]...)
			break
		}
	}
	defer p.room.wakeNext()
	if why == nil {
		return
	}
	p.failures++
	p.lastErr = why.Error()
	if !pr.opened {
		p.fails++
		p.notUntil = time.Now().Add(restarts.Wait(p.fails))
	}
}

// healthy reports whether the newest processes were usable.
func (p *pool) healthy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fails == 0 && !p.closed
}

// close ends all processes in order, in parallel. Nothing is started any more.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, pr := range p.procs {
		pr.retired = true
		pr.stop.fire()
	}
}

// kill works like close, without a wait.
func (p *pool) kill() {
	p.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pr := range p.procs {
		pr.kill.fire()
	}
}

// wait returns when all processes have ended. It is called after close.
func (p *pool) wait() {
	for {
		p.mu.Lock()
		if len(p.procs) == 0 {
			p.mu.Unlock()
			return
		}
		pr := p.procs[0]
		p.mu.Unlock()
		<-pr.dead
	}
}

// choice is a mode or model that an agent offers.
type choice struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// begins stores in which mode a session is that was just made. It is still held.
func (p *pool) begins(s *session) {
	c := decode[struct {
		Mode  string   `json:"mode"`
		Modes []choice `json:"modes"`
	}](s.m.Config())
	is := choice{ID: c.Mode}
	if i := slices.IndexFunc(c.Modes, func(m choice) bool { return m.ID == c.Mode }); i >= 0 {
		is = c.Modes[i]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = is
}

// offers stores the modes and models of a session that was just opened.
func (p *pool) offers(config jsontext.Value) {
	c := decode[struct {
		Modes  []choice `json:"modes"`
		Models []choice `json:"models"`
	}](config)
	ids := func(list []choice) (out []string) {
		for _, c := range list[:min(len(list), maxOffers)] {
			out = append(out, c.ID)
		}
		return out
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.modes, p.models = ids(c.Modes), ids(c.Models)
}

// maxOffers is how many modes and models agent/list shows.
const maxOffers = 200
