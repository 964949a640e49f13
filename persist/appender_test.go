package persist

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// memory is a committer without a disk whose next commits can be made to
// fail.
type memory struct {
	mu       sync.Mutex
	latest   int64
	calls    [][]int // seqs of each transaction
	fail     func(units []*ledger.Unit) error
	probe    error
	broken   error         // what Maintain says
	maintain func()        // what Maintain does before
	block    chan struct{} // closed: commits go through
}

func (m *memory) Commit(units []*ledger.Unit) (Committed, error) {
	if m.block != nil {
		<-m.block
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(units); err != nil {
			return Committed{}, err
		}
	}
	var out Committed
	var call []int
	for _, u := range units {
		r := ledger.Receipt{First: m.latest + 1}
		for i := range u.Drafts {
			m.latest++
			call = append(call, int(m.latest))
			out.Events = append(out.Events, u.Drafts[i].Event(m.latest, 0))
		}
		r.Last = m.latest
		out.Outcomes = append(out.Outcomes, Outcome{Receipt: r})
	}
	m.calls = append(m.calls, call)
	return out, nil
}

func (m *memory) Probe() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.probe
}

func (m *memory) Maintain() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.maintain != nil {
		m.maintain()
	}
	return m.broken
}

func unitOf(events, size int) *ledger.Unit {
	u := &ledger.Unit{}
	for range events {
		u.Drafts = append(u.Drafts, notify.Draft{Method: notify.HolonPaused, Rest: append(make([]byte, size-1), '}')})
	}
	return u
}

// run starts an appender and returns what stops it.
func run(t *testing.T, m *memory, o Observer) (*Appender, func()) {
	a := NewAppender(m, notify.NewTail(0, 0), o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	return a, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestUnitsThatWaitAreOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{block: make(chan struct{})}
		sizes := []int{}
		a, stop := run(t, m, Observer{Committed: func(units, events, bytes int, _ time.Duration) { sizes = append(sizes, events) }})
		var wg sync.WaitGroup
		add := func(u *ledger.Unit) {
			wg.Go(func() {
				if _, err := a.Append(u); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		add(unitOf(1, 10)) // it is committed while the others wait
		for range 6 {
			add(unitOf(200, 10))
		}
		add(unitOf(2000, 10))
		add(unitOf(1, 2<<20))
		add(unitOf(1, 10))
		if a.QueueDepth() != 9 {
			t.Errorf("%d units wait", a.QueueDepth())
		}
		close(m.block)
		wg.Wait()
		stop()
		if got, want := fmt.Sprint(sizes), "[1 1000 200 2000 1 1]"; got != want {
			t.Errorf("batches of %s events, want %s", got, want)
		}
	})
}

func TestStopCommitsWhatWasAcceptedThenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{block: make(chan struct{})}
		a := NewAppender(m, notify.NewTail(0, 0), Observer{})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := a.Append(unitOf(1, 10)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		close(m.block)
		wg.Wait()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if m.latest != 50 {
			t.Errorf("%d of 50 accepted units were committed", m.latest)
		}
		if _, err := a.Append(unitOf(1, 10)); !errors.Is(err, ledger.ErrStorageFailed) {
			t.Errorf("after the end: %v", err)
		}
		if err := a.Do(context.Background(), func() error { return nil }); !errors.Is(err, ledger.ErrStorageFailed) {
			t.Errorf("a job after the end: %v", err)
		}
	})
}

func TestFailingUnitFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := unitOf(1, 10)
		broken := errors.New("constraint")
		m := &memory{block: make(chan struct{}), fail: func(units []*ledger.Unit) error {
			for _, u := range units {
				if u == bad {
					return broken
				}
			}
			return nil
		}}
		kinds := []string{}
		a, stop := run(t, m, Observer{Refused: func(kind string) { kinds = append(kinds, kind) }})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				u := unitOf(1, 10)
				if i == 5 {
					u = bad
				}
				if _, err := a.Append(u); (err != nil) != (i == 5) {
					t.Errorf("unit %d: %v", i, err)
				}
			})
		}
		synctest.Wait()
		close(m.block)
		wg.Wait()
		stop()
		if m.latest != 9 || len(kinds) != 1 || kinds[0] != "internal" {
			t.Errorf("%d events, refused %v", m.latest, kinds)
		}
	})
}

