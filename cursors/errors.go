package cursors

import (
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/turns"
)

// Errors of commands and of units with cursors.
var (
	// ErrNotFound says that there is no cursor of this name.
	ErrNotFound = errors.New("there is no such cursor")
	// ErrServers says that a client wanted to change a cursor of the server.
	ErrServers = errors.New("consumers whose id begins with " + ServerPrefix + " belong to the server")
	// ErrTooMany refuses a unit that would make one cursor more than MaxCursors.
	ErrTooMany = fmt.Errorf("there are %d cursors: delete those that are not used any more", MaxCursors)
	// ErrShareFull refuses a unit that would make one more than MaxCursorsEach.
	ErrShareFull = fmt.Errorf("there are %d cursors of this token, the most of one token (max_cursors_per_token): delete those that are not used any more", MaxCursorsEach)
	// ErrMoved refuses a unit that was made from an old state of a cursor: another
	// writer was first. Read the cursor and decide again.
	ErrMoved = errors.New("the cursor has changed since it was read")
)

// NotMonotonicError refuses an advance that does not go forward. Cursor is what is
// stored.
type NotMonotonicError struct{ Cursor Cursor }

// Error implements error.
func (e *NotMonotonicError) Error() string {
	return fmt.Sprintf("the cursor is at %d: a cursor only advances, or is reset", e.Cursor.LastSequence)
}

// AheadError refuses a sequence of the stream events that no event has yet. At says
// where the log is.
type AheadError struct{ At turns.Position }

// Error implements error.
func (e *AheadError) Error() string {
	return fmt.Sprintf("last_sequence is above the newest event, %d", e.At.Latest)
}
