package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// A child turn is started in its own thread, for a turn of another thread: its
// owner. While it starts, a permit keeps the owner's turn from completing, so that fences
// rarely refuse either. Only the fences make it correct.

// permit is the answer of the owner's actor to a child turn that wants to start or to be
// retried.
type permit struct {
	parent threads.Parent
	policy turns.AttentionPolicy
	chain  int
	wake   string          // of the owner's inbox
	owner  *threads.Thread // of a job
}

// startChild starts a child turn. If a fence refuses the start, it decides anew.
func (x *Children) startChild(ctx context.Context, q request) (turns.StartResult, error) {
	if r, ok, err := ledger.Replay[turns.StartResult](x.e.store, q.Key); ok || err != nil {
		return r, err
	}
	const tries = 5
	for i := 1; ; i++ {
		r, err := x.tryChild(ctx, q)
		if !errors.Is(err, turns.ErrOwnerMoved) || !errors.Is(err, turns.ErrNotActive) || i == tries {
			return r, err
		}
	}
}

func (x *Children) tryChild(ctx context.Context, q request) (turns.StartResult, error) {
	p, release, err := x.permit(ctx, q.Parent.ThreadID, func(a *actor) (permit, error) { return a.child.permitStart(q.Parent.TurnID, q.Background) })
	if err != nil {
		return turns.StartResult{}, err
	}
	q.Parent, q.chain, q.wake = &p.parent, p.chain, p.wake
	q.child = turns.Child{AttentionPolicy: p.policy, Title: q.Title}
	return callThen(ctx, x.e, q.ThreadID, func(a *actor) (turns.StartResult, error) { return a.start(q) }, release)
}

// mayBeChild completes a child turn that is to start in the thread.
func (w *childWriter) mayBeChild(q *request) error {
	t := w.d.next().thread
	q.child.RootThreadID = t.RootThreadID
	if t.Level == 0 || t.Parent == nil || t.Parent.ThreadID != q.Parent.ThreadID {
		if err := w.mayBeOutside(q); err != nil {
			return err
		}
	}
	w.d.fence(&turns.MayWork{Parent: *q.Parent, Policy: q.child.AttentionPolicy, Root: q.child.RootThreadID, Job: q.Job != ""})
	return nil
}

// fence adds a condition of the unit.
func (d *decision) fence(f ledger.Fence) {
	d.change.unit.Fences = append(d.change.unit.Fences, f)
}

// permit asks the owner's actor. Until release is called, the owner's turn does not
// complete.
func (x *Children) permit(ctx context.Context, ownerID string, ask func(a *actor) (permit, error)) (p permit, release func(), err error) {
	type answer struct {
		permit
		w *work // nil: no turn of the owner is concerned
	}
	// Not with ctx: a caller that stops waiting could not release the permit.
	out, err := call(context.WithoutCancel(ctx), x.e, ownerID, func(a *actor) (answer, error) {
		p, err := ask(a)
		if err != nil || p.parent.TurnID == "" || !a.state.isActive(p.parent.TurnID) {
			return answer{permit: p}, err
		}
		a.work.starting++
		a.work.hasChildren = true
		return answer{p, a.work}, nil
	})
	if err != nil {
		return permit{}, nil, err
	}
	return out.permit, func() {
		if out.w != nil {
			_ = x.e.actors.submit(ownerID, func(a *actor) { // fails only when the engine has stopped
				out.w.starting--
				a.child.look()
			}, true)
		}
	}, nil
}

// permitStart decides for which turn of the thread a child turn starts. turnID is the one
// that was named; "" = the active one.
func (k *childKeeper) permitStart(turnID string, background bool) (permit, error) {
	s := k.a.state
	if err := s.mustBeOpen(); err != nil {
		return permit{}, err
	}
	p := permit{parent: threads.Parent{ThreadID: k.a.id}, policy: turns.Blocking, wake: string(k.a.e.rules.settingsOf(s).Wake)}
	switch act := s.active; {
	case turnID != "" && s.queued(turnID) != nil:
		return p, turns.ErrNotActive
	case act != nil && (turnID == "" || turnID == act.turn.TurnID):
		if act.stop != nil || act.waitsForAttempt() {
			return p, turns.ErrNotActive
		}
		p.parent.TurnID, p.parent.Attempt, p.chain = act.turn.TurnID, act.turn.Attempt, act.turn.Chain
	default:
		last, err := k.lastOr(turnID)
		if err != nil {
			return p, err
		}
		if last != nil {
			p.chain = last.Chain
		}
		if turnID != "" {
			p.parent.TurnID, p.parent.Attempt = last.TurnID, last.Attempt
		}
		p.policy = turns.Notify // nothing waits for it
	}
	if background {
		p.policy = turns.Notify
	}
	return p, nil
}

// lastOr reads a turn of the thread that has ended, or the one that ended last if
// turnID is "".
func (k *childKeeper) lastOr(turnID string) (*turns.Turn, error) {
	if turnID == "" {
		return k.a.e.rows.LastTurn(context.Background(), k.a.id)
	}
	t, err := k.a.e.rows.Turn(context.Background(), turnID)
	if err == nil && (t == nil || t.ThreadID != k.a.id) {
		err = turns.ErrNotFound
	}
	return t, err
}

