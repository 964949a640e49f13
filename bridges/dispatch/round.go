package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Bounds of a round.
const (
	maxRound = 16
	// roundTime is how long after its beginning a round makes further attempts: the older a
	// decision is, the more may have changed since.
	roundTime = 50 * time.Millisecond
)

// storageRetry is how long to wait before a commit is tried again.
const storageRetry = time.Second

// round are attempts of a lane that begin in one commit and are made one after the
// other, while each is delivered at once. Their receipts are one commit too, with the
// beginning of the next round. A target that is not quick gets rounds of one.
type round struct {
	channel  *bridges.Channel
	attempts []*attempt // in their order; changed with lane.mu and mu held

	mu     sync.Mutex
	made   int  // how many have been made, or are being made; the first one always is
	closed bool // no further one is made
	isCut  bool
	cancel context.CancelFunc // cuts off the attempt that is being made; nil = none was yet
}

// making sets how attempts of the round are cut off.
func (r *round) making(cancel context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel = cancel; r.isCut {
		cancel()
	}
}

// cut closes the round, and cuts off the attempt that is being made: it may have arrived.
func (r *round) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed, r.isCut = true, true; r.cancel != nil {
		r.cancel()
	}
}

// next returns the attempt that is to be made now; nil = the round is over.
func (r *round) next(now time.Time) *attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made > 0 && (r.closed || r.made == len(r.attempts) || now.Sub(r.attempts[0].begun) > roundTime) {
		r.closed = true
		return nil
	}
	r.made++
	return r.attempts[r.made-1]
}

// close makes no further attempts, and returns those that were not made.
func (r *round) close() []*attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.attempts[max(r.made, 1):]
}

// drop removes the last n attempts, which were not made. lane.mu is held.
func (r *round) drop(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts = r.attempts[:len(r.attempts)-n]
}

// names reports whether the round has an attempt that was not made yet and that is of a turn
// of these events.
func (r *round) names(list []*taken) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.attempts[max(r.made, 1):], func(a *attempt) bool {
		id := a.delivery.TurnID
		return id != "" && slices.ContainsFunc(list, func(t *taken) bool { return t.chosen.Header.TurnID == id })
	})
}

// of returns the attempt of the event with this seq. lane.mu is held.
func (r *round) of(seq int64) *attempt {
	if r != nil {
		for _, a := range r.attempts {
			if a.delivery.Seq == seq {
				return a
			}
		}
	}
	return nil
}

// run begins the attempts that are due. The lane has a slot.
func (l *lane) run() {
	l.mu.Lock()
	r := l.begin(l.s.sending)
	l.mu.Unlock()
	if r == nil {
		l.s.slots.done(l)
		l.s.slots.left()
		return
	}
	l.send(r)
}

// begin commits the numbers of the attempts that are due. It returns nil if there are
// none. l.mu is held.
func (l *lane) begin(ctx context.Context) *round {
	for n := l.pace; ctx.Err() == nil && l.ready(); {
		if !l.s.slots.open(l) { // the bridge was paused since it had the slot
			l.s.slots.want(l)
			return nil
		}
		u, now := &ledger.Unit{}, l.s.now()
		due, _ := l.due(now, n)
		if len(due) == 0 {
			l.kick() // what was settled may have made room
			return nil
		}
		d := due[0]
		r, v, err := l.beginIn(ctx, u, due, now)
		if err == nil && r != nil {
			if err = l.commit(u, l.cursor); err == nil {
				l.start(r)
				return r
			}
			if errors.Is(err, errChanged) {
				i := slices.IndexFunc(r.attempts, func(a *attempt) bool { return a.fence.verdict.Decision != "" })
				if i > 0 { // those before it come first
					n = i
					continue
				} else if i == 0 {
					v, err = r.attempts[0].fence.verdict, nil
				}
			}
		}
		if err == nil {
			if v.Decision == bridges.Deliver {
				return nil // there is no channel: it was disabled
			}
			if err = l.settleNow(d, v); err == nil {
				n = l.pace
				continue
			}
		}
		l.s.cfg.Log.Error("begin an attempt", zap.String("delivery_id", d.DeliveryID), zap.Error(err))
		l.after(storageRetry)
		return nil
	}
	return nil
}

// start notes that a round has begun. l.mu is held.
func (l *lane) start(r *round) {
	l.round = r
	for _, a := range r.attempts {
		l.replace(a.delivery)
	}
}

