package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func said(text string) items.Create {
	return items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage(text)}
}

// updates are the bodies of thread/updated so far.
func (h *harness) updates() (out []threads.Updated) {
	h.t.Helper()
	synctest.Wait()
	for _, e := range h.of(func(e event) bool { return e.Method == notify.ThreadUpdated }) {
		var u threads.Updated
		if err := json.Unmarshal(e.raw, &u); err != nil {
			h.t.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

func TestWhatAnAgentSaysOutsideOfATurnIsStoredWithoutOne(t *testing.T) {
	for name, restart := range map[string]bool{"at once": false, "to a thread that is not in memory": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "")
				if restart {
					h.restart()
				}
				one, two := said("one"), said("two")
				if err := h.engine.Host().Emit(bg, "a", []items.Op{one, items.SetThread{Title: "told"}, two}); err != nil {
					t.Fatal(err)
				}
				e := h.event(notify.ItemCreated, ofItem(two.ItemID))
				if e.TurnID != "" || e.Attempt != 0 || e.Status != items.StatusCompleted {
					t.Errorf("created: %s", e)
				}
				if u := h.updates(); len(u) != 1 || u[0].Title != "told" {
					t.Errorf("updates: %+v", u)
				}
				l, err := h.reader.ListItems(bg, items.Query{ThreadID: "a"})
				if err != nil || len(l.Rows) != 2 || l.Rows[0].ItemID != one.ItemID || l.Rows[0].TurnID != "" {
					t.Errorf("items of the thread: %+v, %v", l.Rows, err)
				}
				if it := h.item(one.ItemID); it == nil || it.Attempt != 0 || it.Status != items.StatusCompleted {
					t.Errorf("item: %+v", it)
				}
			})
		})
	}
}

func TestOnlyEndedItemsAndAttributesGoOutsideOfATurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		open := items.NewID()
		bad := []items.Op{
			items.Create{ItemID: open, Content: items.NewAgentMessage("x")},
			items.Append{ItemID: open, Text: "x"}, items.Update{ItemID: open, Status: items.StatusCompleted},
			items.Delete{ItemID: open}, items.Progress{Message: "x"}, items.SetUsage{},
			items.Create{ItemID: items.NewID(), Content: permission()},
			items.Create{Status: items.StatusCompleted, Content: items.NewAgentMessage("x")},
			items.SetThread{Config: items.Raw("[]")},
		}
		good := said("x")
		if err := h.engine.Host().Emit(bg, "a", append(bad, good, good)); err != nil {
			t.Fatal(err)
		}
		if err := h.engine.Host().Emit(bg, "nobody", []items.Op{said("x")}); err != nil {
			t.Fatal(err)
		}
		h.event(notify.ItemCreated, ofItem(good.ItemID))
		h.none("refused", func(e event) bool { return e.Method != notify.ThreadStarted && e.ItemID != good.ItemID })
		if n := h.engine.Load().LateOutput; n != int64(len(bad))+2 {
			t.Errorf("%d counted, want %d", n, len(bad)+2)
		}
	})
}

func TestAfterThreadClosedLateOutputIsOnlyCounted(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.change("a", threads.VerbClose)
		if err := h.engine.Host().Emit(bg, "a", []items.Op{said("x"), items.SetThread{Title: "x"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := h.engine.Load().LateOutput; n != 2 {
			t.Errorf("%d counted", n)
		}
	})
}

func TestOutputThatTheEndOfItsTurnOvertookIsKeptOutsideOfIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.start("a")
		c := h.next(h.deaf)
		h.interrupt(r.TurnID)
		// While one unit takes longer than the agent's deadline, more output waits.
		release := h.hold(has(notify.ItemCreated))
		open := h.message(c, "half")
		synctest.Wait()
		late := said("late")
		h.emit(c, items.Append{ItemID: open, Text: " a sentence"}, late, items.SetThread{Title: "late"})
		time.Sleep(time.Minute)
		release()
		end := h.ended(r.TurnID)
		if e := h.event(notify.ItemCreated, ofItem(late.ItemID)); e.TurnID != "" || e.Seq < end.Seq {
			t.Errorf("late: %s", e)
		}
		if u := h.updates(); len(u) != 1 || u[0].Title != "late" {
			t.Errorf("updates: %+v", u)
		}
		if err := c.Emit(bg, said("x")); !errors.Is(err, turns.ErrPromptOver) {
			t.Errorf("emit when over: %v", err)
		}
		c.end(turns.Completed)
		synctest.Wait()
		if n := h.engine.Load().LateOutput; n != 2 { // the text, and the end of a prompt that had been detached
			t.Errorf("%d counted", n)
		}
	})
}

