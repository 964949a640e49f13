package dispatch

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// TestAMarkerCostsIdleSubscriptionsNothing: nothing was sent that it might supersede, so
// they read nothing, also after a start.
func TestAMarkerCostsIdleSubscriptionsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var reads atomic.Int64
		w.change = func(cfg *Config) {
			read := cfg.Read
			cfg.Read = func(ctx context.Context, f func(ledger.Reader) error) error {
				reads.Add(1)
				return read(ctx, f)
			}
		}
		w.restart()
		w.bridge("b")
		for i := range 5 {
			w.subscribe(fmt.Sprint("idle", i), "b", "", bridges.OnInbox)
		}
		m := w.thread("a")
		turn(m, "t1")
		for _, when := range []string{"at first", "after a start"} {
			synctest.Wait()
			before := reads.Load()
			retry(m, "t1")
			synctest.Wait()
			if n := reads.Load() - before; n != 0 {
				t.Errorf("%s: %d reads", when, n)
			}
			w.restart()
		}
	})
}

// TestAMarkerIsSeenOnceSomethingWasSent, also if the dispatcher has passed it before the
// first delivery was taken, and after a start.
func TestAMarkerIsSeenOnceSomethingWasSent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var armed atomic.Bool
		var then func()
		committed := make(chan struct{}) // the maker is free
		w.change = func(cfg *Config) {
			cfg.Store = afterwards{cfg.Store, func() {
				if armed.CompareAndSwap(true, false) {
					then()
				}
			}}
		}
		w.restart()
		w.bridge("b")
		w.subscribe("idle", "b", "", bridges.OnInbox)
		w.subscribe("s", "b", "", bridges.OnProgress)
		m := w.thread("a")
		synctest.Wait()
		l := w.s.known.lane("s")
		l.mu.Lock()
		l.kick() // so that the first attempt begins in the commit that takes the event
		l.mu.Unlock()
		then = func() { // the start of the turn was taken, and its follower does not know it
			<-committed
			m.Rewind("t1", "", turns.CauseRequest)
			marker := m.Commit().Last
			for w.s.known.lane("idle").follower.Status().Position < marker {
				runtime.Gosched()
			}
		}
		armed.Store(true)
		turn(m, "t1")
		close(committed)
		want(t, "at once", w.target.take(), "turn.started 5, turn.superseded 6")
		w.restart()
		m.Attempt("t1")
		m.Commit()
		want(t, "the next attempt", w.target.take(), "turn.started 7")
		w.restart()
		retry(m, "t1")
		want(t, "after a start", w.target.take(), "turn.superseded 8, turn.started 9")
	})
}
