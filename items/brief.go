package items

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Brief is the part of the row of an item that is read of many items: not its content.
type Brief struct {
	CreatedSeq int64
	ItemID     string
	TurnID     string
	Type       Kind
	Status     Status
	CreatedAt  notify.Time
	Span       int64
	ThreadID   string
	UpdatedSeq int64
}

var briefTable = ledger.NewTable(ledger.Table{Name: Table.Name, Columns: []string{"created_seq", "item_id", "turn_id", "type", "status", "created_at", "span", "thread_id", "updated_seq"}})

// The orders in which items are found, for ReadBrief.
var (
	BriefOfThread   = briefly(OfThread)
	BriefOpenOfTurn = briefly(OpenOfTurn)
	BriefOpen       = briefly(Open)
)

func briefly(ix *ledger.Index) *ledger.Index {
	brief := *ix
	brief.Table = briefTable
	return &brief
}

// ReadBrief makes a Brief of the columns of such an order.
func ReadBrief(v ledger.Values) Brief {
	return Brief{
		CreatedSeq: v.Int(0), ItemID: v.Text(1), TurnID: v.Text(2), Type: Kind(v.Text(3)), Status: Status(v.Text(4)),
		CreatedAt: notify.TimeFromMilli(v.Int(5)), Span: v.Int(6), ThreadID: v.Text(7), UpdatedSeq: v.Int(8),
	}
}
