package dispatch

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// enter adds to a unit that deliveries which are not settled enter the subscription's new
// generation, and returns them. A damaged one stays as it is: it is not sent, and its row would
// no longer show why.
func enter(u *ledger.Unit, open []*bridges.Delivery, next *bridges.Subscription) (entered []*bridges.Delivery) {
	for _, d := range open {
		moved := *d
		moved.Body, moved.Checked = nil, false // it is read again
		if !d.Damaged {
			moved.Enter(next)
			u.Rows = append(u.Rows, &moved)
		}
		entered = append(entered, &moved)
	}
	return entered
}

// patience is how long an attempt under way is waited for, before it is cut off by a command that
// needs it to be over.
const patience = 5 * time.Second

// rest waits until no attempt is under way, and cuts one off in the end if cut is set; none begins
// until the caller counts resting down again, also after an error. That is of ctx or of a stop, or
// says why what came of the attempt cannot be stored. l.mu is held, and let go meanwhile.
func rest(ctx context.Context, l *lane, cut bool) error {
	l.resting++
	long := time.NewTimer(patience)
	defer long.Stop()
	for l.round != nil {
		if l.unrecorded != nil {
			return l.unrecorded
		}
		r := l.round
		r.close()
		if l.idle == nil {
			l.idle = make(chan struct{})
		}
		idle := l.idle
		l.mu.Unlock()
		var err error
		select {
		case <-idle:
		case <-long.C:
			if cut {
				r.cut()
			}
		case <-ctx.Done():
			err = ctx.Err()
		case <-l.s.sending.Done():
			err = l.s.sending.Err()
		}
		l.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// wake wakes those who rest: the round has ended, or cannot be recorded. l.mu is held.
func wake(l *lane) {
	if l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// ofNewTarget returns a cursor without the error of the old target.
func ofNewTarget(c cursors.Cursor, now time.Time) cursors.Cursor {
	if c.LastError != "" {
		c = c.Fail("", notify.TimeOf(now))
	}
	return c
}

// lockToMove locks s.changing when no attempt of the subscription is under way: its receipt is
// that of the old target. None begins until release is called, or the lane was replaced. It is
// nil, and nothing is locked, if there is no such subscription.
func lockToMove(ctx context.Context, s *Service, id string) (release func(), err error) {
	for {
		l, err := laneOf(ctx, s, id, nil)
		if l == nil {
			return nil, err
		}
		err = rest(ctx, l, true)
		l.mu.Unlock()
		rested := func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.resting--
			l.kick()
		}
		if err != nil {
			rested()
			return nil, err
		}
		s.changing.Lock()
		if s.known.lane(id) == l {
			return func() {
				rested()
				s.changing.Unlock()
			}, nil
		}
		s.changing.Unlock()
		rested()
	}
}

// replaced begins the lane that takes the place of another one, for another target, after the same
// seq. old.mu is held: old has the subscription as it was committed.
func replaced(old *lane, b *bridge, open []*bridges.Delivery, after int64) {
	next := newLane(old.s, b, old.sub)
	next.cursor, next.open, next.ofTurns = old.cursor, open, old.ofTurns
	gone := old.sub.Clone()
	gone.State = bridges.Deleted
	old.sub = gone
	old.dropOpen()
	beginAfter(next, next.sub, after)
}
