package dispatch

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
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
// bridges.ErrNothingToSend.
func (s *Service) Redeliver(ctx context.Context, id string, key *ledger.Key) (bridges.RedeliverResult, error) {
	subscription, seq, _ := bridges.ParseDeliveryID(id)
	l, r, err := laneOr[bridges.RedeliverResult](ctx, s, subscription, key, bridges.ErrDeliveryNotFound, func(*lane) error {
		_, err := s.toRedeliver(ctx, subscription, seq)
		return err
	})
	if l == nil {
		return r, err
	}
	defer l.mu.Unlock()
	if l.sub.State == bridges.Deleted {
		return replayOr[bridges.RedeliverResult](s.cfg.Store, key, bridges.ErrDeliveryNotFound)
	}
	if err := l.recall(); err != nil {
		return bridges.RedeliverResult{}, err
	}
	var next *bridges.Delivery
	r, replayed, err := ledger.Keyed(s.cfg.Store, key, func() (*ledger.Unit, bridges.RedeliverResult, error) {
		d, err := s.toRedeliver(ctx, subscription, seq)
		if err != nil {
			return nil, bridges.RedeliverResult{}, err
		}
		if l.round.of(seq) != nil {
			return &ledger.Unit{}, bridges.RedeliverResult{Delivery: *d}, nil // it is being sent
		}
		next = d
		if !next.State.Open() {
			next.Revive() // if a reset has come before it, it is still to be decided again
			next.BridgeID, next.Forced = l.sub.BridgeID, true
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

// toRedeliver reads a delivery that can be sent again. Errors: see Redeliver.
func (s *Service) toRedeliver(ctx context.Context, subscription string, seq int64) (d *bridges.Delivery, err error) {
	err = s.cfg.Read(ctx, func(tx ledger.Reader) (err error) {
		if d, err = bridges.DeliveryOf(tx, subscription, seq); err != nil || d == nil {
			return err
		}
		d.Body, err = bridges.BodyOf(tx, d)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case d == nil || d.Reduced():
		return nil, bridges.ErrDeliveryNotFound
	case d.Body == nil || d.State != bridges.StatePending && d.State != bridges.StateDelivered && d.State != bridges.StateDead:
		return nil, bridges.ErrNothingToSend
	}
	return d, nil
}

// Bridge returns a bridge, and the newest seq before it was read. Errors:
// bridges.ErrBridgeNotFound.
func (s *Service) Bridge(id string) (bridges.Bridge, int64, error) {
	head := s.cfg.Head()
	b := s.known.bridge(id)
	if b == nil {
		return bridges.Bridge{}, head, bridges.ErrBridgeNotFound
	}
	return b.row.Load().Shown(), head, nil
}

// Bridges returns one page. next is where the next page begins; "" = there is none.
func (s *Service) Bridges(q bridges.BridgeQuery) (list []bridges.Bridge, next string, latest int64) {
	latest = s.cfg.Head()
	s.known.mu.RLock()
	for id, b := range s.known.bridges {
		if q.Cursor == "" || id > q.Cursor != q.Descending && id != q.Cursor {
			list = append(list, b.row.Load().Shown())
		}
	}
	s.known.mu.RUnlock()
	slices.SortFunc(list, func(a, b bridges.Bridge) int {
		if q.Descending {
			a, b = b, a
		}
		return strings.Compare(a.BridgeID, b.BridgeID)
	})
	if n := limited(q.Limit); len(list) > n {
		return list[:n], list[n-1].BridgeID, latest
	}
	return list, "", latest
}

// Subscription returns one subscription. Errors: bridges.ErrSubscriptionNotFound.
func (s *Service) Subscription(ctx context.Context, id string) (view bridges.SubscriptionView, latest int64, err error) {
	latest = s.cfg.Head()
	if l := s.known.locked(id); l != nil {
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

// view returns the lane as reads return it, without Dead. l.mu is held.
func (l *lane) view() bridges.SubscriptionView {
	v := bridges.SubscriptionView{Subscription: *l.sub, Cursor: l.cursor, Blocked: blockedBy(l, l.sub, nil), Pending: len(l.open)}
	v.Cursor = saying(v.Cursor, v.Blocked) // a server of before has let a success clear it
	v.Cursor.ScannedSeq = l.position()
	for _, d := range l.open {
		if at := d.NextAttemptAt; !at.IsZero() && (v.NextAttemptAt.IsZero() || at.Before(v.NextAttemptAt.Time)) {
			v.NextAttemptAt = at
		}
	}
	return v
}

// view reads a subscription that has no lane.
func (s *Service) view(ctx context.Context, sub *bridges.Subscription) (v bridges.SubscriptionView, err error) {
	if l := s.known.locked(sub.SubscriptionID); l != nil {
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

// Subscriptions returns one page, and where the next one begins. A page may have few
// rows, or none, and more after it: see turns.MaxListScan.
func (s *Service) Subscriptions(ctx context.Context, q bridges.SubscriptionQuery) (list []bridges.SubscriptionView, next string, latest int64, err error) {
	latest = s.cfg.Head()
	r := ledger.Range{Index: bridges.SubscriptionBySeq, Newest: q.Newest}
	if q.BridgeID != "" {
		r.Index, r.Prefix = bridges.SubscriptionOfBridge, []any{q.BridgeID}
	}
	if q.Cursor != "" {
		at, err := strconv.ParseInt(q.Cursor, 10, 64)
		if err != nil || at < 0 {
			return nil, "", latest, notify.ErrBadCursor
		}
		r.After = at
	}
	var subs []*bridges.Subscription
	looked, last := 0, ""
	if err := s.cfg.ReadList(ctx, func(tx ledger.Reader) error {
		return tx.Scan(r, func(v ledger.Values) error {
			sub, err := bridges.ReadSubscription(v)
			if err != nil {
				return err
			}
			chosen := (q.ThreadID == "" || sub.ThreadID == q.ThreadID) && (q.IncludeDeleted || sub.State != bridges.Deleted) && (q.IncludeEnded || sub.State != bridges.Ended)
			if looked == turns.MaxListScan || chosen && len(subs) == limited(q.Limit) {
				next = last
				return ledger.ErrEnough
			}
			looked, last = looked+1, strconv.FormatInt(sub.CreatedSeq, 10)
			if chosen {
				subs = append(subs, sub)
			}
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

// Deliveries returns one page without attempts, and where the next one begins. A
// page may have few rows, or none, and more after it: see turns.MaxListScan.
func (s *Service) Deliveries(ctx context.Context, q bridges.DeliveryQuery) (list []bridges.Delivery, next string, latest int64, err error) {
	latest = s.cfg.Head()
	r, at, err := deliveryRange(q)
	if err != nil {
		return nil, "", latest, err
	}
	looked, last := 0, ""
	err = s.cfg.ReadList(ctx, func(tx ledger.Reader) error {
		return tx.Scan(r, func(v ledger.Values) error {
			d, err := bridges.ReadDelivery(v)
			if err != nil || at.covers(d, q.Oldest) {
				return err
			}
			chosen := !d.Reduced() && (q.State == "" || d.State == q.State) && (q.BridgeID == "" || d.BridgeID == q.BridgeID)
			if looked == turns.MaxListScan || chosen && len(list) == limited(q.Limit) {
				next = last
				return ledger.ErrEnough
			}
			looked, last = looked+1, strconv.FormatInt(d.Seq, 10)+"/"+d.SubscriptionID
			if chosen {
				d.Tries = nil
				list = append(list, *d)
			}
			return nil
		})
	})
	return list, next, latest, err
}

// deliveryRange returns the range in which a page of deliveries looks. Rows of the
// seq of the cursor come again; at says which of them were on the page before.
func deliveryRange(q bridges.DeliveryQuery) (r ledger.Range, at deliveryCursor, err error) {
	r = ledger.Range{Index: bridges.DeliveryBySeq, Newest: !q.Oldest}
	if q.SubscriptionID != "" {
		r.Index, r.Prefix = bridges.DeliveryByKey, []any{q.SubscriptionID}
		switch q.State {
		case bridges.StateDead:
			r.Index = bridges.DeadDeliveries
		case bridges.StatePending, bridges.StateMismatch:
			r.Index = bridges.OpenDeliveries
		}
	}
	if q.Cursor == "" {
		return r, at, nil
	}
	seq, id, _ := strings.Cut(q.Cursor, "/")
	if at.seq, err = strconv.ParseInt(seq, 10, 64); err != nil || at.seq < 0 || id == "" {
		return r, at, notify.ErrBadCursor
	}
	at.id, r.After = id, at.seq+1
	if q.Oldest {
		r.After = at.seq - 1
	}
	return r, at, nil
}

// deliveryCursor is where a page of deliveries ended; the zero value is the beginning.
type deliveryCursor struct {
	seq int64
	id  string
}

// covers reports whether a delivery was on the page before.
func (c deliveryCursor) covers(d *bridges.Delivery, oldest bool) bool {
	return c.id != "" && d.Seq == c.seq && (d.SubscriptionID == c.id || d.SubscriptionID < c.id == oldest)
}

// Scanned returns how far the follower of a subscription has looked, for cursors of
// the server; 0 if it is not known.
func (s *Service) Scanned(n cursors.Name) int64 {
	id, ok := strings.CutPrefix(n.ConsumerID, bridges.ConsumerPrefix)
	if !ok {
		return 0
	}
	if l := s.known.locked(id); l != nil {
		defer l.mu.Unlock()
		return l.position()
	}
	return 0
}
