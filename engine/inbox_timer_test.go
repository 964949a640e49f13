package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// firings are the planned times of a timer's firings, relative to a time, with how
// many were missed before each.
func (h *harness) firings(timerID string, since time.Time) (out []string) {
	h.t.Helper()
	synctest.Wait()
	for _, b := range bodies[inbox.TimerFired](h, notify.TimerFired, "") {
		if b.TimerID == timerID {
			out = append(out, fmt.Sprintf("%v+%d", b.PlannedAt.Sub(since), b.Missed))
		}
	}
	natives := []string{}
	for _, b := range bodies[inbox.Received](h, notify.InboxReceived, "") {
		if strings.HasPrefix(b.NativeID, timerID+":") {
			natives = append(natives, b.NativeID)
		}
	}
	if slices.Sort(natives); len(slices.Compact(natives)) != len(out) {
		h.t.Errorf("%d firings, %d items", len(out), len(natives))
	}
	return out
}

func TestTimersFireOnTime(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		began := time.Now() // midnight UTC
		h.timer("a", inbox.CreateTimer{TimerID: "at", At: notify.TimeOf(began.Add(90 * time.Second)), Text: "once"})
		h.timer("a", inbox.CreateTimer{TimerID: "every", EverySeconds: 100})
		h.timer("a", inbox.CreateTimer{TimerID: "cron", Cron: "*/2 * * * *"})
		for range 4 {
			time.Sleep(70 * time.Second)
			h.restart() // nothing fires twice
		}
		for id, want := range map[string]string{
			"at": "[1m30s+0]", "every": "[1m40s+0 3m20s+0]", "cron": "[2m0s+0 4m0s+0]",
		} {
			if got := fmt.Sprint(h.firings(id, began)); got != want {
				t.Errorf("%s fired %s, want %s", id, got, want)
			}
		}
		for _, e := range h.of(func(e event) bool { return e.Method == notify.TimerFired }) {
			if late := e.Timestamp.Sub(e.body(t).(*inbox.TimerFired).PlannedAt.Time); late < 0 || late > slack {
				t.Errorf("fired %v late", late)
			}
		}
		l, err := h.reader.ListTimers(bg, "a")
		if err != nil || len(l) != 2 || !l[0].NextAt.Equal(began.Add(300*time.Second)) || !l[1].NextAt.Equal(began.Add(6*time.Minute)) {
			t.Errorf("timers %+v, %v", l, err)
		}
		if e := h.entries("a")[0]; e.Source != inbox.SourceTimer || e.Summary != "once" || e.Kind != inbox.KindItem {
			t.Errorf("entry %+v", e)
		}
	})
}

func TestFiringsThatAreMissedBecomeOne(t *testing.T) {
	for name, restarts := range map[string]bool{"the server was down": true, "the disk was full": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "")
				began := time.Now()
				h.timer("a", inbox.CreateTimer{TimerID: "at", At: notify.TimeOf(began.Add(90 * time.Second))})
				h.timer("a", inbox.CreateTimer{TimerID: "every", EverySeconds: 100})
				h.timer("a", inbox.CreateTimer{TimerID: "cron", Cron: "*/2 * * * *"})
				time.Sleep(110 * time.Second)
				synctest.Wait()
				if restarts {
					h.down()
					time.Sleep(1500 * time.Second)
					h.up()
				} else {
					h.faults.failAll(errors.New("nothing can be written"))
					time.Sleep(1500 * time.Second)
					h.faults.heal()
					time.Sleep(2 * time.Second) // longer than the pause before what is due is tried again
				}
				for id, want := range map[string]string{
					"at": "[1m30s+0]", "every": "[1m40s+0 26m40s+14]", "cron": "[26m0s+12]",
				} {
					if got := fmt.Sprint(h.firings(id, began)); got != want {
						t.Errorf("%s fired %s, want %s", id, got, want)
					}
				}
				if l := h.entries("a"); len(l) != 4 || !strings.Contains(l[2].Summary+l[3].Summary, "14 earlier, missed") {
					t.Errorf("entries %+v", l)
				}
				time.Sleep(100 * time.Second)
				if got := h.firings("every", began); len(got) != 3 || got[2] != "28m20s+0" {
					t.Errorf("fired %v", got)
				}
			})
		})
	}
}

