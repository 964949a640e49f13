//go:build linux

package faults

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// I6 against the power: whatever of the un-synced writes a disk keeps, loses,
// tears or reorders, every event that was sent to a client is there.
func TestPowerCutLosesNothingThatWasTold(t *testing.T) {
	for name, extra := range map[string]string{"commits": "", "checkpoint": "/items 12 400000"} {
		t.Run(name, func(t *testing.T) {
			n := either(250, 4000)
			if extra != "" {
				n /= 4 // its states are large
			}
			c := cutPower(t, extra, n)
			t.Logf("%d states rebuilt from %d records: %d lost something, %d are broken", c.states, c.records, c.lost, c.broken)
			for _, err := range c.errs {
				t.Error(err)
			}
		})
	}
}

// The same sweep with synchronous=normal must find losses: it shows that the
// sweep can.
func TestPowerCutSweepFindsTheLossesOfNormal(t *testing.T) {
	c := cutPower(t, "", either(100, 1500), "--synchronous", "normal")
	t.Logf("%d states rebuilt from %d records: %d lost something, %d are broken", c.states, c.records, c.lost, c.broken)
	if c.lost == 0 {
		t.Error("synchronous=normal lost nothing: the sweep tests nothing")
	}
	if c.broken > 0 {
		t.Errorf("synchronous=normal may lose the newest events, it must not break the log: %v", c.errs)
	}
}

// cuts is what a sweep found.
type cuts struct {
	mu                            sync.Mutex
	records, states, lost, broken int
	errs                          []error // the first few
}

// errLost says that an event that was sent to a client is gone.
var errLost = errors.New("lost")

// cutPower records a run and opens n states that a power cut may have left at
// its moments.
func cutPower(t *testing.T, extra string, n int, args ...string) *cuts {
	t.Helper()
	records, log := recordRun(t, extra, args...)
	moments := moments(records, n)
	c := &cuts{records: len(records)}
	type state struct {
		dir  string
		sent int64
		what string
	}
	states := make(chan state)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for st := range states {
				c.add(openState(st.dir, st.sent, log), st.what)
				_ = os.RemoveAll(st.dir) // the scratch directory goes at the end
			}
		})
	}
	d := newDisk()
	for i, r := range records {
		d.apply(r)
		for range moments[i] {
			seed := rand.Uint64()
			dir, err := os.MkdirTemp(ramDir(), "faults-cut")
			if err == nil {
				err = d.cut(dir, rand.New(rand.NewPCG(seed, 0)))
			}
			if err != nil {
				t.Error(err)
				break
			}
			states <- state{dir, d.sent, fmt.Sprintf("cut after record %d of %d, seed %d", i+1, len(records), seed)}
		}
	}
	close(states)
	wg.Wait()
	if d.sent < int64(len(log)) {
		t.Errorf("the record has %d events that were sent, the log has %d", d.sent, len(log))
	}
	return c
}

// ramDir is where states are rebuilt: their syncs should cost nothing.
func ramDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return scratch
}

func (c *cuts) add(err error, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states++
	switch {
	case err == nil:
		return
	case errors.Is(err, errLost):
		c.lost++
	default:
		c.broken++
	}
	if len(c.errs) < 5 {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", what, err))
	}
}

// recordRun plays the script on a recorded server and returns the records and
// the log as it was before the stop.
func recordRun(t *testing.T, extra string, args ...string) (records []record, log []string) {
	t.Helper()
	need(t, "ptrace")
	p := newTestbed(t)
	tr := newTrace(p)
	tr.Record = filepath.Join(p.root, "records")
	s := p.launch(t, launch{args: args, trace: tr})
	if err := s.ready(startWithin); err != nil {
		t.Fatal(err)
	}
	c := newSession(extra)
	followed := make(chan error, 1)
	go func() { followed <- c.view.follow(s) }()
	if err := c.play(s); err != nil {
		t.Fatalf("the script: %v\n%s", err, s.stderr.tail())
	}
	log = s.log(t)
	s.stop(t)
	<-followed
	f, err := os.Open(tr.Record)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for dec := gob.NewDecoder(f); ; {
		var r record
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			return records, log
		} else if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
}

// moments chooses where to cut: half of them where somebody has just been
// sent something, half anywhere. The value is how many states to rebuild.
func moments(records []record, n int) map[int]int {
	var sent, all []int
	d := newDisk()
	for i, r := range records {
		before := d.sent
		if r.Kind == recSent {
			d.apply(r)
		}
		if d.sent > before {
			sent = append(sent, i)
		}
		if r.Kind != recSent {
			all = append(all, i)
		}
	}
	chosen := map[int]int{}
	for i, from := range [][]int{sent, all} {
		for range (n + i) / 2 {
			if len(from) > 0 {
				chosen[from[rand.IntN(len(from))]]++
			}
		}
	}
	return chosen
}

// openState opens what a cut has left with the real store and compares its
// log with the one that was: as long as what was sent, and no event other
// than it was.
func openState(dir string, sent int64, log []string) (err error) {
	s, err := sqlite.Open(sqlite.Options{Dir: dir})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	latest, err := compare(s.Reader(), log)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if latest < sent {
		return fmt.Errorf("%w: %d was sent, the log ends at %d", errLost, sent, latest)
	}
	v, err := sqlite.OpenReader(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	findings, err := v.Check(context.Background())
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Level == sqlite.Error {
			return fmt.Errorf("doctor: %s: %s", f.Name, f.Text)
		}
	}
	refolded, err := persist.Refold(context.Background(), v)
	if err != nil {
		return err
	}
	if len(refolded.Differences) > 0 {
		return fmt.Errorf("refold: %v", refolded.Differences[0])
	}
	return nil
}

func compare(reader notify.Log, log []string) (latest int64, err error) {
	for {
		page, err := reader.Page(context.Background(), notify.Query{After: latest, MaxEvents: 1000, MaxBytes: 1 << 20})
		if err != nil {
			return latest, err
		}
		for _, e := range page.Events {
			if e.Seq != latest+1 {
				return latest, fmt.Errorf("seq %d follows %d", e.Seq, latest)
			}
			if latest = e.Seq; latest > int64(len(log)) {
				return latest, nil // of the stop, after the log was read
			}
			if line := string(e.AppendFrame(nil)); line != log[latest-1] {
				return latest, fmt.Errorf("seq %d was\n%sit is\n%s", latest, log[latest-1], line)
			}
		}
		if !page.More {
			return latest, nil
		}
	}
}

// The model itself: what a sync has covered is never lost, what came after it
// may be.
func TestDiskModelKeepsWhatWasSynced(t *testing.T) {
	const name = "/d/holon.db"
	at := func(offset int64, text string) record {
		return record{Kind: recWrite, Path: name, Offset: offset, Data: []byte(text)}
	}
	d := newDisk()
	for _, r := range []record{at(0, "aaaa"), at(4, "bbbb"), {Kind: recSync, Path: "/d", Begin: 2}, {Kind: recSync, Path: name, Begin: 1}} {
		d.apply(r)
	}
	seen := map[string]bool{}
	for seed := range uint64(200) {
		dir := t.TempDir()
		if err := d.cut(dir, rand.New(rand.NewPCG(seed, 1))); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(dir, "holon.db"))
		if err != nil {
			t.Fatal(err)
		}
		seen[string(raw)] = true
	}
	got := slices.Sorted(func(yield func(string) bool) {
		for s := range seen {
			if !yield(s) {
				return
			}
		}
	})
	if want := []string{"aaaa", "aaaabbbb"}; !slices.Equal(got, want) {
		t.Errorf("a cut may leave %q, want %q", got, want)
	}
}
