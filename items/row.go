package items

import (
	"errors"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// ErrConflict refuses a unit that creates an item whose id has been used.
var ErrConflict = errors.New("the item_id has been used")

// Table is where items are stored. The columns that identify an item never
// change, so an update touches none of their indexes.
var Table = ledger.NewTable(ledger.Table{
	Name: "items",
	Columns: []string{"created_seq", "item_id", "thread_id", "turn_id", "attempt", "type", "status", "truncated",
		"total_bytes", "created_at", "updated_at", "updated_seq", "content", "span"},
	Key:     []string{"created_seq", "item_id"},
	Mutable: []string{"status", "truncated", "total_bytes", "updated_at", "updated_seq", "content"},
	Unique:  ErrConflict,
})

// Table implements ledger.Row.
func (it *Item) Table() *ledger.Table { return Table }

// ID implements ledger.Row.
func (it *Item) ID() any { return it.ItemID }

// New implements ledger.Row.
func (it *Item) New() bool { return it.CreatedSeq < 0 }

// Bytes implements ledger.Row.
func (it *Item) Bytes() int { return len(it.Content) }

// AssignSeqs implements ledger.Row.
func (it *Item) AssignSeqs(first int64) {
	it.CreatedSeq = notify.AssignSeq(it.CreatedSeq, first)
	it.UpdatedSeq = notify.AssignSeq(it.UpdatedSeq, first)
	it.Span = notify.AssignSeq(it.Span, first)
}

// Values implements ledger.Row.
func (it *Item) Values(first int64) (ledger.Values, error) {
	return ledger.Values{
		notify.AssignSeq(it.CreatedSeq, first), it.ItemID, it.ThreadID, it.TurnID, int64(it.Attempt), string(it.Type),
		string(it.Status), ledger.Flag(it.Truncated), it.TotalBytes, it.CreatedAt.Milli(), it.UpdatedAt.Milli(),
		notify.AssignSeq(it.UpdatedSeq, first), []byte(it.Content), notify.AssignSeq(it.Span, first),
	}, nil
}

// Read makes an item of its columns. Step, Epoch and Lineage are not among them.
func Read(v ledger.Values) *Item {
	return &Item{
		CreatedSeq: v.Int(0), ItemID: v.Text(1), ThreadID: v.Text(2), TurnID: v.Text(3), Attempt: int(v.Int(4)),
		Type: Kind(v.Text(5)), Status: Status(v.Text(6)), Truncated: v.Int(7) != 0, TotalBytes: v.Int(8),
		CreatedAt: notify.TimeFromMilli(v.Int(9)), UpdatedAt: notify.TimeFromMilli(v.Int(10)), UpdatedSeq: v.Int(11),
		Content: v.Blob(12), Span: v.Int(13),
	}
}
