package dispatch

import (
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

// maxBodies is how many bytes of what is to be sent are kept in memory, of all lanes.
const maxBodies = 64 << 20

// lane is a subscription that exists.
type lane struct {
	s      *Service
	id     string // of the subscription
	bridge *bridge
	out    *bridgeLoad // of the bridge

	requester ledger.Requester // has made the subscription

	inLine  bool // it waits for a slot; guarded by slots.mu, as is failing
	failing int  // how many of its slots count as those of failing bridges; it may get a slot before it has given back the last one

	// mu is held during each step, its commit included: the lane changes its rows
	// one step after the other.
	mu        sync.Mutex
	sub       *bridges.Subscription // as committed; replaced, never changed
	follower  *follow.Progress
	moved     int64               // the follower's position as this lane has committed it: see position
	cursor    cursors.Cursor      // as committed
	open      []*bridges.Delivery // not settled, by seq
	round     *round              // whose attempts are under way; nil = none
	pace      int                 // how many attempts the next round has at most
	caughtUp  int64               // nothing is sent before the follower has passed it
	delivered time.Time           // when something was delivered last; zero: not since the start
	atStart   bool                // the server has found it when it started
	throttled bool                // the follower is held until there is room
	spared    bool                // it would be held for its backlog if the start were not recent: it is judged again
	ofTurns   bool                // there may be deliveries of turns, which markers may concern
	timer     *time.Timer         // for the next attempt
	turn      laneTurn            // of a subscription of one turn
	resting   int                 // how many ask that no attempt begins: see rest
	idle      chan struct{}       // see wake; nil: nobody waits
	// unrecorded is why what came of the last attempt cannot be committed yet; nil = it is, or none has ended.
	unrecorded error
}

// position returns the seq up to which everything was taken. The follower itself learns of it
// when its batch is over, which may be after a change of the subscription. l.mu is
// held.
func (l *lane) position() int64 {
	if l.follower == nil { // it has ended, and is about to be deleted
		return l.sub.ScannedSeq
	}
	return max(l.moved, l.follower.Status().Position)
}

// due returns up to n deliveries whose attempts are due and may be made one after the
// other if each is delivered; none with the wait until one is due, 0 if none will be.
// It passes over those of the round, and over those whose last Send is stuck: nobody
// knows when they are due, so other turns do not wait for them. l.mu is held.
func (l *lane) due(now time.Time, n int) (list []*bridges.Delivery, wait time.Duration) {
	strict := l.sub.Order == bridges.OrderStrict
	var blocked map[string]bool
	var sent []string // turns
	for _, d := range l.open {
		if d.TurnID != "" && blocked[d.TurnID] {
			continue
		}
		// A message of the same turn may depend on what the receipt says.
		if d.TurnID != "" && slices.Contains(sent, d.TurnID) {
			return list, wait
		}
		if l.round.of(d.Seq) != nil {
			sent = append(sent, d.TurnID)
			continue
		}
		in, stuck := d.NextAttemptAt.Sub(now), l.s.sender.isStuck(sendingOf(l, d))
		if d.State == bridges.StatePending && in <= 0 && !stuck {
			if list = append(list, d); len(list) >= n {
				return list, 0
			}
			sent = append(sent, d.TurnID)
			continue
		}
		if d.State == bridges.StatePending && !stuck && (wait == 0 || in < wait) {
			wait = in
		}
		if strict || !d.Aside() && !stuck {
			return list, wait
		}
		if blocked == nil {
			blocked = map[string]bool{}
		}
		blocked[d.TurnID] = true
	}
	return list, wait
}

// ready reports whether the lane may send. l.mu is held.
func (l *lane) ready() bool {
	return l.sub.State == bridges.Active && l.round == nil && l.resting == 0 && l.caughtUp == 0
}

// kick asks for a slot if an attempt is due, and otherwise sets the timer. l.mu
// is held.
func (l *lane) kick() {
	active := l.sub.State == bridges.Active
	var look time.Duration // when it looks again although nothing is due; 0 = not
	recent := l.s.start.recentFor(l.s.now())
	switch {
	case !l.throttled || !active:
	case l.spared && recent <= 0:
		l.spared, l.throttled = false, false
		l.follower.Release() // what waits is judged as ever
	case len(l.open) < bridges.MaxBacklog/2:
		if l.s.open.Load() < bridges.MaxOpen {
			l.throttled = false
			l.follower.Release()
		} else {
			look = time.Second // other lanes make room, and do not say so
		}
	case l.spared:
		look = recent
	}
	if l.caughtUp != 0 && l.position() >= l.caughtUp {
		l.caughtUp = 0
	}
	if l.caughtUp != 0 && active && len(l.open) > 0 {
		look = 100 * time.Millisecond // the follower does not report what it passes: look at its position again
	}
	if wait := mayEnd(l); wait > 0 && (look == 0 || wait < look) {
		look = wait
	}
	if l.ready() {
		due, wait := l.due(l.s.now(), 1)
		if len(due) > 0 {
			l.s.slots.want(l)
		} else if wait > 0 && (look == 0 || wait < look) {
			look = wait
		}
	}
	if look > 0 {
		l.after(look)
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
	if cursor = saying(cursor, blockedBy(l, l.sub, u.Rows)); cursor.LastError != l.cursor.LastError && cursor.UpdatedAt == l.cursor.UpdatedAt {
		cursor = cursor.Fail(cursor.LastError, notify.TimeOf(l.s.now()))
	}
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
	if l.sub.State == bridges.Deleted {
		return
	}
	i, found := slices.BinarySearchFunc(l.open, d.Seq, func(o *bridges.Delivery, seq int64) int { return int(o.Seq - seq) })
	switch {
	case found && d.State.Open():
		l.open[i] = l.within(d, len(l.open[i].Body))
	case found:
		l.s.bodies.Add(-int64(len(l.open[i].Body)))
		l.open = slices.Delete(l.open, i, i+1)
		l.s.open.Add(-1)
	case d.State.Open():
		l.open = slices.Insert(l.open, i, l.within(d, 0))
		l.s.open.Add(1)
	}
}

// within returns a delivery as the lane keeps it, in the place of one with a body of so
// many bytes: without its body, which is read again, if those of all lanes are too large.
func (l *lane) within(d *bridges.Delivery, before int) *bridges.Delivery {
	more := int64(len(d.Body) - before)
	if l.s.bodies.Add(more) <= maxBodies || more <= 0 {
		return d
	}
	l.s.bodies.Add(-int64(len(d.Body)))
	without := *d
	without.Body, without.Checked = nil, false
	return &without
}

// passed returns the cursor after an event was settled without a delivery.
func passed(c cursors.Cursor, seq int64, now time.Time) cursors.Cursor {
	if seq <= c.LastSequence {
		return c
	}
	next, err := c.Advance(seq, nil, notify.TimeOf(now))
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

// setState commits a state of the subscription that the server has set itself.
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
	if l.round != nil {
		l.round.close()
	}
	l.follower.Hold()
	l.s.cfg.Log.Warn("a subscription sends nothing", zap.String("subscription_id", next.SubscriptionID), zap.String("state", string(state)), zap.String("reason", reason))
	return nil
}

// dropOpen forgets the open deliveries of a deleted lane. l.mu is held.
func (l *lane) dropOpen() {
	for _, d := range l.open {
		l.s.bodies.Add(-int64(len(d.Body)))
	}
	l.s.open.Add(-int64(len(l.open)))
	l.open = nil
}
