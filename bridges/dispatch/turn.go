package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// ofTurns are the subscriptions of one turn. When the turn is over and nothing of it is left to be
// sent, the subscription has ended: it has no lane and no follower. One follower for all of them
// looks for markers, because a retry makes the turn go on.
type ofTurns struct {
	s        *Service
	mu       sync.Mutex
	watching bool
}

// endedFollower is the name of that follower.
const endedFollower = bridges.FollowerPrefix + "ended"

// maxChain bounds how many turns that continue each other are looked at.
const maxChain = 16

// watch adds the follower, if it is not there yet. A subscription whose turn ends later is not
// missed.
func (o *ofTurns) watch(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watching {
		return nil
	}
	_, err := o.s.cfg.Followers.Add(ctx, follow.Follower{
		Name: endedFollower, Interest: follow.Interest{All: true, Methods: []string{notify.StreamRewind}},
		Handle: func(ctx context.Context, b *follow.Batch) ([]follow.Task, error) {
			if b.Lost != nil {
				if err := o.missed(ctx); err != nil {
					return nil, err
				}
			}
			for _, e := range b.Events {
				if err := o.retried(ctx, e); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
	})
	o.watching = err == nil
	return err
}

// unwatch removes the follower of an earlier start, if nobody needs it any more: it would keep
// the log.
func (o *ofTurns) unwatch() error {
	if o.watching || !slices.ContainsFunc(o.s.cfg.Followers.Followers(), func(f follow.Status) bool { return f.Name == endedFollower }) {
		return nil
	}
	return o.s.cfg.Followers.Remove(endedFollower)
}

// retried makes the subscriptions active again that have ended with the turn of a marker.
func (o *ofTurns) retried(ctx context.Context, e follow.Event) error {
	var marker struct {
		TurnID string `json:"turn_id"`
		Step   string `json:"step"`
	}
	if err := json.Unmarshal(e.Params, &marker); err != nil {
		o.s.cfg.Log.Error("a marker cannot be read", zap.Int64("seq", e.Seq), zap.Error(err))
		return nil
	}
	if marker.Step != "" { // its turn has not ended
		return nil
	}
	var ids []string
	if err := o.s.cfg.Read(ctx, func(tx ledger.Reader) error {
		return before(tx, marker.TurnID, func(turnID string) error {
			return tx.Scan(ledger.Range{Index: bridges.SubscriptionOfTurn, Prefix: []any{turnID}}, func(v ledger.Values) error {
				sub, err := bridges.ReadSubscription(v)
				if err == nil && sub.State == bridges.Ended {
					ids = append(ids, sub.SubscriptionID)
				}
				return err
			})
		})
	}); err != nil {
		return err
	}
	return o.resumeAll(ctx, ids, e.Seq)
}

// missed calls retried for markers that have left the log unseen: it looks at the turns of all that
// have ended.
func (o *ofTurns) missed(ctx context.Context) error {
	var ids []string
	if err := o.s.cfg.ReadList(ctx, func(tx ledger.Reader) error {
		return tx.Scan(ledger.Range{Index: bridges.SubscriptionBySeq}, func(v ledger.Values) error {
			sub, err := bridges.ReadSubscription(v)
			if err != nil || sub.State != bridges.Ended {
				return err
			}
			t, err := newest(tx, sub.TurnID)
			if err == nil && t != nil && t.UpdatedSeq > sub.ScannedSeq {
				ids = append(ids, sub.SubscriptionID)
			}
			return err
		})
	}); err != nil {
		return err
	}
	return o.resumeAll(ctx, ids, 0)
}

// resumeAll works like resume, for several. s.changing is not held.
func (o *ofTurns) resumeAll(ctx context.Context, ids []string, marker int64) error {
	for _, id := range ids {
		o.s.changing.Lock()
		err := o.resume(ctx, id, marker, nil)
		o.s.changing.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// before calls f with a turn, and with those that it continues.
func before(tx ledger.Reader, turnID string, f func(turnID string) error) error {
	for n := 0; turnID != "" && n < maxChain; n++ {
		if err := f(turnID); err != nil {
			return err
		}
		t, err := readTurn(tx, turnID)
		if err != nil || t == nil {
			return err
		}
		turnID = t.Continues
	}
	return nil
}

// newest reads the turn that continues a turn, or that itself if none does; nil if it is no
// longer kept.
func newest(tx ledger.Reader, turnID string) (t *turns.Turn, err error) {
	for n := 0; n < maxChain; n++ {
		if t, err = readTurn(tx, turnID); err != nil || t == nil || t.ContinuedBy == "" {
			return t, err
		}
		turnID = t.ContinuedBy
	}
	return t, nil
}

// readTurn reads the row of a turn; nil if there is none, or none that can be read: whoever waits
// for it would wait for good.
func readTurn(tx ledger.Reader, turnID string) (*turns.Turn, error) {
	v, err := tx.Get(turns.ByID, turnID)
	if err != nil || v == nil {
		return nil, err
	}
	t, err := turns.Read(v)
	if err != nil {
		return nil, nil
	}
	return t, nil
}

// resume makes a subscription active again, if there is one of this id that has ended. It goes on
// with the marker; 0 = a client wants something of it, and there is none. try, if not nil, may refuse it.
// s.changing is held.
func (o *ofTurns) resume(ctx context.Context, id string, marker int64, try func(*lane) error) error {
	var sub *bridges.Subscription
	var t *turns.Turn
	head := o.s.cfg.Head() // before the snapshot: a retry that this does not have is above it
	if err := o.s.cfg.Read(ctx, func(tx ledger.Reader) (err error) {
		if sub, err = o.ended(tx, id); err == nil && sub != nil {
			t, err = newest(tx, sub.TurnID)
		}
		return err
	}); err != nil || sub == nil || marker != 0 && marker <= sub.ScannedSeq { // the marker was handled before a crash
		return err
	}
	after := marker - 1
	switch {
	case marker != 0:
	case t != nil && t.UpdatedSeq > sub.ScannedSeq: // a retry is about to be found
		after = sub.ScannedSeq
	default:
		after = head
	}
	b := o.s.known.bridge(sub.BridgeID)
	if b == nil {
		return bridges.ErrBridgeNotFound
	}
	l, err := laneLeft(ctx, o.s, b, sub)
	if err == nil && try != nil {
		err = try(l)
	}
	if err != nil {
		return err
	}
	u, now, next := &ledger.Unit{}, o.s.now(), sub.Clone()
	next.State, next.UpdatedSeq, next.UpdatedAt = bridges.Active, notify.Provisional(0), notify.TimeOf(now)
	draft(u, notify.SubscriptionResumed, now, next.Event(bridges.ByServer))
	u.Rows = append(u.Rows, next, follow.NewRow(next.FollowerName(), o.s.cfg.LogID, after))
	if err := o.s.append(u); err != nil {
		return err
	}
	beginAfter(l, next, after)
	return nil
}

// ended reads a subscription that has ended; nil if there is none of this id.
func (o *ofTurns) ended(tx ledger.Reader, id string) (*bridges.Subscription, error) {
	v, err := tx.Get(bridges.SubscriptionByID, id)
	if err != nil || v == nil {
		return nil, err
	}
	sub, err := bridges.ReadSubscription(v)
	if err != nil || sub.State != bridges.Ended {
		return nil, err
	}
	return sub, nil
}

// laneOf returns the lane of a subscription with its mu held; nil = there is no such subscription,
// or it was deleted. One that has ended is made active again for it, unless try refuses what is to be
// done. s.changing is not held.
func laneOf(ctx context.Context, s *Service, id string, try func(*lane) error) (*lane, error) {
	if l := s.known.locked(id); l != nil {
		return l, nil
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.ofTurns.resume(ctx, id, 0, try); err != nil {
		return nil, err
	}
	return s.known.locked(id), nil // a retry may have done it
}

// toDelete works like laneOf, for what deletes it, which makes no ended one active. s.changing is
// held.
func (o *ofTurns) toDelete(ctx context.Context, id string) (*lane, error) {
	if l := o.s.known.locked(id); l != nil {
		return l, nil
	}
	l := &lane{s: o.s, id: id}
	err := o.s.cfg.Read(ctx, func(tx ledger.Reader) (err error) {
		if l.sub, err = o.ended(tx, id); err == nil && l.sub != nil {
			err = l.load(tx)
		}
		return err
	})
	if err != nil || l.sub == nil {
		return nil, err
	}
	l.mu.Lock()
	return l, nil
}

// laneTurn is what a lane knows of the turn of its subscription.
type laneTurn struct {
	of    map[string]bool // turns whose events were taken: whether they are that turn, or continue it
	taken int64           // up to which seq the follower has brought everything
	look  bool            // the turn may be over
	from  time.Time       // it is not looked at before
	over  ended           // its end that was seen last
}

// ended is an end of a turn: the seq of its row, and one that the log had when it was seen. What was
// committed with the end, or before the server has seen it, is sent first.
type ended struct{ at, through int64 }

// ofItsTurn reports whether an event is of the turn of the subscription, or of one that continues
// it. l.mu is held.
func ofItsTurn(ctx context.Context, l *lane, e *follow.Event) (of bool, err error) {
	if l.sub.TurnID == "" {
		return true, nil
	}
	var header struct {
		TurnID string `json:"turn_id"`
	}
	if err := json.Unmarshal(e.Params, &header); err != nil {
		return true, nil // choose says so
	}
	of, known := l.turn.of[header.TurnID]
	if !known {
		if err := l.s.cfg.Read(ctx, func(tx ledger.Reader) error {
			return before(tx, header.TurnID, func(turnID string) error {
				of = of || turnID == l.sub.TurnID
				return nil
			})
		}); err != nil {
			return false, err
		}
		if l.turn.of == nil || len(l.turn.of) >= 256 {
			l.turn.of = map[string]bool{}
		}
		l.turn.of[header.TurnID] = of
	}
	l.turn.look = l.turn.look || of && bridges.MayEndTurn(e.Method)
	return of, nil
}

// begins records that the lane begins: its maker gets a moment before the subscription
// ends.
func (t *laneTurn) begins(sub *bridges.Subscription, now time.Time) {
	if sub.TurnID != "" {
		t.look, t.from = true, now.Add(time.Second)
	}
}

// mayEnd ends the subscription soon if its turn may be over and nothing is left to be sent. It
// returns when to look again; 0 = when something happens. l.mu is held.
func mayEnd(l *lane) time.Duration {
	if !l.turn.look || !idles(l) {
		return 0
	}
	if wait := l.turn.from.Sub(l.s.now()); wait > 0 {
		return wait
	}
	l.turn.look = false
	l.s.work.run(func() { endWithTurn(l) }) // not within what the follower brings
	return 0
}

// idles reports whether the lane could send, and has nothing to send. l.mu is held.
func idles(l *lane) bool {
	return l.sub.State == bridges.Active && len(l.open) == 0 && l.round == nil && l.resting == 0
}

// endWithTurn ends the subscription, if its turn is over and everything about it was taken: then the row
// of the turn has not changed since the lane's position. A marker that is committed later is found
// by ofTurns, because the fence looks at the row in the same transaction.
func endWithTurn(l *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !idles(l) || l.s.sending.Err() != nil {
		l.turn.look = true
		return
	}
	again := func(what string, err error) {
		if err != nil && !errors.Is(err, errChanged) {
			l.s.cfg.Log.Error(what, zap.String("subscription_id", l.id), zap.Error(err))
		}
		l.turn.look, l.turn.from = true, l.s.now().Add(time.Second)
		l.after(time.Second)
	}
	at := max(l.position(), l.turn.taken)
	over, seq := false, int64(0)
	look := func(tx ledger.Reader) error {
		t, err := newest(tx, l.sub.TurnID)
		if over = err == nil && (t == nil || t.State.Ended() && !t.InReview()); t != nil {
			seq = t.UpdatedSeq
		}
		return err
	}
	if err := l.s.cfg.Read(l.s.sending, look); err != nil || over && seq > at {
		again("look at the turn of a subscription", err)
		return
	}
	if !over {
		return
	}
	if l.turn.over.through == 0 || l.turn.over.at != seq {
		l.turn.over = ended{seq, l.s.cfg.Head()}
	}
	if at < l.turn.over.through {
		l.turn.look = true
		l.after(100 * time.Millisecond) // the follower does not say what it passes
		return
	}
	u, now, next := &ledger.Unit{}, l.s.now(), l.sub.Clone()
	name := next.FollowerName()
	next.Generation++
	next.State, next.Reason, next.ScannedSeq = bridges.Ended, "", at
	next.UpdatedSeq, next.UpdatedAt = notify.Provisional(0), notify.TimeOf(now)
	draft(u, notify.SubscriptionEnded, now, next.Event(bridges.ByServer))
	u.Rows = append(u.Rows, next, follow.RemoveRow(name))
	u.Fences = append(u.Fences, ledger.FenceFunc(func(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
		if fault = look(tx); fault == nil && (!over || seq > at) {
			refused = errChanged
		}
		return refused, fault
	}))
	if err := l.commit(u, l.cursor); err != nil {
		again("end a subscription", err)
		return
	}
	l.sub = next
	l.s.known.remove(l)
	l.s.work.run(func() { l.s.cfg.Followers.Forget(name) }) // waits for take, which waits for the lane
}
