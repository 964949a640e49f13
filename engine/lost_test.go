package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// lost lists the threads of the turns that a restart has ended.
func (h *harness) lost(want ...string) {
	h.t.Helper()
	l, err := h.reader.ListTurns(bg, turns.Query{EndedBy: turns.EndedByRestart})
	var got []string
	for _, t := range l.Rows {
		got = append(got, t.ThreadID)
	}
	if slices.Sort(got); err != nil || !slices.Equal(got, want) {
		h.t.Errorf("ended with a restart: %v, %v, want %v", got, err, want)
	}
}

// TestWhatACrashEndsIsListed crashes with a turn that has no policy, one in the last attempt
// of its policy, one that goes on, and one that a client had asked to stop.
func TestWhatACrashEndsIsListed(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("asked", "deaf")
		asked := h.start("asked")
		h.interrupt(asked.TurnID)
		for thread, attempts := range map[string]int{"plain": 0, "last": 1, "retried": 2} {
			c := turns.Start{ThreadID: thread}
			if attempts > 0 {
				c.Retry = &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: attempts}
			}
			h.thread(thread, "")
			h.startWith(c)
			h.next(h.agent)
		}
		h.lost()
		h.restart()
		h.lost("last", "plain")
		if r, err := h.reader.ReadThread(bg, "last", 1); err != nil || r.Turns[0].State != turns.Failed || r.Turns[0].Reason != turns.ServerRestarted {
			t.Errorf("the last attempt: %+v, %v", r.Turns, err)
		}
		h.next(h.agent).end(turns.Completed) // the one that is retried
		r, err := h.reader.ReadThread(bg, "plain", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.engine.Retry(bg, turns.Retry{TurnID: r.Turns[0].TurnID}); err != nil {
			t.Fatal(err)
		}
		h.next(h.agent)
		h.lost("last")
		h.drained(10 * time.Second)
		h.lost("last", "plain") // it ended with the stop
	})
}
