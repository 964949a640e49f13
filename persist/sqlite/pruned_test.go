package sqlite

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/persisttest"
)

// prunedMeanwhile has a prefix of its log pruned before the page after a seq
// is read.
type prunedMeanwhile struct {
	*Store
	t          *testing.T
	at, before int64
	once       sync.Once
}

func (p *prunedMeanwhile) Page(ctx context.Context, q notify.Query) (notify.Page, error) {
	if q.After >= p.at {
		p.once.Do(func() {
			if out, err := p.Prune(ctx, p.before); err != nil || out.First != p.before {
				p.t.Errorf("pruned %+v, %v", out, err)
			}
		})
	}
	return p.Store.Page(ctx, q)
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
	last, err := persist.Export(context.Background(), &prunedMeanwhile{Store: s, t: t, at: 1000, before: 1500}, &out, 0)
	var expired *notify.ExpiredError
	if !errors.As(err, &expired) || expired.After != last || expired.First != 1500 || bytes.Count(out.Bytes(), []byte("\n")) != int(last) {
		t.Errorf("exported up to %d, %d lines, %v", last, bytes.Count(out.Bytes(), []byte("\n")), err)
	}
	// What has been written by then may go.
	out.Reset()
	last, err = persist.Export(context.Background(), &prunedMeanwhile{Store: s, t: t, at: 2400, before: 2000}, &out, 0)
	if err != nil || last != 3001 || bytes.Count(out.Bytes(), []byte("\n")) != 1502 {
		t.Errorf("exported up to %d, %d lines, %v", last, bytes.Count(out.Bytes(), []byte("\n")), err)
	}
}

func TestRefoldFindsNothingWrongWithWhatIsPrunedUnderIt(t *testing.T) {
	s := withEvents(t, 3000)
	out, err := persist.Refold(context.Background(), &prunedMeanwhile{Store: s, t: t, at: 1000, before: 1500})
	if err != nil || len(out.Differences) > 0 || out.Pruned != 1 || out.Threads != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}
