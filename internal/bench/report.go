package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the outcome of a run.
type Report struct {
	StartedAt time.Time `json:"started_at"`
	Seconds   float64   `json:"seconds"`
	Machine   Machine   `json:"machine"`
	Quick     bool      `json:"quick"`
	Pairs     int       `json:"pairs"`
	Rows      []Row     `json:"rows"`
}

// Machine is the machine of the measurement.
type Machine struct {
	CPUs   int    `json:"cpus"`
	Model  string `json:"model"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
}

// Row is one figure: ours and its baseline. Ours and Baseline are medians;
// Ratio is the median of the pairs' ratios.
type Row struct {
	Name     string   `json:"name"`    // for --only
	Measure  string   `json:"measure"` // in words
	Unit     string   `json:"unit"`
	Ours     float64  `json:"ours"`
	Baseline float64  `json:"baseline"`
	Ratio    float64  `json:"ratio"`
	Target   string   `json:"target"` // empty: the row is only shown
	Reached  bool     `json:"reached"`
	Notes    []string `json:"notes,omitempty"`
	Pairs    []Pair   `json:"pairs"`
}

// Pair is one measurement of each side, taken one after the other.
type Pair struct {
	Ours     float64 `json:"ours"`
	Baseline float64 `json:"baseline"`
}

func (p Pair) ratio() float64 { return p.Ours / p.Baseline }

// newRow makes a row from pairs.
func newRow(name, measure, unit string, pairs []Pair) Row {
	column := func(f func(Pair) float64) float64 {
		values := make([]float64, len(pairs))
		for i, p := range pairs {
			values[i] = f(p)
		}
		return median(values)
	}
	return Row{
		Name: name, Measure: measure, Unit: unit, Pairs: pairs,
		Ours:     column(func(p Pair) float64 { return p.Ours }),
		Baseline: column(func(p Pair) float64 { return p.Baseline }),
		Ratio:    column(Pair.ratio),
	}
}

// atLeast sets the target of a row where more is better.
func (r Row) atLeast(ratio float64) Row {
	r.Target, r.Reached = fmt.Sprintf("≥ %g", ratio), r.Ratio >= ratio
	return r
}

// atMost sets the target of a row where less is better.
func (r Row) atMost(ratio float64) Row {
	r.Target, r.Reached = fmt.Sprintf("≤ %g", ratio), r.Ratio <= ratio
	return r
}

// shown returns the row without a target.
func (r Row) shown() Row {
	r.Target, r.Reached = "", true
	return r
}

// also adds a further condition of the target.
func (r Row) also(target string, reached bool) Row {
	r.Target += ", " + target
	r.Reached = r.Reached && reached
	return r
}

// or adds another way to reach the target.
func (r Row) or(target string, reached bool) Row {
	r.Target += " or " + target
	r.Reached = r.Reached || reached
	return r
}

func (r Row) note(format string, args ...any) Row {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	return r
}

// median returns the middle of the values, NaN if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// Missed lists the rows whose target was not reached.
func (r *Report) Missed() []Row {
	var rows []Row
	for _, row := range r.Rows {
		if !row.Reached {
			rows = append(rows, row)
		}
	}
	return rows
}

// WriteText prints the report as a table for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %d × %s · Linux %s · %s · median of %d pairs\n\n", r.StartedAt.UTC().Format(time.DateOnly),
		r.Machine.CPUs, r.Machine.Model, r.Machine.Kernel, r.Machine.Go, r.Pairs)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tmeasure\tours\tbaseline\tunit\tratio\treach\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.2f\t%s\t%s\n", row.Name, row.Measure, figure(row.Ours), figure(row.Baseline), row.Unit, row.Ratio, row.Target, row.mark())
	}
	targets := 0
	for _, row := range r.Rows {
		if row.Target != "" {
			targets++
		}
	}
	t.Flush() // into a strings.Builder, which does not fail
	for _, row := range r.Rows {
		for i, note := range row.Notes {
			if i == 0 {
				fmt.Fprintf(&b, "\n%s:", row.Name)
			}
			fmt.Fprintf(&b, " %s.", note)
		}
	}
	fmt.Fprintf(&b, "\n\n%d of %d reached, in %.0f s\n", targets-len(r.Missed()), targets, r.Seconds)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Row) mark() string {
	switch {
	case r.Target == "":
		return ""
	case r.Reached:
		return "yes"
	}
	return "NO"
}

// figure writes a number with three significant digits, and groups the digits
// of large ones.
func figure(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 1000:
		return fmt.Sprintf("%.1f", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
