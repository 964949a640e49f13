package sqlite

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
)

// prunedMeanwhile has a prefix of its log pruned before the page after a seq
// is read.
type prunedMeanwhile struct {
	*Reader
	store      *Store
	t          *testing.T
	at, before int64
	once       sync.Once
}

func (p *prunedMeanwhile) Page(ctx context.Context, q notify.Query) (notify.Page, error) {
	if q.After >= p.at {
		p.once.Do(func() {
			if out, err := p.store.Prune(ctx, p.before); err != nil || out.First != p.before {
				p.t.Errorf("pruned %+v, %v", out, err)
			}
		})
	}
	return p.Reader.Page(ctx, q)
}

func withEvents(t *testing.T, n int) *Store {
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Start().Commit()
	for range n / 100 {
		m.Messages("", 100, 10)
		m.Commit()
	}
	return s
}

func TestExportSaysWhatWasPrunedUnderIt(t *testing.T) {
	s := withEvents(t, 3000)
	var out bytes.Buffer
	last, err := persist.Export(context.Background(), &prunedMeanwhile{Reader: s.reader, store: s, t: t, at: 1000, before: 1500}, &out, 0)
	var expired *notify.ExpiredError
	if !errors.As(err, &expired) || expired.After != last || expired.First != 1500 || bytes.Count(out.Bytes(), []byte("\n")) != int(last) {
		t.Errorf("exported up to %d, %d lines, %v", last, bytes.Count(out.Bytes(), []byte("\n")), err)
	}
	// What has been written by then may go.
	out.Reset()
	last, err = persist.Export(context.Background(), &prunedMeanwhile{Reader: s.reader, store: s, t: t, at: 2400, before: 2000}, &out, 0)
	if err != nil || last != 3001 || bytes.Count(out.Bytes(), []byte("\n")) != 1502 {
		t.Errorf("exported up to %d, %d lines, %v", last, bytes.Count(out.Bytes(), []byte("\n")), err)
	}
}

func TestRefoldFindsNothingWrongWithWhatIsPrunedUnderIt(t *testing.T) {
	s := withEvents(t, 3000)
	out, err := persist.Refold(context.Background(), &prunedMeanwhile{Reader: s.reader, store: s, t: t, at: 1000, before: 1500})
	if err != nil || len(out.Differences) > 0 || out.Pruned != 1 || out.Threads != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// leaving is the context of a client that leaves after a number of looks at it.
type leaving struct {
	context.Context
	looks int
}

func (c *leaving) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestPruneEndsAfterAStep(t *testing.T) {
	// More events than any machine removes in one step.
	s := withEvents(t, 20_000)
	out, err := s.Prune(&leaving{Context: context.Background(), looks: 1}, 20_000)
	if !errors.Is(err, context.Canceled) || out.Removed%prunePiece != 0 || out.Removed == 0 || out.Removed > 15_000 || out.First != out.Removed+1 {
		t.Errorf("pruned %+v, %v", out, err)
	}
	if at, err := s.reader.Position(context.Background()); err != nil || at.First != out.First {
		t.Errorf("the log begins at %d, pruned %+v, %v", at.First, out, err)
	}
	if out, err := s.Prune(context.Background(), 20_000); err != nil || out.First != 20_000 {
		t.Errorf("continued: %+v, %v", out, err)
	}
}

// TestCommitsAreDurableAfterAPrune looks at the setting that the steps of a
// prune change for themselves.
func TestCommitsAreDurableAfterAPrune(t *testing.T) {
	for normal, want := range map[bool]string{false: "2", true: "1"} {
		s := running(t, Options{Dir: t.TempDir(), Normal: normal})
		m := persisttest.NewMaker(t, s, "thread_a")
		m.Start().Messages("", 100, 10)
		m.Commit()
		if _, err := s.Prune(context.Background(), 50); err != nil {
			t.Fatal(err)
		}
		if err := s.Do(context.Background(), func() error {
			failed := errors.New("x")
			if err := s.w.unsynced(func() error { return failed }); !errors.Is(err, failed) {
				t.Errorf("a step that failed: %v", err)
			}
			got, err := s.w.conn.pragma("synchronous")
			if got != want {
				t.Errorf("normal %v: synchronous is %s, want %s", normal, got, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStepOfAPruneEndsForAUnit looks at a step while a unit waits for the appender.
func TestStepOfAPruneEndsForAUnit(t *testing.T) {
	s := withEvents(t, 3000)
	m := persisttest.NewMaker(t, s, "thread_b")
	unit := m.Start().Unit()
	appended := make(chan error)
	if err := s.Do(context.Background(), func() error {
		go func() {
			_, err := s.Append(unit)
			appended <- err
		}()
		for s.QueueDepth() == 0 {
			runtime.Gosched()
		}
		n, err := s.w.pruneStep(3000)
		if n != prunePiece {
			t.Errorf("the step removed %d events while a unit waited, want %d", n, prunePiece)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-appended; err != nil {
		t.Error(err)
	}
}
