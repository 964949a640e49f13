package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// attempt is one attempt whose number is committed.
type attempt struct {
	delivery   *bridges.Delivery // as committed
	channel    bridges.Channel
	out        *bridges.Outgoing
	shown      []*bridges.Delivery // by slot: the delivery whose message it shows, or of a take-back which it takes back; nil = none
	began      time.Time
	fence      *stillTrue
	generation int64 // of the subscription when it began
}

// storageRetry is how long to wait before a commit is tried again.
const storageRetry = time.Second

// run begins the attempt that is due. The lane has a place.
func (l *lane) run() {
	l.mu.Lock()
	a := l.begin(l.s.sending)
	if a != nil {
		l.sending = a.delivery
	}
	l.mu.Unlock()
	if a == nil {
		l.s.places.done(l)
		l.s.places.left()
		return
	}
	l.send(a)
}

// begin commits the number of the attempt that is due. It returns nil if there is
// none. l.mu is held.
func (l *lane) begin(ctx context.Context) *attempt {
	for ctx.Err() == nil && l.ready() {
		u, now := &ledger.Unit{}, l.s.now()
		d, wait := l.next(now, nil)
		if d == nil {
			if wait > 0 {
				l.after(wait)
			}
			return nil
		}
		a, v, err := l.beginIn(ctx, u, d, now)
		if err == nil && a != nil {
			if err = l.commit(u, l.cursor); err == nil {
				l.replace(a.delivery)
				return a
			}
			if errors.Is(err, errChanged) {
				v, err = a.fence.verdict, nil
			}
		}
		if err == nil {
			if v.Decision == bridges.Deliver {
				return nil // there is no channel: it was disabled
			}
			if err = l.settleNow(d, v); err == nil {
				continue
			}
		}
		l.s.cfg.Log.Error("begin an attempt", zap.String("delivery_id", d.DeliveryID), zap.Error(err))
		l.after(storageRetry)
		return nil
	}
	return nil
}

// beginIn adds the beginning of an attempt to a unit. Without an attempt the verdict
// says what becomes of the delivery instead; Deliver means that nothing can be sent
// now. l.mu is held.
func (l *lane) beginIn(ctx context.Context, u *ledger.Unit, d *bridges.Delivery, now time.Time) (*attempt, bridges.Verdict, error) {
	channel := l.bridge.channel.Load()
	if channel == nil {
		return nil, bridges.Verdict{Decision: bridges.Deliver}, nil
	}
	next := *d
	a := &attempt{delivery: &next, channel: *channel, began: now, fence: &stillTrue{l: l, d: d}, generation: l.sub.Generation}
	rewritten, v, err := l.prepare(ctx, a)
	if err != nil || v.Decision != bridges.Deliver {
		return nil, v, err
	}
	next.Begin(now)
	if rewritten {
		u.Rows = append(u.Rows, bridges.WithBody{Delivery: &next})
	} else {
		u.Rows = append(u.Rows, &next)
	}
	u.Fences = append(u.Fences, a.fence)
	return a, v, nil
}

// beginWith begins the first attempt of a new delivery in the unit that stores it,
// if it can be sent at once. The lane then has a place, which the caller gives back
// if the unit is refused. l.mu is held.
func (l *lane) beginWith(ctx context.Context, fresh []*bridges.Delivery) *attempt {
	if len(l.open) > 0 || len(fresh) == 0 || l.caughtUp != 0 || !l.ready() {
		return nil
	}
	d := fresh[0]
	channel := l.bridge.channel.Load()
	if d.State != bridges.StatePending || d.EventType == bridges.TypeSuperseded || channel == nil || !l.s.places.tryTake(l) {
		return nil
	}
	before, now := *d, l.s.now()
	a := &attempt{delivery: d, channel: *channel, began: now, fence: &stillTrue{l: l, d: &before}, generation: l.sub.Generation}
	if _, v, err := l.prepare(ctx, a); err != nil || v.Decision != bridges.Deliver {
		l.s.places.done(l)
		l.s.places.left()
		return nil
	}
	d.Begin(now)
	return a
}

