package follow

import "github.com/seed82539d15/holon/ledger"

// positions is the table of positions as the dispatcher writes it. moves is the
// same table as followers that own their effects write it; a move is
// compare-and-swap. They write different columns, and the higher position counts.
// The row with the name "" is the dispatcher's: followers that do not lag have
// handled what it has scanned, so they write nothing.
var (
	columns   = []string{"name", "log_id", "position", "scanned", "behind"}
	positions = ledger.NewTable(ledger.Table{Name: "followers", Columns: columns, Key: columns[:1],
		Mutable: []string{"log_id", "scanned", "behind"}, Unique: ErrTaken})
	moves = ledger.NewTable(ledger.Table{Name: "followers", Columns: columns, Key: columns[:1],
		Mutable: []string{"position"}, CAS: "position"})
	byName = &ledger.Index{Table: positions, Columns: []string{"name"}}
)

// row is a follower's position as it is stored.
type row struct {
	name     string
	logID    string // of the log in which it was written
	position int64  // as the follower itself has moved it
	scanned  int64  // seq up to which it has handled all wanted events
	behind   bool   // it lags: the dispatcher's scanned does not count for it

	fresh bool // not in the database yet
}

// NewRow returns the position of a follower that does not exist yet and begins
// after the seq. The row may be part of the unit that creates what the follower
// is for: then nothing is missed between that unit and Dispatcher.Add. The unit
// is refused with ErrTaken if there is a follower of this name.
func NewRow(name, logID string, after int64) ledger.Row {
	return &row{name: name, logID: logID, position: after, scanned: after, behind: true, fresh: true}
}

// RemoveRow returns the removal of a follower's position, for the unit that ends
// what the follower is for: see Dispatcher.Forget.
func RemoveRow(name string) ledger.Row { return &ledger.Removal{Of: positions, Key: []any{name}} }

func readRow(v ledger.Values) row {
	return row{name: v.Text(0), logID: v.Text(1), position: v.Int(2), scanned: v.Int(3), behind: v.Int(4) != 0}
}

// handled returns the seq up to which all is handled, according to the row.
func (r *row) handled() int64 { return max(r.position, r.scanned) }

// Table implements ledger.Row.
func (r *row) Table() *ledger.Table { return positions }

// ID implements ledger.Row.
func (r *row) ID() any { return r.name }

// New implements ledger.Row.
func (r *row) New() bool { return r.fresh }

// AssignSeqs implements ledger.Row.
func (r *row) AssignSeqs(int64) {}

// Bytes implements ledger.Row.
func (r *row) Bytes() int { return len(r.name) + len(r.logID) }

// Values implements ledger.Row.
func (r *row) Values(int64) (ledger.Values, error) {
	behind := int64(0)
	if r.behind {
		behind = 1
	}
	return ledger.Values{r.name, r.logID, r.position, r.scanned, behind}, nil
}

// move is the row of a follower that moves its own position.
type move struct {
	*row
	batch *Batch
}

// Table implements ledger.Row.
func (m *move) Table() *ledger.Table { return moves }

// AssignSeqs implements ledger.Row. The store calls it once the move is durable.
func (m *move) AssignSeqs(int64) { m.batch.moved = m.position }
