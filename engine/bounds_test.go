package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestQueueHolds64AndEightMoreByInterrupt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		h.start("a")
		h.next(h.deaf)
		for i := range 64 {
			if r := h.start("a"); r.Position != i+1 {
				t.Errorf("position %d, want %d", r.Position, i+1)
			}
		}
		for _, busy := range []turns.OnBusy{"", turns.BusyQueue} {
			if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), OnBusy: busy}); !errors.Is(err, turns.ErrQueueFull) {
				t.Errorf("the 65th by %q: %v", busy, err)
			}
		}
		for range engine.InterruptExtra {
			if r := h.startWith(turns.Start{ThreadID: "a", OnBusy: turns.BusyInterrupt}); r.Position != 1 || r.State != turns.Queued {
				t.Errorf("by interrupt: %+v", r)
			}
		}
		if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), OnBusy: turns.BusyInterrupt}); !errors.Is(err, turns.ErrQueueFull) {
			t.Errorf("the ninth by interrupt: %v", err)
		}
		h.change("a", "close")
		h.event(notify.ThreadClosed, nil)
	})
}

func TestInterruptGoesToTheFrontOfAQueueThatOnlyWaits(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "quick")
		h.pause()
		behind := h.start("a")
		r := h.startWith(turns.Start{ThreadID: "a", OnBusy: turns.BusyInterrupt})
		if r.Position != 1 {
			t.Errorf("position %d", r.Position)
		}
		h.resume()
		if a, b := h.ended(r.TurnID), h.ended(behind.TurnID); a.Seq > b.Seq {
			t.Error("the newer turn ran behind the one it was to overtake")
		}
	})
}

func TestActiveTurnsAreBoundedOverAllThreads(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 2}}, func(h *harness) {
		var ids []string
		for i := range 6 {
			th := fmt.Sprint("t", i)
			h.thread(th, "")
			r := h.start(th)
			synctest.Wait() // until its agent has been called, which may be after the answer
			ids = append(ids, r.TurnID)
			if want := map[bool]turns.State{true: turns.Active, false: turns.Queued}[i < 2]; r.State != want {
				t.Errorf("turn %d is %s", i, r.State)
			}
			if i >= 2 {
				if e := h.event(notify.TurnQueued, ofTurn(r.TurnID)); e.Reason != turns.QueuedCapacity || e.Position != 1 {
					t.Errorf("queued: %s", e)
				}
			}
		}
		// First come, first served: each end gives its slot to the next in line.
		// One slot at a time, because two that start at once start in any order.
		running := map[string]*call{}
		for range 2 {
			c := h.next(h.agent)
			running[c.TurnID] = c
		}
		for i, id := range ids {
			c, ok := running[id]
			if !ok {
				t.Fatalf("%s does not run: %v", id, running)
			}
			c.end(turns.Completed)
			h.ended(id)
			if i+2 < len(ids) {
				c := h.next(h.agent)
				if c.TurnID != ids[i+2] {
					t.Errorf("%s started before %s", c.TurnID, ids[i+2])
				}
				running[c.TurnID] = c
			}
		}
	})
}

func TestSlotThatIsNoLongerNeededIsHandedOn(t *testing.T) {
	// What leaves the queue while its thread waits in line: an interrupt, a
	// close, a pause of the thread.
	for name, leave := range map[string]func(h *harness, turnID string){
		"interrupt": func(h *harness, turnID string) { h.interrupt(turnID) },
		"close":     func(h *harness, _ string) { h.change("b", "close") },
		"pause":     func(h *harness, _ string) { h.change("b", "pause") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
				for _, id := range []string{"a", "b", "c"} {
					h.thread(id, "")
				}
				first := h.start("a")
				c := h.next(h.agent)
				b, last := h.start("b"), h.start("c")
				leave(h, b.TurnID)
				c.end(turns.Completed)
				h.ended(first.TurnID)
				c = h.next(h.agent)
				if c.TurnID != last.TurnID {
					t.Errorf("%s has the slot", c.TurnID)
				}
				c.end(turns.Completed)
				h.ended(last.TurnID)
				synctest.Wait()
				if g := h.engine.Gate(); g.Active != 0 || g.Granted != 0 {
					t.Errorf("gate: %+v", g)
				}
			})
		})
	}
}

func TestLineOfTheGateDoesNotGrowWithTurnsThatLeaveIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.pause()
		for range 50 {
			h.interrupt(h.start("a").TurnID)
		}
		if g := h.engine.Gate(); g.Waiting > 1 || g.InLine > 1 {
			t.Errorf("gate: %+v", g)
		}
	})
}

// A child turn is refused only once its thread stands in line: the bound counts
// in the appending transaction.
func TestLineOfTheGateDoesNotGrowWithTurnsThatAreRefused(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		h.family()
		for i := range turns.MaxChildren + 50 {
			id := fmt.Sprint("kid", i)
			h.childThread("a", id, "puppet")
			_, err := h.engine.Start(bg, turns.Start{ThreadID: id, Input: text("go"), Parent: childOf("a"), Background: true})
			var many *turns.TooManyError
			if refused := errors.As(err, &many); refused != (i >= turns.MaxChildren) || err != nil && !refused {
				t.Fatalf("start %d: %v", i, err)
			}
		}
		synctest.Wait()
		if g := h.engine.Gate(); g.Waiting != turns.MaxChildren || g.InLine != turns.MaxChildren {
			t.Errorf("gate: %+v, want %d in line", g, turns.MaxChildren)
		}
	})
}