// stillTrue is the fence of an attempt: the decision is taken anew in the
// transaction that begins it, unless an earlier attempt may have arrived.
type stillTrue struct {
	l       *lane
	d       *bridges.Delivery // as it was before the attempt
	verdict bridges.Verdict   // after a refusal
}

// Check implements ledger.Fence.
func (f *stillTrue) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	v, err := f.l.decideAnew(tx, f.d)
	if err == nil && v.Decision != bridges.Deliver {
		f.verdict, refused = v, errChanged
	}
	return refused, err
}

func (l *lane) decideAnew(tx ledger.Reader, d *bridges.Delivery) (bridges.Verdict, error) {
	if d.Arrived || d.Forced {
		return bridges.Verdict{Decision: bridges.Deliver}, nil
	}
	// The bridge as it is in memory: a pause since the event does not concern it.
	return bridges.DecideAnew(tx, l.bridge.row.Load(), d)
}

// settleNow ends a delivery that is not to be sent any more.
func (l *lane) settleNow(d *bridges.Delivery, v bridges.Verdict) error {
	next, now := *d, l.s.now()
	u, cursor := &ledger.Unit{}, l.cursor
	switch v.Decision {
	case bridges.Mismatch:
		next.Mismatched(v.Reason)
		cursor = cursor.Fail(fmt.Sprintf("mismatch at %d: %s", d.Seq, v.Reason), notify.TimeOf(now))
		draft(u, notify.DeliveryMismatch, now, next.Event())
	case bridges.GiveUp:
		l.s.cfg.Log.Error("a stored delivery cannot be read", zap.String("delivery_id", d.DeliveryID))
		next.Kill(v.Reason, now)
		l.draftDead(u, &next, now)
		if !d.Forced {
			cursor = passed(cursor, d.Seq, now)
		}
		cursor = cursor.Fail(v.Reason, notify.TimeOf(now))
	default:
		settle(&next, v, now)
		cursor = passed(cursor, d.Seq, now)
	}
	u.Rows = append(u.Rows, &next)
	if err := l.commit(u, cursor); err != nil {
		return err
	}
	l.replace(&next)
	l.s.meter.taken(&next)
	return nil
}

// prepare makes what is sent. rewritten says that its body has changed: the log was
// restored since, and it is another delivery to its receiver.
func (l *lane) prepare(ctx context.Context, a *attempt) (rewritten bool, v bridges.Verdict, err error) {
	d := a.delivery
	giveUp := bridges.Verdict{Decision: bridges.GiveUp, Reason: bridges.ReasonRender}
	if d.Damaged {
		return false, giveUp, nil
	}
	v.Decision = bridges.Deliver
	a.out = &bridges.Outgoing{ID: bridges.OutgoingID(l.s.cfg.LogID, d.DeliveryID), Target: l.sub.Target, Arrived: d.Arrived}
	if shows := a.channel.Edits() && !d.Forced; shows || d.Body == nil {
		if err := l.s.cfg.Read(ctx, func(tx ledger.Reader) (err error) {
			if d.Body == nil {
				if d.Body, err = bodyOf(tx, d); err != nil {
					return err
				}
			}
			if shows {
				v, err = l.slots(tx, a)
			}
			return err
		}); err != nil || v.Decision != bridges.Deliver {
			return false, v, err
		}
	}
	var envelope bridges.Envelope
	if err := json.Unmarshal(d.Body, &envelope); err != nil {
		return false, giveUp, nil
	}
	if rewritten = envelope.LogID != l.s.cfg.LogID; rewritten {
		envelope.LogID = l.s.cfg.LogID
		if d.Body, err = json.Marshal(&envelope); err != nil {
			return false, giveUp, nil
		}
	}
	a.out.Envelope, a.out.Body = &envelope, d.Body
	return rewritten, v, nil
}

