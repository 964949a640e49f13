package persist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/ledger"
)

func unitIn(threadID string) *ledger.Unit {
	u := unitOf(1, 10)
	u.Drafts[0].Header.ThreadID = threadID
	return u
}

// After a panic in a commit the state of the store is unknown: nothing is
// written any more, and the observer gets the threads of the units.
func TestPanicOfTheStoreIsAFailedDisk(t *testing.T) {
	for name, act := range map[string]func(a *Appender, m *memory) error{
		"commit": func(a *Appender, m *memory) error {
			m.fail = func([]*ledger.Unit) error { panic("as the test says") }
			_, err := a.Append(unitIn("thread_a"))
			return err
		},
		"maintain": func(a *Appender, m *memory) error {
			m.maintain = func() { panic("as the test says") }
			if _, err := a.Append(unitIn("thread_a")); err != nil {
				t.Errorf("the unit was durable before: %v", err)
			}
			synctest.Wait()
			return a.Healthy()
		},
		"job": func(a *Appender, m *memory) error {
			return a.Do(context.Background(), func() error { panic("as the test says") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &memory{}
				var reported []string
				a, stop := run(t, m, Observer{Panicked: func(ids []string, err *PanicError) {
					reported = append(reported, fmt.Sprint(ids, err, strings.Contains(string(err.Stack), "panic_test.go")))
				}})
				defer stop()
				if err := act(a, m); !errors.Is(err, ledger.ErrStorageFailed) {
					t.Errorf("answered %v", err)
				}
				want := "[] panic: as the test says true"
				if name == "commit" {
					want = "[thread_a] panic: as the test says true"
				}
				if !slices.Equal(reported, []string{want}) {
					t.Errorf("reported %q", reported)
				}
				m.mu.Lock()
				m.fail, m.maintain = nil, nil
				m.mu.Unlock()
				if _, err := a.Append(unitOf(1, 10)); !errors.Is(err, ledger.ErrStorageFailed) {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}

// A panic that the store has rolled back is the fault of one unit.
func TestUnitWhosePanicWasUndoneFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := unitIn("bad")
		m := &memory{block: make(chan struct{}), fail: func(units []*ledger.Unit) error {
			if slices.Contains(units, bad) {
				return fmt.Errorf("append: %w", Guard(func() error { panic("as the test says") }))
			}
			return nil
		}}
		var reported [][]string
		a, stop := run(t, m, Observer{Panicked: func(ids []string, _ *PanicError) { reported = append(reported, ids) }})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				u := unitIn(fmt.Sprint(i))
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
		if err := a.Healthy(); err != nil || m.latest != 9 || len(reported) != 1 || !slices.Equal(reported[0], []string{"bad"}) {
			t.Errorf("healthy: %v, %d events, reported %v", err, m.latest, reported)
		}
	})
}

// A store that refuses writes for an unknown reason has failed after a number of
// commits. A unit that is at fault itself never makes it fail.
func TestUnexplainedErrorsEndAsAFailedDisk(t *testing.T) {
	for name, probes := range map[string]bool{"of the store": false, "of a unit": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				odd := errors.New("database is locked")
				m := &memory{fail: func([]*ledger.Unit) error { return odd }}
				if !probes {
					m.probe = odd
				}
				a, stop := run(t, m, Observer{})
				defer stop()
				for i := range 5 * maxUnexplained {
					_, err := a.Append(unitOf(1, 10))
					if failed := errors.Is(err, ledger.ErrStorageFailed); err == nil || failed != (!probes && i >= maxUnexplained-1) {
						t.Fatalf("commit %d: %v", i+1, err)
					}
				}
				if err := a.Healthy(); (err == nil) != probes {
					t.Errorf("healthy: %v", err)
				}
			})
		})
	}
}

// A store that recovers in between has not failed.
func TestUnexplainedErrorsCountInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		odd := errors.New("database is locked")
		m := &memory{probe: odd}
		a, stop := run(t, m, Observer{})
		defer stop()
		for i := range 3 * maxUnexplained {
			m.fail = nil
			if i%maxUnexplained != 0 {
				m.fail = func([]*ledger.Unit) error { return odd }
			}
			if _, err := a.Append(unitOf(1, 10)); errors.Is(err, ledger.ErrStorageFailed) {
				t.Fatalf("commit %d: %v", i+1, err)
			}
		}
	})
}
