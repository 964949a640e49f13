package dispatch

import (
	"cmp"
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// attempt is one attempt whose number is committed.
type attempt struct {
	delivery   *bridges.Delivery // as committed
	channel    bridges.Channel
	out        *bridges.Outgoing
	shown      []*bridges.Delivery // by card: the delivery whose message it shows; for a take-back, the one that it takes back; nil = none
	begun      time.Time           // when it was decided
	fence      *stillTrue
	generation int64 // of the subscription when it began
	target     int64 // and of its target

	result       bridges.Result // the members below are those of an attempt that was made
	began, ended time.Time
	cut          bool // a command has cut it off: that is no failure of the target, and costs no attempt
}

// stillTrue is the fence of an attempt: the decision is taken anew in the
// transaction that begins it, unless an earlier attempt may have arrived. That of a stall is
// taken anew all the same: no later message says that somebody has ended it.
type stillTrue struct {
	bridge  *bridge
	d       *bridges.Delivery // as it was before the attempt
	verdict bridges.Verdict   // after a refusal
}

// Check implements ledger.Fence.
func (f *stillTrue) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	f.verdict = bridges.Verdict{} // the verdict of a transaction that was rolled back does not count
	if f.d.Forced || f.d.Arrived && f.d.EventType != bridges.TypeStalled {
		return nil, nil
	}
	// The bridge as it is in memory: a pause since the event does not concern it.
	v, err := bridges.DecideAnew(tx, f.bridge.row.Load(), f.d)
	if err == nil && v.Decision != bridges.Deliver {
		f.verdict, refused = v, errChanged
	}
	return refused, err
}

