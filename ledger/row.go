package ledger

import (
	"database/sql/driver"
	"errors"
	"slices"
)

// Row is the state of one thing that is kept beside the log: a thread, a turn,
// an item. It belongs to one goroutine until its unit is appended.
type Row interface {
	Table() *Table
	// ID identifies the row in its table; it is comparable.
	ID() any
	// New reports whether the database does not have the row yet.
	New() bool
	// Values are the columns in the order of Table().Columns, with provisional
	// seqs replaced; first is the seq of the unit's first draft.
	Values(first int64) (Values, error)
	// AssignSeqs replaces the provisional seqs of the row itself.
	AssignSeqs(first int64)
	// Bytes is roughly the size of the row besides its fixed columns.
	Bytes() int
}

// Values are the columns of one row: int64, float64, string, []byte or nil.
// The methods return the zero value for nil and for a value of another type.
// They have the type of database drivers, so that a row is never copied.
type Values []driver.Value

// Int returns the column as an integer.
func (v Values) Int(i int) int64 { n, _ := v[i].(int64); return n }

// Text returns the column as a string.
func (v Values) Text(i int) string { s, _ := v[i].(string); return s }

// Blob returns the column as bytes. They belong to the caller.
func (v Values) Blob(i int) []byte { b, _ := v[i].([]byte); return b }

// Float returns the column as a floating-point number.
func (v Values) Float(i int) float64 { f, _ := v[i].(float64); return f }

// Flag returns a boolean as it is stored in a column: 1 or 0.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Table says how the rows of one kind are stored. NewTable makes tables when the
// program starts; they never change. Several tables may share a Name; each then
// writes some of the columns.
type Table struct {
	Name    string
	Columns []string
	Key     []string // the columns that find an existing row; they never change
	Mutable []string // the columns that an update writes
	// CAS is a column that must have the value Unit.Base when the row is
	// written. If not, another owner has changed the aggregate, and the unit is
	// refused with ErrStale. "" = no check. A new row needs a Base of 0.
	CAS string
	// Unique is the error for a new row whose id is taken; nil if that cannot
	// happen.
	Unique error

	key, mutable []int // indexes of Key and Mutable in Columns
}

// NewTable completes a table. It panics if t names a column that is not among
// its Columns: that is a mistake in the program.
func NewTable(t Table) *Table {
	t.key, t.mutable = t.indexes(t.Key), t.indexes(t.Mutable)
	if t.CAS != "" {
		t.indexes([]string{t.CAS})
	}
	return &t
}

func (t *Table) indexes(names []string) []int {
	list := make([]int, len(names))
	for i, name := range names {
		list[i] = t.Column(name)
	}
	return list
}

// Column returns the index of a column. It panics if the table has none of this name.
func (t *Table) Column(name string) int {
	i := slices.Index(t.Columns, name)
	if i < 0 {
		panic("table " + t.Name + " has no column " + name)
	}
	return i
}

// Update returns what an update of the row binds: its mutable columns, then
// its key.
func (t *Table) Update(v Values) Values {
	args := make(Values, 0, len(t.mutable)+len(t.key)+1)
	for _, i := range t.mutable {
		args = append(args, v[i])
	}
	for _, i := range t.key {
		args = append(args, v[i])
	}
	return args
}

// Removal deletes the row that the key of a table finds; it is no error if there
// is none. In Unit.Rows it is executed in the order of the rows.
type Removal struct {
	Of  *Table
	Key []any
}

// Table implements Row.
func (r *Removal) Table() *Table { return r.Of }

// ID implements Row.
func (r *Removal) ID() any { return r.Key[0] }

// New implements Row.
func (r *Removal) New() bool { return false }

// Values implements Row. A store deletes the row instead.
func (r *Removal) Values(int64) (Values, error) { return nil, errors.ErrUnsupported }

// AssignSeqs implements Row.
func (r *Removal) AssignSeqs(int64) {}

// Bytes implements Row.
func (r *Removal) Bytes() int { return 0 }

// Index is an order in which rows of a table are found: by Columns, among the
// rows that match Where. Like tables, indexes never change.
type Index struct {
	Table   *Table
	Name    string // in the database; "" = the order of the table itself, or Unique
	Unique  bool   // no two rows share Columns: the first constraint of this kind in the table
	Columns []string
	Where   []Only
}

// Only matches rows whose column has one of the values; nil is a value too.
type Only struct {
	Column string
	Values []any
}
