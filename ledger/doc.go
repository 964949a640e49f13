// Package ledger is what is committed together, whoever asks for it: events,
// the rows they leave, the fences that must hold, and the idempotency key of
// the command. It knows no thread, no turn and no database. Domains (threads,
// turns, items) declare their tables and rows with its types, and a store
// executes its units over the small Tx.
//
// It promises that a Unit happens wholly or not at all, and that whatever is
// provisional in it has its real seq when the commit has returned.
//
// It never starts a goroutine and never reads a clock.
package ledger