// slots finds the messages that the delivery shows or changes. A message is never
// changed to an older event than it shows.
func (l *lane) slots(tx ledger.Reader, a *attempt) (bridges.Verdict, error) {
	d := a.delivery
	var names []string
	back := map[string]*bridges.Delivery{} // by slot
	switch {
	case d.EventType == bridges.TypeSuperseded:
		for _, id := range d.Supersedes {
			_, seq, _ := bridges.ParseDeliveryID(id)
			old, err := bridges.DeliveryOf(tx, d.SubscriptionID, seq)
			if err != nil {
				return bridges.Verdict{}, err
			}
			if old != nil && old.Slot != "" {
				if back[old.Slot] == nil {
					names = append(names, old.Slot)
				}
				back[old.Slot] = old
			}
		}
	case d.Slot != "":
		names = []string{d.Slot}
	default:
		return bridges.Verdict{Decision: bridges.Deliver}, nil
	}
	post := d.EventType == bridges.TypeFinal || d.EventType == bridges.TypeQuestion
	for _, name := range names {
		shown, err := bridges.ShownInSlot(tx, d.SubscriptionID, d.TurnID, name)
		if err != nil {
			return bridges.Verdict{}, err
		}
		later, err := bridges.MayShowLater(tx, d.SubscriptionID, d.TurnID, name, d.Seq)
		if err != nil {
			return bridges.Verdict{}, err
		}
		if !post && (later || shown != nil && shown.ShownSeq > d.Seq) {
			continue
		}
		s := bridges.Slot{Key: bridges.SlotKey(l.s.cfg.LogID, d.SubscriptionID, d.TurnID, name), Post: post}
		if shown != nil {
			s.RemoteID = shown.RemoteID
		} else {
			shown = back[name] // its message is not known; it has that of the take-back from now on
		}
		a.out.Slots = append(a.out.Slots, s)
		a.shown = append(a.shown, shown)
	}
	if len(names) > 0 && len(a.out.Slots) == 0 {
		return bridges.Verdict{Decision: bridges.Suppress, Reason: bridges.ReasonStale}, nil
	}
	return bridges.Verdict{Decision: bridges.Deliver}, nil
}

// send makes the attempt, notes what came of it, and goes on while the lane keeps its
// place.
func (l *lane) send(a *attempt) {
	defer l.s.places.left()
	for a != nil {
		began := l.s.now()
		r := l.try(a)
		now := l.s.now()
		l.s.places.set(l.out, func(o *outlet) {
			switch {
			case r.Outcome == bridges.Delivered, r.Outcome == bridges.Refused && r.Status != 0: // the target is there
				o.unhealthy = 0
			case r.Unhealthy:
				o.unhealthy++
			}
			if r.Outcome == bridges.Wait {
				o.heldUntil = now.Add(waitOf(r))
			}
		})
		keep := r.Outcome == bridges.Delivered && l.s.places.keep(l)
		if !keep {
			l.s.places.done(l)
		}
		l.s.meter.attempt(a.delivery.BridgeID, r.Outcome, now.Sub(began))
		a = l.finish(a, r, keep)
		if keep && a == nil {
			l.s.places.done(l)
		}
	}
}

// waitOf is how long a target that asks to wait is left alone.
func waitOf(r bridges.Result) time.Duration {
	const unknown = 30 * time.Second
	if r.RetryAfter <= 0 {
		return unknown
	}
	return min(r.RetryAfter, bridges.MaxWait)
}

// try calls the channel. A panic in it costs this attempt only.
func (l *lane) try(a *attempt) (r bridges.Result) {
	defer func() {
		if v := recover(); v != nil {
			l.s.cfg.Log.Error("a bridge panicked", zap.String("delivery_id", a.delivery.DeliveryID), zap.Any("panic", v), zap.Stack("stack"))
			r = bridges.Result{Outcome: bridges.Failed, Error: "internal", Arrived: true}
		}
	}()
	return a.channel.Send(l.s.sending, a.out)
}

