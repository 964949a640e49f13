package ledger

import "errors"

// Reader finds rows in one snapshot of a store. It belongs to one goroutine
// and ends with the transaction that it was given for.
type Reader interface {
	// Get returns the columns of the row whose index columns have these values,
	// nil if there is none. The values belong to the caller.
	Get(ix *Index, key ...any) (Values, error)
	// Scan calls f with each row of the range, in its order. The values are
	// reused: f must copy what it keeps, except for blobs. ErrEnough from f ends
	// the scan without an error. f may read, but must not write.
	Scan(r Range, f func(Values) error) error
}

// Range is a part of an Index: the rows whose first columns have the values of
// Prefix, in the order of the index, or in the opposite order if Newest. After
// and Until bound the next column, in that order: rows come after After and
// before Until, unless these are nil. Only and Live leave out rows; the scan
// still visits them. Skip is how many of the remaining rows are skipped first.
// First is how many columns are read, counted from the first of the table, where
// large columns come last; 0 = all.
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

// Superseded says which rows of a table are superseded. By finds another row by
// the column Ref. A row is superseded if its column Seq is above the column
// After of that other row. If there is no other row, or its After is nil, it is
// not superseded.
type Superseded struct {
	By              *Index // of one column
	Ref, Seq, After string
}

// ErrEnough ends a Scan early, without an error.
var ErrEnough = errors.New("enough rows")

// Tx is a transaction that writes, as fences see it. It already has what earlier
// units of the same transaction wrote.
type Tx interface {
	Reader
	// LastRewind is the seq of the newest marker, or a later one: no try was
	// superseded after it. A fence of what was decided at a later seq need not read
	// the row of a try again.
	LastRewind() int64
}

// Fence is a condition that must hold in the log for a unit to be committed. It
// is checked in the transaction, where units come one after the other; again, if
// that was rolled back because of another unit. refused goes to the caller of
// Append, who decides again; the unit leaves no trace. fault is an error of the
// store and undoes the whole transaction.
type Fence interface {
	Check(tx Tx, u *Unit) (refused, fault error)
}

// FenceFunc is a function that is a Fence.
type FenceFunc func(tx Tx, u *Unit) (refused, fault error)

// Check implements Fence.
func (f FenceFunc) Check(tx Tx, u *Unit) (refused, fault error) { return f(tx, u) }
