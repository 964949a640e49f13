package persist

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed82539d15/holon/ledger"
)

// stuck is a database that refuses every row and then cannot roll back.
type stuck struct{}

func (d stuck) Transaction(f func(Tx) error) error {
	return fmt.Errorf("roll back after %w: %w", f(staleTx{}), ledger.ErrStorageFailed)
}
func (stuck) Wrote(int) {}

// staleTx is a transaction in which every row has been changed meanwhile.
type staleTx struct{ Tx }

func (staleTx) Put(ledger.Row, int64, int64) error { return ledger.ErrStale }

// Later changes would become part of the transaction of the refused unit.
func TestARefusalThatCannotBeUndoneFailsTheStore(t *testing.T) {
	w := NewWriter(stuck{}, time.Now, Head{}, nil, Keys{})
	_, err := w.Commit([]*ledger.Unit{{Rows: []ledger.Row{&keyRow{}}}})
	if !errors.Is(err, ledger.ErrStorageFailed) {
		t.Errorf("the commit ended with %v", err)
	}
}
