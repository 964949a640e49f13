package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// A job is asked for in the actor of its own child thread, whose id follows from the parent
// turn and the name: two requests at once come one after the other, and the second finds the
// turn of the first.

// startJob starts a job, or finds the one of this name in the parent turn. One that has
// failed, or was interrupted or blocked, in an earlier attempt of the parent turn is retried.
func (x *Children) startJob(ctx context.Context, q request) (turns.StartResult, error) {
	q.Key = q.Key.Unnamed() // the name of the job says more: a key forgets, and is of one attempt
	const tries = 5
	for i := 1; ; i++ {
		r, err := x.tryJob(ctx, q)
		switch {
		case errors.Is(err, errNotLooked):
			if err := x.e.dirs.usable(ctx, q.Cwd); err != nil {
				return turns.StartResult{}, err
			}
			q.looked = true
		case !errors.Is(err, turns.ErrOwnerMoved) || i >= tries:
			return r, err
		}
	}
}

func (x *Children) tryJob(ctx context.Context, q request) (turns.StartResult, error) {
	p, release, err := x.permit(ctx, q.Parent.ThreadID, func(a *actor) (permit, error) {
		return a.child.permitJob(q.Parent.TurnID, q.Parent.Attempt)
	})
	if err != nil {
		return turns.StartResult{}, err
	}
	q.Parent, q.owner, q.chain, q.wake = &p.parent, p.owner, p.chain, p.wake
	q.Cwd, q.Agent = cleaned(q.Cwd), cmp.Or(q.Agent, p.owner.Agent)
	q.ThreadID = turns.JobThread(p.parent.TurnID, q.Job)
	q.child = turns.Child{AttentionPolicy: turns.Blocking, Title: cmp.Or(q.Title, sanitize.Line(q.Job, turns.MaxTitle)), Job: q.Job}
	if q.child.JobDigest, err = turns.JobDigest(q.Input, q.Agent); err != nil {
		release()
		return turns.StartResult{}, err
	}
	r, err := callThen(ctx, x.e, q.ThreadID, func(a *actor) (turns.StartResult, error) { return takeJob(a, q) }, release)
	if err == nil && r.Found {
		r.Results, err = x.results(ctx, &await{ids: []string{r.TurnID}, shown: map[string]int64{}})
	}
	return r, err
}

// startThreadOfJob starts the thread of a job, in the unit of the turn.
func (d *decision) startThreadOfJob(q request) error {
	if d.next().thread != nil {
		return threads.ErrConflict // somebody has started a thread of this id
	}
	_, err := d.startThread(turns.StartThread{
		Agent: q.Agent, Title: q.child.Title, Cwd: q.Cwd, Parent: &threads.Parent{ThreadID: q.Parent.ThreadID, TurnID: q.Parent.TurnID}, Job: q.Job, By: q.By,
	}, q.owner, q.looked)
	return err
}

// permitJob works like permitStart, for a job: its parent turn must be active, and in the
// attempt of the program that asks, if that says which (0 = it does not).
func (k *childKeeper) permitJob(turnID string, attempt int) (permit, error) {
	s := k.a.state
	if err := s.mustBeOpen(); err != nil {
		return permit{}, err
	}
	var t *turns.Turn
	between := false
	switch act := s.active; {
	case act != nil && (turnID == "" || turnID == act.turn.TurnID):
		if t, between = act.turn, act.waitsForAttempt(); act.stop != nil {
			return permit{}, turns.ErrNotActive
		}
	case turnID != "" && s.queued(turnID) != nil:
		t, between = s.queued(turnID).turn, true
	case turnID != "":
		if _, err := k.lastOr(turnID); err != nil {
			return permit{}, err
		}
	}
	switch {
	case t == nil:
		return permit{}, turns.ErrNotActive
	case attempt > 0 && attempt < t.Attempt:
		return permit{}, &turns.SupersededError{TurnID: t.TurnID, Attempt: t.Attempt}
	case between:
		return permit{}, turns.ErrBetween
	}
	s.active.hasOutput = true // see hasJobs
	p, err := k.permitStart(t.TurnID, false)
	p.owner = s.thread
	return p, cmp.Or(err, mayHaveChild(s.thread))
}

// hasJobs reports whether a turn has jobs. Its program need not say anything before their ends:
// restarts in which it is silent are not its fault, and each job is a turn with that bound itself.
func (r *rules) hasJobs(turnID string) (has bool, err error) {
	err = r.inboxes.ReadToDecide(context.Background(), func(rd ledger.Reader) error {
		return rd.Scan(ledger.Range{Index: turns.JobOf, Prefix: []any{turnID}, After: "", First: 1}, func(ledger.Values) error {
			has = true
			return ledger.ErrEnough
		})
	})
	return has, err
}

// takeJob starts the job whose thread this is, or finds it.
func takeJob(a *actor, q request) (turns.StartResult, error) {
	was, now, again, err := readJob(a, q)
	switch {
	case err != nil:
		return turns.StartResult{}, err
	case was == nil:
		return a.start(q)
	case was.JobDigest != q.child.JobDigest:
		return turns.StartResult{}, &turns.JobConflictError{Job: was.Job, TurnID: was.TurnID}
	case stopsWithParent(a, now.TurnID):
		return turns.StartResult{}, turns.ErrBetween
	case again:
		r, _, err := keyed(a, q.Key, func(d *decision) (turns.RetryResult, error) {
			return d.retry(turns.Retry{TurnID: now.TurnID, By: q.By}, true)
		})
		if err != nil {
			return turns.StartResult{}, err
		}
		startRetried(a, r)
		if now, err = a.e.rules.turnRow(a.state, now.TurnID); err != nil {
			return turns.StartResult{}, err
		}
	}
	r := turns.StartResult{
		TurnID: was.TurnID, ThreadID: a.id, State: now.State, StartedAt: now.StartedAt,
		Parent: was.Parent, AttentionPolicy: was.AttentionPolicy, Title: was.Title, Job: was.Job, Found: true, Wake: q.wake, Seq: now.UpdatedSeq,
	}
	if now.State == turns.Queued {
		r.QueuedAt = now.QueuedAt
	}
	return r, nil
}

// stopsWithParent reports whether a turn is being interrupted because its parent turn had ended,
// which is active again: the job is between two attempts too.
func stopsWithParent(a *actor, turnID string) bool {
	act := a.state.active
	return a.state.isActive(turnID) && act.stop != nil && act.stop.by == turns.ByOwner && act.stop.reason == turns.ParentEnded
}

// readJob reads the job, nil if there is none, and the turn whose end counts for it: the last
// of those that continue it. again says that this one is to be retried.
func readJob(a *actor, q request) (was, now *turns.Turn, again bool, err error) {
	err = a.e.rules.inboxes.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		if was, err = turns.ReadJob(r, q.Parent.TurnID, q.Job); was == nil || err != nil {
			return err
		}
		for now = was; now.ContinuedBy != ""; {
			v, err := r.Get(turns.ByID, now.ContinuedBy)
			if v == nil || err != nil {
				return cmp.Or(err, turns.ErrNotFound)
			}
			if now, err = turns.Read(v); err != nil {
				return err
			}
		}
		if !now.EndedBadly() {
			return nil
		}
		again, err = turns.EndedBefore(r, now)
		return err
	})
	return was, now, again, err
}