// finish commits what came of the attempt. What was received is not sent again
// because it cannot be committed: it is committed later, and meanwhile the lane
// sends nothing else. With goOn it returns the next attempt, if one is due, which has
// begun in the same commit.
func (l *lane) finish(a *attempt, r bridges.Result, goOn bool) *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	for waits := 0; ; {
		next, err := l.record(a, r, goOn)
		switch {
		case err == nil && next != nil:
			l.sending = next.delivery
			return next
		case err == nil:
			l.sending = nil
			if l.last != nil {
				l.s.known.left(l.sub.SubscriptionID, l.last)
				l.last = nil
			}
			l.kick()
			return nil
		case errors.Is(err, errChanged):
			goOn = false // the receipt comes first
			continue
		case waits == 0:
			l.s.cfg.Log.Error("commit what came of an attempt; it is tried again", zap.String("delivery_id", a.delivery.DeliveryID), zap.Error(err))
		}
		waits++
		l.mu.Unlock()
		select {
		case <-time.After(storageRetry):
		case <-l.s.sending.Done():
		}
		l.mu.Lock()
		if l.s.sending.Err() != nil || errors.Is(err, ledger.ErrStorageFailed) {
			return nil // the next start knows that it may have arrived
		}
	}
}

// record commits the end of an attempt. l.mu is held.
func (l *lane) record(a *attempt, r bridges.Result, goOn bool) (begun *attempt, err error) {
	d, now := *a.delivery, l.s.now()
	u, cursor := &ledger.Unit{Rows: []ledger.Row{&d}}, l.cursor
	var changed []*bridges.Delivery
	d.Finish(r, a.began, now, l.s.cfg.Random())
	if a.generation < l.sub.Generation { // what is above a cursor that was reset is decided again: this was it
		d.Generation, d.Forced = l.sub.Generation, d.Forced && d.Seq <= cursor.LastSequence
	}
	if changed, err = l.show(u, a, &d, r); err != nil {
		return nil, err
	}
	switch {
	case d.State == bridges.StateDelivered && !d.Forced:
		l.delivered = now
		receipt := cursors.Delivery{ID: d.DeliveryID, At: notify.TimeOf(now)}
		if d.Seq <= cursor.LastSequence {
			cursor = cursor.Late(receipt, receipt.At)
		} else if next, err := cursor.Advance(d.Seq, &receipt, receipt.At); err == nil {
			cursor = next
		}
	case d.State == bridges.StateDead:
		l.draftDead(u, &d, now)
		if !d.Forced {
			cursor = passed(cursor, d.Seq, now)
		}
		cursor = cursor.Fail(r.Error, notify.TimeOf(now))
	case d.State != bridges.StateDelivered && r.Error != "":
		cursor = cursor.Fail(r.Error, notify.TimeOf(now))
	}
	if goOn {
		if begun, err = l.goOn(context.WithoutCancel(l.s.sending), u, &d, now); err != nil { // the receipt does not wait for it
			l.s.cfg.Log.Error("begin the next attempt", zap.String("subscription_id", d.SubscriptionID), zap.Error(err))
		}
	}
	if err := l.commit(u, cursor); err != nil {
		return nil, err
	}
	l.replace(&d)
	for _, old := range changed {
		l.replace(old)
	}
	if begun != nil {
		l.replace(begun.delivery)
	}
	l.s.meter.settled(&d)
	if err := l.bridge.outcome(l.s, r, now); err != nil {
		l.s.cfg.Log.Error("note the state of a bridge", zap.String("bridge_id", d.BridgeID), zap.Error(err))
	}
	if r.Outcome == bridges.Gone && l.bridge.row.Load().Kind != bridges.KindWebhook && l.sub.State != bridges.Deleted {
		if err := l.setState(bridges.Disabled, bridges.ReasonGone, notify.SubscriptionDisabled); err != nil {
			l.s.cfg.Log.Error("disable a subscription", zap.String("subscription_id", d.SubscriptionID), zap.Error(err))
		}
	}
	return begun, nil
}

// goOn adds the beginning of the lane's next attempt to the unit with the receipt of
// the one before, if nothing is in its way: that saves a commit.
func (l *lane) goOn(ctx context.Context, u *ledger.Unit, before *bridges.Delivery, now time.Time) (*attempt, error) {
	if l.sub.State != bridges.Active || l.caughtUp != 0 || l.s.sending.Err() != nil {
		return nil, nil
	}
	d, _ := l.next(now, before)
	// A message of the same turn may depend on what the receipt says.
	if d == nil || d.TurnID != "" && d.TurnID == before.TurnID {
		return nil, nil
	}
	a, _, err := l.beginIn(ctx, u, d, now)
	return a, err
}

