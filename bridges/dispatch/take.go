package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Bounds of one unit of new deliveries: it delays other commits by little.
const (
	takeEvents = 64
	takeBytes  = 128 << 10
)

var (
	// errHeld ends a batch of a lane that takes no events now.
	errHeld = errors.New("the subscription takes no events now")
	// errChanged refuses the beginning of an attempt: the rows have changed since
	// the decision.
	errChanged = errors.New("the decision has changed")
)

// taken is a chosen event on its way to be a delivery.
type taken struct {
	chosen   *bridges.Chosen
	delivery *bridges.Delivery
	verdict  bridges.Verdict
	material bridges.Material
	existing bool // its row is from an earlier generation
	failed   error
}

// take stores what events become for the subscription. The follower's position
// moves in the same units, so each event is taken once.
func (l *lane) take(ctx context.Context, generation int64, b *follow.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sub.Generation != generation || l.sub.State == bridges.Deleted {
		return nil // this follower is being removed
	}
	if l.sub.State != bridges.Active {
		l.follower.Hold()
		return errHeld
	}
	if b.Lost != nil {
		if err := l.lost(b); err != nil {
			return err
		}
	}
	for events := b.Events; len(events) > 0; {
		n, err := l.takeSome(ctx, b, events)
		if err != nil {
			return err
		}
		events = events[n:]
	}
	if l.caughtUp != 0 && b.Through >= l.caughtUp {
		l.caughtUp = 0
	}
	l.turn.taken = b.Through
	l.kick()
	return nil
}

// lost records that events left the log before the subscription has seen them.
func (l *lane) lost(b *follow.Batch) error {
	u := &ledger.Unit{}
	if l.sub.SaysWhatFails() {
		draft(u, notify.DeliveryLost, l.s.now(), &bridges.LostEvent{
			SubscriptionID: l.id, BridgeID: l.sub.BridgeID, SubjectThreadID: l.sub.ThreadID, FromSeq: b.Lost.From, ToSeq: b.Lost.To,
		})
	}
	b.Move(u, b.Lost.To)
	if err := l.commit(u, l.cursor); err != nil {
		return err
	}
	l.moved = b.Lost.To
	return nil
}

// takeSome takes the first of the events, and returns how many.
func (l *lane) takeSome(ctx context.Context, b *follow.Batch, events []follow.Event) (n int, err error) {
	var list []*taken
	size := 0
	for n < len(events) && len(list) < takeEvents && size < takeBytes {
		e := &events[n]
		n++
		if of, err := ofItsTurn(ctx, l, e); err != nil {
			return 0, err
		} else if !of {
			continue
		}
		c, err := l.choose(e)
		if c != nil {
			list = append(list, &taken{chosen: c, failed: err})
			size += len(e.Params)
		}
	}
	through := events[n-1].Seq
	if n == len(events) {
		through = b.Through
	}
	if len(list) == 0 {
		return n, nil // nothing is written for what is ignored
	}
	if err := l.room(list); err != nil {
		return 0, err
	}
	if l.round.names(list) { // they may be decided again
		if err := l.recall(); err != nil {
			return 0, err
		}
	}
	now := l.s.now()
	for first := true; ; first = false {
		u, fresh, cursor, err := l.deliveries(ctx, list, now)
		if err != nil {
			return 0, err
		}
		if len(u.Rows) == 0 {
			return n, nil
		}
		// The first attempt begins in the same commit, if it can be made at once.
		var begun *round
		if first && n == len(events) {
			if begun = l.beginWith(ctx, fresh); begun != nil {
				u.Fences = append(u.Fences, begun.attempts[0].fence)
			}
		}
		if !l.ofTurns && slices.ContainsFunc(list, func(t *taken) bool { return t.chosen.Header.TurnID != "" }) {
			l.ofTurns = true
			l.follower.WantMarkers()
		}
		b.Move(u, through)
		err = l.commit(u, cursor)
		if err != nil && begun != nil {
			l.s.slots.done(l)
			l.s.slots.left()
		}
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil {
			return 0, err
		}
		l.moved = through
		for _, d := range fresh {
			l.replace(d)
			l.s.meter.taken(d)
		}
		if begun != nil {
			l.round = begun
			go l.send(begun)
		}
		for _, t := range list {
			if id := t.chosen.Header.TurnID; id != "" {
				l.rejudge(ctx, id)
			}
		}
		return n, nil
	}
}

// choose works like Subscription.Choose. An event that cannot be decoded is chosen with an
// error and becomes a dead delivery, so that the others are still delivered.
func (l *lane) choose(e *follow.Event) (c *bridges.Chosen, err error) {
	ev := bridges.Event{Seq: e.Seq, ThreadID: e.ThreadID, Method: e.Method, Params: e.Params}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
		if err != nil {
			l.s.cfg.Log.Error("an event cannot be delivered", zap.Int64("seq", e.Seq), zap.Error(err))
			c = &bridges.Chosen{Event: ev, Type: bridges.TypeEvent}
		}
	}()
	if c, err = l.sub.Choose(ev); c != nil && c.Type == bridges.TypeProgress && c.Ends() && !l.bridge.edits() {
		return nil, err // there is no message to change
	}
	return c, err
}

