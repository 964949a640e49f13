package threads

import "github.com/seed82539d15/holon/ledger"

// The orders in which threads are found.
var (
	ByID    = &ledger.Index{Table: Table, Unique: true, Columns: []string{"thread_id"}}
	BySeq   = &ledger.Index{Table: Table, Columns: []string{"created_seq"}}
	ByState = &ledger.Index{Table: Table, Name: "threads_state", Columns: []string{"state", "created_seq"}}
)
