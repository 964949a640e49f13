package notify

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Many who read one event at once read it from the log once.
func TestReadersOfAnEventShareOneCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := draft(1, "a", ItemDelta, 1<<20)
		release := make(chan struct{})
		loads := 0
		copies := NewCopies(0, func(context.Context, int64) (Event, error) {
			loads++
			<-release
			return e, nil
		})
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				var got []byte
				for b := make([]byte, 5000); len(got) == 0 || len(got) < len(e.Params); {
					n, size, err := copies.Part(t.Context(), 1, len(got), false, b)
					if err != nil || size != len(e.Params) {
						t.Error(size, err)
						return
					}
					got = append(got, b[:n]...)
				}
				if !bytes.Equal(got, e.Params) {
					t.Error("the parts are not the whole")
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if loads != 1 || copies.Bytes() != cap(e.Params) {
			t.Errorf("%d loads, %d bytes of copies", loads, copies.Bytes())
		}
	})
}

// What is held is bounded, few events are read at once, and a reader that leaves or
// fails takes nobody with it.
func TestCopiesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, most = 100_000, 350_000
		var at, peak atomic.Int64
		first := make(chan struct{})
		var failed atomic.Bool
		copies := NewCopies(most, func(ctx context.Context, seq int64) (Event, error) {
			peak.Store(max(peak.Load(), at.Add(1)))
			defer at.Add(-1)
			select {
			case <-first:
			case <-ctx.Done():
				return Event{}, ctx.Err()
			}
			if seq == 3 && failed.CompareAndSwap(false, true) {
				return Event{}, errors.New("the disk")
			}
			return draft(seq, "a", TurnStarted, size), nil
		})
		leaving, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var errs atomic.Int64
		part := func(ctx context.Context, seq int64) {
			wg.Go(func() {
				b := make([]byte, 100)
				if n, _, err := copies.Part(ctx, seq, 0, seq%2 == 0, b); err != nil {
					errs.Add(1)
				} else if want := draft(seq, "a", TurnStarted, size).Params; !bytes.Equal(b[:n], want[:n]) || n < 100 {
					t.Errorf("seq %d: %s", seq, b[:n])
				}
			})
		}
		part(leaving, 1)
		synctest.Wait()
		for seq := range int64(20) {
			part(t.Context(), seq+1)
			part(t.Context(), seq+1)
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(first)
		wg.Wait()
		if n := peak.Load(); n != copyLoads {
			t.Errorf("%d events were read at once", n)
		}
		if n := errs.Load(); n != 2 { // who left, and who met the disk's error
			t.Errorf("%d readers failed", n)
		}
		if n := copies.Bytes(); n > most || n < size || len(copies.held) != copies.used.Len() || len(copies.reading) != 0 {
			t.Errorf("%d bytes, %d and %d copies, %d are read", n, len(copies.held), copies.used.Len(), len(copies.reading))
		}
	})
}
