package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// lane is a subscription that exists.
type lane struct {
	s      *Service
	bridge *bridge
	out    *outlet // of the bridge

	inLine, failing bool // guarded by places.mu: it waits for a place; its place counts as that of a failing bridge

	work    sync.WaitGroup  // the attempt under way, until what came of it is committed
	attempt context.Context // of attempts; ends when they are cut, with the lane or the server
	cut     context.CancelFunc

	// mu is held during each step, its commit included: the lane changes its rows
	// one step after the other.
	mu        sync.Mutex
	sub       *bridges.Subscription // as committed; replaced, never changed
	follower  *follow.Lane
	cursor    cursors.Cursor      // as committed
	open      []*bridges.Delivery // not settled, by seq
	sending   *bridges.Delivery   // whose attempt is under way
	caughtUp  int64               // nothing is sent before the follower has passed it
	delivered time.Time           // when something was delivered last; zero: not since the start
	throttled bool                // the follower is held until there is room
	timer     *time.Timer         // for the next attempt
}

// follow adds the lane's follower. l.mu is held, or nobody knows the lane.
func (l *lane) follow(ctx context.Context) (err error) {
	sub, generation := l.sub, l.sub.Generation
	interest := follow.Interest{All: sub.ThreadID == "", Methods: sub.Followed()}
	if sub.ThreadID != "" {
		interest.Threads = []string{sub.ThreadID}
	}
	l.follower, err = l.s.cfg.Followers.Add(ctx, follow.Follower{
		Name: sub.FollowerName(), Interest: interest, Held: sub.State != bridges.Active,
		Handle: func(ctx context.Context, b *follow.Batch) ([]follow.Task, error) {
			return nil, l.take(ctx, generation, b)
		},
	})
	return err
}

// next returns the delivery whose attempt is due; nil with the wait until one is, 0
// if none will be. l.mu is held.
func (l *lane) next(now time.Time) (d *bridges.Delivery, wait time.Duration) {
	strict := l.sub.Order == bridges.OrderStrict
	var blocked map[string]bool
	for _, d := range l.open {
		if d.TurnID != "" && blocked[d.TurnID] {
			continue
		}
		due := d.NextAttemptAt.Sub(now)
		if d.State == bridges.StatePending && due <= 0 {
			return d, 0
		}
		if d.State == bridges.StatePending && (wait == 0 || due < wait) {
			wait = due
		}
		if strict || !d.Aside() {
			return nil, wait
		}
		if blocked == nil {
			blocked = map[string]bool{}
		}
		blocked[d.TurnID] = true
	}
	return nil, wait
}

// ready reports whether the lane may send. l.mu is held.
func (l *lane) ready() bool {
	return l.sub.State == bridges.Active && l.sending == nil && l.caughtUp == 0
}

// kick asks for a place if an attempt is due, and otherwise sets the timer. l.mu
// is held.
func (l *lane) kick() {
	if l.throttled && len(l.open) < bridges.MaxBacklog/2 {
		l.throttled = false
		l.follower.Release()
	}
	if l.caughtUp != 0 && l.follower.Status().Position >= l.caughtUp {
		l.caughtUp = 0
	}
	if l.caughtUp != 0 && len(l.open) > 0 && l.sub.State == bridges.Active { // else the follower is held
		l.after(100 * time.Millisecond) // what the follower passes without a word
	}
	if !l.ready() {
		return
	}
	d, wait := l.next(l.s.now())
	switch {
	case d != nil:
		l.s.places.want(l)
	case wait > 0:
		l.after(wait)
	}
}

// after kicks the lane after a time. l.mu is held.
func (l *lane) after(wait time.Duration) {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(wait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.s.sending.Err() == nil {
			l.kick()
		}
	})
}

// commit commits a unit of the lane, with the cursor if it has changed. l.mu is
// held.
func (l *lane) commit(u *ledger.Unit, cursor cursors.Cursor) error {
	if cursor != l.cursor {
		cursors.Write(u, l.cursor, cursor)
	}
	for i := range u.Drafts {
		if err := u.Drafts[i].Encode(); err != nil {
			return err
		}
	}
	if _, err := l.s.cfg.Store.Append(u); err != nil {
		return err
	}
	l.cursor = cursor
	return nil
}

// replace puts a delivery, as committed, in the place of what the lane knew of it.
// l.mu is held.
func (l *lane) replace(d *bridges.Delivery) {
	i, found := slices.BinarySearchFunc(l.open, d.Seq, func(o *bridges.Delivery, seq int64) int { return int(o.Seq - seq) })
	switch {
	case found && d.State.Open():
		l.open[i] = d
	case found:
		l.open = slices.Delete(l.open, i, i+1)
		l.s.open.Add(-1)
	case d.State.Open():
		l.open = slices.Insert(l.open, i, d)
		l.s.open.Add(1)
	}
}

// passed returns the cursor after an event was settled without a delivery.
func (l *lane) passed(c cursors.Cursor, seq int64) cursors.Cursor {
	if seq <= c.LastSequence {
		return c
	}
	next, err := c.Advance(seq, nil, notify.TimeOf(l.s.now()))
	if err != nil {
		return c
	}
	return next
}

// draft adds an event of the whole log to a unit.
func draft(u *ledger.Unit, method string, now time.Time, body any) {
	u.Drafts = append(u.Drafts, notify.Draft{
		Method: method, Header: notify.Header{Seq: notify.Provisional(len(u.Drafts)), Timestamp: notify.TimeOf(now)}, Body: body,
	})
}

// setState commits a new state of the subscription that the server has chosen.
// l.mu is held.
func (l *lane) setState(state bridges.State, reason, method string) error {
	now := l.s.now()
	next, u := l.sub.Clone(), &ledger.Unit{}
	next.State, next.Reason = state, reason
	next.UpdatedSeq, next.UpdatedAt = notify.Provisional(0), notify.TimeOf(now)
	draft(u, method, now, next.Event(bridges.ByServer))
	u.Rows = append(u.Rows, next)
	if err := l.commit(u, l.cursor); err != nil {
		return err
	}
	l.sub = next
	l.follower.Hold()
	l.s.cfg.Log.Warn("a subscription sends nothing", zap.String("subscription_id", next.SubscriptionID), zap.String("state", string(state)), zap.String("reason", reason))
	return nil
}
