package dispatch

import (
	"context"
	"fmt"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/ledger"
)

// newLane makes the lane of a subscription, which does nothing yet.
func newLane(s *Service, b *bridge, sub *bridges.Subscription) *lane {
	return &lane{s: s, id: sub.SubscriptionID, bridge: b, out: &b.bridgeLoad, sub: sub, requester: sub.Requester, pace: 1, cursor: cursors.Zero(cursorName(sub))}
}

// laneLeft makes the lane of a subscription that has none, because it was deleted or has ended, with
// what it has left: its cursor, and deliveries that are not settled. s.changing is held.
func laneLeft(ctx context.Context, s *Service, b *bridge, sub *bridges.Subscription) (*lane, error) {
	l := newLane(s, b, sub)
	return l, s.cfg.Read(ctx, l.load)
}

// load reads the lane's cursor and its open deliveries.
func (l *lane) load(tx ledger.Reader) (err error) {
	if l.cursor, err = cursors.Get(tx, cursorName(l.sub)); err != nil {
		return err
	}
	l.open = nil
	// Of the rows by turn, the last one has a turn if any has.
	if err := tx.Scan(ledger.Range{Index: bridges.DeliveriesOfTurn, Prefix: []any{l.id}, Newest: true, First: 8}, func(v ledger.Values) error {
		l.ofTurns = v.Text(7) != ""
		return ledger.ErrEnough
	}); err != nil {
		return err
	}
	return tx.Scan(ledger.Range{Index: bridges.OpenDeliveries, Prefix: []any{l.id}}, func(v ledger.Values) error {
		d, err := bridges.ReadDelivery(v)
		if err == nil {
			l.open = append(l.open, d)
		}
		return err
	})
}

// openLane begins the lane of a subscription that the start of the server has found.
func openLane(ctx context.Context, s *Service, sub *bridges.Subscription) error {
	b := s.known.bridge(sub.BridgeID)
	if b == nil {
		return fmt.Errorf("the subscription %s has no bridge %s", sub.SubscriptionID, sub.BridgeID)
	}
	l, err := laneLeft(ctx, s, b, sub)
	if err != nil {
		return fmt.Errorf("read the deliveries of %s: %w", sub.SubscriptionID, err)
	}
	l.atStart = true
	l.mu.Lock()
	defer l.mu.Unlock()
	begin(l)
	l.follower, err = s.cfg.Followers.Add(ctx, followerOf(l))
	return err
}

// begin makes a lane that of its subscription. It has everything that is to be read, so that nothing
// after the commit of the subscription can fail. l.mu is held.
func begin(l *lane) {
	l.caughtUp = l.s.cfg.Head()
	l.turn.begins(l.sub, l.s.now())
	l.s.open.Add(int64(len(l.open)))
	l.s.known.put(l)
}

// beginAfter begins a lane whose subscription was just committed, with its follower after a seq.
func beginAfter(l *lane, sub *bridges.Subscription, after int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sub, l.requester = sub, sub.Requester
	begin(l)
	l.follow(after)
	l.kick()
}

// follow follows the log after a seq under the name of the subscription's generation, for which the
// position was committed. l.mu is held.
func (l *lane) follow(after int64) {
	l.moved, l.turn.taken = 0, 0
	l.follower = l.s.cfg.Followers.Begin(followerOf(l), after)
}

// followerOf returns the lane as a follower of the log. l.mu is held: it may bring events at once.
func followerOf(l *lane) follow.Follower {
	sub, generation := l.sub, l.sub.Generation
	interest := follow.Interest{All: sub.ThreadID == "", Methods: sub.Followed(), MarkersLater: !l.ofTurns}
	if sub.ThreadID != "" {
		interest.Threads = []string{sub.ThreadID}
	}
	return follow.Follower{
		Name: sub.FollowerName(), Interest: interest, Held: sub.State != bridges.Active,
		Handle: func(ctx context.Context, b *follow.Batch) ([]follow.Task, error) {
			return nil, l.take(ctx, generation, b)
		},
	}
}
