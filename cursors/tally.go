package cursors

import (
	"slices"

	"github.com/seed82539d15/holon/ledger"
)

// tallies has one row once there was a cursor: how many there are, and the number of
// the newest. So no request counts rows, and no number is used again.
var (
	tallies = ledger.NewTable(ledger.Table{
		Name: "cursor_counts", Columns: []string{"id", "cursors", "newest"}, Key: []string{"id"}, Mutable: []string{"cursors", "newest"},
	})
	tallyByID = &ledger.Index{Table: tallies, Columns: []string{"id"}}
)

// tallyID is the id of the one row.
const tallyID = int64(1)

// tally counts the cursors that a unit makes and removes, and numbers the new ones. A
// unit has at most one. It is a fence too: only the appending transaction knows
// what the row has.
type tally struct {
	made    []*row
	removed int64

	fresh           bool // set by Check, like the columns
	cursors, newest int64
}

// tallyOf returns the tally of a unit, a new one if it has none.
func tallyOf(u *ledger.Unit) *tally {
	for _, r := range u.Rows {
		if t, ok := r.(*tally); ok {
			return t
		}
	}
	t := &tally{}
	u.Rows, u.Fences = append(u.Rows, t), append(u.Fences, t)
	return t
}

// Check implements ledger.Fence.
func (t *tally) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	v, err := tx.Get(tallyByID, tallyID)
	if err != nil {
		return nil, err
	}
	if t.fresh = v == nil; t.fresh {
		t.cursors, t.newest = 0, 0
	} else {
		t.cursors, t.newest = v.Int(1), v.Int(2)
	}
	t.cursors += int64(len(t.made)) - t.removed
	if t.cursors > MaxCursors && t.ofClients() {
		return ErrTooMany, nil
	}
	for _, r := range t.made {
		t.newest++
		r.created = t.newest
	}
	return nil, nil
}

// ofClients reports whether the unit makes a cursor for a client. The server's own are
// bounded with what they belong to: a receipt must not be refused.
func (t *tally) ofClients() bool {
	return slices.ContainsFunc(t.made, func(r *row) bool { return !r.Name().OfServer() })
}

// Table implements ledger.Row.
func (t *tally) Table() *ledger.Table { return tallies }

// ID implements ledger.Row.
func (t *tally) ID() any { return tallyID }

// New implements ledger.Row.
func (t *tally) New() bool { return t.fresh }

// AssignSeqs implements ledger.Row.
func (t *tally) AssignSeqs(int64) {}

// Bytes implements ledger.Row.
func (t *tally) Bytes() int { return 0 }

// Values implements ledger.Row.
func (t *tally) Values(int64) (ledger.Values, error) {
	return ledger.Values{tallyID, t.cursors, t.newest}, nil
}