func TestFullDiskIsRecoverable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := fmt.Errorf("append: %w", ledger.ErrStorageFull)
		m := &memory{probe: full, fail: func([]*ledger.Unit) error { return full }}
		a, stop := run(t, m, Observer{})
		defer stop()
		if _, err := a.Append(unitOf(1, 10)); !errors.Is(err, ledger.ErrStorageFull) {
			t.Errorf("on a full disk: %v", err)
		}
		time.Sleep(3 * time.Second)
		if err := a.Healthy(); !errors.Is(err, ledger.ErrStorageFull) {
			t.Errorf("healthy: %v", err)
		}
		m.mu.Lock()
		m.fail, m.probe = nil, nil
		m.mu.Unlock()
		time.Sleep(1100 * time.Millisecond)
		if err := a.Healthy(); err != nil {
			t.Errorf("there is space, without an append: %v", err)
		}
		if r, err := a.Append(unitOf(1, 10)); err != nil || r.Last != 1 {
			t.Errorf("there is space: %+v, %v", r, err)
		}
	})
}

func TestFailedStorageStaysFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{fail: func([]*ledger.Unit) error { return fmt.Errorf("commit: %w", ledger.ErrStorageFailed) }}
		a, stop := run(t, m, Observer{})
		defer stop()
		for range 2 {
			if _, err := a.Append(unitOf(1, 10)); !errors.Is(err, ledger.ErrStorageFailed) {
				t.Errorf("after a failed fsync: %v", err)
			}
			m.fail = nil // the disk reports success again and must not be trusted
		}
		if err := a.Healthy(); !errors.Is(err, ledger.ErrStorageFailed) || m.latest != 0 {
			t.Errorf("healthy: %v, %d events", err, m.latest)
		}
	})
}

// Nothing is written to a store that has failed, not even by a job.
func TestNoJobRunsAfterAFailure(t *testing.T) {
	a, stop := run(t, &memory{}, Observer{})
	defer stop()
	a.Fail(ledger.ErrStorageFailed)
	ran := false
	if err := a.Do(context.Background(), func() error { ran = true; return nil }); !errors.Is(err, ledger.ErrStorageFailed) || ran {
		t.Errorf("ran %v, %v", ran, err)
	}
}

func TestFailedMaintenanceFailsTheStoreButNotTheCommitBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{broken: fmt.Errorf("checkpoint: %w", ledger.ErrStorageFailed)}
		a, stop := run(t, m, Observer{})
		defer stop()
		if r, err := a.Append(unitOf(1, 10)); err != nil || r.Last != 1 {
			t.Errorf("the commit was durable: %+v, %v", r, err)
		}
		synctest.Wait()
		if _, err := a.Append(unitOf(1, 10)); !errors.Is(err, ledger.ErrStorageFailed) {
			t.Errorf("after a failed checkpoint: %v", err)
		}
	})
}

func TestJobsRunBetweenBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		a, stop := run(t, m, Observer{})
		defer stop()
		var wg sync.WaitGroup
		running := false // no lock: the race detector watches
		for range 20 {
			wg.Go(func() {
				if _, err := a.Append(unitOf(1, 10)); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if err := a.Do(context.Background(), func() error { running = !running; return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// committed notes where a unit is, and where the tail is at that moment.
type committed struct {
	tail *notify.Tail
	told [][2]int64
}

func (c *committed) Committed(last int64) { c.told = append(c.told, [2]int64{last, c.tail.Head()}) }

func TestACallerHearsOfItsCommitBeforeStreamsCanReadIt(t *testing.T) {
	m := &memory{}
	a, stop := run(t, m, Observer{})
	caller := &committed{tail: a.tail}
	for _, events := range []int{2, 0, 3} {
		u := unitOf(events, 10)
		u.Caller = caller
		if _, err := a.Append(u); err != nil {
			t.Fatal(err)
		}
	}
	m.fail = func([]*ledger.Unit) error { return errors.New("no") }
	u := unitOf(1, 10)
	u.Caller = caller
	if _, err := a.Append(u); err == nil {
		t.Fatal("the commit did not fail")
	}
	stop()
	if want := "[[2 0] [5 2]]"; fmt.Sprint(caller.told) != want { // a unit without events is nothing that a stream reads
		t.Errorf("the caller was told %v, want %s", caller.told, want)
	}
}