// room holds the lane if too much waits. While its bridge delivers, it continues when there
// is room; otherwise a client decides. Of a lane that a start has found nobody knows in
// the first minute whether its bridge delivers.
func (l *lane) room(list []*taken) error {
	now, last := l.s.now(), list[len(list)-1].chosen
	if last.Seq > l.sub.AcceptedThrough {
		old := false
		for _, t := range list {
			old = old || t.chosen.Seq > l.sub.AcceptedThrough && !t.chosen.Marker && t.failed == nil && now.Sub(t.chosen.Header.Timestamp.Time) > bridges.MaxBacklogAge
		}
		many := len(l.open)+len(list) > bridges.MaxBacklog && now.Sub(l.delivered) >= time.Minute
		l.spared = many && l.atStart && l.s.start.recentFor(now) > 0
		if old || many && !l.spared {
			if err := l.setState(bridges.Held, bridges.ReasonBacklog, notify.SubscriptionHeld); err != nil {
				return err
			}
			return errHeld
		}
	}
	if len(l.open)+len(list) <= bridges.MaxBacklog && l.s.open.Load() < bridges.MaxOpen {
		return nil
	}
	l.throttled = true
	l.caughtUp = 0 // it must send to go on
	l.follower.Hold()
	l.kickLater()
	return errHeld
}

// kickLater kicks the lane when its present step is over.
func (l *lane) kickLater() {
	l.s.work.run(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.kick()
	})
}

// deliveries makes the rows of chosen events from one snapshot.
func (l *lane) deliveries(ctx context.Context, list []*taken, now time.Time) (u *ledger.Unit, fresh []*bridges.Delivery, cursor cursors.Cursor, err error) {
	u, cursor = &ledger.Unit{}, l.cursor
	again := map[string]bool{} // turns whose open deliveries are decided again
	var settled []*bridges.Delivery
	at := l.s.cfg.Head() // before the snapshot, which has at least this
	err = l.s.cfg.Read(ctx, func(tx ledger.Reader) error {
		row, err := bridgeRow(tx, l.sub.BridgeID)
		if err != nil {
			return err
		}
		for _, t := range list {
			if err := l.decide(tx, row, t, now); err != nil {
				return err
			}
			again[t.chosen.Header.TurnID] = true
		}
		settled, err = l.decideAgain(tx, row, again, now)
		return err
	})
	if err != nil {
		return nil, nil, cursor, err
	}
	for _, d := range settled {
		u.Rows = append(u.Rows, d)
		cursor = passed(cursor, d.Seq, now)
	}
	fresh = settled
	strict := l.sub.Order == bridges.OrderStrict
	for _, t := range list {
		d := t.delivery
		if d == nil {
			continue
		}
		stored := t.existing && d.Body != nil
		l.fill(t, now)
		waits := strict && len(l.open) > 0 && d.State != bridges.StateDead // in its order
		switch {
		case d.State == bridges.StateDead:
			cursor = passed(cursor, d.Seq, now)
			l.draftDead(u, d, now)
		case t.verdict.Decision == bridges.Mismatch:
			d.Mismatched(t.verdict.Reason, now)
			draft(u, notify.DeliveryMismatch, now, d.Event())
			l.s.cfg.Log.Error("an event and the rows of its turn disagree", zap.String("delivery_id", d.DeliveryID), zap.String("reason", t.verdict.Reason))
		case t.verdict.Decision == bridges.Deliver:
			d.DecidedAt = at
		case waits: // when its turn comes, all of it is decided again
		default:
			settle(d, t.verdict, now)
			cursor = passed(cursor, d.Seq, now)
		}
		if stored { // the same bytes
			u.Rows = append(u.Rows, d)
		} else {
			u.Rows = append(u.Rows, d.WithBody()...)
		}
		fresh = append(fresh, d)
	}
	return u, fresh, cursor, nil
}

// decide decides about one event.
func (l *lane) decide(tx ledger.Reader, row *bridges.Bridge, t *taken, now time.Time) (err error) {
	t.delivery, t.existing = nil, false
	d := l.sub.NewDelivery(t.chosen, now)
	if l.sub.Generation > 1 {
		old, err := bridges.DeliveryOf(tx, d.SubscriptionID, d.Seq)
		switch {
		case err != nil:
			return err
		case old != nil && old.Generation == d.Generation:
			return nil // it was decided
		case old != nil:
			if old.Body, err = bridges.BodyOf(tx, old); err != nil {
				return err
			}
			t.existing = old.State != bridges.StateMismatch // whose body may be wrong
			if old.State != bridges.StatePending {
				old.Revive()
			}
			old.Enter(l.sub)
			old.End, old.Forced, old.Damaged = d.End, false, false
			d = old
		}
	}
	return t.decide(tx, row, d, l.s.cfg.LogID)
}

