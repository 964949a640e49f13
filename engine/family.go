package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// family applies the rules between threads and their child threads. It decides from
// committed rows only: each commit that may concern an owner names it, each start of the
// server names all owners with something unsettled, and failures are retried. The rules:
//
//   - the end of a child turn goes into the inbox of its owner;
//   - a child turn whose parent turn is over is interrupted or detached (turns.FateOf);
//   - a blocking child turn is detached when a client's turn waits for the owner, unless it
//     is a job;
//   - below a closed thread no thread stays open.
//
// It is safe for use by many goroutines.
type family struct {
	e    *Engine
	bell chan struct{} // capacity 1

	mu    sync.Mutex
	todo  []string             // owners to look at, each once
	known map[string]*visit    // those in todo
	busy  map[string]*visit    // owners that are being settled, and what is to be done for them again; nil = nothing
	retry map[string]time.Time // owners that could not be settled, and when to try again
}

// visit is a look at an owner. news are ends that it begins with, at most endsAtOnce and one of a
// turn, so that these need no reading; the rows say what else there is.
type visit struct{ news []childEnd }

// add adds an end. Of two of a turn, which was retried, only the newer one is accepted.
func (v *visit) add(end childEnd) {
	i := slices.IndexFunc(v.news, func(e childEnd) bool { return e.turn.TurnID == end.turn.TurnID })
	switch {
	case i >= 0 && v.news[i].turn.AcceptedSeq < end.turn.AcceptedSeq:
		v.news[i] = end
	case i < 0 && len(v.news) < endsAtOnce:
		v.news = append(v.news, end)
	}
}

// childEnd is the accepted end of a child turn. said is the last message of its agent if that is
// known; nil = the log has it.
type childEnd struct {
	turn *turns.Turn
	said *items.Said
}

// The bounds of the family.
const (
	familyAtOnce = 32              // owners that it looks at in parallel
	familyRetry  = 1 * time.Second // after a failure
	endsAtOnce   = 32              // ends that one unit of an inbox takes
)

func newFamily(e *Engine) *family {
	return &family{e: e, bell: make(chan struct{}, 1), known: map[string]*visit{}, busy: map[string]*visit{}, retry: map[string]time.Time{}}
}

// look signals that something of the owner, or of a child of it, has changed; news are ends
// among that. It does not block.
func (f *family) look(ownerID string, news ...childEnd) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.known
	v, busy := f.busy[ownerID]
	if busy {
		list = f.busy
	} else {
		v = f.known[ownerID]
		defer f.ring()
	}
	if v == nil {
		v = &visit{}
		list[ownerID] = v
		if !busy {
			f.todo = append(f.todo, ownerID)
		}
	}
	for _, end := range news {
		v.add(end)
	}
}

func (f *family) ring() {
	select {
	case f.bell <- struct{}{}:
	default:
	}
}

// run settles owners until ctx is done.
func (f *family) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, familyAtOnce)
	for !f.start(ctx) {
		if !sleep(ctx, familyRetry) {
			return
		}
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		id, v, wait := f.next()
		if v == nil {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return
			case <-f.bell:
			case <-timer.C:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		wg.Go(func() {
			err := f.settle(ctx, id, v.news)
			<-slots
			f.settled(ctx, id, err)
		})
	}
}

// start finds the owners that have something unsettled.
func (f *family) start(ctx context.Context) bool {
	owners := map[string]bool{}
	err := f.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		if err := r.Scan(ledger.Range{Index: turns.UnsettledBelow, After: ""}, func(v ledger.Values) error {
			t, err := turns.Read(v)
			if err == nil && t.Parent != nil {
				owners[t.Parent.ThreadID] = true
			}
			return err
		}); err != nil {
			return err
		}
		return r.Scan(ledger.Range{Index: threads.OpenChildren, After: ""}, func(v ledger.Values) error {
			t, err := threads.Read(v)
			if err == nil && t.Parent != nil {
				owners[t.Parent.ThreadID] = true
			}
			return err
		})
	})
	if err != nil {
		f.e.log.Warn("child turns cannot be read now", zap.Error(err))
		return ctx.Err() != nil
	}
	for id := range owners {
		f.look(id)
	}
	return true
}

// next returns an owner to look at, or nil and how long to wait for one.
func (f *family) next() (id string, v *visit, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait = time.Hour
	now := time.Now()
	for owner, at := range f.retry {
		if now.Before(at) {
			wait = min(wait, at.Sub(now))
			continue
		}
		delete(f.retry, owner)
		if _, busy := f.busy[owner]; !busy && f.known[owner] == nil {
			f.known[owner] = &visit{}
			f.todo = append(f.todo, owner)
		}
	}
	if len(f.todo) == 0 {
		return "", nil, wait
	}
	id, f.todo = f.todo[0], f.todo[1:]
	v = f.known[id]
	delete(f.known, id)
	f.busy[id] = nil
	return id, v, 0
}

