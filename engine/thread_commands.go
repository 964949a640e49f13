package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// StartThread starts a thread, or returns the open one of that id. A Cwd of a new thread
// must exist if its agent works on this machine. Errors: *InvalidError, ErrAgentNotFound,
// threads.ErrClosed, threads.ErrConflict, ledger.ErrKeyConflict, ErrDraining,
// ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) StartThread(ctx context.Context, c turns.StartThread) (turns.StartThreadResult, error) {
	if err := c.Check(); err != nil {
		return turns.StartThreadResult{}, err
	}
	c.Cwd = cleaned(c.Cwd)
	id := c.ThreadID
	if id == "" {
		// A repeated request must not create the actor of a new thread.
		if r, ok, err := ledger.Replay[turns.StartThreadResult](e.store, c.Key); ok || err != nil {
			return r, err
		}
		id = threads.NewID()
	}
	var owner *threads.Thread
	if c.Parent != nil {
		if r, ok, err := ledger.Replay[turns.StartThreadResult](e.store, c.Key); ok || err != nil {
			return r, err
		}
		var err error
		if owner, err = e.ownerOf(ctx, c); err != nil {
			return turns.StartThreadResult{}, err
		}
	}
	start := func(looked bool) (turns.StartThreadResult, error) {
		return call(ctx, e, id, func(a *actor) (turns.StartThreadResult, error) {
			r, _, err := keyed(a, c.Key, func(d *decision) (turns.StartThreadResult, error) { return d.startThread(c, owner, looked) })
			return r, err
		})
	}
	r, err := start(false)
	if errors.Is(err, errNotLooked) {
		if err := e.dirs.usable(ctx, c.Cwd); err != nil {
			return turns.StartThreadResult{}, err
		}
		r, err = start(true)
	}
	return r, err
}

// errNotLooked is the error of a decision for which a directory must be looked at first,
// which no actor does: it may take long.
var errNotLooked = errors.New("engine: the directory was not looked at")

// ownerOf reads the owner of a child thread that is to start, which must be open and
// may have one.
func (e *Engine) ownerOf(ctx context.Context, c turns.StartThread) (owner *threads.Thread, err error) {
	err = e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		v, err := r.Get(threads.ByID, c.Parent.ThreadID)
		if v != nil && err == nil {
			owner, err = threads.Read(v)
		}
		if err != nil || c.Parent.TurnID == "" || owner == nil {
			return err
		}
		if v, err = r.Get(turns.ByID, c.Parent.TurnID); err != nil {
			return err
		}
		if v == nil || v.Text(2) != c.Parent.ThreadID {
			return turns.ErrNotFound
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case owner == nil:
		return nil, threads.ErrNotFound
	case owner.ThreadID == c.ThreadID:
		return nil, turns.Invalid("parent.thread_id", turns.ReasonInvalid, "is the thread itself")
	}
	return owner, mayHaveChild(owner)
}

// mayHaveChild returns an error if no child thread of the thread may start.
func mayHaveChild(owner *threads.Thread) error {
	switch {
	case !owner.Open():
		return threads.ErrClosed
	case owner.Level >= threads.MaxLevel:
		return &turns.TooManyError{Text: fmt.Sprintf("%s is %d levels below its root, and no thread may be deeper", owner.ThreadID, threads.MaxLevel), ForGood: true}
	}
	return nil
}

// startThread starts a thread. owner is that of a child thread; nil for any other.
// looked says that an agent of this machine can work in the Cwd of c, and errNotLooked that
// it must be known.
func (d *decision) startThread(c turns.StartThread, owner *threads.Thread, looked bool) (turns.StartThreadResult, error) {
	given := c.Cwd != ""
	if owner != nil && d.next().thread == nil { // one that exists has its own
		c.Agent, c.Cwd = cmp.Or(c.Agent, owner.Agent), cmp.Or(c.Cwd, owner.Cwd)
	}
	state := threads.Absent
	if d.next().thread != nil {
		state = d.next().thread.State
	}
	if c.Agent != "" && d.rules.agents[c.Agent] == nil {
		return turns.StartThreadResult{}, d.rules.agents.missing(c.Agent)
	}
	next, err := threads.Next(state, threads.VerbStart, false)
	if err != nil {
		return turns.StartThreadResult{}, err
	}
	created := next != state
	if created {
		if !threads.ValidNewID(d.change.threadID) {
			return turns.StartThreadResult{}, turns.Invalid("thread_id", turns.ReasonInvalid, "the id of a new thread must begin with a letter or a digit")
		}
		if d.rules.draining() {
			return turns.StartThreadResult{}, turns.ErrDraining
		}
		agent := c.Agent
		if agent == "" {
			agent = d.rules.cfg.DefaultAgent
		}
		if given && !looked && d.rules.agents.of(agent).local != nil {
			return turns.StartThreadResult{}, errNotLooked
		}
		body := &threads.Changed{
			Type: "started", State: threads.Running, StartedAt: d.change.now, SessionID: d.change.threadID, Agent: agent,
			Title: c.Title, Cwd: c.Cwd, Metadata: c.Metadata, Parent: c.Parent, Job: c.Job, RequestedBy: requestedBy(c.By),
		}
		if owner != nil {
			body.Level, body.RootThreadID = owner.Level+1, owner.Root()
			d.fence(&turns.ParentOpen{ThreadID: owner.ThreadID})
		}
		d.change.thread(notify.ThreadStarted, body)
	} else if owner != nil && (d.next().thread.Level == 0 || d.next().thread.Parent.ThreadID != owner.ThreadID) {
		return turns.StartThreadResult{}, threads.ErrConflict
	} else if (c.Agent != "" && c.Agent != d.next().thread.Agent) || (c.Cwd != "" && !sameDirectory(c.Cwd, d.next().thread.Cwd)) {
		return turns.StartThreadResult{}, threads.ErrConflict
	}
	t := d.next().thread
	return turns.StartThreadResult{
		ThreadID: t.ThreadID, SessionID: t.ThreadID, State: t.State, Agent: t.Agent, StartedAt: t.StartedAt, Created: created,
	}, nil
}

