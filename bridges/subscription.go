package bridges

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// On is a group of events that a subscription can choose by a word.
type On string

// The groups.
const (
	OnFinal     On = "final"     // accepted ends of turns
	OnQuestions On = "questions" // items that wait for a person, and their answers
	OnProgress  On = "progress"  // starts of turns, starts and ends of steps
	OnInbox     On = "inbox"     // entries that are posted in an inbox, and that its thread is not woken any more
)

// Ons lists the groups, in the order of the documentation.
var Ons = []On{OnFinal, OnQuestions, OnProgress, OnInbox}

// ends are the events that may end a turn. For OnProgress they end what is shown of it.
var ends = []string{notify.TurnCompleted, notify.TurnFailed, notify.TurnInterrupted, notify.TurnReviewed}

// methodsOf are the events among which a group chooses.
var methodsOf = map[On][]string{
	OnFinal:     ends,
	OnQuestions: {notify.ItemCreated, notify.ItemUpdated, notify.ItemDeleted},
	OnProgress:  append([]string{notify.TurnStarted, notify.StepStarted, notify.StepEnded}, ends...),
	OnInbox:     {notify.InboxPosted, notify.InboxStalled},
}

// Order says what waits for a delivery that fails.
type Order string

// The orders.
const (
	OrderTurn   Order = "turn"   // after some failures only what is of the same turn
	OrderStrict Order = "strict" // everything of the subscription
)

// Subscription sends the news of one thread, or of all, through one bridge to one
// target. Its position is in its cursor.
type Subscription struct {
	SubscriptionID string      `json:"subscription_id"`
	BridgeID       string      `json:"bridge_id"`
	Target         Target      `json:"target,omitzero"`
	ThreadID       string      `json:"thread_id,omitzero"` // "" = all threads
	TurnID         string      `json:"turn_id,omitzero"`   // it is of this turn, and of those that continue it; "" = of all
	On             []On        `json:"on,omitzero"`
	Methods        []string    `json:"methods,omitzero"` // names of events, besides On
	IncludeText    bool        `json:"include_text,omitzero"`
	Order          Order       `json:"order"`
	State          State       `json:"state"`
	Reason         string      `json:"reason,omitzero"`
	Generation     int64       `json:"generation"` // begins with each reset, other choice or other target
	FromSeq        int64       `json:"from_seq"`   // events above it were chosen at first
	CreatedAt      notify.Time `json:"created_at"`
	UpdatedAt      notify.Time `json:"updated_at"`
	CreatedSeq     int64       `json:"created_seq"`
	UpdatedSeq     int64       `json:"updated_seq"`

	// TargetGeneration is the generation that began with the present target; 0 = it is the first
	// target. What was sent in an earlier one is at another target, and is changed no more.
	TargetGeneration int64 `json:"-"`

	ScannedSeq      int64            `json:"-"` // of one that was deleted or has ended: how far it had looked
	TargetDigest    string           `json:"-"` // of a deleted one: Target is removed
	AcceptedThrough int64            `json:"-"` // a client wants the backlog up to this seq
	Requester       ledger.Requester `json:"-"` // has made it; "" = the owner
	stored          bool
}

// ConsumerPrefix is how the ids of the cursors' consumers begin that belong to
// subscriptions.
const ConsumerPrefix = "subscription:"

// StreamEvents is the stream of the cursors of subscriptions: the log.
const StreamEvents = "events"

// ConsumerID returns the consumer of the subscription's cursor. Its stream is
// StreamEvents, its subject the thread.
func (s *Subscription) ConsumerID() string { return ConsumerPrefix + s.SubscriptionID }

// Clone returns a copy that can be changed.
func (s *Subscription) Clone() *Subscription {
	next := *s
	next.On, next.Methods = slices.Clone(s.On), slices.Clone(s.Methods)
	return &next
}

// SendsTo reports whether the subscription sends to the target through the bridge, or did
// before it was deleted.
func (s *Subscription) SendsTo(bridgeID string, target Target) bool {
	return s.BridgeID == bridgeID && (s.Target == target || s.State == Deleted && s.TargetDigest == target.digest())
}

// MoveTo makes the subscription send to another target from its present generation on.
func (s *Subscription) MoveTo(bridgeID string, target Target) {
	s.BridgeID, s.Target, s.TargetGeneration = bridgeID, target, s.Generation
}

// FollowerName returns the name of the follower that reads the log for the subscription.
// Each generation has its own, because a follower never goes back.
func (s *Subscription) FollowerName() string {
	return fmt.Sprintf("%s%s/%d", FollowerPrefix, s.SubscriptionID, s.Generation)
}

// FollowerPrefix is how the names of the followers of subscriptions begin.
const FollowerPrefix = "delivery/"

// Delete changes the subscription as subscription/deleted does.
func (s *Subscription) Delete(scanned int64) {
	s.State, s.Reason, s.ScannedSeq = Deleted, "", scanned
	s.Target, s.TargetDigest = Target{}, s.Target.digest()
}

// digest recognises a target that is no longer kept.
func (t Target) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", t))
	return hex.EncodeToString(sum[:])
}

// Followed returns the methods of which a follower must see all events. Markers come
// in addition.
func (s *Subscription) Followed() []string {
	methods := slices.Clone(s.Methods)
	for _, on := range s.On {
		methods = append(methods, methodsOf[on]...)
	}
	if s.TurnID != "" { // it ends with its turn
		methods = append(methods, ends...)
	}
	slices.Sort(methods)
	return slices.Compact(methods)
}

// SaysWhatFails reports whether lost events of the subscription make an event. They make none
// if it chooses only such events, so that deliveries cannot cause each other for ever.
func (s *Subscription) SaysWhatFails() bool {
	return len(s.On) > 0 || slices.ContainsFunc(s.Methods, func(m string) bool { return !strings.HasPrefix(m, "delivery/") })
}

// Event returns the body of an event about the subscription.
func (s *Subscription) Event(by By) *SubscriptionEvent {
	return &SubscriptionEvent{
		SubscriptionID: s.SubscriptionID, BridgeID: s.BridgeID, SubjectThreadID: s.ThreadID, SubjectTurnID: s.TurnID, State: s.State, Reason: s.Reason, By: by,
	}
}

// names reports whether the subscription chooses the event by its name.
func (s *Subscription) names(method string) bool { return slices.Contains(s.Methods, method) }
