package cursors

import (
	"slices"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Table is where cursors are stored. Its rows are numbered in the order in which
// they are made; see tally.
var Table = ledger.NewTable(ledger.Table{
	Name: "cursors",
	Columns: []string{"created", "consumer_id", "stream_name", "subject_id", "last_sequence", "last_delivery_id", "last_delivered_at",
		"delivered_seq", "last_error", "updated_at", "requester"},
	Key:     []string{"consumer_id", "stream_name", "subject_id"},
	Mutable: []string{"last_sequence", "last_delivery_id", "last_delivered_at", "delivered_seq", "last_error", "updated_at"},
	Unique:  ErrMoved,
})

// The orders in which cursors are found.
var (
	ByName     = &ledger.Index{Table: Table, Unique: true, Columns: []string{"consumer_id", "stream_name", "subject_id"}}
	InOrder    = &ledger.Index{Table: Table, Columns: []string{"created"}}
	OfConsumer = &ledger.Index{Table: Table, Name: "cursors_consumer", Columns: []string{"consumer_id", "created"}}
	OfSubject  = &ledger.Index{Table: Table, Name: "cursors_subject", Columns: []string{"subject_id", "created"}}
)

// Read makes a cursor of its columns.
func Read(v ledger.Values) *Cursor {
	return &Cursor{
		ConsumerID: v.Text(1), StreamName: v.Text(2), SubjectID: v.Text(3), Exists: true, LastSequence: v.Int(4),
		LastDeliveryID: v.Text(5), LastDeliveredAt: notify.TimeFromMilli(v.Int(6)), deliveredSeq: v.Int(7), LastError: v.Text(8),
		UpdatedAt: notify.TimeFromMilli(v.Int(9)), requester: ledger.Requester(v.Text(10)),
	}
}

// Get reads a cursor. Where there is no row, it returns the Zero state.
func Get(r ledger.Reader, n Name) (Cursor, error) {
	v, err := r.Get(ByName, n.ConsumerID, n.StreamName, n.SubjectID)
	if err != nil || v == nil {
		return Zero(n), err
	}
	return *Read(v), nil
}

// Write adds to a unit that a cursor becomes after. before is the cursor as it was
// read, and after was made from it. The unit is refused with ErrMoved if the
// stored cursor is no longer before, and with ErrTooMany or ErrShareFull if it is a new
// one and there is no room.
func Write(u *ledger.Unit, before, after Cursor) {
	r := &row{Cursor: after, fresh: !before.Exists}
	u.Fences = append(u.Fences, unmoved{before})
	u.Rows = append(u.Rows, r)
	if r.fresh {
		t := tallyOf(u)
		t.made = append(t.made, r)
		count(u, r.requester, 1)
	}
}

// Remove adds to a unit that a cursor is deleted. before is the cursor as it was
// read, and exists; the unit is refused with ErrMoved if the stored cursor is
// another one.
func Remove(u *ledger.Unit, before Cursor) {
	u.Fences = append(u.Fences, unmoved{before})
	u.Rows = append(u.Rows, &ledger.Removal{Of: Table, Key: []any{before.ConsumerID, before.StreamName, before.SubjectID}})
	tallyOf(u).removed++
	count(u, before.requester, -1)
}

// unmoved is the fence of every write: the stored cursor is before. What is decided
// depends on nothing else, so it does not matter what happened in between.
type unmoved struct{ before Cursor }

// Check implements ledger.Fence.
func (f unmoved) Check(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	now, err := Get(tx, f.before.Name())
	if err == nil && (now.Exists != f.before.Exists || !slices.Equal(now.values(), f.before.values())) {
		return ErrMoved, nil
	}
	return nil, err
}

// row is a cursor as a unit writes it.
type row struct {
	Cursor
	fresh   bool  // the database does not have it yet
	created int64 // the number of a new row, from its tally
}

// Table implements ledger.Row.
func (r *row) Table() *ledger.Table { return Table }

// ID implements ledger.Row.
func (r *row) ID() any { return r.Name() }

// New implements ledger.Row.
func (r *row) New() bool { return r.fresh }

// AssignSeqs implements ledger.Row.
func (r *row) AssignSeqs(int64) {}

// Values implements ledger.Row.
func (r *row) Values(int64) (ledger.Values, error) {
	v := r.values()
	v[0] = r.created
	return v, nil
}

// values returns the columns without the number.
func (c Cursor) values() ledger.Values {
	return ledger.Values{
		nil, c.ConsumerID, c.StreamName, c.SubjectID, c.LastSequence, c.LastDeliveryID, c.LastDeliveredAt.Milli(), c.deliveredSeq,
		c.LastError, c.UpdatedAt.Milli(), string(c.requester),
	}
}

// Bytes estimates the size of the cursor besides its fixed columns.
func (c Cursor) Bytes() int {
	return len(c.ConsumerID) + len(c.StreamName) + len(c.SubjectID) + len(c.LastDeliveryID) + len(c.LastError)
}
