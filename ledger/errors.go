package ledger

import "errors"

// Errors of a commit.
var (
	// ErrStorageFull says that the disk is full. Nothing of the unit has
	// happened; it may be handed in again.
	ErrStorageFull = errors.New("the disk is full")
	// ErrStorageFailed says that the disk cannot be trusted any more.
	ErrStorageFailed = errors.New("the log cannot be written until the server is started again")
	// ErrStale says that a unit was made on a state that is no longer the
	// log's: another owner has written in between. It cannot happen as long as
	// one goroutine owns an aggregate.
	ErrStale = errors.New("the aggregate has moved on since the change was made")
)
