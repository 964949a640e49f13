// Package ledger describes what is committed together: events, the rows that
// they leave, the fences that must hold, and the idempotency key of the command.
// It knows no thread, no turn and no database. Domains (threads, turns, items)
// declare their tables and rows with its types. A store executes its units over
// the small interface Tx.
//
// It promises that a Unit happens wholly or not at all, and that every
// provisional seq in it is real once the commit has returned.
//
// It never starts a goroutine and never reads a clock.
package ledger
