package ledger_test

import (
	"reflect"
	"testing"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

var things = ledger.NewTable(ledger.Table{
	Name: "things", Columns: []string{"seq", "name", "size"}, Key: []string{"seq"}, Mutable: []string{"size", "name"},
})

// thing is a row with a provisional seq until its unit is committed.
type thing struct {
	seq  int64
	name string
	size int64
}

func (r *thing) Table() *ledger.Table   { return things }
func (r *thing) ID() any                { return r.name }
func (r *thing) New() bool              { return r.seq < 0 }
func (r *thing) Bytes() int             { return len(r.name) }
func (r *thing) AssignSeqs(first int64) { r.seq = notify.AssignSeq(r.seq, first) }
func (r *thing) Values(first int64) (ledger.Values, error) {
	return ledger.Values{notify.AssignSeq(r.seq, first), r.name, r.size}, nil
}

func TestUpdateBindsWhatChangesThenTheKey(t *testing.T) {
	v, err := (&thing{seq: -2, name: "a", size: 3}).Values(10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := things.Update(v), (ledger.Values{int64(3), "a", int64(11)}); !reflect.DeepEqual(got, want) {
		t.Errorf("bound %v, want %v", got, want)
	}
}

func TestTableRefusesAnUnknownColumn(t *testing.T) {
	for name, table := range map[string]ledger.Table{
		"key":     {Name: "t", Columns: []string{"a"}, Key: []string{"b"}},
		"mutable": {Name: "t", Columns: []string{"a"}, Mutable: []string{"b"}},
		"cas":     {Name: "t", Columns: []string{"a"}, CAS: "b"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a table without the column was made", name)
				}
			}()
			ledger.NewTable(table)
		}()
	}
}

func TestValuesOfAnotherTypeAreZero(t *testing.T) {
	v := ledger.Values{nil, "text", int64(1), []byte("b"), 1.5}
	if v.Int(0) != 0 || v.Text(0) != "" || v.Blob(0) != nil || v.Float(0) != 0 {
		t.Error("nil is not zero")
	}
	if v.Int(1) != 0 || v.Text(2) != "" || v.Blob(1) != nil || v.Float(2) != 0 {
		t.Error("another type is not zero")
	}
	if v.Text(1) != "text" || v.Int(2) != 1 || string(v.Blob(3)) != "b" || v.Float(4) != 1.5 {
		t.Error("a value is not read")
	}
}

func TestAssignSeqsGivesRowsAndTriesTheirSeqs(t *testing.T) {
	span := notify.NewSpan("turn_a", "", 1, nil)
	d := notify.Draft{Method: notify.TurnStarted, Header: notify.Header{Seq: notify.Provisional(0), ThreadID: "a"}, Body: struct{}{}}
	d.In(span)
	if err := d.Encode(); err != nil {
		t.Fatal(err)
	}
	row := &thing{seq: notify.Provisional(1), name: "abc"}
	u := &ledger.Unit{Drafts: []notify.Draft{d}, Rows: []ledger.Row{row}, Result: []byte("{}")}
	if want := len(d.Rest) + len("abc") + len("{}"); u.Bytes() != want {
		t.Errorf("%d bytes, want %d", u.Bytes(), want)
	}
	u.AssignSeqs(7)
	if span.Seq != 7 || row.seq != 8 {
		t.Errorf("the try is at %d, the row at %d; want 7 and 8", span.Seq, row.seq)
	}
	if u.AssignSeqs(100); span.Seq != 7 || row.seq != 8 {
		t.Error("a real seq moves again")
	}
}
