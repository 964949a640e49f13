package bridges

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// DeliveryState is what has become of a chosen event.
type DeliveryState string

// The states of a delivery. Only StatePending is ever sent; StateMismatch waits
// for the rows of its turn to agree with its event.
const (
	StatePending    DeliveryState = "pending"
	StateMismatch   DeliveryState = "mismatch"
	StateDelivered  DeliveryState = "delivered"
	StateSuppressed DeliveryState = "suppressed"
	StateSuperseded DeliveryState = "superseded"
	StateDead       DeliveryState = "dead"
)

// DeliveryStates lists the states, in the order of the documentation.
var DeliveryStates = []DeliveryState{StatePending, StateMismatch, StateDelivered, StateSuppressed, StateSuperseded, StateDead}

// Open reports whether the delivery is not settled.
func (s DeliveryState) Open() bool { return s == StatePending || s == StateMismatch }

// Delivery is one chosen event on its way to one target, and what reads return of
// it. (SubscriptionID, Seq) identifies it.
type Delivery struct {
	DeliveryID     string        `json:"delivery_id"`
	SubscriptionID string        `json:"subscription_id"`
	BridgeID       string        `json:"bridge_id"`
	Seq            int64         `json:"seq"`
	Generation     int64         `json:"generation"`
	EventType      EventType     `json:"event_type"`
	Method         string        `json:"method"`
	ThreadID       string        `json:"thread_id,omitzero"`
	TurnID         string        `json:"turn_id,omitzero"`
	State          DeliveryState `json:"state"`
	Reason         string        `json:"reason,omitzero"`
	Attempts       int           `json:"attempts"`
	NextAttemptAt  notify.Time   `json:"next_attempt_at,omitzero"`
	CreatedAt      notify.Time   `json:"created_at"`
	SettledAt      notify.Time   `json:"settled_at,omitzero"`
	Supersedes     []string      `json:"supersedes,omitzero"` // ids of deliveries
	Tries          []Try         `json:"tries,omitzero"`      // the newest attempts, oldest first

	Body []byte `json:"-"` // what is sent: the same bytes in all attempts
	// Card is which message of the turn at the target shows it: CardProgress, CardEnd, or the
	// item_id of a question. "" = the message has none. RemoteID is the message that
	// the target shows for it, and ShownSeq the event that the message shows, which
	// may be a later one: see Finish. Where messages cannot be changed, ShownSeq only
	// says that the delivery had a receipt, perhaps in an earlier generation.
	Card     string `json:"-"`
	RemoteID string `json:"-"`
	ShownSeq int64  `json:"-"`
	// RemoteSince is the generation that began with the target of RemoteID, if the delivery itself
	// was sent to one before: what took it back was posted. 0 = it is that of Generation.
	RemoteSince int64 `json:"-"`
	// Step and Epoch are the try that the event belongs to, if Tried. With the
	// turn they find the row that says whether a marker has superseded it.
	Tried   bool   `json:"-"`
	Step    string `json:"-"`
	Epoch   int    `json:"-"`
	ItemID  string `json:"-"` // of a question or its answer
	Attempt int    `json:"-"` // of the turn
	End     Claim  `json:"-"` // of an end
	// Arrived says that an attempt may have reached the target without a receipt. It
	// is set before each attempt, so it is true after a crash.
	Arrived  bool `json:"-"`
	Refusals int  `json:"-"` // answers that say that it will never be accepted
	Forced   bool `json:"-"` // delivery/redeliver: it moves no cursor and edits nothing

	// Moved says that it was chosen for another target: no pause of this bridge concerns it.
	// Elsewhere, that such a target may show it.
	Moved     bool `json:"-"`
	Elsewhere bool `json:"-"`

	MismatchedAt notify.Time `json:"-"` // since when it is a mismatch; zero: it never was, or it is of an older version

	ExpiresAt notify.Time `json:"-"` // when the row is removed, or reduced; zero = not yet
	Damaged   bool        `json:"-"` // Tries, Supersedes and End could not be read: it is not sent
	// Checked says that Body is an envelope of this log. It is not stored.
	Checked bool `json:"-"`
	// DecidedAt is a seq that the log had when it was decided to send it. It is not
	// stored: 0 = not decided since the server started.
	DecidedAt int64 `json:"-"`
	stored    bool
	before    bool // Arrived before the attempt that has begun
}

// The cards of a turn at a target, each of which shows one message. Every question
// has one of its own.
const (
	CardProgress = "progress"
	CardEnd      = "end"
)

// Removed is the RemoteID of a progress message that was removed with the end of its turn. It is of
// no channel.
const Removed = "removed"

