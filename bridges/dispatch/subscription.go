package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// SubscriptionCreate makes a subscription, or returns the one with this id. Errors:
// *turns.InvalidError, bridges.ErrBridgeNotFound, bridges.ErrMoved,
// bridges.ErrTooMany, bridges.ErrAhead, bridges.ErrTarget, threads.ErrNotFound, turns.ErrNotFound, and bridges.ErrNoSecret
// or bridges.ErrConfigured if the bridge cannot be opened.
func (s *Service) SubscriptionCreate(ctx context.Context, c bridges.CreateSubscription) (bridges.SubscriptionResult, error) {
	if err := s.lockToCreate(ctx, &c); err != nil {
		return bridges.SubscriptionResult{}, err
	}
	defer s.changing.Unlock()
	var next *bridges.Subscription
	var made *lane
	var after int64
	r, replayed, err := ledger.Keyed(s.cfg.Store, c.Key, func() (*ledger.Unit, bridges.SubscriptionResult, error) {
		u := &ledger.Unit{}
		b := s.known.bridge(c.BridgeID)
		if b == nil {
			return u, bridges.SubscriptionResult{}, bridges.ErrBridgeNotFound
		}
		if err := b.checkTarget(c.Target); err != nil {
			return u, bridges.SubscriptionResult{}, err
		}
		if c.SubscriptionID == "" {
			c.SubscriptionID = "sub_" + uuid.Must(uuid.NewV7()).String()
		}
		old, first, err := s.lookUp(ctx, &c)
		switch {
		case err != nil:
			return u, bridges.SubscriptionResult{}, err
		case old != nil && (old.ThreadID != c.ThreadID || old.TurnID != c.TurnID || old.State != bridges.Deleted && !old.SendsTo(c.BridgeID, c.Target)):
			return u, bridges.SubscriptionResult{}, bridges.ErrMoved
		case old != nil && old.State != bridges.Deleted:
			view, err := s.view(ctx, old)
			return u, bridges.SubscriptionResult{Subscription: view, Created: new(bool)}, err
		}
		if c.Limited && !b.allows(c.Target) {
			return u, bridges.SubscriptionResult{}, bridges.ErrTarget
		}
		switch all, own := s.known.subscriptions(c.Requester); { // a deleted one does not count
		case c.Limited && own >= bridges.MaxSubscriptionsEach:
			return u, bridges.SubscriptionResult{}, bridges.ErrShareFull
		case all >= bridges.MaxSubscriptions:
			return u, bridges.SubscriptionResult{}, bridges.ErrTooMany
		}
		if c.TurnID != "" {
			if err := s.ofTurns.watch(ctx); err != nil {
				return u, bridges.SubscriptionResult{}, err
			}
		}
		now := s.now()
		if old != nil {
			if made, err = laneLeft(ctx, s, b, old); err != nil {
				return u, bridges.SubscriptionResult{}, err
			}
			next, after = old.Clone(), old.ScannedSeq
			if !old.SendsTo(c.BridgeID, c.Target) {
				next.Generation++ // the last attempts of before the deletion are of that generation
				next.MoveTo(c.BridgeID, c.Target)
				made.open = enter(u, made.open, next)
			}
		} else {
			next, after = &bridges.Subscription{SubscriptionID: c.SubscriptionID, BridgeID: c.BridgeID, ThreadID: c.ThreadID, TurnID: c.TurnID, Generation: 1, FromSeq: first}, first
			if c.From == nil { // the client wants the newest turn, however old it is
				next.AcceptedThrough = s.cfg.Head()
			}
			made = newLane(s, b, next)
		}
		next.Requester = c.Requester
		next.Target, next.TargetDigest, next.State, next.Reason = c.Target, "", bridges.Active, ""
		next.On, next.Methods, next.IncludeText, next.Order = c.On, c.Methods, c.IncludeText, c.Order
		if len(next.On) == 0 && len(next.Methods) == 0 {
			next.On = []bridges.On{bridges.OnFinal}
		}
		if next.Order == "" {
			next.Order = bridges.OrderTurn
		}
		at := notify.TimeOf(now)
		next.CreatedAt, next.UpdatedAt, next.CreatedSeq, next.UpdatedSeq = at, at, notify.Provisional(0), notify.Provisional(0)
		u.Rows = append(u.Rows, next, follow.NewRow(next.FollowerName(), s.cfg.LogID, after))
		draft(u, notify.SubscriptionCreated, now, next.Event(cmp.Or(c.By, bridges.ByClient)))
		created := true
		view := bridges.SubscriptionView{Subscription: *next, Cursor: cursors.Zero(cursorName(next))}
		if old != nil {
			if view, err = s.view(ctx, old); err != nil {
				return u, bridges.SubscriptionResult{}, err
			}
			view.Subscription = *next
			view.Blocked = blockedBy(made, next, u.Rows)
			cursor := made.cursor
			if next.TargetGeneration == next.Generation {
				cursor = ofNewTarget(cursor, now)
			}
			if view.Cursor = saying(cursor, view.Blocked); view.Cursor != made.cursor {
				cursors.Write(u, made.cursor, view.Cursor)
			}
			made.cursor = view.Cursor
		}
		view.Cursor.ScannedSeq = after
		return u, bridges.SubscriptionResult{Subscription: view, Created: &created, LatestSeq: s.cfg.Head()}, u.Drafts[0].Encode()
	}, s.cfg.Store.Append)
	if err != nil || replayed || next == nil {
		return r, err
	}
	beginAfter(made, next, after)
	return r, nil
}

