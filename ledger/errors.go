package ledger

import "errors"

// Errors of a commit.
var (
	// ErrStorageFull says that the disk is full. Nothing of the unit has
	// happened; it may be appended again.
	ErrStorageFull = errors.New("the disk is full")
	// ErrStorageFailed says that the disk cannot be trusted any more.
	ErrStorageFailed = errors.New("the log cannot be written until the server is started again")
	// ErrStale says that a unit was made from an old state: another owner has
	// written to the aggregate since. It cannot happen while one goroutine owns
	// each aggregate.
	ErrStale = errors.New("the aggregate has moved on since the change was made")
)