// decide decides about one event, whose delivery is d if it is to be one.
func (t *taken) decide(tx ledger.Reader, row *bridges.Bridge, d *bridges.Delivery, logID string) (err error) {
	t.material = bridges.Material{LogID: logID}
	if t.failed != nil {
		t.delivery = d
		return nil
	}
	if t.chosen.Marker {
		back, err := bridges.TakenBack(tx, d.SubscriptionID, t.chosen.Header)
		if err != nil {
			return err
		}
		for _, b := range back {
			if !slices.Contains(d.Supersedes, b.DeliveryID) { // its row of an earlier generation names it
				d.Supersedes = append(d.Supersedes, b.DeliveryID)
			}
		}
		if len(back) == 0 && !t.chosen.Named {
			return nil // nothing was delivered that it supersedes
		}
		t.material.Supersedes = d.Supersedes
	}
	t.delivery = d
	if t.verdict, err = bridges.Decide(tx, row, d); err != nil {
		return err
	}
	if t.material.Title, err = bridges.TitleOf(tx, d.ThreadID, d.TurnID); err != nil {
		return err
	}
	if t.chosen.Type == bridges.TypeQuestion || t.chosen.Type == bridges.TypeAnswer {
		if t.material.Asked, err = turns.AskedIn(tx, d.ThreadID, []byte(t.chosen.Body.Content)); err != nil {
			return err
		}
	}
	if d.Method == notify.TurnReviewed {
		v, err := tx.Get(turns.ByID, d.TurnID)
		if err != nil {
			return err
		}
		if v != nil {
			t.material.Turn, _ = turns.Read(v) // what cannot be read is a mismatch
		}
	}
	return nil
}

// decideAgain decides again about open deliveries of turns, because a superseded one that was
// not sent yet need not wait for an attempt. It returns changed copies. rejudge looks at
// mismatches.
func (l *lane) decideAgain(tx ledger.Reader, row *bridges.Bridge, of map[string]bool, now time.Time) (list []*bridges.Delivery, err error) {
	if l.sub.Order == bridges.OrderStrict {
		return nil, nil // in their order
	}
	for _, d := range l.open {
		if !of[d.TurnID] || d.TurnID == "" || d.Arrived || d.Forced || l.round.of(d.Seq) != nil || d.EventType == bridges.TypeSuperseded {
			continue
		}
		v, err := bridges.Decide(tx, row, d)
		if err != nil {
			return nil, err
		}
		if v.Decision == bridges.Suppress || v.Decision == bridges.Supersede {
			next := *d
			settle(&next, v, now)
			list = append(list, &next)
		}
	}
	return list, nil
}

// fill makes what is sent. If that fails, the delivery is dead.
func (l *lane) fill(t *taken, now time.Time) {
	d := t.delivery
	if t.existing && d.Body != nil {
		return // the same bytes
	}
	err := t.failed
	if err == nil {
		defer func() {
			if v := recover(); v != nil {
				l.s.cfg.Log.Error("an event cannot be delivered", zap.String("delivery_id", d.DeliveryID), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
				d.Kill(bridges.ReasonRender, now)
			}
		}()
		t.material.ConsoleURL = l.s.cfg.ConsoleURL
		d.Body, err = json.Marshal(l.sub.Envelope(t.chosen, t.material))
		d.Checked = err == nil
	}
	if err != nil {
		l.s.cfg.Log.Error("an event cannot be delivered", zap.String("delivery_id", d.DeliveryID), zap.Error(err))
		d.Kill(bridges.ReasonRender, now)
	}
}

// settle ends a delivery that is not sent.
func settle(d *bridges.Delivery, v bridges.Verdict, now time.Time) {
	if v.Decision == bridges.Supersede {
		d.Supersede(now)
	} else {
		d.Suppress(v.Reason, now)
	}
}

// draftDead adds delivery/dead, unless the delivery is of such an event: see
// Delivery.SaysWhatFails.
func (l *lane) draftDead(u *ledger.Unit, d *bridges.Delivery, now time.Time) {
	if d.SaysWhatFails() {
		draft(u, notify.DeliveryDead, now, d.Event())
	}
}

func bridgeRow(tx ledger.Reader, id string) (*bridges.Bridge, error) {
	v, err := tx.Get(bridges.BridgeByID, id)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, fmt.Errorf("%s: %w", id, bridges.ErrBridgeNotFound)
	}
	return bridges.ReadBridge(v)
}
