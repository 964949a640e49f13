package bridges

import (
	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// DeliveryTable is where deliveries are stored.
var DeliveryTable = ledger.NewTable(ledger.Table{
	Name: "deliveries",
	Columns: []string{"subscription_id", "seq", "bridge_id", "generation", "event_type", "method", "thread_id", "turn_id", "state", "reason",
		"attempts", "next_attempt_at", "created_at", "settled_at", "expires_at", "slot", "tried", "step", "epoch", "item_id", "attempt",
		"arrived", "refusals", "forced", "remote_id", "shown_seq", "began_at", "details"},
	Key: []string{"subscription_id", "seq"},
	Mutable: []string{"bridge_id", "generation", "state", "reason", "attempts", "next_attempt_at", "settled_at", "expires_at", "arrived", "refusals", "forced",
		"remote_id", "shown_seq", "began_at", "details"},
	Unique: ledger.ErrStale,
})

// bodyTable is where the bodies of deliveries are stored.
var bodyTable = ledger.NewTable(ledger.Table{
	Name: "delivery_bodies", Columns: []string{"subscription_id", "seq", "body"}, Key: []string{"subscription_id", "seq"}, Unique: ledger.ErrStale,
})

var bodyByKey = &ledger.Index{Table: bodyTable, Columns: []string{"subscription_id", "seq"}}

// body is the body of a delivery as a unit writes it.
type body struct{ *Delivery }

// Table implements ledger.Row.
func (b body) Table() *ledger.Table { return bodyTable }

// New implements ledger.Row.
func (b body) New() bool { return true }

// Bytes implements ledger.Row.
func (b body) Bytes() int { return len(b.Body) + 64 }

// AssignSeqs implements ledger.Row.
func (b body) AssignSeqs(int64) {}

// Values implements ledger.Row.
func (b body) Values(int64) (ledger.Values, error) {
	return ledger.Values{b.SubscriptionID, b.Seq, b.Body}, nil
}

// WithBody returns the rows that store a delivery and its body. Other changes leave the body
// as it is.
func (d *Delivery) WithBody() []ledger.Row {
	rows := []ledger.Row{d}
	if d.stored {
		rows = append(rows, &ledger.Removal{Of: bodyTable, Key: []any{d.SubscriptionID, d.Seq}})
	}
	if d.Body != nil {
		rows = append(rows, body{d})
	}
	return rows
}

// RemoveDelivery returns the rows that remove a delivery.
func RemoveDelivery(subscriptionID string, seq int64) []ledger.Row {
	key := []any{subscriptionID, seq}
	return []ledger.Row{&ledger.Removal{Of: DeliveryTable, Key: key}, &ledger.Removal{Of: bodyTable, Key: key}}
}

// BodyOf reads what a delivery sends; nil if it is not kept.
func BodyOf(tx ledger.Reader, d *Delivery) ([]byte, error) {
	v, err := tx.Get(bodyByKey, d.SubscriptionID, d.Seq)
	if err != nil || v == nil {
		return nil, err
	}
	return v.Blob(2), nil
}

// attemptTable is DeliveryTable for what the beginning of an attempt changes.
var attemptTable = ledger.NewTable(ledger.Table{
	Name: DeliveryTable.Name, Columns: DeliveryTable.Columns, Key: DeliveryTable.Key,
	Mutable: []string{"attempts", "next_attempt_at", "arrived", "began_at"},
	Unique:  ledger.ErrStale,
})

// begun is a stored delivery whose attempt has begun. Only the columns that this changes are
// written, because half of all writes are of this kind.
type begun struct{ *Delivery }

// Table implements ledger.Row.
func (d begun) Table() *ledger.Table { return attemptTable }

// Values implements ledger.Row.
func (d begun) Values(int64) (ledger.Values, error) {
	v := make(ledger.Values, len(attemptTable.Columns))
	v[0], v[1], v[10], v[11], v[21] = d.SubscriptionID, d.Seq, int64(d.Attempts), d.NextAttemptAt.Milli(), ledger.Flag(d.Arrived)
	began, _ := d.underWay()
	v[26] = began.Milli()
	return v, nil
}

// BegunRow returns the row that stores that an attempt has just begun. The delivery must be stored
// already.
func (d *Delivery) BegunRow() ledger.Row {
	if _, before := d.underWay(); len(before) > 0 && before[len(before)-1].Outcome == "" { // of before a crash
		return d
	}
	return begun{d}
}

// DeliveryOfRow returns the delivery that a row of a unit stores; nil if it is another
// row.
func DeliveryOfRow(row ledger.Row) *Delivery {
	switch row := row.(type) {
	case *Delivery:
		return row
	case begun:
		return row.Delivery
	}
	return nil
}

// underWay returns when the attempt began whose end is not known, zero if there is none, and
// the tries before it.
func (d *Delivery) underWay() (began notify.Time, before []Try) {
	if n := len(d.Tries); n > 0 && d.Tries[n-1].Outcome == "" {
		return d.Tries[n-1].At, d.Tries[:n-1]
	}
	return notify.Time{}, d.Tries
}

// The orders in which deliveries are found.
var (
	DeliveryByKey = &ledger.Index{Table: DeliveryTable, Columns: []string{"subscription_id", "seq"}}
	DeliveryBySeq = &ledger.Index{Table: DeliveryTable, Name: "deliveries_seq", Columns: []string{"seq", "subscription_id"}}
	// OpenDeliveries finds those that are not settled.
	OpenDeliveries = &ledger.Index{Table: DeliveryTable, Name: "deliveries_open", Columns: []string{"subscription_id", "seq"},
		Where: []ledger.Only{{Column: "state", Values: []any{string(StatePending), string(StateMismatch)}}}}
	// DeadDeliveries finds those that were given up.
	DeadDeliveries = &ledger.Index{Table: DeliveryTable, Name: "deliveries_dead", Columns: []string{"subscription_id", "seq"},
		Where: []ledger.Only{{Column: "state", Values: []any{string(StateDead)}}}}
	// DeliveriesOfTurn finds what a subscription was sent about a turn.
	DeliveriesOfTurn = &ledger.Index{Table: DeliveryTable, Name: "deliveries_turn", Columns: []string{"subscription_id", "turn_id", "slot", "seq"}}
	// ExpiringDeliveries finds those that are settled by the time when they are
	// removed.
	ExpiringDeliveries = &ledger.Index{Table: DeliveryTable, Name: "deliveries_expire", Columns: []string{"expires_at"}}
)

// Table implements ledger.Row.
func (d *Delivery) Table() *ledger.Table { return DeliveryTable }

// ID implements ledger.Row.
func (d *Delivery) ID() any { return d.DeliveryID }

// New implements ledger.Row.
func (d *Delivery) New() bool { return !d.stored }

// Bytes implements ledger.Row.
func (d *Delivery) Bytes() int { return 128*len(d.Tries) + 256 }

// AssignSeqs implements ledger.Row.
func (d *Delivery) AssignSeqs(int64) { d.stored = true }

// details are the members of a delivery that only reads of one need.
type details struct {
	Tries        []Try       `json:"tries,omitzero"`
	Supersedes   []string    `json:"supersedes,omitzero"`
	End          Claim       `json:"end,omitzero"`
	MismatchedAt notify.Time `json:"mismatched_at,omitzero"`
	Moved        bool        `json:"moved,omitzero"`
	Elsewhere    bool        `json:"elsewhere,omitzero"`
	RemoteSince  int64       `json:"remote_since,omitzero"`
}

// Values implements ledger.Row.
func (d *Delivery) Values(int64) (ledger.Values, error) {
	began, tries := d.underWay()
	more, err := json.Marshal(&details{tries, d.Supersedes, d.End, d.MismatchedAt, d.Moved, d.Elsewhere, d.RemoteSince})
	if err != nil {
		return nil, err
	}
	var expires any // its index has no NULL
	if !d.ExpiresAt.IsZero() {
		expires = d.ExpiresAt.Milli()
	}
	return ledger.Values{
		d.SubscriptionID, d.Seq, d.BridgeID, d.Generation, string(d.EventType), d.Method, d.ThreadID, d.TurnID, string(d.State), d.Reason,
		int64(d.Attempts), d.NextAttemptAt.Milli(), d.CreatedAt.Milli(), d.SettledAt.Milli(), expires, d.Card, ledger.Flag(d.Tried),
		d.Step, int64(d.Epoch), d.ItemID, int64(d.Attempt), ledger.Flag(d.Arrived), int64(d.Refusals), ledger.Flag(d.Forced), d.RemoteID, d.ShownSeq, began.Milli(), more,
	}, nil
}

// ReadDelivery makes a delivery, without Body, of its columns. If its details cannot be read
// it is Damaged, so that the others can still be read.
func ReadDelivery(v ledger.Values) (*Delivery, error) {
	d := &Delivery{
		SubscriptionID: v.Text(0), Seq: v.Int(1), BridgeID: v.Text(2), Generation: v.Int(3), EventType: EventType(v.Text(4)), Method: v.Text(5),
		ThreadID: v.Text(6), TurnID: v.Text(7), State: DeliveryState(v.Text(8)), Reason: v.Text(9), Attempts: int(v.Int(10)),
		NextAttemptAt: notify.TimeFromMilli(v.Int(11)), CreatedAt: notify.TimeFromMilli(v.Int(12)), SettledAt: notify.TimeFromMilli(v.Int(13)),
		ExpiresAt: notify.TimeFromMilli(v.Int(14)), Card: v.Text(15), Tried: v.Int(16) != 0, Step: v.Text(17), Epoch: int(v.Int(18)),
		ItemID: v.Text(19), Attempt: int(v.Int(20)), Arrived: v.Int(21) != 0, Refusals: int(v.Int(22)), Forced: v.Int(23) != 0, RemoteID: v.Text(24), ShownSeq: v.Int(25),
		stored: true,
	}
	d.DeliveryID = DeliveryID(d.SubscriptionID, d.Seq)
	var more details
	if err := json.Unmarshal(v.Blob(27), &more); err != nil {
		more, d.Damaged = details{}, true
	}
	d.Tries, d.Supersedes, d.End, d.MismatchedAt = more.Tries, more.Supersedes, more.End, more.MismatchedAt
	d.Moved, d.Elsewhere, d.RemoteSince = more.Moved, more.Elsewhere, more.RemoteSince
	if at := v.Int(26); at != 0 {
		d.Tries = append(d.Tries, Try{Attempt: d.Attempts, At: notify.TimeFromMilli(at)})
	}
	return d, nil
}
