package bench

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{
		{[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.in); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.in, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

// One bad pair on a noisy machine must not decide the result.
func TestRatioIsTheMedianOfThePairs(t *testing.T) {
	r := newRow("x", "a measure", "1/s", []Pair{{100, 200}, {50, 100}, {1, 100}, {300, 100}, {60, 100}})
	if r.Ratio != 0.5 || r.Ours != 60 || r.Baseline != 100 {
		t.Errorf("got %+v", r)
	}
}

func TestTargets(t *testing.T) {
	row := func(ours float64) Row { return newRow("x", "", "", []Pair{{ours, 100}}) }
	for name, c := range map[string]struct {
		row     Row
		reached bool
	}{
		"more than needed":           {row(50).atLeast(0.4), true},
		"just enough":                {row(40).atLeast(0.4), true},
		"too little":                 {row(39).atLeast(0.4), false},
		"less than allowed":          {row(120).atMost(1.25), true},
		"too much":                   {row(126).atMost(1.25), false},
		"a second condition fails":   {row(50).atLeast(0.4).also("caught up", false), false},
		"the other condition saves":  {row(200).atMost(1.2).or("+50 ms", true), true},
		"neither way":                {row(200).atMost(1.2).or("+50 ms", false), false},
		"a figure that is no number": {row(math.NaN()).atLeast(0.4), false},
	} {
		if c.row.Reached != c.reached {
			t.Errorf("%s: reached is %v (%s)", name, c.row.Reached, c.row.Target)
		}
	}
}

func TestReportSaysWhatIsMissed(t *testing.T) {
	r := &Report{StartedAt: time.Unix(1_700_000_000, 0), Pairs: 5, Rows: []Row{
		newRow("fast", "a fast thing", "events/s", []Pair{{1234567, 1000000}}).atLeast(0.5).note("with a note"),
		newRow("slow", "a slow thing", "ms", []Pair{{3, 1}}).atMost(1.5),
		newRow("beside", "a thing without a target", "ms", []Pair{{9, 1}}).shown(),
	}}
	if missed := r.Missed(); len(missed) != 1 || missed[0].Name != "slow" {
		t.Errorf("missed: %+v", missed)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2023-11-14", "1,234,567", "1.23", "yes", "NO", "≤ 1.5", "fast: with a note.", "1 of 2 reached"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}
