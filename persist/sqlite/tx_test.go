package sqlite

import (
	"context"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/ledger"
)

// Both scans use one statement.
func TestNestedScanDoesNotDisturbTheOuterOne(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	if err := s.Do(context.Background(), func() error {
		return s.w.conn.run("INSERT INTO event_times (seq, time) VALUES (1, 10), (2, 20), (3, 30)")
	}); err != nil {
		t.Fatal(err)
	}
	times := ledger.NewTable(ledger.Table{Name: "event_times", Columns: []string{"seq", "time"}, Key: []string{"seq"}})
	all := ledger.Range{Index: &ledger.Index{Table: times, Columns: []string{"seq"}}}
	var outer, inner []int64
	if err := s.reader.Read(context.Background(), func(tx ledger.Reader) error {
		return tx.Scan(all, func(v ledger.Values) error {
			if outer = append(outer, v.Int(0)); len(outer) > 3 {
				return ledger.ErrEnough // an outer scan that restarts never ends
			}
			return tx.Scan(all, func(v ledger.Values) error {
				inner = append(inner, v.Int(0))
				return nil
			})
		})
	}); err != nil {
		t.Fatal(err)
	}
	if want := []int64{1, 2, 3}; !slices.Equal(outer, want) || !slices.Equal(inner, slices.Repeat(want, 3)) {
		t.Errorf("the outer scan found %v, the inner ones %v", outer, inner)
	}
}
