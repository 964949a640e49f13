package turns

import "github.com/seed82539d15/holon/ledger"

// The orders in which turns are found.
var (
	ByID     = &ledger.Index{Table: Table, Unique: true, Columns: []string{"turn_id"}}
	BySeq    = &ledger.Index{Table: Table, Columns: []string{"created_seq"}}
	OfThread = &ledger.Index{Table: Table, Name: "turns_thread", Columns: []string{"thread_id", "created_seq"}}
	ByState  = &ledger.Index{Table: Table, Name: "turns_state", Columns: []string{"state", "created_seq"}}
	// UnfinishedOfThread finds the turns of a thread that are queued or active.
	UnfinishedOfThread = &ledger.Index{Table: Table, Name: "turns_unfinished", Columns: []string{"thread_id", "created_seq"}, Where: unfinished}

	unfinished = []ledger.Only{{Column: "state", Values: []any{string(Queued), string(Active)}}}
)

// SupersededItems says which items are superseded: those that a superseded try
// created after the bound of its marker.
var SupersededItems = &ledger.Superseded{By: StepsBySeq, Ref: "span", Seq: "created_seq", After: "hidden_after"}
