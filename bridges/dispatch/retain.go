package dispatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// retention removes rows that are no longer kept.
type retention struct{ s *Service }

// retainEvery is how often rows are removed that are no longer kept.
const retainEvery = 10 * time.Minute

// run removes what is no longer kept, and forgets old secrets, until ctx is done.
func (r retention) run(ctx context.Context) {
	s := r.s
	for {
		r.expire(ctx)
		r.forget(ctx)
		s.known.mu.RLock()
		all := make([]*bridge, 0, len(s.known.bridges))
		for _, b := range s.known.bridges {
			all = append(all, b)
		}
		s.known.mu.RUnlock()
		for _, b := range all {
			b.forgetPrevious(s)
		}
		select {
		case <-time.After(retainEvery):
		case <-ctx.Done():
			return
		}
	}
}

// expireRows is how many rows are removed in one unit.
const expireRows = 256

// expire removes deliveries that are no longer kept. Of one that a retry may still
// take back, what identifies it and its message stays.
func (r retention) expire(ctx context.Context) {
	s := r.s
	for ctx.Err() == nil {
		var list []*bridges.Delivery
		now := s.now()
		err := s.cfg.Read(ctx, func(tx ledger.Reader) error {
			return tx.Scan(ledger.Range{Index: bridges.ExpiringDeliveries, Until: now.UnixMilli()}, func(v ledger.Values) error {
				d, err := bridges.ReadDelivery(v)
				if err != nil {
					return err
				}
				if err := r.keepForTurn(tx, d); err != nil {
					return err
				}
				if list = append(list, d); len(list) == expireRows {
					return ledger.ErrEnough
				}
				return nil
			})
		})
		if err == nil {
			for _, d := range list {
				if err = r.expireOne(d); err != nil {
					break
				}
			}
		}
		if err != nil {
			s.cfg.Log.Error("remove old deliveries", zap.Error(err))
		}
		if err != nil || len(list) < expireRows {
			return
		}
	}
}

// keepForTurn sets until when the row of a delivered one is kept: KeepMessages after
// the end of its turn.
func (r retention) keepForTurn(tx ledger.Reader, d *bridges.Delivery) error {
	now := r.s.now()
	d.ExpiresAt = notify.Time{}
	if d.TurnID == "" || !d.Shown() {
		return nil
	}
	v, err := tx.Get(turns.ByID, d.TurnID)
	if err != nil || v == nil {
		return err
	}
	t, err := turns.Read(v)
	switch {
	case err != nil:
		return nil // damaged: nothing takes it back
	case !t.State.Ended():
		d.ExpiresAt = notify.TimeOf(now.Add(bridges.KeepMessages))
	case t.CompletedAt.Add(bridges.KeepMessages).After(now):
		d.ExpiresAt = notify.TimeOf(t.CompletedAt.Add(bridges.KeepMessages))
	}
	return nil
}

// forgetAtOnce is how many subscriptions are removed while commands to others wait.
const forgetAtOnce = 100

// forget removes subscriptions that were deleted, or have ended, long ago, with their
// cursors and deliveries; of too many that have ended those whose end is the oldest.
func (r retention) forget(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := r.forgetSome(ctx)
		if err != nil {
			r.s.cfg.Log.Error("remove deleted subscriptions", zap.Error(err))
		}
		if err != nil || n < forgetAtOnce {
			return
		}
	}
}

// forgetSome removes some of them, and returns how many.
func (r retention) forgetSome(ctx context.Context) (n int, err error) {
	s := r.s
	s.changing.Lock() // one may be about to be created again
	defer s.changing.Unlock()
	var old, ended []*bridges.Subscription
	if err := s.cfg.ReadList(ctx, func(tx ledger.Reader) error {
		return tx.Scan(ledger.Range{Index: bridges.SubscriptionBySeq}, func(v ledger.Values) error {
			sub, err := bridges.ReadSubscription(v)
			if err != nil {
				return err
			}
			keep := map[bridges.State]time.Duration{bridges.Deleted: bridges.KeepDeleted, bridges.Ended: bridges.KeepEnded}[sub.State]
			switch {
			case keep > 0 && !s.now().Before(sub.UpdatedAt.Add(keep)):
				old = append(old, sub)
			case sub.State == bridges.Ended:
				ended = append(ended, sub)
			}
			return nil
		})
	}); err != nil {
		return 0, err
	}
	if many := len(ended) - bridges.MaxEnded; many > 0 {
		slices.SortFunc(ended, func(a, b *bridges.Subscription) int { return cmp.Compare(a.UpdatedSeq, b.UpdatedSeq) })
		old = append(old, ended[:many]...)
	}
	for _, sub := range old[:min(len(old), forgetAtOnce)] {
		if err := r.forgetOne(ctx, sub); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (r retention) forgetOne(ctx context.Context, sub *bridges.Subscription) error {
	for {
		u, n := &ledger.Unit{}, 0
		if err := r.s.cfg.Read(ctx, func(tx ledger.Reader) error {
			if err := tx.Scan(ledger.Range{Index: bridges.DeliveryByKey, Prefix: []any{sub.SubscriptionID}, First: 2}, func(v ledger.Values) error {
				u.Rows = append(u.Rows, bridges.RemoveDelivery(v.Text(0), v.Int(1))...)
				if n++; n == expireRows {
					return ledger.ErrEnough
				}
				return nil
			}); err != nil || n == expireRows {
				return err
			}
			u.Rows = append(u.Rows, &ledger.Removal{Of: bridges.SubscriptionTable, Key: []any{sub.SubscriptionID}})
			c, err := cursors.Get(tx, cursorName(sub))
			if err == nil && c.Exists {
				cursors.Remove(u, c)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.s.append(u); err != nil || n < expireRows {
			return err
		}
	}
}

// expireOne removes a row, or reduces it if ExpiresAt is set.
func (r retention) expireOne(d *bridges.Delivery) error {
	s := r.s
	if l := s.known.locked(d.SubscriptionID); l != nil { // which may be about to change the row
		defer l.mu.Unlock()
	}
	u := &ledger.Unit{}
	if d.ExpiresAt.IsZero() {
		u.Rows = append(u.Rows, bridges.RemoveDelivery(d.SubscriptionID, d.Seq)...)
	} else {
		d.Reduce()
		u.Rows = append(u.Rows, d.WithBody()...)
	}
	u.Fences = append(u.Fences, ledger.FenceFunc(func(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
		now, err := bridges.DeliveryOf(tx, d.SubscriptionID, d.Seq)
		if err == nil && (now == nil || now.State.Open() || now.ExpiresAt.IsZero() || now.ExpiresAt.After(s.now())) {
			refused = errChanged // it is sent again, or was
		}
		return refused, err
	}))
	if err := s.append(u); err != nil && err != errChanged {
		return err
	}
	return nil
}
