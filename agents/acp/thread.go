package acp

import (
	"context"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// thread holds the open session of a thread, if there is one. Only the holder
// of the slot opens a session or runs a prompt in it.
type thread struct {
	slot    chan struct{} // capacity 1: full = taken
	users   int           // holders of the slot and waiters; guarded by Agent.mu
	session *session      // guarded by Agent.mu
}

// lock waits for the thread's slot. The engine runs one prompt at a time in a
// thread; one that it has given up may still be ending.
func (a *Agent) lock(ctx context.Context, threadID string) (*thread, error) {
	a.mu.Lock()
	t := a.threads[threadID]
	if t == nil {
		t = &thread{slot: make(chan struct{}, 1)}
		a.threads[threadID] = t
	}
	t.users++
	a.mu.Unlock()
	select {
	case t.slot <- struct{}{}:
		return t, nil
	default:
	}
	select {
	case t.slot <- struct{}{}:
		return t, nil
	case <-ctx.Done():
		a.mu.Lock()
		a.drop(threadID, t)
		a.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// unlock frees the slot. A thread without a session is removed.
func (a *Agent) unlock(threadID string, t *thread) {
	<-t.slot
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(threadID, t)
}

func (a *Agent) drop(threadID string, t *thread) {
	if t.users--; t.users > 0 {
		return
	}
	if t.session != nil && !t.session.alive() {
		t.session = nil
	}
	if t.session == nil && a.threads[threadID] == t {
		delete(a.threads, threadID)
	}
}

// dropSessions forgets the sessions of a process that has ended. Without it threads
// that are never used again would be remembered.
func (a *Agent) dropSessions(pr *proc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, t := range a.threads {
		if t.users == 0 && t.session != nil && t.session.pr == pr {
			delete(a.threads, id)
		}
	}
}

// live returns the thread's open session if it has this id ("" = any), works in the
// directory of this cwd, and its process accepts new work. It enters the process.
func (a *Agent) live(threadID, sessionID, cwd string) *session {
	dir, _ := a.Directory(cwd)
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.threads[threadID]
	if t == nil || t.session == nil || !t.session.alive() || (sessionID != "" && t.session.id != sessionID) || t.session.elsewhere(dir) {
		return nil
	}
	if !a.pool.enterSame(t.session.pr) {
		return nil
	}
	return t.session
}

// elsewhere reports whether the session works in another directory than this one, "" =
// it is not known which.
func (s *session) elsewhere(dir string) bool { return dir != "" && dir != s.cwd }

// leaveDirectory closes the session of a thread whose directory is another one now, so
// that it can be opened again there. The caller holds the slot. It waits for the agent's
// answer: the agent must not close what is opened next under the same id.
func (a *Agent) leaveDirectory(ctx context.Context, t *thread, cwd string) {
	dir, _ := a.Directory(cwd)
	a.mu.Lock()
	s := t.session
	if s == nil || !s.alive() || !s.elsewhere(dir) {
		a.mu.Unlock()
		return
	}
	t.session = nil
	a.mu.Unlock()
	s.abandon()
	if s.pr.says.closes {
		_, _ = s.pr.peer.call(ctx, methodClose, closeParams{s.id}, a.cfg.StartTimeout, nil) // whatever it says: the session is abandoned
	}
}

// keep makes s the thread's session and closes the one before.
func (a *Agent) keep(threadID string, s *session) {
	a.mu.Lock()
	t := a.threads[threadID]
	if t == nil {
		t = &thread{slot: make(chan struct{}, 1)}
		a.threads[threadID] = t
	}
	before := t.session
	t.session = s
	a.mu.Unlock()
	if before != nil && before != s && before.alive() {
		a.closeSession(before)
	}
	a.trim(s.pr)
}

// trim closes the least recently used session of pr whose thread is not at
// work, if pr has too many.
func (a *Agent) trim(pr *proc) {
	if pr.router.count() <= limits.AgentSessions {
		return
	}
	var (
		oldest *session
		thread string
	)
	a.mu.Lock()
	for id, t := range a.threads {
		if t.users > 0 || t.session == nil || t.session.pr != pr {
			continue
		}
		if s := t.session; oldest == nil || s.lastUsed().Before(oldest.lastUsed()) {
			oldest, thread = s, id
		}
	}
	if oldest != nil {
		delete(a.threads, thread)
	}
	a.mu.Unlock()
	if oldest != nil {
		a.closeSession(oldest)
	}
}

// Run implements turns.Agent.
func (a *Agent) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	if ctx.Err() != nil {
		return a.notRun(ctx, context.Cause(ctx))
	}
	t, err := a.lock(ctx, p.ThreadID)
	if err != nil {
		return a.notRun(ctx, err)
	}
	defer a.unlock(p.ThreadID, t)
	out, resend := a.runIn(ctx, p, t, false)
	if resend {
		out, _ = a.runIn(ctx, p, t, true)
	}
	return out
}

// runIn runs a prompt in the session of its thread, and opens the session if
// necessary. resent says that the prompt is sent for the second time. resend is
// the result of session.prompt.
func (a *Agent) runIn(ctx context.Context, p *turns.Prompt, t *thread, resent bool) (out turns.Outcome, resend bool) {
	s := a.live(p.ThreadID, p.SessionID, p.Cwd)
	var (
		first []block
		err   error
	)
	switch {
	case s == nil:
		a.leaveDirectory(ctx, t, p.Cwd)
		s, first, err = a.openFor(ctx, p)
	case s.lost != "" && goesOn(p):
		a.pool.leave(s.pr)
		err = &lostError{s.lost}
	case p.SessionID == "":
		if err = s.recordID(ctx, p); err != nil {
			a.pool.leave(s.pr)
		}
	}
	if err != nil {
		return a.notRun(ctx, err), false
	}
	defer a.pool.leave(s.pr)
	input, left := blocks(p.Input, s.pr.says.images)
	if left > 0 && !resent { // otherwise the notice exists
		if err := p.Emit(ctx, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NotTaken("images")}); err != nil {
			s.release()
			return a.notRun(ctx, err), false
		}
	}
	out, resend = s.prompt(ctx, p, append(first, input...))
	if !s.alive() {
		a.mu.Lock()
		if t.session == s {
			t.session = nil
		}
		a.mu.Unlock()
	}
	return out, resend
}