// CardKey identifies a card of a subscription at its target. Each further target has keys of its
// own, also if it is one of before.
func CardKey(logID string, s *Subscription, turnID, card string) string {
	id := logID + "\x00" + s.SubscriptionID + "\x00" + turnID + "\x00" + card
	if s.TargetGeneration > 0 {
		id += fmt.Sprintf("\x00%d", s.TargetGeneration)
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:12])
}

// Claim is what an accepted end says of its turn.
type Claim struct {
	State       turns.State `json:"state,omitzero"` // absent: of a reviewed end
	CompletedAt notify.Time `json:"completed_at,omitzero"`
}

// Try is one attempt of a delivery.
type Try struct {
	Attempt   int         `json:"attempt"` // 0: it cost none
	At        notify.Time `json:"at"`
	Outcome   Outcome     `json:"outcome,omitzero"` // absent: it was under way when the server stopped
	Status    int         `json:"status,omitzero"`
	Error     string      `json:"error,omitzero"`
	LatencyMs int64       `json:"latency_ms"`
	Answer    string      `json:"answer,omitzero"`
}

// DeliveryID returns the identity of a delivery. It depends on the subscription and the event
// only, not on attempts.
func DeliveryID(subscriptionID string, seq int64) string {
	return fmt.Sprintf("notif:%s:%d", subscriptionID, seq)
}

// NewDelivery makes the delivery of a chosen event.
func (s *Subscription) NewDelivery(c *Chosen, now time.Time) *Delivery {
	d := &Delivery{
		DeliveryID: DeliveryID(s.SubscriptionID, c.Seq), SubscriptionID: s.SubscriptionID, BridgeID: s.BridgeID, Seq: c.Seq,
		Generation: s.Generation, EventType: c.Type, Method: c.Method, ThreadID: c.ThreadID, TurnID: c.Header.TurnID, State: StatePending,
		CreatedAt: notify.TimeOf(now), Card: c.Card(), Tried: c.Tried(), Attempt: c.Header.Attempt,
	}
	if d.Tried {
		d.Step, d.Epoch = c.Header.Step, c.Header.Epoch
	}
	switch c.Type {
	case TypeQuestion, TypeAnswer:
		d.ItemID = c.Body.ItemID
	case TypeFinal:
		if c.Method != notify.TurnReviewed {
			d.End = Claim{c.Body.State, c.Body.CompletedAt}
		}
	}
	return d
}

// Enter makes the delivery one of the present generation of its subscription. If that has
// another target, nothing of the delivery is there yet: it begins anew.
func (d *Delivery) Enter(s *Subscription) {
	if d.Generation < s.TargetGeneration {
		if d.Elsewhere = d.Shown(); !d.RemoteAt(s) {
			d.RemoteID, d.ShownSeq = "", 0
		}
		d.BridgeID, d.Moved, d.Tries = s.BridgeID, true, nil
		d.Arrived, d.Attempts, d.Refusals, d.NextAttemptAt = false, 0, 0, notify.Time{}
	}
	d.Generation = s.Generation
}

// RemoteAt reports whether RemoteID is of the present target of the subscription.
func (d *Delivery) RemoteAt(s *Subscription) bool {
	return max(d.Generation, d.RemoteSince) >= s.TargetGeneration
}

// EndsProgress reports whether the delivery changes the progress message of a turn that has ended.
func (d *Delivery) EndsProgress() bool {
	return d.Card == CardProgress && slices.Contains(ends, d.Method)
}

// Revive makes a settled delivery pending again. Its tries stay: the receiver may show what
// it was sent before (see Shown).
func (d *Delivery) Revive() {
	d.State, d.Reason, d.Attempts, d.Refusals, d.Forced = StatePending, "", 0, 0, false
	d.NextAttemptAt, d.SettledAt, d.ExpiresAt = notify.Time{}, notify.Time{}, notify.Time{}
}

// Mismatched marks the delivery as one that waits for the rows of its turn.
func (d *Delivery) Mismatched(reason string, now time.Time) {
	d.State, d.Reason, d.MismatchedAt = StateMismatch, reason, notify.TimeOf(now)
}

func (d *Delivery) mismatchedAt() notify.Time {
	if d.MismatchedAt.IsZero() {
		return d.CreatedAt
	}
	return d.MismatchedAt
}

// settle ends the delivery.
func (d *Delivery) settle(state DeliveryState, reason string, now time.Time) {
	d.State, d.Reason, d.SettledAt, d.NextAttemptAt = state, reason, notify.TimeOf(now), notify.Time{}
	keep := KeepDelivered
	if state == StateDead {
		keep = KeepDead
	}
	d.ExpiresAt = notify.TimeOf(now.Add(keep))
}