// ChangeThread pauses, resumes or closes a thread. Repeating succeeds and
// changes nothing. Errors: *InvalidError, threads.ErrNotFound,
// threads.ErrClosed (not for close), ledger.ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) ChangeThread(ctx context.Context, c turns.ChangeThread) (turns.ChangeThreadResult, error) {
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.ChangeThreadResult{}, err
	}
	return call(ctx, e, c.ThreadID, func(a *actor) (turns.ChangeThreadResult, error) {
		r, replayed, err := keyed(a, c.Key, func(d *decision) (turns.ChangeThreadResult, error) { return d.changeThread(c) })
		if err == nil && !replayed && c.Verb == threads.VerbResume {
			a.startNext()
		}
		return r, err
	})
}

// CloseThread works like ChangeThread with VerbClose for a caller that waits. If the
// active turn has to end first, closed delivers the final answer when it has.
// closed is nil if the result is final. Errors: as ChangeThread.
func (e *Engine) CloseThread(ctx context.Context, c turns.CloseThread) (result turns.ChangeThreadResult, closed <-chan turns.ChangeThreadResult, err error) {
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.ChangeThreadResult{}, nil, err
	}
	type both struct {
		r      turns.ChangeThreadResult
		closed chan turns.ChangeThreadResult
	}
	out, err := call(ctx, e, c.ThreadID, func(a *actor) (both, error) {
		r, replayed, err := keyed(a, c.Key, func(d *decision) (turns.ChangeThreadResult, error) {
			return d.changeThread(turns.ChangeThread{ThreadID: c.ThreadID, Verb: threads.VerbClose, Reason: c.Reason, By: c.By})
		})
		switch {
		case err != nil || r.State != threads.Closing:
			return both{r: r}, err
		case replayed && a.state.thread.State == threads.Closed:
			r.State, r.Seq = threads.Closed, a.state.thread.UpdatedSeq
			return both{r: r}, nil
		}
		return both{r, a.waiters.forClose()}, nil
	})
	return out.r, out.closed, err
}

func (d *decision) changeThread(c turns.ChangeThread) (turns.ChangeThreadResult, error) {
	is := d.next().thread
	if is == nil {
		return turns.ChangeThreadResult{}, threads.ErrNotFound
	}
	next, err := threads.Next(is.State, c.Verb, d.active() != nil && !d.active().unattended())
	if err != nil {
		return turns.ChangeThreadResult{}, err
	}
	if next != is.State {
		switch next {
		case threads.Paused:
			d.change.thread(notify.ThreadPaused, d.threadChanged("paused", next, c.Reason, c.By))
		case threads.Running:
			d.change.thread(notify.ThreadResumed, d.threadChanged("resumed", next, c.Reason, c.By))
		default:
			d.closeThread(next, c.Reason, c.By)
		}
	}
	return turns.ChangeThreadResult{ThreadID: d.change.threadID, State: next}, nil
}

// closeThread ends the queue, asks the active turn to stop, and closes the
// thread if there is none.
func (d *decision) closeThread(next threads.State, reason string, by turns.By) {
	if reason == "" {
		reason = "thread closed"
	}
	if next == threads.Closing {
		d.change.thread(notify.ThreadUpdated, &threads.Updated{Type: "updated", State: threads.Closing, Reason: reason, RequestedBy: requestedBy(by)})
	}
	for _, q := range d.next().queue {
		d.turn.endQueued(q.turn, turns.ByServer, reason)
	}
	if d.active() != nil {
		d.turn.stop(stop{state: turns.Interrupted, reason: reason}, d.stopWithin())
	}
	if next == threads.Closed {
		d.addThreadClosed(reason, by)
	}
}

func (d *decision) threadChanged(kind string, state threads.State, reason string, by turns.By) *threads.Changed {
	t := d.next().thread
	return &threads.Changed{
		Type: kind, State: state, StartedAt: t.StartedAt, SessionID: t.ThreadID, Agent: t.Agent, Title: t.Title, Reason: reason,
		RequestedBy: requestedBy(by),
	}
}

// addThreadClosed closes the thread. by is "" at the end of a close that had to wait:
// the event that began it says who asked.
func (d *decision) addThreadClosed(reason string, by turns.By) {
	d.review.threadCloses()
	d.inbox.threadCloses()
	d.change.thread(notify.ThreadClosed, d.threadChanged("closed", threads.Closed, reason, by))
}
