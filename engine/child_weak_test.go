package engine_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestWeaknesses(t *testing.T) {
	runRaces(t, []race{
		{"W-M1 a blocking child that ends without anybody waiting lets its siblings through", setup{}, func(h *harness) {
			c := h.family("b", "d")
			blocking := h.child("a", "b", false)
			h.next(h.agent)
			h.child("a", "d", true)
			h.done(h.next(h.agent), "the background")
			h.took("a", 1)
			h.message(c, "oh")
			c.end(turns.Failed)
			h.ended(c.TurnID)
			h.event(notify.TurnDetached, ofTurn(blocking.TurnID))
			h.idle(h.model)
			h.interrupt(blocking.TurnID)
			h.wokenOnce("the background", "was interrupted")
		}},
		{"W-M7 what keeps an end from its owner can be seen, and lifted", setup{}, func(h *harness) {
			h.done(h.background(), "the result")
			h.silent(5)
			if s := h.stalls("a"); len(s) != 1 || s[0] != inbox.StallSilent {
				h.t.Errorf("stalled %v", s)
			}
			if n := h.box("a").NewEntries; n != 1 {
				h.t.Errorf("%d new entries", n)
			}
			time.Sleep(24 * time.Hour)
			h.idle(h.model)
			h.wakeNow("a")
			h.wokenOnce("the result")
		}},
		{"W-M10 the result itself is in the prompt", setup{}, func(h *harness) {
			work := h.background()
			long := strings.Repeat("x", 10<<10) + "the end"
			h.done(work, long)
			h.wokenOnce(long)
		}},
		{"W-M10 a result that is too long is cut in its middle", setup{}, func(h *harness) {
			work := h.background()
			h.done(work, "the head"+strings.Repeat("x", turns.MaxResultText)+"the tail")
			wake := h.next(h.model)
			if said := wake.said(); !strings.Contains(said, "the head") || !strings.Contains(said, "the tail") || len(said) > turns.MaxResultText+2048 {
				h.t.Errorf("told %d bytes", len(said))
			}
			h.speak(wake)
		}},
		{"W-M10 many results are told in one prompt of the turn", setup{cfg: engine.Config{MaxQueue: 20}}, func(h *harness) {
			c := h.family("b")
			for range 8 {
				h.child("a", "b", false)
			}
			for i := range 8 {
				h.done(h.next(h.agent), fmt.Sprint("result ", i, strings.Repeat("x", 15<<10)))
			}
			h.took("a", 8)
			h.speakOn(c)
			told, prompts := 0, 0
			for told < 8 {
				p := h.next(h.model)
				if p.TurnID != c.TurnID {
					h.t.Fatalf("told in %s", p.TurnID)
				}
				told, prompts = told+len(toldIn(p)), prompts+1
				h.speakOn(p)
			}
			h.ended(c.TurnID)
			if prompts != 1 || told != 8 {
				h.t.Errorf("%d ends in %d prompts", told, prompts)
			}
			h.idle(h.model)
		}},
		{"W-M11 what somebody has acknowledged is told to nobody", setup{}, func(h *harness) {
			c := h.family("b", "d")
			blocking := h.child("a", "b", false)
			work := h.next(h.agent)
			h.child("a", "d", true)
			h.done(h.next(h.agent), "the background")
			h.done(work, "the result")
			h.took("a", 2)
			for _, e := range h.entries("a") {
				h.ackEntries("a", e.EntryID)
			}
			h.speak(c)
			h.idle(h.model)
			if tn := h.turn(c.TurnID); tn.State != turns.Completed || blocking.TurnID == "" {
				h.t.Errorf("%+v", tn)
			}
		}},
		{"W-M11 what is acknowledged while the owner waits for the next prompt", setup{}, func(h *harness) {
			c := h.family("b", "d")
			one, two := h.child("a", "b", false), h.child("a", "d", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, one.TurnID, two.TurnID)
			h.done(h.next(h.agent), "the first")
			h.took("a", 1)
			h.ackEntries("a", h.entries("a")[0].EntryID)
			h.done(h.next(h.agent), "the second")
			h.toldInTurn(c.TurnID, "the second")
		}},
		{"W-M12 an owner that is not woken keeps the ends in its inbox", setup{}, func(h *harness) {
			h.thread("a", "puppet") // of a kind that inboxes do not wake
			h.childThread("a", "b", "puppet")
			r := h.child("a", "b", true)
			if r.Wake != string(inbox.WakeNone) {
				h.t.Errorf("started %+v", r)
			}
			h.done(h.next(h.agent), "the result")
			h.took("a", 1)
			h.idle(h.agent)
			h.start("a")
			c := h.next(h.agent)
			if len(c.Input) != 1 {
				h.t.Errorf("told %s", c.said())
			}
			h.speak(c)
			h.configure("a", inbox.Policy{Wake: inbox.WakeIdle})
			wake := h.next(h.agent)
			h.told(wake, "the result")
			h.speak(wake)
		}},
		{"W-M12 an owner that is not woken is told what it waits for", setup{}, func(h *harness) {
			c := h.family("b")
			h.configure("a", inbox.Policy{Wake: inbox.WakeNone})
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.done(h.next(h.agent), "the result")
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"W-M13 everything follows from the rows: restarts at rest change nothing", setup{}, func(h *harness) {
			c := h.family("b", "d")
			h.child("a", "b", false)
			h.child("a", "d", true)
			for range 2 {
				work := h.next(h.agent)
				h.done(work, "the result of "+work.ThreadID)
			}
			h.took("a", 2)
			h.speakOn(c)
			h.toldInTurn(c.TurnID, "the result of b", "the result of d")
			h.pump()
			n := len(h.seen)
			for range 3 {
				h.restart()
				time.Sleep(time.Hour)
				synctest.Wait()
			}
			if h.pump(); len(h.seen) != n {
				h.t.Errorf("new events: %s", list(h.seen[n:]))
			}
			h.idle(h.model)
		}},
		{"W-M14 actors of owners that have nothing to do retire, and a start makes none", setup{}, func(h *harness) {
			for i := range 20 {
				owner := fmt.Sprint("owner", i)
				h.thread(owner, "model")
				h.childThread(owner, fmt.Sprint("child", i), "quick")
				h.child(owner, fmt.Sprint("child", i), true)
				h.speak(h.next(h.model))
			}
			h.asleep()
			var loads atomic.Int64
			h.restart()
			h.faults.onLoad(func(string) { loads.Add(1) })
			synctest.Wait()
			if loads.Load() != 0 || h.engine.Load().Actors != 0 {
				h.t.Errorf("%d threads were read, %d actors", loads.Load(), h.engine.Load().Actors)
			}
		}},
		{"W-M15 a message says which turn ended how", setup{}, func(h *harness) {
			work := h.background()
			work.out <- turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: "out of memory"}}
			wake := h.next(h.model)
			e := wake.Input[0].Entries
			if len(e) != 1 || e[0].TurnID != work.TurnID || e[0].State != "failed" || e[0].Source != inbox.SourceTurns || !strings.Contains(e[0].Summary, "out of memory") {
				h.t.Errorf("entries %+v", e)
			}
			h.speak(wake)
			if b := bodies[turns.EndedEvent](h, notify.TurnFailed, "b"); len(b) != 1 || b[0].Parent == nil || b[0].Parent.ThreadID != "a" || b[0].Title != "work of b" {
				h.t.Errorf("ended %+v", b)
			}
		}},
	})
}