// beginIn adds the beginning of attempts to a unit, for as many deliveries from the beginning
// of the list as can be sent. Without a round the verdict says what to do with the first one
// instead; Deliver means that nothing can be sent now. l.mu is held.
func (l *lane) beginIn(ctx context.Context, u *ledger.Unit, list []*bridges.Delivery, now time.Time) (*round, bridges.Verdict, error) {
	channel := l.bridge.channel.Load()
	if channel == nil {
		return nil, bridges.Verdict{Decision: bridges.Deliver}, nil
	}
	r := &round{channel: channel}
	for _, d := range list {
		next := *d
		a := &attempt{delivery: &next, channel: *channel, begun: now, fence: &stillTrue{bridge: l.bridge, d: d}, generation: l.sub.Generation, target: l.sub.TargetGeneration}
		rewritten, v, err := l.prepare(ctx, a)
		switch {
		case err == nil && v.Decision == bridges.Deliver:
		case len(r.attempts) > 0: // it is the first one of another round
			return r, bridges.Verdict{}, nil
		default:
			return nil, v, err
		}
		next.Begin(now)
		if rewritten {
			u.Rows = append(u.Rows, next.WithBody()...)
		} else {
			u.Rows = append(u.Rows, next.BegunRow())
		}
		u.Fences = append(u.Fences, a.fence)
		r.attempts = append(r.attempts, a)
	}
	return r, bridges.Verdict{}, nil
}

// beginWith begins the first attempt of a new delivery in the unit that stores it,
// if it can be sent at once. The lane then has a slot, which the caller gives back
// if the unit is refused. l.mu is held.
func (l *lane) beginWith(ctx context.Context, fresh []*bridges.Delivery) *round {
	if len(l.open) > 0 || len(fresh) == 0 || l.caughtUp != 0 || !l.ready() {
		return nil
	}
	d := fresh[0]
	channel := l.bridge.channel.Load()
	if d.State != bridges.StatePending || d.EventType == bridges.TypeSuperseded || channel == nil || l.s.sender.isStuck(sendingOf(l, d)) || !l.s.slots.tryTake(l) {
		return nil
	}
	before, now := *d, l.s.now()
	a := &attempt{delivery: d, channel: *channel, begun: now, fence: &stillTrue{bridge: l.bridge, d: &before}, generation: l.sub.Generation, target: l.sub.TargetGeneration}
	if _, v, err := l.prepare(ctx, a); err != nil || v.Decision != bridges.Deliver {
		l.s.slots.done(l)
		l.s.slots.left()
		return nil
	}
	d.Begin(now)
	return &round{channel: channel, attempts: []*attempt{a}}
}

// recall commits that the attempts of the round that were not made have not begun.
// Then their deliveries may be changed. l.mu is held.
func (l *lane) recall() error {
	if l.round == nil {
		return nil
	}
	rest := l.round.close()
	if len(rest) == 0 {
		return nil
	}
	u := &ledger.Unit{}
	list := unbegun(u, rest)
	if err := l.commit(u, l.cursor); err != nil {
		return err // finish tries it again
	}
	for _, d := range list {
		l.replace(d)
	}
	l.round.drop(len(rest))
	return nil
}

// unbegun adds to a unit that attempts have not begun.
func unbegun(u *ledger.Unit, rest []*attempt) (list []*bridges.Delivery) {
	for _, a := range rest {
		d := *a.delivery
		d.Unbegin()
		u.Rows = append(u.Rows, &d)
		list = append(list, &d)
	}
	return list
}

// send makes the attempts of a round and notes their results, as long as the lane
// keeps its slot.
func (l *lane) send(r *round) {
	defer l.s.slots.left()
	for r != nil {
		keep := false
		ctx, cancel := context.WithCancel(l.s.sending)
		r.making(cancel)
		for a := r.next(l.s.now()); a != nil; a = r.next(l.s.now()) {
			a.make(ctx, l.s, l.out)
			if keep = a.result.Outcome == bridges.Delivered && l.s.slots.mayContinue(l) && l.bridge.channel.Load() == r.channel; !keep {
				r.close()
			}
		}
		cancel()
		keep = keep && l.s.slots.keep(l)
		if !keep {
			l.s.slots.done(l)
		}
		r = l.finish(r, keep)
		if keep && r == nil {
			l.s.slots.done(l)
		}
	}
}

// finish commits the results of a round. Receipts that cannot be committed are committed
// later, and the lane sends nothing else until then, so nothing is sent twice. With goOn the
// next round begins in the same commit, if something is due; finish returns it.
func (l *lane) finish(r *round, goOn bool) *round {
	l.mu.Lock()
	defer l.mu.Unlock()
	for waits := 0; ; {
		next, err := l.record(r, goOn)
		switch {
		case err == nil && next != nil:
			l.unrecorded = nil
			return next
		case err == nil:
			if l.sub.State == bridges.Deleted {
				l.s.known.left(l)
			}
			l.unrecorded = nil
			wake(l)
			l.kick()
			return nil
		case errors.Is(err, errChanged):
			goOn = false // the receipts come first
			continue
		case waits == 0:
			l.s.cfg.Log.Error("commit what came of an attempt; it is tried again", zap.String("subscription_id", l.id), zap.Error(err))
		}
		waits++
		l.unrecorded = err
		wake(l)
		l.mu.Unlock()
		select {
		case <-time.After(storageRetry):
		case <-l.s.sending.Done():
		}
		l.mu.Lock()
		if l.s.sending.Err() != nil || errors.Is(err, ledger.ErrStorageFailed) {
			return nil // the next start knows what may have arrived
		}
	}
}

