package threads

import (
	"slices"

	"github.com/seed82539d15/holon/ledger"
)

// briefTable is Table without the metadata and the config of threads, which may be
// large. Lists of many threads read it.
var briefTable = ledger.NewTable(ledger.Table{Name: Table.Name, Columns: slices.Concat(Table.Columns[:largeFrom], Table.Columns[largeTo:])})

// The large columns.
var largeFrom, largeTo = Table.Column("metadata"), Table.Column("config") + 1

// The orders in which threads are found, for ReadBrief.
var (
	BriefByID    = briefly(ByID)
	BriefBySeq   = briefly(BySeq)
	BriefByState = briefly(ByState)
)

func briefly(ix *ledger.Index) *ledger.Index { return of(ix, briefTable) }

func of(ix *ledger.Index, t *ledger.Table) *ledger.Index {
	some := *ix
	some.Table = t
	return &some
}

// countTable has what is needed to count threads.
var countTable = ledger.NewTable(ledger.Table{Name: Table.Name, Columns: []string{"created_seq", "thread_id", "state", "agent", "title", "cwd", "level", "latest_seq"}})

// The orders in which threads are found, for ReadCounted.
var (
	CountedByID    = of(ByID, countTable)
	CountedByState = of(ByState, countTable)
)

// ReadCounted makes a thread of the columns of such an order, and of no others.
func ReadCounted(v ledger.Values) *Thread {
	return &Thread{
		CreatedSeq: v.Int(0), ThreadID: v.Text(1), State: State(v.Text(2)), Agent: v.Text(3), Title: v.Text(4), Cwd: v.Text(5),
		Level: int(v.Int(6)), LatestSeq: v.Int(7),
	}
}

// ReadBrief makes a thread of the columns of such an order: one without Metadata and
// Config.
func ReadBrief(v ledger.Values) (*Thread, error) {
	full := make(ledger.Values, 0, len(Table.Columns))
	full = append(append(full, v[:largeFrom]...), make(ledger.Values, largeTo-largeFrom)...)
	return Read(append(full, v[largeFrom:]...))
}
