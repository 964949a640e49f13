package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Await waits for the ends of turns, as c says, or until ctx is done. It changes no turn,
// except that it detaches child turns if it is cut short by a queued turn: see cutShort.
// With an owner the answer counts as told to the owner's agent once
// sent(true) is called; sent(false) says that the answer was not written. sent is nil if
// nothing is to be told, or if err is not nil; otherwise it must be called once. caller is
// the thread whose agent asks, "" = none; while the call waits, the caller's turn needs no
// slot. Errors: *InvalidError, threads.ErrNotFound, ErrAwaitsFull, ErrAwaitShareFull, ctx's.
func (x *Children) Await(ctx context.Context, c turns.Await, caller string) (turns.AwaitResult, func(ok bool), error) {
	if err := c.Check(); err != nil {
		return turns.AwaitResult{}, nil, err
	}
	seconds := float64(turns.AwaitSeconds)
	if c.TimeoutSeconds != nil {
		seconds = *c.TimeoutSeconds
	}
	w := &await{requester: c.Requester, owner: c.OwnerThreadID, ids: c.TurnIDs, all: c.WaitFor == turns.WaitAll, bell: make(chan struct{}, 1), shown: map[string]int64{}}
	if len(w.ids) == 0 {
		ids, err := x.untoldOf(ctx, c.OwnerThreadID)
		if err != nil {
			return turns.AwaitResult{}, nil, err
		}
		w.ids = ids
	}
	if err := x.e.awaits.add(w); err != nil {
		return turns.AwaitResult{}, nil, err
	}
	defer x.e.awaits.remove(w)
	r, sent, err := x.wait(ctx, w, time.Duration(seconds*float64(time.Second)), caller)
	if sent == nil {
		x.forget(w)
	}
	return r, sent, err
}

// wait waits for a registered request, and leaves it registered.
func (x *Children) wait(ctx context.Context, w *await, timeout time.Duration, caller string) (r turns.AwaitResult, sent func(bool), err error) {
	w.self = w.owner != "" && caller == w.owner
	if w.owner != "" {
		if err := x.register(ctx, w, caller); err != nil {
			return r, nil, err
		}
		defer x.callEnds(w)
	}
	err = w.ringsUntil(ctx, timeout, func(over bool) (done bool, err error) {
		if r.Results, err = x.results(ctx, w); err != nil || !w.left(r.Results) {
			return true, err
		}
		// An answer that has an end says too that somebody waits: its agent would call again.
		if r.Reason, err = x.cutShort(ctx, w); err != nil || r.Reason != "" || w.satisfied(r.Results) {
			return true, err
		}
		r.TimedOut = over && timeout > 0
		return over, nil
	})
	if err != nil {
		return r, nil, err
	}
	if why := w.detaches(&r); why != "" && timeout > 0 {
		if err := x.detachWaited(ctx, w, &r, why); err != nil {
			return r, nil, err
		}
	}
	r.Seq = max(r.Seq, w.seq)
	sent = x.telling(w, r.Results)
	return r, sent, nil
}

