package hooks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed82539d15/holon/ledger"
)

// rows counts what is kept of the runs of a source.
func (d *disk) runsOf(t *testing.T, source string) (n int) {
	t.Helper()
	if err := d.Read(context.Background(), func(r ledger.Reader) error {
		return r.Scan(ledger.Range{Index: runsOfSource, Prefix: []any{source}}, func(ledger.Values) error { n++; return nil })
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// The group of a run is known for seven days, after a restart too, and is that of its source.
func TestGroupOfARunIsKeptForSevenDays(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	of := func(d *disk, source string) *runs {
		return &runs{source: source, store: d, now: func() time.Time { return now }}
	}
	onDisk(t, dir, func(d *disk) {
		if err := errors.Join(of(d, "gh").keep(7, "pr:1"), of(d, "gh").keep(7, "pr:2"), of(d, "gh").keep(8, "pr:1")); err != nil {
			t.Fatal(err)
		}
	})
	onDisk(t, dir, func(d *disk) {
		gh := of(d, "gh")
		for _, step := range []struct {
			later time.Duration
			want  string
		}{{0, "pr:2"}, {runsFor - time.Millisecond, "pr:2"}, {time.Millisecond, ""}} {
			now = now.Add(step.later)
			if got := gh.of(7); got != step.want {
				t.Errorf("%v later the group is %q, want %q", step.later, got, step.want)
			}
		}
		if got := of(d, "other").of(7); got != "" {
			t.Errorf("another source has the group %q", got)
		}
		now = now.Add(time.Hour)
		if err := gh.keep(9, "pr:1"); err != nil {
			t.Fatal(err)
		}
		if n := d.runsOf(t, "gh"); n != 1 {
			t.Errorf("%d runs are kept, want the newest alone", n)
		}
	})
}

// A run that waits for days for somebody to approve it stays in its group, as long as it is heard of:
// its webhooks, and those of its jobs, count the seven days anew.
func TestARunThatIsHeardOfKeepsItsGroup(t *testing.T) {
	const week = 7 * 24 * time.Hour
	onDisk(t, t.TempDir(), func(d *disk) {
		c, now := ghSource(t), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		c.runs.store, c.runs.now = d, func() time.Time { return now }
		const head = `{"action": "queued", "repository": {"id": 7}, `
		const run, job = head + `"workflow_run": {"id": 3, "pull_requests": [{"number": 1}]}}`, head + `"workflow_job": {"run_id": 3, "id": 4}}`
		for i, step := range []struct {
			later       time.Duration
			event, body string
			want        string
		}{
			{0, "workflow_run", run, "pr:1"}, {week - time.Hour, "workflow_run", run, "pr:1"}, {week - time.Hour, "workflow_job", job, "pr:1"},
			{time.Minute, "workflow_job", job, "pr:1"}, {week, "workflow_job", job, "pr:1"}, {week + 2*time.Hour, "workflow_job", job, "workflow_run:3"},
		} {
			now = now.Add(step.later)
			if it, _ := github(t, c, step.event, step.body); it.Grouping == nil || it.Grouping.ResourceRef != step.want {
				t.Errorf("step %d: the group is %+v, want %s", i, it.Grouping, step.want)
			}
		}
	})
}

// Webhooks arrive at once, and what one of them keeps anew, another one finds too old.
func TestRunsThatAreKeptAtOnceStay(t *testing.T) {
	onDisk(t, t.TempDir(), func(d *disk) {
		now := time.Now()
		const n = 40
		rows := make([]ledger.Row, n)
		for i := range rows {
			rows[i] = &runRow{source: "gh", run: i + 1, ref: "pr:1", at: now.Add(-runsFor - time.Hour).UnixMilli()}
		}
		if _, err := d.Append(&ledger.Unit{Rows: rows}); err != nil {
			t.Fatal(err)
		}
		gh := &runs{source: "gh", store: d, now: func() time.Time { return now }}
		failed := make(chan error, n)
		for i := range n {
			go func() { failed <- gh.keep(i+1, "pr:2") }()
		}
		for range n {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		for i := range n {
			if got := gh.of(i + 1); got != "pr:2" {
				t.Errorf("the group of run %d is %q", i+1, got)
			}
		}
	})
}

// What is kept of runs has a bound, and the newest stay.
func TestRunsOfASourceAreBounded(t *testing.T) {
	onDisk(t, t.TempDir(), func(d *disk) {
		now := time.Now()
		rows := make([]ledger.Row, maxRuns+5)
		for i := range rows {
			rows[i] = &runRow{source: "gh", run: i + 1, ref: "pr:1", at: now.UnixMilli() + int64(i)}
		}
		if _, err := d.Append(&ledger.Unit{Rows: rows}); err != nil {
			t.Fatal(err)
		}
		gh := &runs{source: "gh", store: d, now: func() time.Time { return now.Add(time.Hour) }}
		if err := gh.keep(1<<40, "pr:2"); err != nil {
			t.Fatal(err)
		}
		if n := d.runsOf(t, "gh"); n != maxRuns {
			t.Errorf("%d runs are kept, want %d", n, maxRuns)
		}
		if gh.of(1<<40) != "pr:2" || gh.of(maxRuns+5) != "pr:1" || gh.of(1) != "" {
			t.Errorf("kept: %q, %q, %q", gh.of(1<<40), gh.of(maxRuns+5), gh.of(1))
		}
	})
}

// A store that fails costs a run its group, never an item.
func TestRunWhoseGroupCannotBeKept(t *testing.T) {
	onDisk(t, t.TempDir(), func(d *disk) {
		d.fails = errors.New("no room")
		gh := &runs{source: "gh", store: d, now: time.Now}
		if err := gh.keep(7, "pr:1"); !errors.Is(err, d.fails) || gh.of(7) != "" {
			t.Errorf("%v, %q", err, gh.of(7))
		}
	})
}