func TestDeletedTimerFiresNoMore(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		began := time.Now()
		h.timer("a", inbox.CreateTimer{TimerID: "t", EverySeconds: 60})
		time.Sleep(61 * time.Second)
		if _, err := h.inboxes().DeleteTimer(bg, inbox.DeleteTimer{ThreadID: "a", TimerID: "t"}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.inboxes().DeleteTimer(bg, inbox.DeleteTimer{ThreadID: "a", TimerID: "t"}); !errors.Is(err, inbox.ErrTimerNotFound) {
			t.Errorf("again: %v", err)
		}
		time.Sleep(time.Hour)
		if got := h.firings("t", began); len(got) != 1 {
			t.Errorf("fired %v", got)
		}
		if b := h.box("a"); b.DueAt() != 0 || b.Timers != 0 {
			t.Errorf("inbox %+v", b)
		}
	})
}

func TestTimerIsCreatedOnce(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{Inbox: inbox.Bounds{MaxTimers: 2}}}, func(h *harness) {
		h.thread("a", "")
		first := h.timer("a", inbox.CreateTimer{TimerID: "t", EverySeconds: 60})
		time.Sleep(time.Second)
		if again := h.timer("a", inbox.CreateTimer{TimerID: "t", EverySeconds: 60}); !again.NextAt.Equal(first.NextAt.Time) {
			t.Errorf("again %+v, first %+v", again, first)
		}
		_, err := h.inboxes().CreateTimer(bg, inbox.CreateTimer{ThreadID: "a", TimerID: "t", EverySeconds: 61, Text: "look"})
		if !errors.Is(err, inbox.ErrConflict) {
			t.Errorf("another one of the id: %v", err)
		}
		if id := h.timer("a", inbox.CreateTimer{EverySeconds: 60}).TimerID; !strings.HasPrefix(id, "timer_") {
			t.Errorf("id %s", id)
		}
		_, err = h.inboxes().CreateTimer(bg, inbox.CreateTimer{ThreadID: "a", EverySeconds: 60, Text: "x"})
		if !errors.Is(err, inbox.ErrTooManyTimers) {
			t.Errorf("one more: %v", err)
		}
		var bad *turns.InvalidError
		_, err = h.inboxes().CreateTimer(bg, inbox.CreateTimer{ThreadID: "a", At: notify.TimeOf(time.Now().Add(-time.Second)), Text: "x"})
		if !errors.As(err, &bad) || bad.Field != "at" {
			t.Errorf("in the past: %v", err)
		}
	})
}

func TestManyTimersOfOneInboxFireAtOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		began := time.Now()
		const n = 250
		for i := range n {
			h.timer("a", inbox.CreateTimer{TimerID: fmt.Sprint("t", i), At: notify.TimeOf(began.Add(time.Minute))})
		}
		units := h.countUnits(notify.TimerFired)
		time.Sleep(time.Minute + slack)
		synctest.Wait()
		if l := h.entries("a"); len(l) != n || units() != 3 {
			t.Errorf("%d entries in %d transactions", len(l), units())
		}
		if b := h.box("a"); b.Timers != 0 || b.DueAt() != 0 {
			t.Errorf("inbox %+v", b)
		}
	})
}

func TestTimerWakesTheAgentOfItsThread(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.timer("a", inbox.CreateTimer{TimerID: "t", EverySeconds: 300, Text: "look at the build\nand say"})
		h.asleep()
		for range 3 {
			c := h.next(h.model)
			if !strings.Contains(c.said(), "look at the build\nand say") {
				t.Errorf("told %s", c.said())
			}
			h.speak(c)
		}
		h.change("a", threads.VerbClose)
		time.Sleep(time.Hour)
		h.idle(h.model)
	})
}