// Detach makes a blocking child turn one for which nothing waits. It changes nothing if the
// turn has ended or is detached already. Errors: *InvalidError,
// ErrNotFound, ledger.ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (x *Children) Detach(ctx context.Context, c turns.DetachTurn) (turns.DetachResult, error) {
	r, _, err := x.detach(ctx, c, turns.DetachRequested)
	return r, err
}

// detach works like Detach, for any reason. did reports that this call has detached the turn.
func (x *Children) detach(ctx context.Context, c turns.DetachTurn, why turns.Detach) (r turns.DetachResult, did bool, err error) {
	threadID, err := x.e.threadOf(ctx, c.TurnID)
	if err != nil {
		return r, false, err
	}
	r, err = call(ctx, x.e, threadID, func(a *actor) (turns.DetachResult, error) {
		r, replayed, err := keyed(a, c.Key, func(d *decision) (turns.DetachResult, error) {
			r, err := d.child.detach(c, why)
			did = !d.change.empty()
			return r, err
		})
		did = did && !replayed
		return r, err
	})
	return r, did && err == nil, err
}

func (w *childWriter) detach(c turns.DetachTurn, why turns.Detach) (turns.DetachResult, error) {
	t, err := w.d.rules.turnRow(w.d.next(), c.TurnID)
	switch {
	case err != nil:
		return turns.DetachResult{}, err
	case t == nil:
		return turns.DetachResult{}, turns.ErrNotFound
	case !t.IsChild():
		return turns.DetachResult{}, turns.Invalid("turn_id", turns.ReasonNotChild, "is no child turn: nothing waits for it")
	case t.Job != "":
		return turns.DetachResult{}, turns.Invalid("turn_id", turns.ReasonJob, "is a job, which is never detached: nobody would be told its end")
	}
	if !t.State.Ended() && t.AttentionPolicy == turns.Blocking {
		t = w.d.turn.addDetached(t, why, c.By)
	}
	return turns.DetachResult{TurnID: c.TurnID, AttentionPolicy: t.AttentionPolicy, State: t.State}, nil
}

// addDetached adds turn/detached. by has asked for it; "" = the server. The event belongs to
// no attempt, so that no marker supersedes it.
func (w *turnWriter) addDetached(t *turns.Turn, why turns.Detach, by turns.By) *turns.Turn {
	return w.d.change.turn(t, t.TurnID, notify.TurnDetached, scope{}, &turns.DetachedEvent{
		Type: "detached", AttentionPolicy: turns.Notify, Reason: why, RequestedBy: requestedBy(by),
	})
}

// mayRetryChild prepares a child turn for another attempt, which the bound on unended child
// turns must allow. If its parent turn is no longer active in the same attempt, the child
// turn is detached. forJob says that the program of the parent turn wants the result of a job.
func (w *childWriter) mayRetryChild(t *turns.Turn, forJob bool) (*turns.Turn, error) {
	if !t.IsChild() {
		return t, nil
	}
	f := t.WorksAgain()
	if t.Job != "" && forJob {
		f.Policy = turns.Blocking
	}
	refused, err := w.refused(f)
	if errors.Is(refused, turns.ErrNotActive) && t.Job == "" {
		t, f.Policy = w.d.turn.addDetached(t, turns.DetachOwnerEnded, ""), turns.Notify
		refused, err = w.refused(f)
	}
	if err != nil || refused != nil {
		return t, cmp.Or(err, refused)
	}
	w.d.fence(f)
	return t, nil
}

// refused checks the condition before it is a fence of the unit.
func (w *childWriter) refused(f *turns.MayWork) (refused, err error) {
	err = w.d.rules.inboxes.ReadToDecide(context.Background(), func(r ledger.Reader) (err error) {
		refused, err = f.In(r)
		return err
	})
	return refused, err
}

// retryOfChild runs f in the actor of a turn that is to be tried again. If it is a
// child turn, the turn that it works for does not complete meanwhile.
func (x *Children) retryOfChild(ctx context.Context, c turns.Retry, threadID string, f func(*actor) (turns.RetryResult, error)) (turns.RetryResult, error) {
	const tries = 5
	for i := 1; ; i++ {
		release, err := x.permitRetry(ctx, c.TurnID)
		if err != nil {
			return turns.RetryResult{}, err
		}
		r, err := callThen(ctx, x.e, threadID, f, release)
		if !errors.Is(err, turns.ErrOwnerMoved) || i == tries {
			return r, err
		}
	}
}

// permitRetry asks the owner of a child turn; release is nil for any other turn.
func (x *Children) permitRetry(ctx context.Context, turnID string) (release func(), err error) {
	t, err := x.e.rows.Turn(ctx, turnID)
	if err != nil || t == nil || !t.IsChild() {
		return nil, err
	}
	_, release, err = x.permit(ctx, t.Parent.ThreadID, func(a *actor) (permit, error) { return permit{parent: *t.Parent}, nil })
	return release, err
}