// ringsUntil calls f now, and then whenever the request is signalled, until it is done or
// fails. After the timeout it calls f once more, with over: what has come in the last moment
// counts.
func (w *await) ringsUntil(ctx context.Context, timeout time.Duration, f func(over bool) (done bool, err error)) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for over := timeout <= 0; ; {
		if done, err := f(over); done || over || err != nil {
			return err
		}
		select {
		case <-w.bell:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cutShort explains why a request is not to wait for machines any longer; "" = it may. Its
// agent works on the owner's active turn: while it waits, it neither ends the turn, behind
// which a person's turn is queued, nor reads what was steered to it. Anybody else waits on,
// except that turn/start with wait_seconds never keeps a client's turn waiting.
func (x *Children) cutShort(ctx context.Context, w *await) (turns.CutShort, error) {
	if !w.self && !w.starts || w.owner == "" {
		return "", nil
	}
	if !w.self {
		t, err := x.e.rows.Turn(ctx, w.ids[0])
		if err != nil || t == nil || t.AttentionPolicy != turns.Blocking {
			return "", err // it keeps nobody waiting
		}
	}
	return inActor(ctx, x.e, w.owner, func(a *actor) (turns.CutShort, error) {
		act := a.state.active
		if w.self && (act == nil || w.call == nil || act.work.calls != w.call) {
			return "", nil // the call is of an earlier attempt
		}
		switch {
		case a.state.clientWaits():
			return turns.CutQueued, nil
		case w.self && (len(act.steers) > 0 || act.work.steered > w.read):
			act.work.read = act.work.steered
			return turns.CutSteered, nil
		}
		return "", nil
	})
}

// detaches explains why the turns that were waited for in vain are detached; "" = they are not.
func (w *await) detaches(r *turns.AwaitResult) turns.Detach {
	switch {
	case r.Reason == turns.CutQueued:
		return turns.DetachQueued
	case w.starts && r.TimedOut:
		return turns.DetachTimeout
	}
	return ""
}

// detachWaited detaches the blocking child turns of the owner that have not ended. Those
// that have ended in the last moment are waited for until their ends are in the inbox.
func (x *Children) detachWaited(ctx context.Context, w *await, r *turns.AwaitResult, why turns.Detach) error {
	var ended []string
	changed := false
	for i := range r.Results {
		if one := &r.Results[i]; one.Accepted() || one.State == turns.NotFound || one.State == turns.InvalidScope {
			continue
		}
		id := r.Results[i].EndOf()
		t, err := x.e.rows.Turn(ctx, id)
		if err != nil {
			return err
		}
		if t == nil || t.AttentionPolicy != turns.Blocking || t.Job != "" {
			continue
		}
		d, did, err := x.detach(context.WithoutCancel(ctx), turns.DetachTurn{TurnID: id}, why)
		switch {
		case err != nil:
			return err
		case did:
			changed = true
			w.detached = append(w.detached, id)
			r.Seq = max(r.Seq, d.Seq)
		case d.State.Ended():
			changed = true
			ended = append(ended, id)
		}
	}
	if !changed {
		return nil
	}
	return w.ringsUntil(ctx, takenWithin, func(bool) (done bool, err error) {
		r.Results, err = x.results(ctx, w)
		return !slices.ContainsFunc(r.Results, func(one turns.Result) bool {
			return !one.Accepted() && slices.Contains(ended, one.EndOf())
		}), err
	})
}

// takenWithin is how long the end of a turn may be on its way to its owner's inbox
// while a request waits for it.
const takenWithin = 5 * time.Second

// satisfied reports whether the request need not wait any longer. A wrong id neither
// satisfies the request nor keeps it waiting.
func (w *await) satisfied(list []turns.Result) bool {
	return !w.left(list) || !w.all && slices.ContainsFunc(list, func(r turns.Result) bool { return r.Accepted() })
}

// left reports whether any of the turns can be waited for. An owner waits for no outside work.
func (w *await) left(list []turns.Result) bool {
	return slices.ContainsFunc(list, func(r turns.Result) bool {
		return !r.Accepted() && r.State != turns.NotFound && r.State != turns.InvalidScope && !(r.Outside && w.owner != "") &&
			(!w.self || r.State != turns.InReview) // the caller may be the reviewer, and would wait for itself
	})
}

// register makes sure that the owner's thread exists, and reserves what the request shows
// if it is satisfied already. It runs in the owner's actor, so that the actor tells nothing
// meanwhile.
func (x *Children) register(ctx context.Context, w *await, caller string) error {
	// Not with ctx: what is registered must be released.
	_, err := inActor(context.WithoutCancel(ctx), x.e, w.owner, func(a *actor) (struct{}, error) {
		if a.state.thread == nil {
			return struct{}{}, threads.ErrNotFound
		}
		list, err := x.results(context.Background(), w)
		if err != nil {
			return struct{}{}, err
		}
		x.e.awaits.begin(w, list)
		if caller == w.owner && a.work != nil {
			w.call, w.read = a.work.calls, a.work.read
			*w.call++
		}
		return struct{}{}, nil
	})
	return err
}

// callEnds follows the end of a wait. If the owner's own agent has waited, its turn
// takes a slot again before the agent gets the answer, over the bound if need be.
func (x *Children) callEnds(w *await) {
	call := w.call
	if call == nil {
		return
	}
	w.call = nil
	done := make(chan struct{})
	err := x.e.actors.submit(w.owner, func(a *actor) {
		defer close(done)
		*call--
		if act := a.state.active; act != nil && act.work.calls == call && !act.mayLend() {
			a.slot.reclaim()
		}
	}, true)
	if err == nil { // otherwise the engine has stopped
		<-done
	}
}

// telling reserves the ends in an answer. It returns the function to call when the answer
// was written or could not be written; nil if the answer tells nothing.
func (x *Children) telling(w *await, list []turns.Result) func(ok bool) {
	ends := map[string]int64{} // those that the answer shows: a turn may be tried again before it is written
	for i := range list {
		if list[i].Accepted() && list[i].EntryID != "" {
			ends[list[i].EndOf()] = w.shown[list[i].EndOf()]
		}
	}
	if w.owner == "" || len(ends) == 0 {
		return nil
	}
	x.e.awaits.hold(w, ends)
	return func(ok bool) {
		if !ok {
			x.forget(w)
			return
		}
		err := x.e.actors.submit(w.owner, func(a *actor) { a.child.awaitTold(w, ends) }, true)
		if err != nil {
			x.e.awaits.release(w)
		}
	}
}

// forget releases what a request has reserved without telling it.
func (x *Children) forget(w *await) {
	x.e.awaits.remove(w)
	if x.e.awaits.release(w) {
		_ = x.e.actors.submit(w.owner, look, true) // fails only when the engine has stopped
	}
}

// awaitTold acknowledges the ends that an answer has told. That has happened, so it is recorded
// also while the engine stops: the next server would tell them again.
func (k *childKeeper) awaitTold(w *await, ends map[string]int64) {
	if k.a.defers(func(a *actor) { k.awaitTold(w, ends) }) {
		return
	}
	defer k.look()
	defer k.a.e.awaits.release(w)
	if err := k.a.load(); err != nil || k.a.dead != nil || k.a.held != nil || k.a.state.mustBeOpen() != nil {
		return // they are told again
	}
	d := k.a.decide()
	err := d.inbox.inSnapshot(func(b *inbox.Book) error {
		if err := inbox.AckEnds(b, ends); err != nil {
			return err
		}
		return b.PostLags()
	})
	if err == nil && !d.change.empty() {
		_, err = k.a.append(d)
	}
	if err != nil {
		k.a.e.log.Warn("ends that turn/await has told cannot be acknowledged, and are told again", zap.String("thread_id", k.a.id), zap.Error(err))
	}
}

// untoldOf lists the child turns of an owner that have not ended or were not told, the
// oldest first, at most MaxAwaited.
func (x *Children) untoldOf(ctx context.Context, owner string) (ids []string, err error) {
	err = x.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		if err := r.Scan(ledger.Range{Index: turns.Unsettled, Prefix: []any{owner}, First: 2}, func(v ledger.Values) error {
			if ids = append(ids, v.Text(1)); len(ids) >= turns.MaxAwaited {
				return ledger.ErrEnough
			}
			return nil
		}); err != nil {
			return err
		}
		return inbox.EachFreshEnd(r, owner, func(end inbox.End) bool {
			// A turn that is retried is in both lists until its end is withdrawn.
			if len(ids) < turns.MaxAwaited && !slices.Contains(ids, end.TurnID) {
				ids = append(ids, end.TurnID)
			}
			return len(ids) < turns.MaxAwaited
		})
	})
	return ids, err
}