// settled follows a look at an owner.
func (f *family) settled(ctx context.Context, id string, err error) {
	f.mu.Lock()
	again := f.busy[id]
	delete(f.busy, id)
	if err != nil && ctx.Err() == nil {
		f.retry[id] = time.Now().Add(familyRetry)
	}
	f.mu.Unlock()
	switch {
	case again != nil:
		f.look(id, again.news...)
	case err != nil:
		if ctx.Err() == nil && !errors.Is(err, turns.ErrDraining) {
			f.e.log.Warn("the child turns of a thread cannot be settled now", zap.String("thread_id", id), zap.Error(err))
		}
		f.ring()
	}
}

// unsettled is what is unsettled below an owner.
type unsettled struct {
	owner    *threads.Thread
	ended    []childEnd    // that its inbox does not have
	fates    []*turns.Turn // that are to be detached or interrupted
	children []string      // child threads that are to be closed
	gone     bool          // the inbox has a fresh end that was superseded
}

// settle applies the rules to an owner. It delivers the news first: the owner waits for these.
func (f *family) settle(ctx context.Context, ownerID string, news []childEnd) error {
	errs := []error{f.deliver(ctx, ownerID, news)}
	u, err := f.read(ctx, ownerID)
	if err != nil || u.owner == nil {
		return errors.Join(append(errs, err)...)
	}
	for _, t := range u.fates {
		_, err := call(ctx, f.e, t.ThreadID, func(a *actor) (struct{}, error) { return struct{}{}, a.child.meetFate(t.TurnID) })
		errs = append(errs, err)
	}
	for _, id := range u.children {
		_, err := f.e.ChangeThread(ctx, turns.ChangeThread{ThreadID: id, Verb: threads.VerbClose, Reason: "the thread of its owner was closed"})
		errs = append(errs, err)
	}
	if u.owner.Open() && u.gone {
		_, err := call(ctx, f.e, ownerID, func(a *actor) (struct{}, error) { return struct{}{}, a.child.withdrawEnds() })
		errs = append(errs, err)
	}
	if u.owner.Open() {
		errs = append(errs, f.deliver(ctx, ownerID, u.ended))
	}
	return errors.Join(errs...)
}

// read reads what is unsettled below an owner.
func (f *family) read(ctx context.Context, ownerID string) (u unsettled, err error) {
	err = f.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		v, err := r.Get(threads.ByID, ownerID)
		if v == nil || err != nil {
			return err
		}
		if u.owner, err = threads.Read(v); err != nil {
			return err
		}
		parents := map[string]*turns.Turn{}
		if err := r.Scan(ledger.Range{Index: turns.Unsettled, Prefix: []any{ownerID}}, func(v ledger.Values) error {
			t, err := turns.Read(v)
			if err != nil {
				return err
			}
			if t.State.Ended() {
				if !t.InReview() {
					u.ended = append(u.ended, childEnd{turn: t})
				}
				return nil
			}
			fate, err := fateOf(r, t, parents)
			if fate != turns.FateNone {
				u.fates = append(u.fates, t)
			}
			return err
		}); err != nil {
			return err
		}
		if u.owner.Open() {
			u.gone, err = supersededEnd(r, ownerID)
			return err
		}
		return r.Scan(ledger.Range{Index: threads.OpenChildren, Prefix: []any{ownerID}, First: 3}, func(v ledger.Values) error {
			if threads.State(v.Text(2)) != threads.Closing {
				u.children = append(u.children, v.Text(1))
			}
			return nil
		})
	})
	return u, err
}

// supersededEnd reports whether the inbox has a fresh end of a child turn that is not
// the accepted one any more.
func supersededEnd(r ledger.Reader, ownerID string) (gone bool, err error) {
	var failed error
	err = inbox.EachFreshEnd(r, ownerID, func(e inbox.End) bool {
		list, err := turns.EndsLive{e.TurnID: e.Seq}.Superseded(r)
		gone, failed = len(list) > 0, err
		return !gone && err == nil
	})
	return gone, errors.Join(err, failed)
}

// withdrawEnds withdraws the fresh ends of child turns that were superseded before the
// agent was told.
func (k *childKeeper) withdrawEnds() error {
	d := k.a.decide()
	if d.mustBeOpen() != nil {
		return nil // it was closed since the family looked: no agent reads its inbox any more
	}
	if err := d.inbox.inSnapshot(func(b *inbox.Book) error {
		ends, err := inbox.FreshEnds(b)
		if err != nil {
			return err
		}
		var c children
		err = d.child.sortEnds(inbox.ReaderOf(b), ends, &c, func(*turns.Turn) (mine, holds bool) { return false, false })
		for _, e := range c.gone {
			inbox.Withdraw(b, e)
		}
		return errors.Join(err, b.Err())
	}); err != nil || d.change.empty() {
		return err
	}
	_, err := k.a.commit(d)
	return err
}