// show notes which messages the slots show now, also after an attempt that failed in
// between. It returns the rows that it changes beside that of the attempt, as they are
// by now: a reset may have changed them since the attempt began.
func (l *lane) show(u *ledger.Unit, a *attempt, d *bridges.Delivery, r bridges.Result) (changed []*bridges.Delivery, err error) {
	n := min(len(a.out.Slots), len(r.RemoteIDs))
	seqOf := func(i int) int64 {
		if r.Outcome == bridges.Delivered {
			return d.Seq
		}
		if a.shown[i] != nil {
			return a.shown[i].ShownSeq
		}
		return 0
	}
	if d.EventType != bridges.TypeSuperseded {
		for i := range n {
			d.RemoteID, d.ShownSeq = r.RemoteIDs[i], seqOf(i)
		}
		return nil, nil
	}
	if n == 0 {
		return nil, nil
	}
	err = l.s.cfg.Read(context.Background(), func(tx ledger.Reader) error {
		for i := range n {
			if a.shown[i] == nil {
				continue
			}
			old, err := bridges.DeliveryOf(tx, d.SubscriptionID, a.shown[i].Seq)
			if err != nil {
				return err
			}
			if old == nil {
				continue // it is no longer kept
			}
			old.RemoteID, old.ShownSeq = r.RemoteIDs[i], seqOf(i)
			changed = append(changed, old)
			u.Rows = append(u.Rows, old)
		}
		return nil
	})
	return changed, err
}

// rejudge looks again at mismatches of a turn, or of all turns. l.mu is held.
func (l *lane) rejudge(ctx context.Context, turnID string) {
	for _, d := range append([]*bridges.Delivery(nil), l.open...) {
		if d.State != bridges.StateMismatch || turnID != "" && d.TurnID != turnID {
			continue
		}
		if err := l.judge(ctx, d); err != nil {
			l.s.cfg.Log.Error("look at a mismatch again", zap.String("delivery_id", d.DeliveryID), zap.Error(err))
		}
	}
}

// judge decides about a mismatch anew. If the rows agree now, what is sent is made
// anew too, from the event and these rows.
func (l *lane) judge(ctx context.Context, d *bridges.Delivery) error {
	page, err := l.s.cfg.Events.Page(ctx, notify.Query{After: d.Seq - 1, MaxEvents: 1})
	if err != nil {
		return err
	}
	if len(page.Events) == 0 || page.Events[0].Seq != d.Seq {
		return nil // the log no longer has it: skip and reset are left
	}
	c, err := bridges.ChosenAs(bridges.Event{Seq: d.Seq, ThreadID: d.ThreadID, Method: d.Method, Params: page.Events[0].Params}, d.EventType)
	if err != nil {
		return err
	}
	now := l.s.now()
	t := &taken{chosen: c}
	if err := l.s.cfg.Read(ctx, func(tx ledger.Reader) error {
		row, err := bridgeRow(tx, d.BridgeID)
		if err != nil {
			return err
		}
		was := l.sub
		first := *was
		first.Generation = 1 // its row is known
		l.sub = &first
		err = l.decide(tx, row, t, now)
		l.sub = was
		return err
	}); err != nil {
		return err
	}
	switch {
	case t.verdict.Decision == bridges.Mismatch:
		return nil
	case t.verdict.Decision != bridges.Deliver:
		return l.settleNow(d, t.verdict)
	}
	next := *d
	next.State, next.Reason, next.Body = bridges.StatePending, "", nil
	next.End, next.Damaged = t.delivery.End, false
	t.delivery, t.existing = &next, false
	l.fill(t, now)
	cursor := l.cursor
	if strings.HasPrefix(cursor.LastError, "mismatch") {
		cursor.LastError = ""
	}
	if err := l.commit(&ledger.Unit{Rows: []ledger.Row{bridges.WithBody{Delivery: &next}}}, cursor); err != nil {
		return err
	}
	l.replace(&next)
	return nil
}
