package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func (h *harness) closeThread(k *ledger.Key) (turns.ChangeThreadResult, <-chan turns.ChangeThreadResult) {
	h.t.Helper()
	r, closed, err := h.engine.CloseThread(bg, turns.CloseThread{ThreadID: "a", Key: k})
	if err != nil {
		h.t.Fatalf("close: %v", err)
	}
	return r, closed
}

// All clients that close a thread get the answer that it is closed once its turn
// has ended.
func TestCloseSaysWhenTheThreadIsClosed(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		h.start("a")
		c := h.next(h.deaf)
		k := key("close", "thread/close", 1)
		r, first := h.closeThread(k)
		if r.State != threads.Closing || first == nil {
			t.Fatalf("closing: %+v, final %v", r, first == nil)
		}
		r, second := h.closeThread(nil)
		again, third := h.closeThread(k)
		if r.State != threads.Closing || second == nil || again.State != threads.Closing || third == nil {
			t.Fatalf("closing again: %+v %+v", r, again)
		}
		synctest.Wait()
		if len(first)+len(second)+len(third) > 0 {
			t.Fatal("closed before the turn has ended")
		}
		c.end(turns.Interrupted)
		closed := h.event(notify.ThreadClosed, nil)
		for _, w := range []<-chan turns.ChangeThreadResult{first, second, third} {
			if r := <-w; r.State != threads.Closed || r.Seq != closed.Seq || r.ThreadID != "a" {
				t.Errorf("answered %+v, thread/closed is %d", r, closed.Seq)
			}
		}
		for _, k := range []*ledger.Key{k, nil} {
			if r, more := h.closeThread(k); r.State != threads.Closed || more != nil || r.Seq != closed.Seq {
				t.Errorf("closed already: %+v", r)
			}
		}
	})
}

// Earlier versions let ids begin with - or _. Such threads go on; new ones get no such id.
func TestOldIDsOfThreadsStayUsable(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		for _, id := range []string{"-old", "_old"} {
			persisttest.NewMaker(h.t, h.store, id).Start().Commit()
			r, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: id})
			if err != nil || r.Created || r.ThreadID != id {
				t.Fatalf("%s: %+v, %v", id, r, err)
			}
			h.change(id, threads.VerbPause)
		}
		before := len(h.of(func(event) bool { return true }))
		for _, id := range []string{"-new", "_new"} {
			var bad *turns.InvalidError
			if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: id, Key: key(id, "thread/start")}); !errors.As(err, &bad) || bad.Field != "thread_id" {
				t.Errorf("%s: %v", id, err)
			}
		}
		if after := len(h.of(func(event) bool { return true })); after != before {
			t.Errorf("%d events of threads that were refused", after-before)
		}
	})
}

func TestCloseOfAnIdleThreadIsFinal(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		if r, closed := h.closeThread(nil); r.State != threads.Closed || closed != nil {
			t.Errorf("closed: %+v", r)
		}
	})
}
