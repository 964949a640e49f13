package persist

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/seed82539d15/holon/ledger"
)

// PanicError is a panic that was caught, with the stack of the goroutine.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error. It has no stack.
func (e *PanicError) Error() string { return fmt.Sprint("panic: ", e.Value) }

// Guard runs f and returns its error. A panic of f becomes a *PanicError.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// maxUnexplained is how many commits in a row may fail for an unknown reason,
// together with the probes after them, before the store has failed.
const maxUnexplained = 10

// guarded runs f, a part of the appender's work. After a panic it is unknown how
// much of f was done, in the store and in memory, so the log is not written any
// more.
func (a *Appender) guarded(units []*ledger.Unit, f func() error) error {
	done := false
	err := Guard(func() error {
		err := f()
		done = true
		return err
	})
	if done {
		return err
	}
	a.report(units, err)
	err = fmt.Errorf("%w: %w", ledger.ErrStorageFailed, err)
	a.Fail(err)
	return err
}

// work does a job, unless the store has failed. A job that panics gets the panic
// as its error.
func (a *Appender) work(j job) {
	if err := a.failed.Load(); err != nil {
		j.done <- *err
		return
	}
	j.done <- a.guarded(nil, j.do)
}

// report reports a panic to the observer, also one that was rolled back.
func (a *Appender) report(units []*ledger.Unit, err error) {
	var p *PanicError
	if a.observer.Panicked == nil || !errors.As(err, &p) {
		return
	}
	var ids []string
	for _, u := range units {
		if len(u.Drafts) > 0 {
			ids = append(ids, u.Drafts[0].Header.ThreadID)
		}
	}
	a.observer.Panicked(ids, p)
}

// explain runs when the commit of one unit has failed for an unknown reason.
// It probes whether the store still takes writes. If it does, the unit is at
// fault. If it repeatedly does not, the disk is treated as failed: the same
// commit must not be retried without end.
func (a *Appender) explain(err error) error {
	probe := a.guarded(nil, a.committer.Probe)
	switch {
	case probe == nil:
		a.unexplained = 0
		return err
	case errors.Is(probe, ledger.ErrStorageFull):
		a.full.Store(&probe)
		return err
	case errors.Is(probe, ledger.ErrStorageFailed):
		a.Fail(probe)
		return probe
	}
	if a.unexplained++; a.unexplained < maxUnexplained {
		return err
	}
	err = fmt.Errorf("%w: %d commits in a row failed: %w", ledger.ErrStorageFailed, a.unexplained, err)
	a.Fail(err)
	return err
}