// results makes the results of a request, one for each turn. With an owner, a turn counts as
// ended only once the owner's inbox has its end, unless the owner's thread is closed: then
// nothing arrives there any more.
func (x *Children) results(ctx context.Context, w *await) ([]turns.Result, error) {
	for {
		list, err := x.readResults(ctx, w)
		if err != nil {
			return nil, err
		}
		// The last messages were read after the turns. If a turn was retried in between, its
		// end would be shown without its text.
		if again, err := x.anyRetried(ctx, list); !again || err != nil {
			return list, err
		}
	}
}

// anyRetried reports whether a turn whose end is among the results has begun another
// attempt.
func (x *Children) anyRetried(ctx context.Context, list []turns.Result) (again bool, err error) {
	if !slices.ContainsFunc(list, func(r turns.Result) bool { return r.Accepted() }) {
		return false, nil
	}
	err = x.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		for i := range list {
			if !list[i].Accepted() {
				continue
			}
			v, err := r.Get(turns.ByID, list[i].EndOf())
			if v == nil || err != nil {
				return err
			}
			t, err := turns.Read(v)
			if err != nil {
				return err
			}
			again = again || t.Attempt != list[i].Attempt
		}
		return nil
	})
	return again, err
}

// readResults reads the results once.
func (x *Children) readResults(ctx context.Context, w *await) ([]turns.Result, error) {
	list := make([]turns.Result, 0, len(w.ids))
	rows := make([]*turns.Turn, len(w.ids))
	stale := false // a turn was read that the request did not wait for before
	if err := x.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		arrives, err := isOpen(r, w.owner)
		if err != nil {
			return err
		}
		for i, id := range w.ids {
			v, err := r.Get(turns.ByID, id)
			if err != nil {
				return err
			}
			if v == nil {
				list = append(list, turns.Result{TurnID: id, State: turns.NotFound})
				continue
			}
			t, err := turns.Read(v)
			if err != nil {
				return err
			}
			if w.owner != "" && (!t.IsChild() || t.Parent.ThreadID != w.owner) {
				list = append(list, turns.Result{TurnID: id, State: turns.InvalidScope})
				continue
			}
			out := turns.Result{TurnID: id}
			for t.ContinuedBy != "" {
				out.ContinuedBy = t.ContinuedBy
				stale = x.e.awaits.alsoFor(w, t.ContinuedBy) || stale
				if v, err = r.Get(turns.ByID, t.ContinuedBy); v == nil || err != nil {
					return cmp.Or(err, turns.ErrNotFound)
				}
				if t, err = turns.Read(v); err != nil {
					return err
				}
			}
			w.seq = max(w.seq, t.UpdatedSeq)
			if w.owner != "" && t.State.Ended() && !t.InReview() && t.Job == "" { // the end of a job is not told
				seq, err := inbox.EntryOfEnd(r, w.owner, inbox.EndID(t.TurnID, t.AcceptedSeq))
				if err != nil {
					return err
				}
				if seq == 0 && arrives { // it is on its way
					out.ThreadID, out.Title, out.Outside, out.State, out.Attempt, out.StartedAt = t.ThreadID, t.Title, t.Outside, turns.Active, t.Attempt, t.StartedAt
					list = append(list, out)
					continue
				}
				if seq > 0 {
					out.EntryID, w.seq = inbox.EntryID(seq), max(w.seq, seq)
					w.shown[t.TurnID] = t.AcceptedSeq
				}
			}
			rows[i], list = t, append(list, out)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if stale {
		return x.readResults(ctx, w) // a rejected turn has at most MaxContinuations after it
	}
	now := nowTime()
	for i, t := range rows {
		if t == nil {
			continue
		}
		r, err := x.e.rules.resultOf(t, nil, now)
		if err != nil {
			return nil, err
		}
		r.TurnID, r.ContinuedBy, r.EntryID = list[i].TurnID, list[i].ContinuedBy, list[i].EntryID
		list[i] = r
	}
	return list, nil
}

// isOpen reports whether there is a thread, and it is open.
func isOpen(r ledger.Reader, threadID string) (bool, error) {
	v, err := r.Get(threads.ByID, threadID)
	if v == nil || err != nil {
		return false, err
	}
	t, err := threads.Read(v)
	return err == nil && t.Open(), err
}

// StartAndWait works like Start, for a request with wait_seconds. wait, which must be called
// once, waits for the end of the turn; its sent is that of Await. caller is as in Await.
// If too many requests wait already, wait is nil: r says that it is not waited for, and
// the turn is what it would be without wait_seconds. Errors: as of Start and Await.
func (x *Children) StartAndWait(ctx context.Context, c turns.Start, caller string) (
	r turns.StartResult, wait func(ctx context.Context) (turns.StartResult, func(ok bool), error), err error,
) {
	q, err := x.e.request(c)
	if err != nil {
		return r, nil, err
	}
	// It is registered before the turn starts, so that nothing else tells its end.
	w := newAwait(c.Requester, c.Parent, q.turnID)
	if x.e.awaits.add(w) != nil {
		r, err = x.e.startRequest(ctx, q)
		r.Waited = new(bool)
		return r, nil, err
	}
	if r, err = x.e.startRequest(ctx, q); err != nil {
		x.e.awaits.remove(w)
		x.forget(w)
		return r, nil, err
	}
	if r.TurnID != q.turnID { // an earlier request with the key has started it, or it was steered
		x.e.awaits.rename(w, r.TurnID, r.Parent)
	}
	return r, func(ctx context.Context) (turns.StartResult, func(ok bool), error) {
		defer x.e.awaits.remove(w)
		sent, err := x.waitSeconds(ctx, &r, w, c.WaitSeconds, caller)
		return r, sent, err
	}, nil
}

func newAwait(requester ledger.Requester, parent *threads.Parent, turnID string) *await {
	w := &await{requester: requester, ids: []string{turnID}, bell: make(chan struct{}, 1), shown: map[string]int64{}}
	if parent != nil {
		w.owner = parent.ThreadID
	}
	return w
}

// waitSeconds waits for a child turn that a request has started, as turn/await with
// its owner does. If the turn does not end in time, or if a client's turn is queued for
// the owner, it is detached.
func (x *Children) waitSeconds(ctx context.Context, r *turns.StartResult, w *await, seconds float64, caller string) (sent func(bool), err error) {
	defer func() {
		if sent == nil {
			x.forget(w)
		}
	}()
	w.starts = true
	out, sent, err := x.wait(ctx, w, time.Duration(seconds*float64(time.Second)), caller)
	if err != nil {
		return nil, err
	}
	r.Results, r.Reason = out.Results, out.Reason
	if r.Job != "" {
		return sent, nil // it is never detached
	}
	if len(r.Results) == 1 && r.AttentionPolicy == turns.Blocking && (r.Results[0].Review != nil || r.Results[0].ContinuedBy != "") {
		// Its end has a review, pending or given, which has detached it.
		r.AttentionPolicy, r.Detached, r.Seq = turns.Notify, &turns.Detached{Reason: turns.DetachInReview}, max(r.Seq, out.Seq)
	}
	if why := w.detaches(&out); why != "" && r.AttentionPolicy == turns.Blocking {
		if slices.Contains(w.detached, r.TurnID) {
			r.Detached, r.Seq = &turns.Detached{Reason: why}, max(r.Seq, out.Seq)
		}
		if t, err := x.e.rows.Turn(context.WithoutCancel(ctx), r.TurnID); err == nil && t != nil {
			r.AttentionPolicy = t.AttentionPolicy // somebody else may have detached it
		}
	}
	return sent, nil
}
