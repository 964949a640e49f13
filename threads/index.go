package threads

import "github.com/seed82539d15/holon/ledger"

// The orders in which threads are found.
var (
	ByID    = &ledger.Index{Table: Table, Unique: true, Columns: []string{"thread_id"}}
	BySeq   = &ledger.Index{Table: Table, Columns: []string{"created_seq"}}
	ByState = &ledger.Index{Table: Table, Name: "threads_state", Columns: []string{"state", "created_seq"}}
	// OpenChildren finds the child threads of a thread that are not closed.
	OpenChildren = &ledger.Index{Table: Table, Name: "threads_open_children", Columns: []string{"parent_thread_id", "created_seq"}, Where: []ledger.Only{
		{Column: "level", Values: []any{int64(1), int64(2), int64(3), int64(4), int64(5), int64(6), int64(7), int64(8)}},
		{Column: "state", Values: []any{string(Running), string(Paused), string(Closing)}},
	}}
)