// lockToCreate locks s.changing when no attempt of a deleted subscription of this id is
// under way: its receipt moves the cursor, and the new lane must begin with that.
func (s *Service) lockToCreate(ctx context.Context, c *bridges.CreateSubscription) error {
	for {
		s.changing.Lock()
		l := s.known.last(c.SubscriptionID)
		if l == nil {
			return nil
		}
		s.changing.Unlock()
		l.mu.Lock()
		err := rest(ctx, l, !l.sub.SendsTo(c.BridgeID, c.Target)) // the same target may have it already
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

func cursorName(sub *bridges.Subscription) cursors.Name {
	return cursors.Name{ConsumerID: sub.ConsumerID(), StreamName: bridges.StreamEvents, SubjectID: sub.ThreadID}
}

// change commits a change of a subscription by a client. do makes the next state and
// may add to the unit; the subscription's event is the last draft, so that its seq is
// that of the result. It returns nil if nothing is to be changed.
func (s *Service) change(ctx context.Context, id string, key *ledger.Key, by bridges.By, method string, do step, then func(l *lane)) (bridges.SubscriptionResult, error) {
	l, r, err := laneOr[bridges.SubscriptionResult](ctx, s, id, key, bridges.ErrSubscriptionNotFound, func(l *lane) error {
		next := l.sub.Clone()
		_, _, err := do(l, next, &ledger.Unit{}, next.Event(by))
		return err
	})
	if l == nil {
		return r, err
	}
	defer l.mu.Unlock()
	return changeLane(l, key, by, method, do, then)
}

// step makes the next state of a subscription: see Service.change. e is its event.
type step func(l *lane, next *bridges.Subscription, u *ledger.Unit, e *bridges.SubscriptionEvent) (cursor *cursors.Cursor, unchanged bool, err error)

// changeLane works like Service.change. l.mu is held.
func changeLane(l *lane, key *ledger.Key, by bridges.By, method string, do step, then func(l *lane)) (bridges.SubscriptionResult, error) {
	s := l.s
	if l.sub.State == bridges.Deleted {
		return bridges.SubscriptionResult{}, bridges.ErrSubscriptionNotFound
	}
	if err := l.recall(); err != nil {
		return bridges.SubscriptionResult{}, err
	}
	var next *bridges.Subscription
	cursor := l.cursor
	r, replayed, err := ledger.Keyed(s.cfg.Store, key, func() (*ledger.Unit, bridges.SubscriptionResult, error) {
		u, now := &ledger.Unit{}, s.now()
		next = l.sub.Clone()
		e := next.Event(cmp.Or(by, bridges.ByClient))
		e.Reason = ""
		changed, unchanged, err := do(l, next, u, e)
		if err != nil {
			return u, bridges.SubscriptionResult{}, err
		}
		if unchanged {
			next = nil
			view := l.view()
			return &ledger.Unit{}, bridges.SubscriptionResult{Subscription: view, LatestSeq: s.cfg.Head()}, nil
		}
		e.State, e.Reason = next.State, cmp.Or(e.Reason, next.Reason)
		next.UpdatedSeq, next.UpdatedAt = notify.Provisional(len(u.Drafts)), notify.TimeOf(now)
		draft(u, method, now, e)
		u.Rows = append(u.Rows, next)
		if changed != nil {
			cursor = *changed
		}
		blocked := blockedBy(l, next, u.Rows)
		if cursor = saying(cursor, blocked); changed != nil || cursor != l.cursor {
			cursors.Write(u, l.cursor, cursor)
		}
		for i := range u.Drafts {
			if err := u.Drafts[i].Encode(); err != nil {
				return u, bridges.SubscriptionResult{}, err
			}
		}
		view := l.view()
		view.Subscription, view.Blocked = *next, blocked
		scanned := view.Cursor.ScannedSeq
		if moves := method == notify.SubscriptionReset || method == notify.SubscriptionSkipped; moves && next.Generation != l.sub.Generation {
			scanned = e.ToSeq // it continues there
		}
		view.Cursor = cursor
		view.Cursor.ScannedSeq = scanned
		return u, bridges.SubscriptionResult{Subscription: view, LatestSeq: s.cfg.Head()}, nil
	}, s.cfg.Store.Append)
	if err != nil || replayed || next == nil {
		return r, err
	}
	l.sub, l.cursor = next, cursor
	if then != nil {
		then(l)
	}
	return r, nil
}

// laneOr works like laneOf, for a command with a key. Without a lane it returns what is stored with
// the key, else an error: a repetition makes no subscription active that has ended, nor does what
// try refuses.
func laneOr[R any, P ledger.Result[R]](ctx context.Context, s *Service, id string, key *ledger.Key, otherwise error, try func(*lane) error) (l *lane, r R, err error) {
	if l = s.known.locked(id); l != nil {
		return l, r, nil
	}
	if r, ok, err := ledger.Replay[R, P](s.cfg.Store, key); ok || err != nil {
		return nil, r, err
	}
	if l, err = laneOf(ctx, s, id, try); l == nil && err == nil {
		err = otherwise
	}
	return l, r, err
}

// replayOr returns the result that is stored with the key, else the error.
func replayOr[R any, P ledger.Result[R]](log ledger.Log, key *ledger.Key, otherwise error) (R, error) {
	r, ok, err := ledger.Replay[R, P](log, key)
	if err == nil && !ok {
		err = otherwise
	}
	return r, err
}

// SubscriptionUpdate changes what a subscription chooses from now on, and where it sends. Errors:
// bridges.ErrSubscriptionNotFound, bridges.ErrTarget, *turns.InvalidError, and of another target
// those of SubscriptionCreate, and that of ctx or of the storage if an attempt under way outlives it.
func (s *Service) SubscriptionUpdate(ctx context.Context, c bridges.UpdateSubscription) (bridges.SubscriptionResult, error) {
	moves, err := s.mayMove(ctx, &c)
	if err != nil {
		return replayOr[bridges.SubscriptionResult](s.cfg.Store, c.Key, err)
	}
	if moves {
		if r, ok, err := ledger.Replay[bridges.SubscriptionResult](s.cfg.Store, c.Key); ok || err != nil {
			return r, err
		}
		release, err := lockToMove(ctx, s, c.SubscriptionID)
		if err != nil {
			return bridges.SubscriptionResult{}, err
		}
		if release == nil {
			return bridges.SubscriptionResult{}, bridges.ErrSubscriptionNotFound
		}
		defer release()
	}
	var name string // of the follower of before
	var after int64
	var to *bridge // to which it moves
	var open []*bridges.Delivery
	r, err := s.change(ctx, c.SubscriptionID, c.Key, c.By, notify.SubscriptionUpdated,
		func(l *lane, next *bridges.Subscription, u *ledger.Unit, e *bridges.SubscriptionEvent) (*cursors.Cursor, bool, error) {
			var err error
			if to, err = s.updated(next, &c); err != nil {
				return nil, false, err
			}
			if to != nil && !moves {
				return nil, false, errChanged
			}
			if to == nil && slices.Equal(next.On, l.sub.On) && slices.Equal(next.Methods, l.sub.Methods) {
				return nil, next.IncludeText == l.sub.IncludeText && next.Order == l.sub.Order, nil
			}
			// A follower sees the same methods all its life.
			next.Generation++
			name, after = l.sub.FollowerName(), l.position()
			u.Rows = append(u.Rows, follow.RemoveRow(name), follow.NewRow(next.FollowerName(), s.cfg.LogID, after))
			if to == nil {
				return nil, false, nil
			}
			next.MoveTo(next.BridgeID, next.Target)
			if next.State == bridges.Disabled { // that was the old target
				next.State, next.Reason = bridges.Active, ""
			}
			next.AcceptedThrough = max(next.AcceptedThrough, s.cfg.Head()) // who moves it wants what waits
			e.BridgeID, e.Generation = next.BridgeID, next.Generation
			open = enter(u, l.open, next)
			if cursor := ofNewTarget(l.cursor, s.now()); cursor != l.cursor {
				return &cursor, false, nil
			}
			return nil, false, nil
		}, func(l *lane) {
			switch {
			case to != nil:
				replaced(l, to, open, after)
				return
			case name != "":
				l.follow(after)
			}
			l.kick()
		})
	if errors.Is(err, errChanged) { // another command has moved it meanwhile
		return s.SubscriptionUpdate(ctx, c)
	}
	if err == nil && name != "" {
		s.cfg.Followers.Forget(name)
	}
	return r, err
}

// mayMove reports whether an update moves the subscription, before anything is waited for or
// changed for it. Errors: those of updated.
func (s *Service) mayMove(ctx context.Context, c *bridges.UpdateSubscription) (moves bool, err error) {
	if !c.Moves() {
		return false, nil
	}
	v, _, err := s.Subscription(ctx, c.SubscriptionID)
	if err != nil || v.State == bridges.Deleted {
		return false, cmp.Or(err, bridges.ErrSubscriptionNotFound)
	}
	to, err := s.updated(v.Subscription.Clone(), c)
	return to != nil, err
}

// updated makes of a subscription what an update asks for, and returns the bridge to which it
// moves; nil = it sends to where it did. Errors: see SubscriptionUpdate.
func (s *Service) updated(sub *bridges.Subscription, c *bridges.UpdateSubscription) (to *bridge, err error) {
	was := sub.Clone()
	if c.BridgeID != nil && *c.BridgeID != sub.BridgeID {
		sub.BridgeID, sub.Target = *c.BridgeID, bridges.Target{} // the target of another one may be of another kind
	}
	if c.Target != nil {
		sub.Target = *c.Target
	}
	b := s.known.bridge(sub.BridgeID)
	if b == nil {
		return nil, bridges.ErrBridgeNotFound
	}
	if !was.SendsTo(sub.BridgeID, sub.Target) {
		to = b
		if err := b.checkTarget(sub.Target); err != nil {
			return nil, err
		}
	}
	if c.Limited && !b.allows(sub.Target) {
		return nil, bridges.ErrTarget
	}
	if c.On != nil {
		sub.On = *c.On
	}
	if c.Methods != nil {
		sub.Methods = *c.Methods
	}
	if len(sub.On) == 0 && len(sub.Methods) == 0 {
		return nil, turns.Invalid("on", turns.ReasonInvalid, "choose something, or delete the subscription")
	}
	if c.IncludeText != nil {
		sub.IncludeText = *c.IncludeText
	}
	if c.Order != nil {
		sub.Order = *c.Order
	}
	return to, bridges.CheckOfTurn(sub.TurnID, sub.On)
}

// SubscriptionPause stops a subscription. Errors: bridges.ErrSubscriptionNotFound.
func (s *Service) SubscriptionPause(ctx context.Context, c bridges.ChangeSubscription) (bridges.SubscriptionResult, error) {
	return s.change(ctx, c.SubscriptionID, c.Key, c.By, notify.SubscriptionPaused,
		func(l *lane, next *bridges.Subscription, _ *ledger.Unit, _ *bridges.SubscriptionEvent) (*cursors.Cursor, bool, error) {
			unchanged := next.State == bridges.Paused
			next.State, next.Reason = bridges.Paused, c.Reason
			return nil, unchanged, nil
		}, func(l *lane) { l.follower.Hold() })
}

// SubscriptionResume lets a subscription send that was paused, held or disabled. What
// was held is sent. Errors: bridges.ErrSubscriptionNotFound.
func (s *Service) SubscriptionResume(ctx context.Context, c bridges.ChangeSubscription) (bridges.SubscriptionResult, error) {
	return s.change(ctx, c.SubscriptionID, c.Key, c.By, notify.SubscriptionResumed,
		func(l *lane, next *bridges.Subscription, _ *ledger.Unit, _ *bridges.SubscriptionEvent) (*cursors.Cursor, bool, error) {
			unchanged := next.State == bridges.Active
			if next.State == bridges.Held {
				next.AcceptedThrough = s.cfg.Head()
			}
			next.State, next.Reason = bridges.Active, ""
			return nil, unchanged, nil
		}, func(l *lane) {
			l.caughtUp = s.cfg.Head()
			l.rejudge(context.WithoutCancel(ctx), "")
			l.follower.Release()
			l.kick()
		})
}

// SubscriptionReset makes a subscription continue after a seq, in a new generation: what it
// has sent since is sent again with the same ids. Errors:
// bridges.ErrSubscriptionNotFound, bridges.ErrAhead.
func (s *Service) SubscriptionReset(ctx context.Context, c bridges.ResetSubscription) (bridges.SubscriptionResult, error) {
	at, err := s.cfg.Position(ctx)
	if err == nil && *c.ToSeq > at.Latest {
		err = bridges.ErrAhead
	}
	if err != nil {
		return bridges.SubscriptionResult{}, err
	}
	return s.moveTo(ctx, c.SubscriptionID, c.Key, c.By, notify.SubscriptionReset, *c.ToSeq, c.Reason,
		func(l *lane, next *bridges.Subscription, u *ledger.Unit, e *bridges.SubscriptionEvent) cursors.Cursor {
			now := notify.TimeOf(s.now())
			cursor := l.cursor.Reset(*c.ToSeq, now)
			u.Drafts = append(u.Drafts, cursors.ResetDraft(len(u.Drafts), l.cursor, cursor, c.Reason, cmp.Or(cursors.By(c.By), cursors.ByClient), now))
			e.ToSeq, e.Generation, e.Reason = *c.ToSeq, next.Generation, c.Reason
			return cursor
		})
}

// SubscriptionSkip gives up one mismatch, or everything that waits. Errors:
// bridges.ErrSubscriptionNotFound, bridges.ErrNotHeld, bridges.ErrDeliveryNotFound.
func (s *Service) SubscriptionSkip(ctx context.Context, c bridges.SkipSubscription) (bridges.SubscriptionResult, error) {
	if c.Seq == 0 {
		head := s.cfg.Head()
		return s.moveTo(ctx, c.SubscriptionID, c.Key, c.By, notify.SubscriptionSkipped, head, c.Reason,
			func(l *lane, next *bridges.Subscription, u *ledger.Unit, e *bridges.SubscriptionEvent) cursors.Cursor {
				e.FromSeq, e.ToSeq, e.Reason = l.cursor.LastSequence, head, c.Reason
				if next.State == bridges.Held {
					next.State, next.Reason = bridges.Active, ""
				}
				return passed(l.cursor, head, s.now())
			})
	}
	var skipped *bridges.Delivery
	return s.change(ctx, c.SubscriptionID, c.Key, c.By, notify.SubscriptionSkipped,
		func(l *lane, next *bridges.Subscription, u *ledger.Unit, e *bridges.SubscriptionEvent) (*cursors.Cursor, bool, error) {
			for _, d := range l.open {
				if d.Seq == c.Seq && d.State == bridges.StateMismatch {
					gone := *d
					gone.Suppress(bridges.ReasonSkipped+": "+c.Reason, s.now())
					skipped = &gone
				}
			}
			if skipped == nil {
				return nil, false, bridges.ErrDeliveryNotFound
			}
			u.Rows = append(u.Rows, skipped)
			e.FromSeq, e.ToSeq, e.Reason = c.Seq, c.Seq, c.Reason
			cursor := passed(l.cursor, c.Seq, s.now())
			return &cursor, false, nil
		}, func(l *lane) {
			l.replace(skipped)
			l.kick()
		})
}

// moveTo makes a subscription continue after a seq. Deliveries up to it that are not
// settled are given up; later ones are decided again.
func (s *Service) moveTo(ctx context.Context, id string, key *ledger.Key, by bridges.By, method string, to int64, reason string,
	cursorOf func(l *lane, next *bridges.Subscription, u *ledger.Unit, e *bridges.SubscriptionEvent) cursors.Cursor) (bridges.SubscriptionResult, error) {
	var name string
	var given []*bridges.Delivery
	why := bridges.ReasonReset
	if method == notify.SubscriptionSkipped {
		why = bridges.ReasonSkipped + ": " + reason
	}
	r, err := s.change(ctx, id, key, by, method,
		func(l *lane, next *bridges.Subscription, u *ledger.Unit, e *bridges.SubscriptionEvent) (*cursors.Cursor, bool, error) {
			if method == notify.SubscriptionSkipped && next.State != bridges.Held && next.State != bridges.Paused && next.State != bridges.Disabled {
				return nil, false, bridges.ErrNotHeld
			}
			name = l.sub.FollowerName()
			next.Generation++
			cursor := cursorOf(l, next, u, e)
			for _, d := range l.open {
				if d.Seq <= to && l.round.of(d.Seq) == nil {
					gone := *d
					gone.Suppress(why, s.now())
					given = append(given, &gone)
					u.Rows = append(u.Rows, &gone)
				}
			}
			u.Rows = append(u.Rows, follow.RemoveRow(name), follow.NewRow(next.FollowerName(), s.cfg.LogID, to))
			return &cursor, false, nil
		}, func(l *lane) {
			for _, d := range given {
				l.replace(d)
			}
			l.caughtUp = s.cfg.Head()
			l.follow(to)
			l.kick()
		})
	if err == nil && name != "" {
		s.cfg.Followers.Forget(name) // waits for take, which waits for the lane
	}
	return r, err
}

// SubscriptionDelete deletes a subscription; its cursor stays. Errors:
// bridges.ErrSubscriptionNotFound.
func (s *Service) SubscriptionDelete(ctx context.Context, c bridges.ChangeSubscription) (bridges.SubscriptionResult, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	l, err := s.ofTurns.toDelete(ctx, c.SubscriptionID)
	if err != nil {
		return bridges.SubscriptionResult{}, err
	}
	if l == nil {
		return replayOr[bridges.SubscriptionResult](s.cfg.Store, c.Key, bridges.ErrSubscriptionNotFound)
	}
	return s.deleteLane(l, c.Key, c.By, c.Reason)
}

// deleteLane deletes a subscription. s.changing and l.mu are held; it lets l.mu go.
func (s *Service) deleteLane(l *lane, key *ledger.Key, by bridges.By, reason string) (bridges.SubscriptionResult, error) {
	name := ""
	r, err := changeLane(l, key, by, notify.SubscriptionDeleted,
		func(l *lane, next *bridges.Subscription, u *ledger.Unit, e *bridges.SubscriptionEvent) (*cursors.Cursor, bool, error) {
			name = l.sub.FollowerName()
			next.Delete(l.position())
			next.Generation++
			e.FromSeq = next.ScannedSeq
			e.Reason = reason
			u.Rows = append(u.Rows, follow.RemoveRow(name))
			return nil, false, nil
		}, func(l *lane) {
			l.dropOpen()
			if l.round != nil {
				s.known.leave(l)
			}
		})
	l.mu.Unlock()
	if err != nil || name == "" {
		return r, err
	}
	s.known.remove(l)
	s.cfg.Followers.Forget(name)
	return r, nil
}
