package threads

import (
	"math"
	"reflect"
	"testing"

	"github.com/seed82539d15/holon/items"
)

func TestLinesAreCountedWithoutUsage(t *testing.T) {
	row := &Thread{ThreadID: "thread_a", UpdatedSeq: 4}
	stored := func() *Thread {
		t.Helper()
		v, err := row.Values(1)
		if err != nil {
			t.Fatal(err)
		}
		read, err := Read(v)
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	if next := row.CountLines(nil); next != row || stored().Lines != nil || stored().Spent != nil {
		t.Errorf("nothing is counted as %+v", next)
	}
	next := row.CountLines(&items.Lines{Added: 2, Removed: 1}).CountLines(&items.Lines{Added: 3})
	if row.Lines != nil || !onlySpends(row, next) {
		t.Errorf("%+v, then %+v", row, next)
	}
	row = next
	want := &items.Lines{Added: 5, Removed: 1}
	if got := stored(); !reflect.DeepEqual(got.Lines, want) || got.Spent != nil {
		t.Errorf("stored are %+v and %+v", got.Lines, got.Spent)
	}
	row = row.Spend(&items.Usage{TotalTokens: 7})
	if got := stored(); !reflect.DeepEqual(got.Lines, want) || !reflect.DeepEqual(got.Spent, &Spent{TotalTokens: 7}) {
		t.Errorf("stored are %+v and %+v", got.Lines, got.Spent)
	}
	row = row.CountLines(&items.Lines{Added: math.MaxInt64, Removed: -4})
	if got := stored(); *got.Lines != (items.Lines{Added: math.MaxInt64, Removed: 1}) {
		t.Errorf("the bound: %+v", got.Lines)
	}
	// What was stored before lines were counted.
	v, _ := row.Values(1)
	v[21] = []byte(`{"input_tokens":1,"output_tokens":2,"total_tokens":3}`)
	if got, err := Read(v); err != nil || got.Lines != nil || !reflect.DeepEqual(got.Spent, &Spent{InputTokens: 1, OutputTokens: 2, TotalTokens: 3}) {
		t.Errorf("%+v, %v", got, err)
	}
}
