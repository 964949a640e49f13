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
	delivery *bridges.Delivery // as committed
	channel  bridges.Channel
	out      *bridges.Outgoing
	shown    []*bridges.Delivery // by slot: the delivery whose message it shows, or of a take-back which it takes back; nil = none
	began    time.Time

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
		l.work.Add(1)
	}
	l.mu.Unlock()
	if a == nil {
		l.s.places.done(l)
		return
	}
	l.send(a)
}

// begin commits the number of the attempt that is due. It returns nil if there is
// none. l.mu is held.
func (l *lane) begin(ctx context.Context) *attempt {
	for ctx.Err() == nil && l.ready() {
		now := l.s.now()
		d, wait := l.next(now)
		if d == nil {
			if wait > 0 {
				l.after(wait)
			}
			return nil
		}
		channel := l.bridge.channel.Load()
		if channel == nil {
			return nil // it was disabled
		}
		next := *d
		a := &attempt{delivery: &next, channel: *channel, began: now, generation: l.sub.Generation}
		v, err := l.prepare(ctx, a)
		if err == nil && v.Decision == bridges.Deliver {
			next.Begin(now)
			u := &ledger.Unit{Rows: []ledger.Row{bridges.WithBody{Delivery: &next}}, Fences: []ledger.Fence{l.stillTrue(d)}}
			err = l.commit(u, l.cursor)
			if errors.Is(err, errChanged) {
				continue
			}
			if err == nil {
				l.replace(&next)
				return a
			}
		} else if err == nil {
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

// beginWith begins the first attempt of a new delivery in the unit that stores it,
// if it can be sent at once. The lane then has a place, which the caller gives back
// if the unit is refused. l.mu is held.
func (l *lane) beginWith(ctx context.Context, u *ledger.Unit, fresh []*bridges.Delivery) *attempt {
	if len(l.open) > 0 || len(fresh) == 0 || l.caughtUp != 0 || !l.ready() {
		return nil
	}
	d := fresh[0]
	channel := l.bridge.channel.Load()
	if d.State != bridges.StatePending || d.EventType == bridges.TypeSuperseded || channel == nil || !l.s.places.tryTake(l) {
		return nil
	}
	before, now := *d, l.s.now()
	a := &attempt{delivery: d, channel: *channel, began: now, generation: l.sub.Generation}
	if v, err := l.prepare(ctx, a); err != nil || v.Decision != bridges.Deliver {
		l.s.places.done(l)
		return nil
	}
	u.Fences = append(u.Fences, l.stillTrue(&before))
	d.Begin(now)
	return a
}

// stillTrue is the fence of an attempt: the decision is taken anew in the
// transaction that begins it, unless an earlier attempt may have arrived.
func (l *lane) stillTrue(d *bridges.Delivery) ledger.Fence {
	return ledger.FenceFunc(func(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
		v, err := l.decideAnew(tx, d)
		if err == nil && v.Decision != bridges.Deliver {
			refused = errChanged
		}
		return refused, err
	})
}

func (l *lane) decideAnew(tx ledger.Reader, d *bridges.Delivery) (bridges.Verdict, error) {
	if d.Arrived || d.Forced {
		return bridges.Verdict{Decision: bridges.Deliver}, nil
	}
	row, err := bridgeRow(tx, d.BridgeID)
	if err != nil {
		return bridges.Verdict{}, err
	}
	return bridges.Decide(tx, row, d)
}

// settleNow ends a delivery that is not to be sent any more.
func (l *lane) settleNow(d *bridges.Delivery, v bridges.Verdict) error {
	next, now := *d, l.s.now()
	u, cursor := &ledger.Unit{}, l.cursor
	if v.Decision == bridges.Mismatch {
		next.Mismatched(v.Reason)
		cursor = cursor.Fail(fmt.Sprintf("mismatch at %d: %s", d.Seq, v.Reason), notify.TimeOf(now))
		draft(u, notify.DeliveryMismatch, now, next.Event())
	} else {
		settle(&next, v, now)
		cursor = l.passed(cursor, d.Seq)
	}
	u.Rows = append(u.Rows, &next)
	if err := l.commit(u, cursor); err != nil {
		return err
	}
	l.replace(&next)
	l.s.meter.taken(&next)
	return nil
}

// prepare decides anew and makes what is sent, from one snapshot. What it decides
// is decided again in the transaction of the attempt.
func (l *lane) prepare(ctx context.Context, a *attempt) (v bridges.Verdict, err error) {
	d := a.delivery
	err = l.s.cfg.Read(ctx, func(tx ledger.Reader) (err error) {
		if v, err = l.decideAnew(tx, d); err != nil || v.Decision != bridges.Deliver {
			return err
		}
		if d.Body == nil {
			if d.Body, err = bodyOf(tx, d); err != nil {
				return err
			}
		}
		a.out = &bridges.Outgoing{ID: bridges.OutgoingID(l.s.cfg.LogID, d.DeliveryID), Target: l.sub.Target, Arrived: d.Arrived}
		if !a.channel.Edits() || d.Forced {
			return nil
		}
		v, err = l.slots(tx, a)
		return err
	})
	if err != nil || v.Decision != bridges.Deliver {
		return v, err
	}
	var envelope bridges.Envelope
	if err := json.Unmarshal(d.Body, &envelope); err != nil {
		return bridges.Verdict{Decision: bridges.Suppress, Reason: bridges.ReasonRender}, nil
	}
	if envelope.LogID != l.s.cfg.LogID { // the log was restored: it is another delivery to its receiver
		envelope.LogID = l.s.cfg.LogID
		if d.Body, err = json.Marshal(&envelope); err != nil {
			return v, err
		}
	}
	a.out.Envelope, a.out.Body = &envelope, d.Body
	return v, nil
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

// send makes the attempt and notes what came of it. l.work has counted it.
func (l *lane) send(a *attempt) {
	defer l.work.Done()
	began := l.s.now()
	r := l.try(a)
	l.s.places.set(l.out, func(o *outlet) {
		switch {
		case r.Outcome == bridges.Delivered:
			o.unhealthy = 0
		case r.Unhealthy:
			o.unhealthy++
		}
		if r.Outcome == bridges.Wait {
			o.heldUntil = l.s.now().Add(waitOf(r))
		}
	})
	l.s.places.done(l)
	l.s.meter.attempt(a.delivery.BridgeID, r.Outcome, l.s.now().Sub(began))
	l.finish(a, r)
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
	return a.channel.Send(l.attempt, a.out)
}

// finish commits what came of the attempt. What was received is not sent again
// because it cannot be committed: it is committed later, and meanwhile the lane
// sends nothing else.
func (l *lane) finish(a *attempt, r bridges.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for waits := 0; ; waits++ {
		err := l.record(a, r)
		if err == nil {
			break
		}
		if waits == 0 {
			l.s.cfg.Log.Error("commit what came of an attempt; it is tried again", zap.String("delivery_id", a.delivery.DeliveryID), zap.Error(err))
		}
		l.mu.Unlock()
		select {
		case <-time.After(storageRetry):
		case <-l.attempt.Done():
		}
		l.mu.Lock()
		if l.attempt.Err() != nil || errors.Is(err, ledger.ErrStorageFailed) {
			return // the next start knows that it may have arrived
		}
	}
	l.sending = nil
	l.kick()
}

// record commits the end of an attempt. l.mu is held.
func (l *lane) record(a *attempt, r bridges.Result) error {
	d, now := *a.delivery, l.s.now()
	u, cursor := &ledger.Unit{Rows: []ledger.Row{&d}}, l.cursor
	var changed []*bridges.Delivery
	d.Finish(r, a.began, now, l.s.cfg.Random())
	if a.generation < l.sub.Generation { // what is above a cursor that was reset is decided again: this was it
		d.Generation, d.Forced = l.sub.Generation, d.Forced && d.Seq <= cursor.LastSequence
	}
	switch {
	case d.State == bridges.StateDelivered && !d.Forced:
		l.delivered = now
		var err error
		if changed, err = l.show(u, a, &d, r); err != nil {
			return err
		}
		if d.Seq > cursor.LastSequence {
			next, err := cursor.Advance(d.Seq, &cursors.Delivery{ID: d.DeliveryID, At: notify.TimeOf(now)}, notify.TimeOf(now))
			if err == nil {
				cursor = next
			}
		} else if cursor.LastError != "" {
			cursor.LastError = ""
		}
	case d.State == bridges.StateDead:
		l.draftDead(u, &d, now)
		if !d.Forced {
			cursor = l.passed(cursor, d.Seq)
		}
		cursor = cursor.Fail(r.Error, notify.TimeOf(now))
	case r.Error != "":
		cursor = cursor.Fail(r.Error, notify.TimeOf(now))
	}
	if err := l.commit(u, cursor); err != nil {
		return err
	}
	l.replace(&d)
	for _, old := range changed {
		l.replace(old)
	}
	l.s.meter.settled(&d)
	if err := l.bridge.outcome(l.s, r, now); err != nil {
		l.s.cfg.Log.Error("note the state of a bridge", zap.String("bridge_id", d.BridgeID), zap.Error(err))
	}
	if r.Outcome == bridges.Gone && l.bridge.row.Load().Kind != bridges.KindWebhook {
		if err := l.setState(bridges.Disabled, bridges.ReasonGone, notify.SubscriptionDisabled); err != nil {
			l.s.cfg.Log.Error("disable a subscription", zap.String("subscription_id", d.SubscriptionID), zap.Error(err))
		}
	}
	return nil
}

// show notes which messages the slots show now. It returns the rows that it changes
// beside that of the attempt, as they are by now: a reset may have changed them since
// the attempt began.
func (l *lane) show(u *ledger.Unit, a *attempt, d *bridges.Delivery, r bridges.Result) (changed []*bridges.Delivery, err error) {
	n := min(len(a.out.Slots), len(r.RemoteIDs))
	if d.EventType != bridges.TypeSuperseded {
		for i := range n {
			d.RemoteID, d.ShownSeq = r.RemoteIDs[i], d.Seq
		}
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
			old.RemoteID, old.ShownSeq = r.RemoteIDs[i], d.Seq
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
