package ledger

import "errors"

// Reader finds rows in one snapshot of a store. It belongs to one goroutine
// and ends with the transaction that it was given for.
type Reader interface {
	// Get returns the columns of the row whose index columns have these
	// values, nil if there is none. The values are the caller's.
	Get(ix *Index, key ...any) (Values, error)
	// Scan calls f with each row of the range, in its order. The values are
	// reused: f must copy what it keeps (blobs are its own). ErrEnough from f
	// ends the scan without an error. f may read, and must not write.
	Scan(r Range, f func(Values) error) error
}

// Range is a part of an Index: the rows whose first columns have the values of
// Prefix. After, unless it is nil, lets those through whose next column is
// above it, or below it if Newest turns the order around; Until those whose
// next column has not come to it in that order. The rows that Only and Live
// leave out are looked at all the same. Skip is how many rows of what is left
// are passed over first. First is how many columns of a row are read, from the
// first of the table on: large ones stand last. 0 = all.
type Range struct {
	Index  *Index
	Prefix []any
	After  any
	Until  any
	Newest bool
	Only   []Only
	Live   *Superseded // leaves out what it says is superseded; nil = nothing
	Skip   int
	First  int
}

// Superseded says which rows of a table are superseded: those whose column Seq
// is above the column After of the row that By finds with their column Ref. A
// row that By does not find, and a nil in After, supersede nothing.
type Superseded struct {
	By              *Index // of one column
	Ref, Seq, After string
}

// ErrEnough ends a Scan in order.
var ErrEnough = errors.New("enough rows")

// Tx is a transaction that writes, as fences see it. What an earlier unit of
// the same transaction wrote is there already.
type Tx interface {
	Reader
	// Put writes a row. first is the seq of the unit's first draft, base its
	// Unit.Base. Errors are those of Table.Unique, ErrStale, or the store's.
	Put(r Row, first, base int64) error
	// Delete removes the row that the table's key finds, if it is there.
	Delete(t *Table, key ...any) error
}

// Fence is a condition that must hold in the log for a unit to be committed.
// It is checked in the transaction, where everything is in order; whoever is
// refused decides anew. refused is for the caller of Append and leaves no
// trace; fault is the store's and undoes the whole transaction. Check writes
// nothing.
type Fence interface {
	Check(tx Tx, u *Unit) (refused, fault error)
}

// FenceFunc is a function that is a Fence.
type FenceFunc func(tx Tx, u *Unit) (refused, fault error)

// Check implements Fence.
func (f FenceFunc) Check(tx Tx, u *Unit) (refused, fault error) { return f(tx, u) }