func TestCommandsOfAThreadAreBounded(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxCommands: 4}}, func(h *harness) {
		h.thread("a", "")
		gate := make(chan struct{})
		h.faults.holdBack(func(*ledger.Unit) <-chan struct{} { return gate })
		errs := make(chan error, 20)
		for range 20 {
			go func() {
				_, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x")})
				errs <- err
			}()
			synctest.Wait()
		}
		full := 0
		for len(errs) > 0 {
			if err := <-errs; errors.Is(err, turns.ErrOverloaded) {
				full++
			} else {
				t.Errorf("answered before the commit: %v", err)
			}
		}
		if full != 15 { // one is being committed, four wait
			t.Errorf("%d were refused", full)
		}
		h.faults.heal()
		close(gate)
		for range 5 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		h.change("a", "close")
		h.event(notify.ThreadClosed, nil)
	})
}

func TestInputIsNeverCut(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxItemBytes: 4096}}, func(h *harness) {
		h.thread("a", "")
		before := len(h.of(func(event) bool { return true }))
		many := make([]turns.InputMessage, 65)
		for i := range many {
			many[i] = text("x")[0]
		}
		part := func(p items.Part) []turns.InputMessage {
			return []turns.InputMessage{{Type: "message", Role: "user", Content: []items.Part{p}}}
		}
		for name, c := range map[string]struct {
			start         turns.Start
			field, reason string
		}{
			"none":          {turns.Start{}, "input", "required"},
			"many":          {turns.Start{Input: many}, "input", "too_many"},
			"large":         {turns.Start{Input: text(strings.Repeat("x", 5000))}, "input[0]", "too_large"},
			"empty":         {turns.Start{Input: text("")}, "input[0].content[0].text", "required"},
			"type":          {turns.Start{Input: []turns.InputMessage{{Type: "x", Role: "user"}}}, "input[0].type", "invalid"},
			"role":          {turns.Start{Input: []turns.InputMessage{{Type: "message", Role: "assistant"}}}, "input[0].role", "invalid"},
			"no parts":      {turns.Start{Input: []turns.InputMessage{{Type: "message", Role: "user"}}}, "input[0].content", "required"},
			"part type":     {turns.Start{Input: part(items.Part{Type: "x"})}, "input[0].content[0].type", "unknown"},
			"no part type":  {turns.Start{Input: part(items.Part{})}, "input[0].content[0].type", "required"},
			"image":         {turns.Start{Input: part(items.Part{Type: items.PartImage, MimeType: "image/png"})}, "input[0].content[0].data", "required"},
			"image type":    {turns.Start{Input: part(items.Part{Type: items.PartImage, URL: "u"})}, "input[0].content[0].mime_type", "required"},
			"no base64":     {turns.Start{Input: part(items.Part{Type: items.PartImage, MimeType: "image/png", Data: "?"})}, "input[0].content[0].data", "invalid"},
			"no uri":        {turns.Start{Input: part(items.Part{Type: items.PartResource})}, "input[0].content[0].uri", "required"},
			"foreign":       {turns.Start{Input: part(items.Part{Type: items.PartText, Text: "x", URI: "u"})}, "input[0].content[0]", "invalid"},
			"on_busy":       {turns.Start{Input: text("x"), OnBusy: "shout"}, "on_busy", "unknown"},
			"timeout":       {turns.Start{Input: text("x"), TimeoutSeconds: -1}, "timeout_seconds", "out_of_range"},
			"metadata":      {turns.Start{Input: text("x"), Metadata: []byte("[]")}, "metadata", "invalid"},
			"much metadata": {turns.Start{Input: text("x"), Metadata: []byte(`{"x":"` + strings.Repeat("x", 64<<10) + `"}`)}, "metadata", "too_large"},
		} {
			c.start.ThreadID = "a"
			_, err := h.engine.Start(bg, c.start)
			var invalid *turns.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != c.field || invalid.Reason != c.reason {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(h.of(func(event) bool { return true })); n != before {
			t.Error("something has changed")
		}
	})
}

func TestActorOfAnIdleThreadLeavesAndComesBack(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "quick")
		h.ended(h.start("a").TurnID)
		if n := h.engine.Load().Actors; n != 1 {
			t.Errorf("%d actors", n)
		}
		_, _ = h.engine.Start(bg, turns.Start{ThreadID: "no such thread", Input: text("x")})
		synctest.Wait()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := h.engine.Load().Actors; n != 1 {
			t.Errorf("%d actors: an id that names nothing keeps one", n)
		}
		time.Sleep(2 * engine.IdleAfter)
		if n := h.engine.Load().Actors; n != 0 {
			t.Errorf("%d actors after a rest", n)
		}
		h.ended(h.start("a").TurnID)
	})
}
