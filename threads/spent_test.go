package threads

import (
	"math"
	"reflect"
	"testing"

	"github.com/seed82539d15/holon/items"
)

func TestSpendAddsWhatAttemptsUsed(t *testing.T) {
	usage := func(in, out, total int64, amount float64, currency string) *items.Usage {
		u := &items.Usage{InputTokens: in, OutputTokens: out, TotalTokens: total}
		if currency != "" {
			u.Cost = &items.Cost{Amount: amount, Currency: currency}
		}
		return u
	}
	for name, c := range map[string]struct {
		used    []*items.Usage
		want    *Spent
		session string
	}{
		"nothing was reported":      {[]*items.Usage{nil, nil}, nil, ""},
		"tokens without a cost":     {[]*items.Usage{usage(1, 2, 3, 0, ""), nil, usage(10, 20, 30, 0, "")}, &Spent{11, 22, 33, 0, 0, ""}, ""},
		"sums are exact":            {[]*items.Usage{usage(0, 0, 0, .1, "USD"), usage(0, 0, 0, .2, "USD")}, &Spent{0, 0, 0, 300_000, 0, "USD"}, ""},
		"the first currency counts": {[]*items.Usage{usage(1, 0, 1, 2, "EUR"), usage(1, 0, 1, 5, "USD"), usage(1, 0, 1, 1, "EUR")}, &Spent{3, 0, 3, 3_000_000, 0, "EUR"}, ""},
		"a cost without currency":   {[]*items.Usage{{Cost: &items.Cost{Amount: 7}}, usage(0, 0, 0, 1, "USD")}, &Spent{0, 0, 0, 1_000_000, 0, "USD"}, ""},
		"it never falls":            {[]*items.Usage{usage(5, 5, 10, 1, "USD"), usage(-9, -9, -9, -9, "USD")}, &Spent{5, 5, 10, 1_000_000, 0, "USD"}, ""},
		"it has a bound": {[]*items.Usage{usage(math.MaxInt64, 0, 9, 1e300, "USD"), usage(1, 0, 1, 1e300, "USD")},
			&Spent{math.MaxInt64, 0, 10, 2 * maxMillionths, 0, "USD"}, ""},
		"a session says what it has cost so far": {[]*items.Usage{usage(1, 0, 1, 1, "USD"), usage(1, 0, 1, 1, "USD"), usage(1, 0, 1, 3, "USD")},
			&Spent{3, 0, 3, 3_000_000, 3_000_000, "USD"}, "s"},
		"another session begins at zero": {[]*items.Usage{usage(1, 0, 1, 3, "USD"), usage(1, 0, 1, .5, "USD"), usage(1, 0, 1, .75, "USD")},
			&Spent{3, 0, 3, 3_750_000, 750_000, "USD"}, "s"},
	} {
		row := &Thread{ThreadID: "thread_a", UpdatedSeq: 4, AgentSessionID: c.session}
		for _, u := range c.used {
			before := *row
			next := row.Spend(u)
			if !reflect.DeepEqual(*row, before) {
				t.Errorf("%s: the row that was given was changed", name)
			}
			row = next
		}
		if !reflect.DeepEqual(row.Spent, c.want) || row.UpdatedSeq != 4 {
			t.Errorf("%s: %+v, want %+v", name, row.Spent, c.want)
		}
	}
}
