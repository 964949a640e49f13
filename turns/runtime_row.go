package turns

import (
	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
)

// RuntimeTable is where the pause of the runtime is stored: in the one row that
// describes the log itself.
var RuntimeTable = ledger.NewTable(ledger.Table{
	Name: "meta", Columns: []string{"id", "runtime"}, Key: []string{"id"}, Mutable: []string{"runtime"},
})

var runtimeRow = &ledger.Index{Table: RuntimeTable, Columns: []string{"id"}}

// Table implements ledger.Row.
func (r *Runtime) Table() *ledger.Table { return RuntimeTable }

// ID implements ledger.Row.
func (r *Runtime) ID() any { return int64(1) }

// New implements ledger.Row.
func (r *Runtime) New() bool { return false }

// Bytes implements ledger.Row.
func (r *Runtime) Bytes() int { return len(r.Reason) }

// AssignSeqs implements ledger.Row.
func (r *Runtime) AssignSeqs(int64) {}

// Values implements ledger.Row.
func (r *Runtime) Values(int64) (ledger.Values, error) {
	raw, err := json.Marshal(r)
	return ledger.Values{int64(1), raw}, err
}

// ReadRuntime reads the pause of the runtime.
func ReadRuntime(tx ledger.Reader) (r Runtime, err error) {
	v, err := tx.Get(runtimeRow, int64(1))
	if err != nil || v == nil || v.Blob(1) == nil {
		return r, err
	}
	return r, json.Unmarshal(v.Blob(1), &r)
}

// NotPaused is the fence that refuses a turn/started during a pause: it refuses
// a unit with ErrRuntimePaused if holon/paused is in the log and no
// holon/resumed came after it.
var NotPaused = ledger.FenceFunc(func(tx ledger.Tx, _ *ledger.Unit) (refused, fault error) {
	r, err := ReadRuntime(tx)
	if err == nil && r.Paused {
		return ErrRuntimePaused, nil
	}
	return nil, err
})
