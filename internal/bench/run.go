package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/seed82539d15/holon/internal/bench/process"
)

// run is a running measurement. One goroutine owns it.
type run struct {
	o        Options
	sizes    sizes
	pairs    int
	dir      string
	name     string // of the measure
	progress io.Writer

	children []*process.Process // of the measure
}

// say prints a line about the progress.
func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.progress, r.name+": "+format+"\n", args...)
}

// cleanUp ends the children of a measure and removes what it wrote. A child
// that had to be killed is an error.
func (r *run) cleanUp() error {
	var errs []error
	for _, p := range r.children {
		errs = append(errs, p.Stop())
	}
	r.children = nil
	entries, err := os.ReadDir(r.dir)
	errs = append(errs, err)
	for _, e := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(r.dir, e.Name())))
	}
	return errors.Join(errs...)
}

// newDir names a directory that does not exist yet.
func (r *run) newDir(name string) string {
	return filepath.Join(r.dir, fmt.Sprintf("%s-%08x", name, rand.Uint32()))
}

// side measures one side of a pair: it returns a figure for each row.
type side func(ctx context.Context, round int) ([]float64, error)

// interleave measures ours and the baseline in turn, and returns the pairs of
// each row.
func (r *run) interleave(ctx context.Context, ours, baseline side) ([][]Pair, error) {
	var rows [][]Pair
	for i := range r.pairs {
		began := time.Now()
		a, err := ours(ctx, i)
		if err != nil {
			return nil, err
		}
		b, err := baseline(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("baseline: %w", err)
		}
		if len(a) != len(b) || i > 0 && len(a) != len(rows) {
			return nil, errors.New("the sides measure different things")
		}
		if rows == nil {
			rows = make([][]Pair, len(a))
		}
		text := ""
		for j := range a {
			rows[j] = append(rows[j], Pair{Ours: a[j], Baseline: b[j]})
			text += fmt.Sprintf("  %s / %s = %.2f", figure(a[j]), figure(b[j]), a[j]/b[j])
		}
		r.say("pair %d of %d:%s  (%.1f s)", i+1, r.pairs, text, time.Since(began).Seconds())
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
