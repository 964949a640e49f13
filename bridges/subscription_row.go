package bridges

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// SubscriptionTable is where subscriptions are stored.
var SubscriptionTable = ledger.NewTable(ledger.Table{
	Name: "subscriptions",
	Columns: []string{"created_seq", "subscription_id", "bridge_id", "target", "thread_id", "on_events", "methods", "include_text", "ordering", "state",
		"reason", "generation", "from_seq", "scanned_seq", "accepted_through", "target_digest", "created_at", "updated_at", "updated_seq", "requester",
		"target_generation", "turn_id"},
	Key: []string{"subscription_id"},
	Mutable: []string{"created_seq", "bridge_id", "target", "target_generation", "target_digest", "on_events", "methods", "include_text", "ordering", "state", "reason", "generation", "from_seq", "scanned_seq",
		"accepted_through", "created_at", "updated_at", "updated_seq", "requester"},
	Unique: ledger.ErrStale,
})

// The orders in which subscriptions are found.
var (
	SubscriptionByID  = &ledger.Index{Table: SubscriptionTable, Unique: true, Columns: []string{"subscription_id"}}
	SubscriptionBySeq = &ledger.Index{Table: SubscriptionTable, Name: "subscriptions_created", Columns: []string{"created_seq"}}
	// SubscriptionOfTurn has those of one turn.
	SubscriptionOfTurn   = &ledger.Index{Table: SubscriptionTable, Name: "subscriptions_turn", Columns: []string{"turn_id", "created_seq"}}
	SubscriptionOfBridge = &ledger.Index{Table: SubscriptionTable, Name: "subscriptions_bridge", Columns: []string{"bridge_id", "created_seq"}}
)

// Table implements ledger.Row.
func (s *Subscription) Table() *ledger.Table { return SubscriptionTable }

// ID implements ledger.Row.
func (s *Subscription) ID() any { return s.SubscriptionID }

// New implements ledger.Row.
func (s *Subscription) New() bool { return !s.stored }

// Bytes implements ledger.Row.
func (s *Subscription) Bytes() int { return 256 }

// AssignSeqs implements ledger.Row.
func (s *Subscription) AssignSeqs(first int64) {
	s.stored = true
	s.CreatedSeq, s.UpdatedSeq = notify.AssignSeq(s.CreatedSeq, first), notify.AssignSeq(s.UpdatedSeq, first)
}

// Values implements ledger.Row.
func (s *Subscription) Values(first int64) (ledger.Values, error) {
	target, err := json.Marshal(s.Target)
	if err != nil {
		return nil, err
	}
	on, err := json.Marshal(s.On)
	if err != nil {
		return nil, err
	}
	methods, err := json.Marshal(s.Methods)
	if err != nil {
		return nil, err
	}
	var turnID any // its index has no NULL
	if s.TurnID != "" {
		turnID = s.TurnID
	}
	return ledger.Values{
		notify.AssignSeq(s.CreatedSeq, first), s.SubscriptionID, s.BridgeID, target, s.ThreadID, on, methods, ledger.Flag(s.IncludeText),
		string(s.Order), string(s.State), s.Reason, s.Generation, s.FromSeq, s.ScannedSeq, s.AcceptedThrough, s.TargetDigest,
		s.CreatedAt.Milli(), s.UpdatedAt.Milli(), notify.AssignSeq(s.UpdatedSeq, first), string(s.Requester),
		s.TargetGeneration, turnID,
	}, nil
}

// ReadSubscription makes a subscription of its columns.
func ReadSubscription(v ledger.Values) (*Subscription, error) {
	s := &Subscription{
		CreatedSeq: v.Int(0), SubscriptionID: v.Text(1), BridgeID: v.Text(2), ThreadID: v.Text(4), IncludeText: v.Int(7) != 0,
		Order: Order(v.Text(8)), State: State(v.Text(9)), Reason: v.Text(10), Generation: v.Int(11), FromSeq: v.Int(12),
		ScannedSeq: v.Int(13), AcceptedThrough: v.Int(14), TargetDigest: v.Text(15), CreatedAt: notify.TimeFromMilli(v.Int(16)),
		UpdatedAt: notify.TimeFromMilli(v.Int(17)), UpdatedSeq: v.Int(18), Requester: ledger.Requester(v.Text(19)),
		TargetGeneration: v.Int(20), TurnID: v.Text(21), stored: true,
	}
	for _, m := range []struct {
		name string
		raw  []byte
		into any
	}{{"target", v.Blob(3), &s.Target}, {"choice", v.Blob(5), &s.On}, {"methods", v.Blob(6), &s.Methods}} {
		if err := json.Unmarshal(m.raw, m.into); err != nil {
			return nil, fmt.Errorf("%s of the subscription %s: %w", m.name, s.SubscriptionID, err)
		}
	}
	if len(s.On) == 0 {
		s.On = nil // as it was created
	}
	if len(s.Methods) == 0 {
		s.Methods = nil
	}
	return s, nil
}
