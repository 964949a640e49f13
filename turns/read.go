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
	ReadTurn(ctx context.Context, q TurnQuery) (TurnSnapshot, error)
	ListTurns(ctx context.Context, q Query) (List[Turn], error)
	// ReadItem reads an item also if it was taken back; it says so.
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
// items: at most Items, 0 = none. IncludeSuperseded adds the steps and items
// that were taken back.
type TurnQuery struct {
	TurnID            string
	Items             int
	IncludeSuperseded bool
}

// TurnSnapshot is what a TurnQuery gives. Attempts are the newest 100 tries of
// the turn itself, those that were taken back too, and Steps the newest 1,000
// below it, each in the order of their beginning. Next is the cursor for the
// items that follow.
type TurnSnapshot struct {
	Turn     *Turn
	Attempts []Step
	Steps    []Step
	Items    []items.Item
	Next     string
	Latest   int64
}

// StepQuery chooses the tries of a turn, the turn's own (Step "") among them.
// They come in the order of their beginning; Cursor is the seq to go on after,
// as text. Newest turns the order around: Cursor is then the seq to go on
// before. IncludeSuperseded adds those that were taken back.
type StepQuery struct {
	TurnID            string
	Cursor            string
	Limit             int
	Newest            bool
	IncludeSuperseded bool
}

// MaxListScan bounds the rows that one page of a list looks at, so that a
// filter that matches little returns in time with its place moved on: a few
// milliseconds.
const MaxListScan = 10_000

// List is one page of rows. Next is where the next page begins, empty after
// the last row; a page that has looked at MaxListScan rows may have few of
// them or none, and still a Next.
type List[T any] struct {
	Rows   []T
	Next   string
	Latest int64
}
