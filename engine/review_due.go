package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// reviews gives reviews whose time is over the verdict blocked. It has one timer for all.
// The rows of turns say what is due, so it needs no memory, and reviews that became due
// while the server was down are decided at its start.
type reviews struct {
	e      *Engine
	bell   chan time.Time       // a time that may be earlier than the timer's; capacity 1
	failed map[string]time.Time // turns that could not be decided, and when to try again
}

// reviewsAtOnce is how many turns it decides in parallel.
const reviewsAtOnce = 32

func newReviews(e *Engine) *reviews {
	return &reviews{e: e, bell: make(chan time.Time, 1), failed: map[string]time.Time{}}
}

// earlier signals that a review becomes due at a time. It does not block.
func (x *reviews) earlier(at time.Time) {
	for {
		select {
		case x.bell <- at:
			return
		case was := <-x.bell:
			if was.Before(at) {
				at = was
			}
		}
	}
}

// run decides reviews until ctx is done.
func (x *reviews) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	wakeAt := time.Now() // of timer
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-x.bell:
			if at.Before(wakeAt) {
				wakeAt = at
				timer.Reset(max(0, time.Until(wakeAt)))
			}
			continue
		case <-timer.C:
		}
		now := time.Now()
		next, err := x.decide(ctx, now)
		if err != nil && ctx.Err() == nil {
			x.e.log.Warn("reviews that are due cannot be read now", zap.Error(err))
			next = now.Add(dueRetry)
		}
		if latest := now.Add(maxSleep); next.IsZero() || next.After(latest) {
			next = latest
		}
		wakeAt = next
		timer.Reset(max(0, time.Until(wakeAt)))
	}
}

// dueReview is a turn whose review is due.
type dueReview struct{ threadID, turnID string }

// decide decides the reviews whose time has come. It returns when the next one is due;
// zero = never. Turns that failed are left out until their time, so that they do not
// hide others.
func (x *reviews) decide(ctx context.Context, now time.Time) (next time.Time, err error) {
	for id, retry := range x.failed {
		if !now.Before(retry) {
			delete(x.failed, id)
		}
	}
	due, next, err := x.due(ctx, now, dueAtOnce+len(x.failed))
	if err != nil {
		return time.Time{}, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, reviewsAtOnce)
	for _, r := range due {
		if _, later := x.failed[r.turnID]; later {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			_, err := call(ctx, x.e, r.threadID, func(a *actor) (struct{}, error) { return struct{}{}, a.review.expire(r.turnID) })
			if err == nil {
				return
			}
			if ctx.Err() == nil && !errors.Is(err, turns.ErrDraining) {
				x.e.log.Warn("a review that is due cannot be decided now", zap.String("turn_id", r.turnID), zap.Error(err))
			}
			mu.Lock()
			x.failed[r.turnID] = now.Add(dueRetry)
			mu.Unlock()
		})
	}
	wg.Wait()
	for _, retry := range x.failed {
		if next.IsZero() || retry.Before(next) {
			next = retry
		}
	}
	return next, nil
}

// due lists turns whose review is due, the earliest first, and when the first after
// them is.
func (x *reviews) due(ctx context.Context, now time.Time, limit int) (list []dueReview, next time.Time, err error) {
	err = x.e.rules.inboxes.ReadToDecide(ctx, func(r ledger.Reader) error {
		return r.Scan(ledger.Range{Index: turns.ReviewsDue, After: int64(0)}, func(v ledger.Values) error {
			t, err := turns.Read(v)
			if err != nil {
				return err
			}
			if t.Review.DueAt.After(now) || len(list) >= limit {
				next = t.Review.DueAt.Time
				return ledger.ErrEnough
			}
			list = append(list, dueReview{t.ThreadID, t.TurnID})
			return nil
		})
	})
	return list, next, err
}

// expire gives the review of a turn the verdict blocked, if the present rows say that its
// time is over.
func (k *reviewKeeper) expire(turnID string) error {
	d := k.a.decide()
	t, err := d.rules.turnRow(d.next(), turnID)
	if err != nil || t == nil || !t.InReview() || d.change.now.Before(t.Review.DueAt.Time) {
		return err
	}
	span, err := d.review.spanOf(t)
	if err != nil {
		return err
	}
	d.review.add(t, span, turns.ReviewedEvent{Verdict: turns.Blocked, By: turns.ByServer, Reason: turns.ReviewTimeout})
	_, err = k.a.commit(d)
	return err
}

// follow follows a commit: the clock learns of reviews that begin, and requests that
// wait for a rejected turn wait for the one that continues it.
func (k *reviewKeeper) follow(d *decision) {
	drafts := d.change.unit.Drafts
	for i := range drafts {
		switch b := drafts[i].Body.(type) {
		case *turns.EndedEvent:
			if b.Review != nil {
				k.a.e.countReview(string(turns.ReviewPending))
				k.a.e.reviews.earlier(b.Review.DueAt.Time)
				k.lookAtOwner(d.change.turnRow(drafts[i].Header.TurnID))
			}
		case *turns.ReviewedEvent:
			if b.ContinuedBy != "" {
				k.a.e.awaits.continued(drafts[i].Header.TurnID, b.ContinuedBy)
				k.lookAtOwner(d.change.turnRow(drafts[i].Header.TurnID))
			}
			state := string(b.Verdict)
			if b.Reason == turns.ReviewTimeout {
				state = b.Reason
			}
			k.a.e.countReview(state)
		}
	}
}

// lookAtOwner makes the owner of a child turn look again, because the number of turns for
// which it waits may have changed.
func (k *reviewKeeper) lookAtOwner(t *turns.Turn) {
	if t.IsChild() {
		_ = k.a.e.actors.submit(t.Parent.ThreadID, look, true) // fails only when the engine has stopped
	}
}