// settleNow ends a delivery that is not to be sent any more.
func (l *lane) settleNow(d *bridges.Delivery, v bridges.Verdict) error {
	next, now := *d, l.s.now()
	u, cursor := &ledger.Unit{}, l.cursor
	switch v.Decision {
	case bridges.Mismatch:
		next.Mismatched(v.Reason, now)
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

// prepare makes what is sent. rewritten says that the body has changed because the log was
// restored since: to its receiver it is another delivery.
func (l *lane) prepare(ctx context.Context, a *attempt) (rewritten bool, v bridges.Verdict, err error) {
	d := a.delivery
	giveUp := bridges.Verdict{Decision: bridges.GiveUp, Reason: bridges.ReasonRender}
	if d.Damaged {
		return false, giveUp, nil
	}
	v.Decision = bridges.Deliver
	if d.EndsProgress() && !a.channel.Edits() {
		return false, bridges.Verdict{Decision: bridges.Suppress, Reason: bridges.ReasonUnshown}, nil
	}
	a.out = &bridges.Outgoing{ID: bridges.OutgoingID(l.s.cfg.LogID, d.DeliveryID), Target: l.sub.Target, Arrived: d.Arrived}
	if shows := a.channel.Edits() && !d.Forced; shows || d.Body == nil {
		if err := l.s.cfg.Read(ctx, func(tx ledger.Reader) (err error) {
			if d.Body == nil {
				if d.Body, err = bridges.BodyOf(tx, d); err != nil {
					return err
				}
			}
			if shows {
				v, err = l.cards(tx, a)
			}
			return err
		}); err != nil || v.Decision != bridges.Deliver {
			return false, v, err
		}
	}
	if !d.Checked { // it is of an earlier start
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
		d.Checked = true
	}
	a.out.Body = d.Body
	return rewritten, v, nil
}

// cards finds the messages that the delivery shows or changes. A message is never
// changed to an older event than it shows.
func (l *lane) cards(tx ledger.Reader, a *attempt) (bridges.Verdict, error) {
	d := a.delivery
	var names []string
	back := map[string]*bridges.Delivery{} // by card
	posted := false
	switch {
	case d.EventType == bridges.TypeSuperseded:
		for _, id := range d.Supersedes {
			_, seq, _ := bridges.ParseDeliveryID(id)
			old, err := bridges.DeliveryOf(tx, d.SubscriptionID, seq)
			if err != nil {
				return bridges.Verdict{}, err
			}
			if old == nil || old.Card == "" {
				continue
			}
			if !old.RemoteAt(l.sub) || old.Elsewhere && old.RemoteID == "" { // its message is at another target: one post says so here
				if posted || old.RemoteID == bridges.Removed {
					continue
				}
				posted = true
			}
			if back[old.Card] == nil {
				names = append(names, old.Card)
			}
			back[old.Card] = old
		}
	case d.Card != "":
		names = []string{d.Card}
	default:
		return bridges.Verdict{Decision: bridges.Deliver}, nil
	}
	post := d.EventType == bridges.TypeFinal || d.EventType == bridges.TypeQuestion
	for _, name := range names {
		shown, err := bridges.ShownInCard(tx, l.sub, d.TurnID, name)
		if err != nil {
			return bridges.Verdict{}, err
		}
		later, err := bridges.MayShowLater(tx, l.sub, d.TurnID, name, d.Seq)
		if err == nil && name == bridges.CardProgress && !later { // the end has been shown meanwhile
			later, err = bridges.MayShowLater(tx, l.sub, d.TurnID, bridges.CardEnd, d.Seq)
		}
		if err != nil {
			return bridges.Verdict{}, err
		}
		if !post && (later || shown != nil && shown.ShownSeq > d.Seq) {
			continue
		}
		if shown != nil && shown.RemoteID == bridges.Removed {
			if shown = nil; back[name] != nil {
				continue // nothing is left to be taken back
			}
		}
		if shown == nil && d.EndsProgress() {
			return bridges.Verdict{Decision: bridges.Suppress, Reason: bridges.ReasonUnshown}, nil
		}
		s := bridges.Card{Key: bridges.CardKey(l.s.cfg.LogID, l.sub, d.TurnID, name), Post: post}
		if shown != nil {
			s.RemoteID = shown.RemoteID
		} else {
			shown = back[name] // its message is not known; it has that of the take-back from now on
		}
		a.out.Cards = append(a.out.Cards, s)
		a.shown = append(a.shown, shown)
	}
	if d.EventType == bridges.TypeFinal {
		shown, err := bridges.ShownInCard(tx, l.sub, d.TurnID, bridges.CardProgress)
		if err != nil {
			return bridges.Verdict{}, err
		}
		if shown != nil && shown.RemoteID != bridges.Removed && shown.ShownSeq < d.Seq {
			a.out.Cards = append(a.out.Cards, bridges.Card{
				Key: bridges.CardKey(l.s.cfg.LogID, l.sub, d.TurnID, bridges.CardProgress), RemoteID: shown.RemoteID, Remove: true,
			})
			a.shown = append(a.shown, shown)
		}
	}
	if len(names) > 0 && len(a.out.Cards) == 0 {
		return bridges.Verdict{Decision: bridges.Suppress, Reason: bridges.ReasonStale}, nil
	}
	return bridges.Verdict{Decision: bridges.Deliver}, nil
}

// make makes the attempt, and notes what it says of the target.
func (a *attempt) make(ctx context.Context, s *Service, to *bridgeLoad) {
	a.began = s.now()
	a.result = s.sender.send(ctx, to, a.channel, sending{a.delivery.DeliveryID, a.delivery.BridgeID, a.out.Target}, a.out)
	a.ended = s.now()
	if a.cut = ctx.Err() != nil && s.sending.Err() == nil && a.result.Outcome != bridges.Delivered; a.cut {
		a.result.Outcome, a.result.Unhealthy = bridges.Failed, false
	}
	s.slots.set(to, func(o *bridgeLoad) {
		switch {
		case a.result.Outcome == bridges.Delivered, a.result.Outcome == bridges.Refused && a.result.Status != 0: // the target is there
			o.unhealthy, o.waits = 0, 0
		case a.result.Unhealthy:
			o.unhealthy++
		}
		if a.result.Outcome == bridges.Wait {
			if !a.began.Before(o.heldUntil) { // else it was under way when the target asked before
				o.waits++
			}
			a.result.RetryAfter = bridges.WaitFor(a.result.RetryAfter, o.waits)
			o.heldUntil = a.ended.Add(a.result.RetryAfter)
		}
	})
	s.meter.attempt(a.delivery.BridgeID, a.result.Outcome, a.ended.Sub(a.began))
}

// show notes which messages the cards show now, also after an attempt that failed in
// between. It returns the rows that it changes besides that of the attempt, as they are
// by now: a reset may have changed them since the attempt began.
func (a *attempt) show(s *Service, u *ledger.Unit, d *bridges.Delivery) (changed []*bridges.Delivery, err error) {
	r := a.result
	n := min(len(a.out.Cards), len(r.RemoteIDs))
	seqOf := func(i int) int64 {
		if r.Outcome == bridges.Delivered {
			return d.Seq
		}
		if a.shown[i] != nil {
			return a.shown[i].ShownSeq
		}
		return 0
	}
	first := 0 // of the cards of other deliveries
	if d.EventType != bridges.TypeSuperseded && n > 0 {
		d.RemoteID, d.ShownSeq, first = r.RemoteIDs[0], seqOf(0), 1
	}
	if n <= first || a.out.Cards[first].Remove && r.Outcome != bridges.Delivered {
		return nil, nil
	}
	err = s.cfg.Read(context.Background(), func(tx ledger.Reader) error {
		for i := first; i < n; i++ {
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
			if old.Generation < a.target {
				old.RemoteSince = a.target
			}
			if old.RemoteID, old.ShownSeq = r.RemoteIDs[i], seqOf(i); a.out.Cards[i].Remove {
				old.RemoteID = cmp.Or(old.RemoteID, bridges.Removed)
			}
			changed = append(changed, old)
			u.Rows = append(u.Rows, old)
		}
		return nil
	})
	return changed, err
}
