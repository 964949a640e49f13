package inbox

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// SubscriptionTable is where subscriptions are stored.
var SubscriptionTable = ledger.NewTable(ledger.Table{
	Name:    "inbox_subscriptions",
	Columns: []string{"created_seq", "thread_id", "subscription_id", "source", "filter", "thread_ids", "methods", "created_at"},
	Key:     []string{"created_seq"},
	Mutable: []string{"filter"},
	Unique:  ledger.ErrStale,
})

// The orders in which subscriptions are found.
var (
	SubscriptionByID     = &ledger.Index{Table: SubscriptionTable, Unique: true, Columns: []string{"thread_id", "subscription_id"}}
	SubscriptionOfSource = &ledger.Index{Table: SubscriptionTable, Name: "inbox_subscriptions_source", Columns: []string{"source", "created_seq"}}
)

// Table implements ledger.Row.
func (s *Subscription) Table() *ledger.Table { return SubscriptionTable }

// ID implements ledger.Row.
func (s *Subscription) ID() any { return rowKey{s.ThreadID, s.SubscriptionID} }

// rowKey identifies a row that clients name.
type rowKey struct{ threadID, id string }

// SubscriptionKey and TimerKey make the identities of rows for ledger.State.Row.
func SubscriptionKey(threadID, id string) any { return rowKey{threadID, id} }
func TimerKey(threadID, id string) any        { return rowKey{threadID, id} }

// New implements ledger.Row.
func (s *Subscription) New() bool { return s.CreatedSeq < 0 }

// Bytes implements ledger.Row.
func (s *Subscription) Bytes() int { return len(s.Filter) + 64*len(s.ThreadIDs) }

// AssignSeqs implements ledger.Row.
func (s *Subscription) AssignSeqs(first int64) { s.CreatedSeq = notify.AssignSeq(s.CreatedSeq, first) }

// Values implements ledger.Row.
func (s *Subscription) Values(first int64) (ledger.Values, error) {
	ids, err := json.Marshal(s.ThreadIDs)
	if err != nil {
		return nil, err
	}
	methods, err := json.Marshal(s.Methods)
	if err != nil {
		return nil, err
	}
	return ledger.Values{
		notify.AssignSeq(s.CreatedSeq, first), s.ThreadID, s.SubscriptionID, s.Source, s.Filter, ids, methods, s.CreatedAt.Milli(),
	}, nil
}

// ReadSubscription makes a subscription of its columns.
func ReadSubscription(v ledger.Values) (*Subscription, error) {
	s := &Subscription{
		CreatedSeq: v.Int(0), ThreadID: v.Text(1), SubscriptionID: v.Text(2), Source: v.Text(3), Filter: v.Text(4),
		CreatedAt: notify.TimeFromMilli(v.Int(7)),
	}
	if err := json.Unmarshal(v.Blob(5), &s.ThreadIDs); err != nil {
		return nil, fmt.Errorf("threads of subscription %s: %w", s.SubscriptionID, err)
	}
	if err := json.Unmarshal(v.Blob(6), &s.Methods); err != nil {
		return nil, fmt.Errorf("methods of subscription %s: %w", s.SubscriptionID, err)
	}
	return s, nil
}
