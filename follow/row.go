package follow

import "github.com/seed82539d15/holon/ledger"

// positions is where followers have come to, as the dispatcher writes it, and
// moves the same table as followers write it that own their effects: a move is
// compare-and-swap. Neither writes a column of the other, and the higher one
// counts. The row with the name "" is the dispatcher's: what it has scanned is
// handled by all followers that are not behind, so that those write nothing.
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
	logID    string // of the log that it was written in
	position int64  // where the follower has moved itself
	scanned  int64  // up to where it has handled all that it wants
	behind   bool   // what the dispatcher has scanned does not count

	fresh bool // not in the database yet
}

// NewRow is the position of a follower that does not exist yet: it wants what
// comes after the seq. It may be in the unit that makes what the follower is
// for, so that nothing is missed between that unit and Dispatcher.Add. The unit
// is refused with ErrTaken if there is a follower of this name.
func NewRow(name, logID string, after int64) ledger.Row {
	return &row{name: name, logID: logID, position: after, scanned: after, behind: true, fresh: true}
}

func readRow(v ledger.Values) row {
	return row{name: v.Text(0), logID: v.Text(1), position: v.Int(2), scanned: v.Int(3), behind: v.Int(4) != 0}
}

// handled is up to where the row says that everything is.
func (r *row) handled() int64 { return max(r.position, r.scanned) }

// Table implements ledger.Row.
func (r *row) Table() *ledger.Table { return positions }

// ID implements ledger.Row.
func (r *row) ID() any { return r.name }

// New implements ledger.Row.
func (r *row) New() bool { return r.fresh }

// Settle implements ledger.Row.
func (r *row) Settle(int64) {}

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

// Settle implements ledger.Row. The store calls it once the move is durable.
func (m *move) Settle(int64) { m.batch.moved = m.position }
