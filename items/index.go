package items

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// The orders in which items are found.
var (
	ByID     = &ledger.Index{Table: Table, Unique: true, Columns: []string{"item_id"}}
	BySeq    = &ledger.Index{Table: Table, Columns: []string{"created_seq"}}
	OfThread = &ledger.Index{Table: Table, Name: "items_thread", Columns: []string{"thread_id", "created_seq"}}
	// OpenOfTurn finds the items of a turn that are pending or in progress.
	OpenOfTurn = &ledger.Index{Table: Table, Name: "items_open", Columns: []string{"turn_id", "created_seq"}, Where: open}
	// Open finds those of the whole log.
	Open = &ledger.Index{Table: Table, Name: "items_unfinished", Columns: []string{"created_seq"}, Where: open}
	// Input finds the user messages of a turn, delivered or not.
	Input = &ledger.Index{Table: Table, Name: "items_input", Columns: []string{"turn_id", "created_seq"},
		Where: []ledger.Only{{Column: "type", Values: []any{string(KindUserMessage)}}}}

	open = []ledger.Only{{Column: "status", Values: []any{string(StatusPending), string(StatusInProgress)}}}
)

// Deltas finds the item/delta events of an item.
var Deltas = &ledger.Index{
	Table: ledger.NewTable(ledger.Table{Name: "events", Columns: []string{"params", "seq"}}),
	Name:  "events_delta", Columns: []string{"item_id", "seq"},
	Where: []ledger.Only{{Column: "method", Values: []any{notify.ItemDelta}}},
}