func TestOutsideOutputIsBoundedAndEndsWithTheEngine(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{IntakeBytes: 4 << 10}}, func(h *harness) {
		h.thread("a", "")
		host := h.engine.Host()
		release := h.hold(has(notify.ItemCreated))
		blocked := make(chan error, 1)
		go func() {
			for {
				if err := host.Emit(bg, "a", []items.Op{said(strings.Repeat("x", 1<<10))}); err != nil {
					blocked <- err
					return
				}
			}
		}()
		synctest.Wait()
		if n := h.engine.IntakeBytes("a"); n > 6<<10 {
			t.Errorf("%d bytes wait", n)
		}
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := host.Emit(ctx, "a", []items.Op{said("x")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("emit into a full intake: %v", err)
		}
		go func() {
			time.Sleep(time.Second)
			release()
		}()
		h.stopEngine()
		if err := <-blocked; !errors.Is(err, turns.ErrDraining) {
			t.Errorf("emit when the engine ends: %v", err)
		}
		if err := host.Emit(bg, "a", []items.Op{said("x")}); !errors.Is(err, turns.ErrDraining) {
			t.Errorf("emit after that: %v", err)
		}
	})
}

func TestFullDiskHoldsWhatIsSaidOutsideOfATurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.faults.failAll(ledger.ErrStorageFull)
		one := said("one")
		if err := h.engine.Host().Emit(bg, "a", []items.Op{one}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // longer than an idle actor lives
		h.faults.heal()
		h.event(notify.ItemCreated, ofItem(one.ItemID))
	})
}

func TestAttributesOfTheThreadComeInOrderAndOnlyWhenTheyChange(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		if c.SessionID != "" || c.Config != nil {
			t.Errorf("prompt: %+v", c.Prompt)
		}
		h.emit(c,
			items.SetThread{Title: "one", AgentSessionID: "s1", Config: items.Raw(`{"mode":"a","n":1}`)},
			said("between"),
			items.SetThread{Title: "one", AgentSessionID: "s1", Config: items.Raw(`{ "n":1.0, "mode":"a" }`)},
			items.SetThread{},
			items.SetThread{Title: "two", AgentSessionID: "s1"},
			items.SetThread{Title: strings.Repeat("é", turns.MaxTextBytes)},
		)
		u := h.updates()
		if len(u) != 3 || u[0].Title != "one" || u[0].AgentSessionID != "s1" || u[0].Config == nil ||
			u[1].Title != "two" || u[1].AgentSessionID != "" || u[1].Config != nil || len(u[2].Title) != turns.MaxTextBytes {
			t.Fatalf("updates: %+v", u)
		}
		if e := h.event(notify.ItemCreated, func(e event) bool { return kindOf(e) == items.KindAgentMessage }); e.Seq != h.event(notify.ThreadUpdated, nil).Seq+1 {
			t.Errorf("the message does not follow what was said before it: %s", e)
		}
		for _, bad := range []items.Raw{items.Raw("1"), items.Raw(`{"a":`), items.Raw(`{"a":"` + strings.Repeat("x", turns.MaxConfigBytes) + `"}`)} {
			h.emit(c, items.SetThread{Config: bad})
		}
		if n := h.notices(); len(n) != 3 {
			t.Errorf("notices: %q", n)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
		h.restart()
		r := h.start("a")
		c = h.next(h.agent)
		if c.SessionID != "s1" || string(c.Config) != `{"mode":"a","n":1}` {
			t.Errorf("the next prompt has %q, %s", c.SessionID, c.Config)
		}
		// The end of a closing thread shows the title it has by then.
		h.change("a", threads.VerbClose)
		h.ended(r.TurnID)
	})
}
