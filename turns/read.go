package turns

import (
	"context"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Reader is what a store offers to those who only look. Every method works on
// one snapshot, and Latest in what it returns is the newest seq in that
// snapshot. Rows that are not there are nil, not an error. A page of a list
// also ends at 1 MiB; Next is "" on the last page. A cursor that cannot be
// read is notify.ErrBadCursor.
type Reader interface {
	notify.Log

	Position(ctx context.Context) (Position, error)
	Counts(ctx context.Context) (Counts, error)

	ReadThread(ctx context.Context, threadID string, turnLimit int) (ThreadSnapshot, error)
	ListThreads(ctx context.Context, q threads.Query) (List[threads.Thread], error)
	ReadTurn(ctx context.Context, turnID string, itemLimit int) (TurnSnapshot, error)
	ListTurns(ctx context.Context, q Query) (List[Turn], error)
	ReadItem(ctx context.Context, itemID string) (*items.Item, int64, error)
	ListItems(ctx context.Context, q items.Query) (List[items.Item], error)
}

// Position is where the log begins and ends: 1 and 0 if it is empty.
type Position struct {
	LogID  string
	First  int64
	Latest int64
}

// Counts is what the store holds. LastThreadID is the thread started last.
type Counts struct {
	Position
	LastEventAt   notify.Time
	LastThreadID  string
	Threads       int64
	TurnsQueued   int64
	TurnsActive   int64
	TurnsWaiting  int64
	DatabaseBytes int64
	WALBytes      int64
}

// ThreadSnapshot is a thread and its newest turns, newest first.
type ThreadSnapshot struct {
	Thread *threads.Thread
	Turns  []Turn
	Latest int64
}

// TurnSnapshot is a turn and the first page of its items. Next is the cursor
// for the items that follow.
type TurnSnapshot struct {
	Turn   *Turn
	Items  []items.Item
	Next   string
	Latest int64
}

// List is one page of rows.
type List[T any] struct {
	Rows   []T
	Next   string
	Latest int64
}