// record commits the end of a round, and with goOn the beginning of the next one, which
// it returns. l.mu is held.
func (l *lane) record(r *round, goOn bool) (next *round, err error) {
	now, rest := l.s.now(), r.close()
	made := r.attempts[:len(r.attempts)-len(rest)]
	u, cursor := &ledger.Unit{}, l.cursor
	var settled, changed []*bridges.Delivery
	for _, a := range made {
		d := *a.delivery
		u.Rows = append(u.Rows, &d)
		if a.cut {
			d.Attempts--
		}
		d.Finish(a.result, a.began, a.ended, l.s.cfg.Random())
		if a.generation < l.sub.Generation { // the subscription was reset meanwhile, and the delivery is decided again
			d.Generation, d.Forced = l.sub.Generation, d.Forced && d.Seq <= cursor.LastSequence
		}
		others, err := a.show(l.s, u, &d)
		if err != nil {
			return nil, err
		}
		settled, changed = append(settled, &d), append(changed, others...)
		cursor = movedBy(cursor, &d, a)
		if d.State == bridges.StateDead {
			l.draftDead(u, &d, now)
		}
	}
	changed = append(changed, unbegun(u, rest)...)
	if goOn && len(rest) == 0 {
		if next, err = l.goOn(context.WithoutCancel(l.s.sending), u, now); err != nil { // the receipts do not wait for it
			l.s.cfg.Log.Error("begin the next attempt", zap.String("subscription_id", l.id), zap.Error(err))
		}
	}
	if err := l.commit(u, cursor); err != nil {
		return nil, err
	}
	l.round, l.pace = nil, r.pace(l.pace)
	for _, d := range settled {
		l.replace(d)
		l.s.meter.settled(d)
	}
	for _, d := range changed {
		l.replace(d)
	}
	if next != nil {
		l.start(next)
	}
	for _, a := range made {
		l.learn(a)
	}
	return next, nil
}

// pace returns how many attempts the next round has at most, after one of this pace.
func (r *round) pace(before int) int {
	last := r.attempts[r.made-1]
	switch {
	case last.result.Outcome != bridges.Delivered:
		return 1
	case r.made < len(r.attempts):
		return max(r.made/2, 1)
	case last.ended.Sub(last.begun) > roundTime/2:
		return before
	}
	return min(2*before, maxRound)
}

// movedBy returns the cursor after an attempt.
func movedBy(cursor cursors.Cursor, d *bridges.Delivery, a *attempt) cursors.Cursor {
	at := notify.TimeOf(a.ended)
	switch {
	case d.State == bridges.StateDelivered && !d.Forced:
		receipt := cursors.Delivery{ID: d.DeliveryID, At: at}
		if d.Seq <= cursor.LastSequence {
			return cursor.Late(receipt, at)
		}
		if next, err := cursor.Advance(d.Seq, &receipt, at); err == nil {
			return next
		}
	case d.State == bridges.StateDead && !d.Forced:
		return passed(cursor, d.Seq, a.ended).Fail(a.result.Error, at)
	case d.State != bridges.StateDelivered && a.result.Error != "":
		return cursor.Fail(a.result.Error, at)
	}
	return cursor
}

// learn notes what an attempt says of the bridge and of the target. l.mu is held.
func (l *lane) learn(a *attempt) {
	d := a.delivery
	if a.result.Outcome == bridges.Delivered && !d.Forced {
		l.delivered = a.ended
	}
	if a.cut {
		return
	}
	if err := l.bridge.outcome(l.s, a.result, a.ended); err != nil {
		l.s.cfg.Log.Error("note the state of a bridge", zap.String("bridge_id", d.BridgeID), zap.Error(err))
	}
	if a.result.Outcome == bridges.Gone && l.bridge.row.Load().Kind != bridges.KindWebhook && l.sub.State != bridges.Deleted {
		if err := l.setState(bridges.Disabled, bridges.ReasonGone, notify.SubscriptionDisabled); err != nil {
			l.s.cfg.Log.Error("disable a subscription", zap.String("subscription_id", d.SubscriptionID), zap.Error(err))
		}
	}
}

// goOn adds the beginning of the lane's next attempts to the unit with the receipts of the
// ones before, if they can be made at once: that saves a commit.
func (l *lane) goOn(ctx context.Context, u *ledger.Unit, now time.Time) (*round, error) {
	if l.sub.State != bridges.Active || l.resting > 0 || l.caughtUp != 0 || l.s.sending.Err() != nil || !l.s.slots.mayContinue(l) { // the receipts may have come late
		return nil, nil
	}
	due, _ := l.due(now, l.round.pace(l.pace))
	if len(due) == 0 {
		return nil, nil
	}
	r, _, err := l.beginIn(ctx, u, due, now)
	return r, err
}