// fateOf returns the fate of an unended child turn. parents are the turns that were
// read already.
func fateOf(r ledger.Reader, t *turns.Turn, parents map[string]*turns.Turn) (turns.Fate, error) {
	if t.Parent.TurnID == "" {
		return turns.FateNone, nil
	}
	parent, known := parents[t.Parent.TurnID]
	if !known {
		v, err := r.Get(turns.ByID, t.Parent.TurnID)
		if err != nil {
			return turns.FateNone, err
		}
		if v != nil {
			if parent, err = turns.Read(v); err != nil {
				return turns.FateNone, err
			}
		}
		parents[t.Parent.TurnID] = parent
	}
	fate := turns.FateOf(t, parent)
	if fate != turns.FateNone || parent == nil || t.AttentionPolicy != turns.Blocking || t.Job != "" || !parent.WaitsForChildren() {
		return fate, nil
	}
	if parent.HadItsPrompts() {
		return turns.FateDetach, nil
	}
	waits, err := clientWaits(r, t.Parent.ThreadID)
	if waits {
		fate = turns.FateDetach
	}
	return fate, err
}

// clientWaits reports whether a turn that a client has asked for is queued in the
// thread.
func clientWaits(r ledger.Reader, threadID string) (waits bool, err error) {
	err = r.Scan(ledger.Range{
		Index: turns.UnfinishedOfThread, Prefix: []any{threadID},
		Only: []ledger.Only{{Column: "state", Values: []any{string(turns.Queued)}}, {Column: "attention_policy", Values: []any{""}}}, First: 3,
	}, func(ledger.Values) error {
		waits = true
		return ledger.ErrEnough
	})
	return waits, err
}

// meetFate interrupts or detaches a child turn of the thread, as the present rows say.
func (k *childKeeper) meetFate(turnID string) error {
	d := k.a.decide()
	t, err := d.rules.turnRow(d.next(), turnID)
	if err != nil || t == nil || t.State.Ended() {
		return err
	}
	var fate turns.Fate
	var parent *turns.Turn
	if err := d.rules.inboxes.ReadToDecide(context.Background(), func(r ledger.Reader) (err error) {
		parents := map[string]*turns.Turn{}
		fate, err = fateOf(r, t, parents)
		parent = parents[t.Parent.TurnID]
		return err
	}); err != nil {
		return err
	}
	switch fate {
	case turns.FateDetach:
		why := turns.DetachOwnerEnded
		switch {
		case parent.WaitsForChildren() && parent.HadItsPrompts():
			why = turns.DetachPromptLimit
		case parent.WaitsForChildren():
			why = turns.DetachQueued
		}
		d.turn.addDetached(t, why, "")
	case turns.FateInterrupt:
		if act := d.active(); d.next().isActive(turnID) && act.stop != nil {
			return nil // it stops already
		}
		if _, err := d.interrupt(turns.Interrupt{TurnID: turnID, Reason: turns.ParentEnded, By: turns.ByOwner}); err != nil {
			return err
		}
	default:
		return nil
	}
	_, err = k.a.commit(d)
	return err
}

// deliver puts ends of child turns into the inbox of their owner, each once.
func (f *family) deliver(ctx context.Context, ownerID string, ended []childEnd) error {
	for len(ended) > 0 {
		n := min(len(ended), endsAtOnce)
		in := &arrival{ends: turns.EndsLive{}}
		for _, end := range ended[:n] {
			t := end.turn
			r, err := f.e.rules.resultOf(t, end.said, nowTime())
			if err != nil {
				return fmt.Errorf("the result of %s: %w", t.TurnID, err)
			}
			it, err := inbox.EndItem(t, r)
			if err != nil {
				return fmt.Errorf("the result of %s: %w", t.TurnID, err)
			}
			in.items = append(in.items, it)
			in.ends[t.TurnID] = t.AcceptedSeq
		}
		_, err := f.e.inboxes.arrive(ctx, ownerID, in)
		switch {
		case errors.Is(err, threads.ErrClosed), errors.Is(err, threads.ErrNotFound):
			return nil // nothing arrives any more
		case errors.Is(err, turns.ErrChildrenMoved):
			f.look(ownerID) // a turn was retried meanwhile
			return nil
		case err != nil:
			return err
		}
		ended = ended[n:]
	}
	return nil
}

// sleep waits for d. It reports false if ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
