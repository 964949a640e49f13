package bridges

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// BridgeTable is where bridges are stored.
var BridgeTable = ledger.NewTable(ledger.Table{
	Name: "bridges",
	Columns: []string{"bridge_id", "kind", "state", "reason", "configured", "on_pause", "settings", "secret_hint", "generation",
		"previous", "rotated_at", "held_until", "failed_days", "drops", "log_id", "created_at", "updated_at", "created_seq", "updated_seq"},
	Key: []string{"bridge_id"},
	Mutable: []string{"kind", "state", "reason", "configured", "on_pause", "settings", "secret_hint", "generation", "previous", "rotated_at",
		"held_until", "failed_days", "drops", "log_id", "updated_at", "updated_seq"},
	Unique: ErrInUse,
})

// BridgeByID finds bridges in the order of their ids.
var BridgeByID = &ledger.Index{Table: BridgeTable, Columns: []string{"bridge_id"}}

// Table implements ledger.Row.
func (b *Bridge) Table() *ledger.Table { return BridgeTable }

// ID implements ledger.Row.
func (b *Bridge) ID() any { return b.BridgeID }

// New implements ledger.Row.
func (b *Bridge) New() bool { return !b.stored }

// Bytes implements ledger.Row.
func (b *Bridge) Bytes() int { return 256 }

// AssignSeqs implements ledger.Row.
func (b *Bridge) AssignSeqs(first int64) {
	b.stored = true
	b.CreatedSeq, b.UpdatedSeq = notify.AssignSeq(b.CreatedSeq, first), notify.AssignSeq(b.UpdatedSeq, first)
	b.Drops = assigned(b.Drops, first)
}

func assigned(gaps []DropGap, first int64) []DropGap {
	for i := range gaps {
		gaps[i].From, gaps[i].To = notify.AssignSeq(gaps[i].From, first), notify.AssignSeq(gaps[i].To, first)
	}
	return gaps
}

// Values implements ledger.Row.
func (b *Bridge) Values(first int64) (ledger.Values, error) {
	settings, err := json.Marshal(b.Settings)
	if err != nil {
		return nil, err
	}
	days, err := json.Marshal(b.FailedDays)
	if err != nil {
		return nil, err
	}
	drops, err := json.Marshal(assigned(b.Clone().Drops, first))
	if err != nil {
		return nil, err
	}
	return ledger.Values{
		b.BridgeID, string(b.Kind), string(b.State), b.Reason, ledger.Flag(b.Configured), string(b.OnPause), settings, b.SecretHint,
		b.Generation, b.Previous, b.RotatedAt.Milli(), b.HeldUntil.Milli(), days, drops, b.LogID,
		b.CreatedAt.Milli(), b.UpdatedAt.Milli(), notify.AssignSeq(b.CreatedSeq, first), notify.AssignSeq(b.UpdatedSeq, first),
	}, nil
}

// ReadBridge makes a bridge of its columns.
func ReadBridge(v ledger.Values) (*Bridge, error) {
	b := &Bridge{
		BridgeID: v.Text(0), Kind: Kind(v.Text(1)), State: State(v.Text(2)), Reason: v.Text(3), Configured: v.Int(4) != 0,
		OnPause: OnPause(v.Text(5)), SecretHint: v.Text(7), Generation: v.Int(8), Previous: v.Int(9),
		RotatedAt: notify.TimeFromMilli(v.Int(10)), HeldUntil: notify.TimeFromMilli(v.Int(11)), LogID: v.Text(14),
		CreatedAt: notify.TimeFromMilli(v.Int(15)), UpdatedAt: notify.TimeFromMilli(v.Int(16)), CreatedSeq: v.Int(17), UpdatedSeq: v.Int(18),
		stored: true,
	}
	for _, m := range []struct {
		name string
		raw  []byte
		into any
	}{{"settings", v.Blob(6), &b.Settings}, {"days", v.Blob(12), &b.FailedDays}, {"pauses", v.Blob(13), &b.Drops}} {
		if err := json.Unmarshal(m.raw, m.into); err != nil {
			return nil, fmt.Errorf("%s of the bridge %s: %w", m.name, b.BridgeID, err)
		}
	}
	return b, nil
}