// Suppress ends the delivery without sending it.
func (d *Delivery) Suppress(reason string, now time.Time) { d.settle(StateSuppressed, reason, now) }

// Supersede ends the delivery, because a marker has superseded its event.
func (d *Delivery) Supersede(now time.Time) { d.settle(StateSuperseded, "", now) }

// Kill gives the delivery up.
func (d *Delivery) Kill(reason string, now time.Time) { d.settle(StateDead, reason, now) }

// SaysWhatFails reports whether a failure of the delivery makes an event. The failure of a
// delivery of such an event makes none, so that deliveries cannot cause each other for ever.
func (d *Delivery) SaysWhatFails() bool { return !strings.HasPrefix(d.Method, "delivery/") }

// Event returns the body of an event about the delivery.
func (d *Delivery) Event() *DeliveryEvent {
	return &DeliveryEvent{
		DeliveryID: d.DeliveryID, SubscriptionID: d.SubscriptionID, BridgeID: d.BridgeID, SubjectThreadID: d.ThreadID,
		SubjectTurnID: d.TurnID, SubjectSeq: d.Seq, Attempts: d.Attempts, Reason: d.Reason,
	}
}

// Begin notes the beginning of an attempt.
func (d *Delivery) Begin(now time.Time) {
	d.Attempts++
	d.before, d.Arrived = d.Arrived, true
	d.NextAttemptAt = notify.Time{}
	d.Tries = append(d.Tries, Try{Attempt: d.Attempts, At: notify.TimeOf(now)})
	if len(d.Tries) > MaxTries { // the oldest goes, but not the one that has arrived
		first := 0
		if d.Tries[0].Outcome == Delivered {
			first = 1
		}
		d.Tries = slices.Delete(slices.Clone(d.Tries), first, first+1)
	}
}

// Unbegin undoes Begin for an attempt that was not made.
func (d *Delivery) Unbegin() {
	d.Attempts--
	d.Arrived = d.before
	d.Tries = d.Tries[:len(d.Tries)-1]
}

// Finish notes the end of the attempt that began last: the delivery is settled,
// or waits for the next attempt. random is between 0 and 1. The caller notes what the
// cards show.
func (d *Delivery) Finish(r Result, began, now time.Time, random float64) {
	if n := len(d.Tries); n > 0 {
		t := &d.Tries[n-1]
		t.Outcome, t.Status, t.Error, t.LatencyMs = r.Outcome, r.Status, r.Error, now.Sub(began).Milliseconds()
		t.Answer = string(r.Answer)
		if r.Outcome == Wait {
			t.Attempt = 0
		}
	}
	d.Arrived = d.before || r.Arrived
	switch r.Outcome {
	case Delivered:
		d.settle(StateDelivered, "", now)
		d.ShownSeq = max(d.ShownSeq, d.Seq)
		return
	case Wait:
		d.Attempts--
		return // the bridge waits
	case Gone: // the bridge or the subscription is disabled, if that can be committed
		d.Attempts--
		d.NextAttemptAt = notify.TimeOf(now.Add(retries[0]))
		return
	case Refused:
		if d.Refusals++; d.Refusals >= maxRefusals {
			d.settle(StateDead, r.Error, now)
			return
		}
	}
	wait, again := RetryAfter(d.Attempts, random)
	if !again {
		d.settle(StateDead, r.Error, now)
		return
	}
	d.NextAttemptAt = notify.TimeOf(now.Add(wait))
}

// Aside reports whether the delivery has failed so often that other turns no
// longer wait for it.
func (d *Delivery) Aside() bool { return d.State == StateMismatch || d.Attempts >= asideAfter }

// Shown reports whether a target may show the delivery: it has arrived, or may have,
// now or before a reset, a redelivery or a change of the target.
func (d *Delivery) Shown() bool { return d.Elsewhere || d.shownHere() }

// shownHere returns Shown of the target that the delivery is for.
func (d *Delivery) shownHere() bool {
	return d.State == StateDelivered || d.Arrived || slices.ContainsFunc(d.Tries, func(t Try) bool { return t.Outcome == Delivered })
}

// Reduce removes what only reads of a delivery need. What is needed to supersede its message
// after a retry stays.
func (d *Delivery) Reduce() { d.Arrived, d.Body, d.Tries, d.Reason = d.Shown(), nil, nil, reduced }

// Reduced reports whether only that is left: reads no longer return the delivery.
func (d *Delivery) Reduced() bool { return d.Reason == reduced }

const reduced = "\x00reduced"
