package hooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed82539d15/holon/ledger"
)

// runs keeps to which pull request the workflow runs of a source belong. A job does not say it:
// GitHub's workflow_job has no pull requests. And those of a run are gone once they are merged.
type runs struct {
	source string
	store  Store // nil = they are forgotten at once
	now    func() time.Time

	mu sync.Mutex // of keep: what one writes, another may find too old
}

// The bounds of what a source keeps.
const (
	// runsFor is how long a run is known: seven days after its last webhook, which is noted at most
	// every runsNoted. A run and its jobs are some ten webhooks within minutes: one write is enough.
	runsFor   = 7*24*time.Hour + runsNoted
	runsNoted = time.Hour
	maxRuns   = 10_000
	// runsAtOnce is how many rows one write removes of those that are too old, and of those that
	// are too many: more than it adds.
	runsAtOnce = 10
)

// of returns the group of a run, "" if it is not known. While the store cannot be read, no run is.
func (r *runs) of(run int) (ref string) {
	ref, _ = r.noted(run)
	return ref
}

// noted works like of, and returns when the group was kept last.
func (r *runs) noted(run int) (ref string, at time.Time) {
	if r.store == nil {
		return "", at
	}
	_ = r.store.Read(context.Background(), func(tx ledger.Reader) error {
		v, err := tx.Get(runOf, r.source, int64(run))
		if v != nil {
			at = time.UnixMilli(v.Int(3))
		}
		if v != nil && r.now().Sub(at) < runsFor {
			ref = v.Text(2)
		}
		return err
	})
	return ref, at
}

// keep keeps the group of a run for another runsFor, "" if it has none any more, and removes what is
// too old or too much. After an error, jobs of the run may get another group than the run.
func (r *runs) keep(run int, ref string) error {
	if r.store == nil {
		return nil
	}
	if old, at := r.noted(run); old == ref && (ref == "" || r.now().Sub(at) < runsNoted) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	row := &runRow{source: r.source, run: run, ref: ref, at: r.now().UnixMilli()}
	var gone []ledger.Row
	if err := r.store.Read(context.Background(), func(tx ledger.Reader) error {
		v, err := tx.Get(runOf, r.source, int64(run))
		row.known = v != nil
		remove := func(n int) func(ledger.Values) error {
			return func(v ledger.Values) error {
				if n == 0 {
					return ledger.ErrEnough
				}
				if n--; v.Int(1) != int64(run) {
					gone = append(gone, &ledger.Removal{Of: runsTable, Key: []any{r.source, v.Int(1)}})
				}
				return nil
			}
		}
		old := ledger.Range{Index: runsOfSource, Prefix: []any{r.source}, Until: row.at - runsFor.Milliseconds()}
		many := ledger.Range{Index: runsOfSource, Prefix: []any{r.source}, Newest: true, Skip: maxRuns - 1}
		return errors.Join(err, tx.Scan(old, remove(runsAtOnce)), tx.Scan(many, remove(runsAtOnce)))
	}); err != nil {
		return err
	}
	_, err := r.store.Append(&ledger.Unit{Rows: append(gone, row)})
	return err
}

var (
	runsTable = ledger.NewTable(ledger.Table{
		Name: "hook_runs", Columns: []string{"source", "run", "resource_ref", "kept_at"}, Key: []string{"source", "run"},
		Mutable: []string{"resource_ref", "kept_at"}, Unique: ledger.ErrStale,
	})
	runOf        = &ledger.Index{Table: runsTable, Unique: true, Columns: []string{"source", "run"}}
	runsOfSource = &ledger.Index{Table: runsTable, Name: "hook_runs_kept", Columns: []string{"source", "kept_at"}}
)

// runRow is the group of a run as it is stored.
type runRow struct {
	source string
	run    int
	ref    string
	at     int64 // milliseconds
	known  bool  // there is a row of it
}

// Table implements ledger.Row.
func (r *runRow) Table() *ledger.Table { return runsTable }

// ID implements ledger.Row.
func (r *runRow) ID() any { return r.source }

// New implements ledger.Row.
func (r *runRow) New() bool { return !r.known }

// Values implements ledger.Row.
func (r *runRow) Values(int64) (ledger.Values, error) {
	return ledger.Values{r.source, int64(r.run), r.ref, r.at}, nil
}

// AssignSeqs implements ledger.Row.
func (r *runRow) AssignSeqs(int64) {}

// Bytes implements ledger.Row.
func (r *runRow) Bytes() int { return len(r.source) + len(r.ref) }
