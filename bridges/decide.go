package bridges

import (
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Decision is what is to be done with a chosen event.
type Decision string

// The decisions. Ignoring and deferring leave no row: see Subscription.Choose.
const (
	Ignore    Decision = "ignore"
	Deliver   Decision = "deliver"
	Suppress  Decision = "suppress"
	Supersede Decision = "superseded"
	Mismatch  Decision = "mismatch"
	// GiveUp: nothing of a stored delivery can be sent any more.
	GiveUp Decision = "dead"
)

// The reasons of suppressed deliveries.
const (
	ReasonPaused   = "paused"   // it came while the bridge was paused, and such events are dropped
	ReasonAnswered = "answered" // the question does not wait any more
	ReasonUnasked  = "unasked"  // the answer to a question that was not delivered
	ReasonLifted   = "lifted"   // a client has ended the stall, or closed the thread
	ReasonUnshown  = "unshown"  // nothing was delivered that the marker supersedes, or the end changes
	ReasonStale    = "stale"    // the message shows a later event already
	ReasonSkipped  = "skipped"  // subscription/skip
	ReasonReset    = "reset"    // subscription/reset
	ReasonRender   = "render"   // nothing could be made of the event
)

// errUnreadable is a row of a try that is stored and cannot be read.
var errUnreadable = errors.New("the row of the attempt cannot be read")

// Verdict is a decision and why.
type Verdict struct {
	Decision Decision
	Reason   string
}

// Decide decides from the rows of one snapshot, or of the transaction that begins
// an attempt. Both decide alike, so what is sent was right when its attempt was
// committed. The error is one of reading.
func Decide(tx ledger.Reader, b *Bridge, d *Delivery) (Verdict, error) {
	if !d.Moved && b.Dropped(d.Seq) {
		return Verdict{Suppress, ReasonPaused}, nil
	}
	if d.Tried {
		try, err := tryOf(tx, d.TurnID, d.Step, d.Epoch)
		switch {
		case errors.Is(err, errUnreadable):
			return Verdict{Mismatch, err.Error()}, nil
		case err != nil:
			return Verdict{}, err
		case try == nil:
			return Verdict{Mismatch, "no such attempt"}, nil
		case try.HiddenBy != 0 && d.Seq > try.HiddenAfter:
			return Verdict{Decision: Supersede}, nil
		}
	}
	switch d.EventType {
	case TypeFinal:
		return decideEnd(tx, d)
	case TypeQuestion:
		it, err := itemOf(tx, d.ItemID)
		if err != nil || it != nil && it.Status == items.StatusPending {
			return Verdict{Decision: Deliver}, err
		}
		return Verdict{Suppress, ReasonAnswered}, nil
	case TypeAnswer:
		q, err := NewestOfCard(tx, d.SubscriptionID, d.TurnID, d.ItemID, d.Seq)
		switch {
		case err != nil:
			return Verdict{}, err
		case q == nil || q.State != StatePending && !q.Shown():
			return Verdict{Suppress, ReasonUnasked}, nil
		}
	case TypeStalled:
		return decideStall(tx, d)
	case TypeSuperseded:
		return decideTakeBack(tx, d)
	}
	return Verdict{Decision: Deliver}, nil
}

// DecideAnew works like Decide, for a delivery that Decide has chosen to send: it looks only
// at what may have changed since. It reads little, because the transaction of each attempt
// calls it.
func DecideAnew(tx ledger.Tx, b *Bridge, d *Delivery) (Verdict, error) {
	again := *d
	if d.EventType == TypeFinal {
		again.EventType = TypeEvent // an accepted end is revoked by a marker only
	}
	if tx.LastRewind() <= d.DecidedAt {
		again.Tried = false // nor has one superseded its try
	}
	return Decide(tx, b, &again)
}

// decideEnd compares what an end claims with the row of its turn. They can differ
// in a damaged store only.
func decideEnd(tx ledger.Reader, d *Delivery) (Verdict, error) {
	v, err := tx.Get(turns.ByID, d.TurnID)
	if err != nil {
		return Verdict{}, err
	}
	if v == nil {
		return Verdict{Mismatch, "no such turn"}, nil
	}
	t, err := turns.Read(v)
	switch {
	case err != nil:
		return Verdict{Mismatch, "the row of the turn cannot be read"}, nil
	case t.Attempt != d.Attempt:
		return Verdict{Mismatch, fmt.Sprintf("the event ends attempt %d, the turn is at attempt %d", d.Attempt, t.Attempt)}, nil
	case d.End.State != "" && t.State != d.End.State:
		return Verdict{Mismatch, fmt.Sprintf("the event says %s, the turn is %s", d.End.State, t.State)}, nil
	case d.End.State == "" && !t.State.Ended():
		return Verdict{Mismatch, fmt.Sprintf("the event accepts the end, the turn is %s", t.State)}, nil
	case !d.End.CompletedAt.IsZero() && !t.CompletedAt.Equal(d.End.CompletedAt.Time):
		return Verdict{Mismatch, "the event and the turn end at different times"}, nil
	}
	return Verdict{Decision: Deliver}, nil
}

// decideStall reports whether a thread is still stalled. A closed one is not: nothing can be
// done about it.
func decideStall(tx ledger.Reader, d *Delivery) (Verdict, error) {
	th, err := tx.Get(threads.CountedByID, d.ThreadID)
	if err != nil {
		return Verdict{}, err
	}
	v, err := tx.Get(inbox.ByThread, d.ThreadID)
	if err != nil {
		return Verdict{}, err
	}
	if th == nil || v == nil || !threads.ReadCounted(th).Open() {
		return Verdict{Suppress, ReasonLifted}, nil
	}
	// A row that cannot be read ends no stall.
	if box, err := inbox.ReadRow(v); err == nil && box.Lifted > d.Seq {
		return Verdict{Suppress, ReasonLifted}, nil
	}
	return Verdict{Decision: Deliver}, nil
}

// decideTakeBack reports whether the target shows anything that the marker
// supersedes.
func decideTakeBack(tx ledger.Reader, d *Delivery) (Verdict, error) {
	for _, id := range d.Supersedes {
		_, seq, ok := ParseDeliveryID(id)
		if !ok {
			continue
		}
		old, err := DeliveryOf(tx, d.SubscriptionID, seq)
		if err != nil || old != nil && (old.Shown() || old.State == StatePending) {
			return Verdict{Decision: Deliver}, err
		}
	}
	return Verdict{Suppress, ReasonUnshown}, nil
}

// TakenBack returns the deliveries that a marker supersedes and that were sent, or may have
// been: those before the marker whose try no earlier marker has superseded.
func TakenBack(tx ledger.Reader, subscriptionID string, marker notify.Header) (list []*Delivery, err error) {
	hidden := map[[2]any]*turns.Step{}
	err = tx.Scan(ledger.Range{Index: DeliveriesOfTurn, Prefix: []any{subscriptionID, marker.TurnID}}, func(v ledger.Values) error {
		d, err := ReadDelivery(v)
		if err != nil || !d.Tried || d.Seq > marker.Seq || !d.Shown() || d.EventType == TypeSuperseded {
			return err
		}
		list = append(list, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	kept := list[:0]
	for _, d := range list {
		key := [2]any{d.Step, d.Epoch}
		try, ok := hidden[key]
		if !ok {
			// A try that cannot be read is not known to be superseded.
			if try, err = tryOf(tx, d.TurnID, d.Step, d.Epoch); err != nil && !errors.Is(err, errUnreadable) {
				return nil, err
			}
			hidden[key] = try
		}
		if try != nil && try.HiddenBy == marker.Seq && d.Seq > try.HiddenAfter {
			kept = append(kept, d)
		}
	}
	return kept, nil
}

// tryOf reads the row of the try that an event belongs to: its own step is
// enough, because a marker changes the rows of all steps below the one it names. The
// error is errUnreadable, or one of reading.
func tryOf(tx ledger.Reader, turnID, step string, epoch int) (found *turns.Step, err error) {
	v, err := tx.Get(turns.StepsByEpoch, turnID, step, int64(epoch))
	if err != nil || v == nil {
		return nil, err
	}
	if found, err = turns.ReadStep(v); err != nil {
		return nil, errUnreadable
	}
	return found, nil
}

func itemOf(tx ledger.Reader, itemID string) (found *items.Item, err error) {
	v, err := tx.Get(items.ByID, itemID)
	if err != nil || v == nil {
		return nil, err
	}
	return items.Read(v), nil
}

// DeliveryOf reads one delivery; nil if there is none.
func DeliveryOf(tx ledger.Reader, subscriptionID string, seq int64) (*Delivery, error) {
	v, err := tx.Get(DeliveryByKey, subscriptionID, seq)
	if err != nil || v == nil {
		return nil, err
	}
	return ReadDelivery(v)
}

// NewestOfCard reads the delivery that a card shows or will show, among those
// before the seq; nil if there is none.
func NewestOfCard(tx ledger.Reader, subscriptionID, turnID, card string, before int64) (found *Delivery, err error) {
	err = tx.Scan(ledger.Range{
		Index: DeliveriesOfTurn, Prefix: []any{subscriptionID, turnID, card}, Newest: true, After: before,
	}, func(v ledger.Values) (err error) {
		if found, err = ReadDelivery(v); err != nil {
			return err
		}
		return ledger.ErrEnough
	})
	return found, err
}

// TitleOf reads what a turn is called for people: its title, that of its thread, or
// the agent.
func TitleOf(tx ledger.Reader, threadID, turnID string) (string, error) {
	if turnID != "" {
		v, err := tx.Get(turns.ByID, turnID)
		if err != nil {
			return "", err
		}
		if v != nil {
			if title := v.Text(turns.Table.Column("title")); title != "" {
				return title, nil
			}
		}
	}
	v, err := tx.Get(threads.ByID, threadID)
	if err != nil || v == nil {
		return threadID, err
	}
	t, err := threads.Read(v)
	if err != nil {
		return threadID, nil
	}
	if t.Title != "" {
		return t.Title, nil
	}
	return t.Agent + " in " + shortID(threadID), nil
}

// shortID returns the end of an id, which differs most.
func shortID(id string) string {
	if len(id) > 16 {
		return "…" + id[len(id)-6:]
	}
	return id
}

// ShownInCard reads the delivery whose message a card of the subscription shows at its present
// target; nil if there is none.
func ShownInCard(tx ledger.Reader, s *Subscription, turnID, card string) (found *Delivery, err error) {
	err = tx.Scan(ledger.Range{Index: DeliveriesOfTurn, Prefix: []any{s.SubscriptionID, turnID, card}, Newest: true}, func(v ledger.Values) error {
		d, err := ReadDelivery(v)
		if err != nil || d.RemoteID == "" || !d.RemoteAt(s) {
			return err
		}
		found = d
		return ledger.ErrEnough
	})
	return found, err
}

// MayShowLater reports whether a card may show an event after the seq at the present target: one
// that was delivered, or whose attempt may have arrived. A take-back has no card of its own: it
// changes those of what it supersedes.
func MayShowLater(tx ledger.Reader, s *Subscription, turnID, card string, seq int64) (later bool, err error) {
	scan := func(of string, shows func(*Delivery) (bool, error)) error {
		return tx.Scan(ledger.Range{Index: DeliveriesOfTurn, Prefix: []any{s.SubscriptionID, turnID, of}, Newest: true}, func(v ledger.Values) error {
			d, err := ReadDelivery(v)
			if err != nil {
				return err
			}
			if d.Seq > seq && d.Generation >= s.TargetGeneration && d.shownHere() && !d.Forced {
				if later, err = shows(d); err != nil {
					return err
				}
			}
			if later || d.Seq <= seq {
				return ledger.ErrEnough
			}
			return nil
		})
	}
	if err = scan(card, func(*Delivery) (bool, error) { return true, nil }); err != nil || later {
		return later, err
	}
	err = scan("", func(d *Delivery) (bool, error) { return d.changes(tx, card) })
	return later, err
}

// changes reports whether a take-back changes the message of a card.
func (d *Delivery) changes(tx ledger.Reader, card string) (bool, error) {
	for _, id := range d.Supersedes {
		_, seq, _ := ParseDeliveryID(id)
		if old, err := DeliveryOf(tx, d.SubscriptionID, seq); err != nil || old != nil && old.Card == card {
			return err == nil, err
		}
	}
	return false, nil
}
