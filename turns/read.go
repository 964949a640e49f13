package turns

import (
	"context"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Reader is the reading side of a store. Every method works on one snapshot;
// Latest in its result is the newest seq in that snapshot. Rows that do not
// exist are nil, not an error. A page of a list also ends at 1 MiB; Next is "" on
// the last page. A cursor that cannot be read is notify.ErrBadCursor.
type Reader interface {
	notify.Log

	// Position says where the log ends for everybody: no other method has returned a seq above
	// it. Whoever checks a seq that a client has from a read asks it.
	Position(ctx context.Context) (Position, error)
	Counts(ctx context.Context) (Counts, error)

	ReadThread(ctx context.Context, threadID string, turnLimit int) (ThreadSnapshot, error)
	ListThreads(ctx context.Context, q threads.Query) (List[threads.Thread], error)
	// Summaries lists threads with their summaries, and counts. Of a thread that Known has
	// as it is, only the children and what was seen are read.
	Summaries(ctx context.Context, q SummaryQuery) (SummaryList, error)
	// Children counts the child turns of a thread.
	Children(ctx context.Context, threadID string) (Children, error)
	ReadTurn(ctx context.Context, q TurnQuery) (TurnSnapshot, error)
	ListTurns(ctx context.Context, q Query) (List[Turn], error)
	// ReadItem also reads superseded items; they say so.
	ReadItem(ctx context.Context, itemID string) (*items.Item, int64, error)
	ListItems(ctx context.Context, q items.Query) (List[items.Item], error)
	ListSteps(ctx context.Context, q StepQuery) (List[Step], error)
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

// TurnQuery reads a turn, its attempts and steps, and the first page of its
// items: at most Items, 0 = none. IncludeSuperseded adds superseded steps and
// items.
type TurnQuery struct {
	TurnID            string
	Items             int
	IncludeSuperseded bool
}

// TurnSnapshot is the result of a TurnQuery. Attempts are the newest 100 tries
// of the turn itself, also superseded ones; Steps are the newest 1,000 tries
// below it. Both are in the order in which they began. Next is the cursor of the
// next page of items.
type TurnSnapshot struct {
	Turn     *Turn
	Attempts []Step
	Steps    []Step
	Items    []items.Item
	Next     string
	Latest   int64
}

// StepQuery selects the tries of a turn, also those of the turn itself (Step
// ""). They come in the order in which they began, and Cursor is the seq after
// which the page begins, as text. Newest reverses the order: the page then begins
// before Cursor. IncludeSuperseded adds superseded tries.
type StepQuery struct {
	TurnID            string
	Cursor            string
	Limit             int
	Newest            bool
	IncludeSuperseded bool
}

// MaxListScan bounds the rows that one page of a list looks at, so that a filter
// that matches little returns within a few milliseconds, with a later Next.
const MaxListScan = 10_000

// List is one page of rows. Next is where the next page begins, empty after the
// last row. A page that looked at MaxListScan rows may have few rows, or none,
// and still a Next.
type List[T any] struct {
	Rows   []T
	Next   string
	Latest int64
}
