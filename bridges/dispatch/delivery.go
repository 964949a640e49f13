package dispatch

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Bounds of a page of rows.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

func limited(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return min(limit, maxLimit)
}

// Redeliver sends a delivery again, or at once if it waits. It moves no cursor and
// changes no message. Errors: bridges.ErrDeliveryNotFound,
// bridges.ErrNothingToSend, bridges.ErrSubscriptionNotFound.
func (s *Service) Redeliver(ctx context.Context, id string, key *ledger.Key) (bridges.RedeliverResult, error) {
	subscription, seq, ok := bridges.ParseDeliveryID(id)
	l := s.lane(subscription)
	if !ok || l == nil {
		return replayOr[bridges.RedeliverResult](s.cfg.Store, key, bridges.ErrDeliveryNotFound)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var next *bridges.Delivery
	r, replayed, err := ledger.Keyed(s.cfg.Store, key, func() (*ledger.Unit, bridges.RedeliverResult, error) {
		var d *bridges.Delivery
		if err := s.cfg.Read(ctx, func(tx ledger.Reader) (err error) {
			d, err = bridges.DeliveryOf(tx, subscription, seq)
			return err
		}); err != nil {
			return nil, bridges.RedeliverResult{}, err
		}
		switch {
		case d == nil || d.Reduced():
			return nil, bridges.RedeliverResult{}, bridges.ErrDeliveryNotFound
		case d.State == bridges.StateMismatch || d.Body == nil:
			return nil, bridges.RedeliverResult{}, bridges.ErrNothingToSend
		case l.sending != nil && l.sending.Seq == seq:
			return &ledger.Unit{}, bridges.RedeliverResult{Delivery: *d}, nil // it is being sent
		}
		next = d
		if !next.State.Open() {
			next.Revive(next.Generation) // if a reset has come before it, it is still to be decided again
			next.Forced = true
		}
		next.NextAttemptAt = notify.Time{}
		return &ledger.Unit{Rows: []ledger.Row{next}}, bridges.RedeliverResult{Delivery: *next}, nil
	}, s.cfg.Store.Append)
	if err != nil || replayed || next == nil {
		return r, err
	}
	l.replace(next)
	l.kick()
	return r, nil
}

// Bridge returns a bridge, and the newest seq before it was read. Errors:
// bridges.ErrBridgeNotFound.
func (s *Service) Bridge(id string) (bridges.Bridge, int64, error) {
	head := s.cfg.Head()
	b := s.bridge(id)
	if b == nil {
		return bridges.Bridge{}, head, bridges.ErrBridgeNotFound
	}
	return *b.row.Load(), head, nil
}

// Bridges lists bridges by their ids. next is where the next page begins; "" = there
// is none.
func (s *Service) Bridges(after string, limit int) (list []bridges.Bridge, next string, latest int64) {
	latest = s.cfg.Head()
	s.mu.RLock()
	for id, b := range s.bridges {
		if id > after {
			list = append(list, *b.row.Load())
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(list, func(a, b bridges.Bridge) int { return strings.Compare(a.BridgeID, b.BridgeID) })
	if n := limited(limit); len(list) > n {
		return list[:n], list[n-1].BridgeID, latest
	}
	return list, "", latest
}

// Subscription returns one subscription. Errors: bridges.ErrSubscriptionNotFound.
func (s *Service) Subscription(ctx context.Context, id string) (view bridges.SubscriptionView, latest int64, err error) {
	latest = s.cfg.Head()
	if l := s.lane(id); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		view = l.view()
		view.Dead, err = s.dead(ctx, id)
		return view, latest, err
	}
	var sub *bridges.Subscription
	if err = s.cfg.Read(ctx, func(tx ledger.Reader) error {
		v, err := tx.Get(bridges.SubscriptionByID, id)
		if err != nil || v == nil {
			return err
		}
		sub, err = bridges.ReadSubscription(v)
		return err
	}); err != nil {
		return view, latest, err
	}
	if sub == nil {
		return view, latest, bridges.ErrSubscriptionNotFound
	}
	view, err = s.view(ctx, sub)
	return view, latest, err
}

// view is what reads return of the lane, without Dead. l.mu is held.
func (l *lane) view() bridges.SubscriptionView {
	v := bridges.SubscriptionView{Subscription: *l.sub, Cursor: l.cursor, Pending: len(l.open)}
	v.Cursor.ScannedSeq = l.follower.Status().Position
	for _, d := range l.open {
		if at := d.NextAttemptAt; !at.IsZero() && (v.NextAttemptAt.IsZero() || at.Before(v.NextAttemptAt.Time)) {
			v.NextAttemptAt = at
		}
	}
	return v
}

// view reads a subscription that has no lane.
func (s *Service) view(ctx context.Context, sub *bridges.Subscription) (v bridges.SubscriptionView, err error) {
	if l := s.lane(sub.SubscriptionID); l != nil {
		l.mu.Lock()
		v = l.view()
		l.mu.Unlock()
		v.Dead, err = s.dead(ctx, sub.SubscriptionID)
		return v, err
	}
	v.Subscription = *sub
	err = s.cfg.Read(ctx, func(tx ledger.Reader) (err error) {
		if v.Cursor, err = cursors.Get(tx, cursorName(sub)); err != nil {
			return err
		}
		v.Cursor.ScannedSeq = sub.ScannedSeq
		return tx.Scan(ledger.Range{Index: bridges.OpenDeliveries, Prefix: []any{sub.SubscriptionID}, First: 2}, func(ledger.Values) error {
			v.Pending++
			return nil
		})
	})
	if err != nil {
		return v, err
	}
	v.Dead, err = s.dead(ctx, sub.SubscriptionID)
	return v, err
}

// dead counts the deliveries of a subscription that were given up.
func (s *Service) dead(ctx context.Context, id string) (n int, err error) {
	err = s.cfg.Read(ctx, func(tx ledger.Reader) error {
		return tx.Scan(ledger.Range{Index: bridges.DeadDeliveries, Prefix: []any{id}, First: 2}, func(ledger.Values) error {
			n++
			return nil
		})
	})
	return n, err
}

// Subscriptions returns one page, the oldest first, and where the next one begins.
func (s *Service) Subscriptions(ctx context.Context, q bridges.SubscriptionQuery) (list []bridges.SubscriptionView, next string, latest int64, err error) {
	latest = s.cfg.Head()
	r := ledger.Range{Index: bridges.SubscriptionBySeq}
	if q.BridgeID != "" {
		r = ledger.Range{Index: bridges.SubscriptionOfBridge, Prefix: []any{q.BridgeID}}
	}
	if q.Cursor != "" {
		at, err := strconv.ParseInt(q.Cursor, 10, 64)
		if err != nil || at < 0 {
			return nil, "", latest, notify.ErrBadCursor
		}
		r.After = at
	}
	var subs []*bridges.Subscription
	more := false
	if err := s.cfg.Read(ctx, func(tx ledger.Reader) error {
		return tx.Scan(r, func(v ledger.Values) error {
			sub, err := bridges.ReadSubscription(v)
			switch {
			case err != nil:
				return err
			case q.ThreadID != "" && sub.ThreadID != q.ThreadID, !q.IncludeDeleted && sub.State == bridges.Deleted:
				return nil
			case len(subs) == limited(q.Limit):
				more = true
				return ledger.ErrEnough
			}
			subs = append(subs, sub)
			return nil
		})
	}); err != nil {
		return nil, "", latest, err
	}
	for _, sub := range subs {
		v, err := s.view(ctx, sub)
		if err != nil {
			return nil, "", latest, err
		}
		list = append(list, v)
	}
	if more {
		next = strconv.FormatInt(subs[len(subs)-1].CreatedSeq, 10)
	}
	return list, next, latest, nil
}

// Delivery returns one delivery with its attempts. Errors:
// bridges.ErrDeliveryNotFound.
func (s *Service) Delivery(ctx context.Context, id string) (d bridges.Delivery, latest int64, err error) {
	latest = s.cfg.Head()
	subscription, seq, ok := bridges.ParseDeliveryID(id)
	if !ok {
		return d, latest, bridges.ErrDeliveryNotFound
	}
	err = s.cfg.Read(ctx, func(tx ledger.Reader) error {
		found, err := bridges.DeliveryOf(tx, subscription, seq)
		if err == nil && (found == nil || found.Reduced()) {
			return bridges.ErrDeliveryNotFound
		}
		if err == nil {
			d = *found
		}
		return err
	})
	return d, latest, err
}

// Deliveries returns one page, the newest first, without attempts.
func (s *Service) Deliveries(ctx context.Context, q bridges.DeliveryQuery) (list []bridges.Delivery, next string, latest int64, err error) {
	latest = s.cfg.Head()
	r := ledger.Range{Index: bridges.DeliveryBySeq, Newest: true, First: bridges.WithoutBody}
	if q.SubscriptionID != "" {
		r.Index, r.Prefix = bridges.DeliveryByKey, []any{q.SubscriptionID}
	}
	for _, f := range []struct{ column, value string }{{"state", string(q.State)}, {"bridge_id", q.BridgeID}} {
		if f.value != "" {
			r.Only = append(r.Only, ledger.Only{Column: f.column, Values: []any{f.value}})
		}
	}
	var atSeq int64
	var atID string
	if q.Cursor != "" {
		seq, id, _ := strings.Cut(q.Cursor, "/")
		if atSeq, err = strconv.ParseInt(seq, 10, 64); err != nil || atSeq < 0 {
			return nil, "", latest, notify.ErrBadCursor
		}
		atID = id
		r.After = atSeq + 1 // the rest of that seq comes again, and is left out
	}
	err = s.cfg.Read(ctx, func(tx ledger.Reader) error {
		return tx.Scan(r, func(v ledger.Values) error {
			d, err := bridges.ReadDelivery(v)
			switch {
			case err != nil:
				return err
			case d.Reduced() || atID != "" && d.Seq == atSeq && d.SubscriptionID >= atID:
				return nil
			case len(list) == limited(q.Limit):
				last := &list[len(list)-1]
				next = strconv.FormatInt(last.Seq, 10) + "/" + last.SubscriptionID
				return ledger.ErrEnough
			}
			d.Tries = nil
			list = append(list, *d)
			return nil
		})
	})
	return list, next, latest, err
}

// Scanned returns how far the follower of a subscription has looked, for cursors of
// the server; 0 if it is not known.
func (s *Service) Scanned(n cursors.Name) int64 {
	id, ok := strings.CutPrefix(n.ConsumerID, bridges.ConsumerPrefix)
	if l := s.lane(id); ok && l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.follower.Status().Position
	}
	return 0
}

// retainEvery is how often rows are removed that are no longer kept.
const retainEvery = 10 * time.Minute

// retain removes what is no longer kept, and forgets old secrets, until ctx is done.
func (s *Service) retain(ctx context.Context) {
	for {
		s.expire(ctx)
		s.mu.RLock()
		all := make([]*bridge, 0, len(s.bridges))
		for _, b := range s.bridges {
			all = append(all, b)
		}
		s.mu.RUnlock()
		for _, b := range all {
			s.forgetPrevious(b)
		}
		select {
		case <-time.After(retainEvery):
		case <-ctx.Done():
			return
		}
	}
}
