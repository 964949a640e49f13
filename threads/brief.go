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

func briefly(ix *ledger.Index) *ledger.Index {
	brief := *ix
	brief.Table = briefTable
	return &brief
}

// ReadBrief makes a thread of the columns of such an order: one without Metadata and
// Config.
func ReadBrief(v ledger.Values) (*Thread, error) {
	full := make(ledger.Values, 0, len(Table.Columns))
	full = append(append(full, v[:largeFrom]...), make(ledger.Values, largeTo-largeFrom)...)
	return Read(append(full, v[largeFrom:]...))
}
