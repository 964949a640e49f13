package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// hand is an injector that the test controls: each text waits in calls for its
// answer.
type hand struct {
	calls chan *handed
}

type handed struct {
	text   string
	ctx    context.Context
	answer chan error
}

func (c *call) onSteer() *hand {
	h := &hand{calls: make(chan *handed, 64)}
	c.OnSteer(func(ctx context.Context, m items.UserMessage) error {
		one := &handed{m.Text(), ctx, make(chan error)}
		h.calls <- one
		select {
		case err := <-one.answer:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return h
}

func (h *harness) statuses(ids []string) (out []items.Status) {
	h.t.Helper()
	synctest.Wait()
	for _, id := range ids {
		out = append(out, h.item(id).Status)
	}
	return out
}

func TestSteeredTextIsInjectedOneAtATimeInOrder(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		hand := c.onSteer()
		var ids []string
		for _, s := range []string{"one", "two", "three"} {
			r := h.steer(c.TurnID, s, false)
			if r.Delivery != turns.Injected {
				t.Errorf("%s is %s", s, r.Delivery)
			}
			ids = append(ids, r.ItemIDs...)
		}
		for i, want := range []string{"one", "two", "three"} {
			synctest.Wait()
			if n := len(hand.calls); n != 1 {
				t.Fatalf("%d texts at once", n)
			}
			for j, s := range h.statuses(ids) {
				if (s == items.StatusCompleted) != (j < i) {
					t.Errorf("with %d delivered, text %d is %s", i, j, s)
				}
			}
			one := <-hand.calls
			if one.text != want {
				t.Errorf("injected %q, want %q", one.text, want)
			}
			one.answer <- nil
		}
		h.event(notify.ItemUpdated, ofItem(ids[2]))
		c.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted || len(e.Undelivered) != 0 {
			t.Errorf("ended: %s", e)
		}
		h.idle(h.agent)
	})
}

func TestTextThatTheAgentDoesNotTakeIsTheNextPromptAndSoIsWhatFollows(t *testing.T) {
	for name, f := range map[string]turns.Injector{
		"refuses": func(context.Context, items.UserMessage) error { return turns.ErrNotInjected },
		"panics":  func(context.Context, items.UserMessage) error { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.prompt()
				n := 0
				c.OnSteer(func(ctx context.Context, m items.UserMessage) error {
					if n++; n == 1 {
						return nil
					}
					return f(ctx, m)
				})
				one := h.steer(c.TurnID, "one", false)
				h.event(notify.ItemUpdated, ofItem(one.ItemIDs[0]))
				two := h.steer(c.TurnID, "two", false)
				synctest.Wait()
				three := h.steer(c.TurnID, "three", false)
				if two.Delivery != turns.Injected || three.Delivery != turns.DeliveryQueued {
					t.Errorf("two is %s, three is %s", two.Delivery, three.Delivery)
				}
				c.end(turns.Completed)
				next := h.next(h.agent)
				if next.said() != "two|three" || n != 2 {
					t.Errorf("the next prompt is %q, the agent was asked %d times", next.said(), n)
				}
				next.end(turns.Completed)
				h.ended(c.TurnID)
			})
		})
	}
}

func TestTextThatComesWhileAPromptBeginsIsInjectedOnceTheAgentTakesText(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		var ids []string
		for _, s := range []string{"one", "two"} {
			r := h.steer(c.TurnID, s, false)
			if r.Delivery != turns.DeliveryQueued {
				t.Errorf("%s is %s", s, r.Delivery)
			}
			ids = append(ids, r.ItemIDs...)
		}
		hand := c.onSteer()
		three := h.steer(c.TurnID, "three", false)
		if three.Delivery != turns.Injected {
			t.Errorf("three is %s", three.Delivery)
		}
		for _, want := range []string{"one", "two", "three"} {
			synctest.Wait()
			if len(hand.calls) != 1 {
				t.Fatalf("%d texts at once, while %q is next", len(hand.calls), want)
			}
			one := <-hand.calls
			if one.text != want {
				t.Errorf("injected %q, want %q", one.text, want)
			}
			one.answer <- nil
		}
		for i, s := range h.statuses(append(ids, three.ItemIDs...)) {
			if s != items.StatusCompleted {
				t.Errorf("text %d is %s", i, s)
			}
		}
		c.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted || len(e.Undelivered) != 0 {
			t.Errorf("ended: %s", e)
		}
		h.idle(h.agent)
	})
}

func TestTextNeverOvertakesTextThatWaitsForTheNextPrompt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		h.steer(c.TurnID, "one", false)
		c.OnSteer(func(context.Context, items.UserMessage) error { return turns.ErrNotInjected })
		synctest.Wait()
		hand := c.onSteer()
		if r := h.steer(c.TurnID, "two", false); r.Delivery != turns.DeliveryQueued {
			t.Errorf("two is %s", r.Delivery)
		}
		synctest.Wait()
		c.end(turns.Completed)
		next := h.next(h.agent)
		if next.said() != "one|two" || len(hand.calls) != 0 {
			t.Errorf("the next prompt is %q", next.said())
		}
		// The injector was the first prompt's.
		if r := h.steer(c.TurnID, "three", false); r.Delivery != turns.DeliveryQueued {
			t.Errorf("three is %s", r.Delivery)
		}
		next.onSteer()
		next.OnSteer(nil)
		next.end(turns.Completed)
		h.next(h.agent).end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestPromptThatEndsWhileATextIsInjectedLosesNothing(t *testing.T) {
	taken := func(ctx context.Context, _ items.UserMessage) error { <-ctx.Done(); return nil }
	notTaken := func(ctx context.Context, _ items.UserMessage) error { <-ctx.Done(); return turns.ErrNotInjected }
	for name, c := range map[string]struct {
		f    turns.Injector
		next string
	}{"taken": {taken, "two"}, "not taken": {notTaken, "one|two"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				p := h.prompt()
				p.OnSteer(c.f)
				one := h.steer(p.TurnID, "one", false)
				h.steer(p.TurnID, "two", false)
				synctest.Wait() // the first is being injected
				p.end(turns.Completed)
				next := h.next(h.agent)
				if next.said() != c.next {
					t.Errorf("the next prompt is %q, want %q", next.said(), c.next)
				}
				if s := h.item(one.ItemIDs[0]).Status; s != items.StatusCompleted {
					t.Errorf("one is %s", s)
				}
				next.end(turns.Completed)
				h.ended(p.TurnID)
			})
		})
	}
}

func TestInjectorThatIgnoresItsContextIsWaitedForWithinABound(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		p := h.prompt()
		free := make(chan struct{})
		p.OnSteer(func(context.Context, items.UserMessage) error { <-free; return nil })
		h.steer(p.TurnID, "one", false)
		synctest.Wait()
		began := time.Now()
		p.end(turns.Completed)
		next := h.next(h.agent)
		if d := time.Since(began); d != engine.InjectWithin || next.said() != "one" {
			t.Errorf("after %v the prompt %q", d, next.said())
		}
		close(free) // the agent no longer accepts text
		synctest.Wait()
		next.end(turns.Completed)
		if e := h.ended(p.TurnID); len(e.Undelivered) != 0 {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestInterruptEndsWhatWasNotInjectedYet(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		hand := c.onSteer()
		var ids []string
		for _, s := range []string{"one", "two", "three"} {
			ids = append(ids, h.steer(c.TurnID, s, false).ItemIDs...)
		}
		(<-hand.calls).answer <- nil
		two := <-hand.calls
		h.interrupt(c.TurnID)
		e := h.ended(c.TurnID)
		if e.Method != notify.TurnInterrupted || !slices.Equal(e.Undelivered, ids[1:]) {
			t.Errorf("ended: %s", e)
		}
		if s := h.statuses(ids); s[0] != items.StatusCompleted || s[1] != items.StatusInterrupted || s[2] != items.StatusInterrupted {
			t.Errorf("statuses: %v", s)
		}
		if two.ctx.Err() == nil || len(hand.calls) != 0 {
			t.Error("the injection goes on")
		}
	})
}

func TestSteerThatInterruptsIsNeverInjected(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		hand := c.onSteer()
		for _, s := range []string{"one", "two", "three"} {
			h.steer(c.TurnID, s, false)
		}
		(<-hand.calls).answer <- nil
		<-hand.calls
		r := h.steer(c.TurnID, "stop", true)
		if r.Delivery != turns.DeliveryQueued {
			t.Errorf("it is %s", r.Delivery)
		}
		next := h.next(h.agent)
		if next.said() != "two|three|stop" || len(hand.calls) != 0 {
			t.Errorf("the next prompt is %q", next.said())
		}
		next.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestKeyOfAnInjectedSteerInjectsOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		hand := c.onSteer()
		for range 3 {
			r, err := h.engine.Steer(bg, turns.Steer{TurnID: c.TurnID, Input: text("one"), Key: key("k", "turn/steer")})
			if err != nil || r.Delivery != turns.Injected {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		(<-hand.calls).answer <- nil
		c.end(turns.Completed)
		h.ended(c.TurnID)
		if len(hand.calls) != 0 {
			t.Error("injected again")
		}
	})
}

// TestInjectionAgainstEverythingElse injects texts into an agent that accepts or
// refuses them, is slow or returns, while ends, interrupts and cuts come at any
// moment. Each text is delivered once or listed as undelivered.
func TestInjectionAgainstEverythingElse(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		bubble(t, setup{}, func(h *harness) { h.injectRace(r) })
	}
}

func (h *harness) injectRace(r *rand.Rand) {
	var mu sync.Mutex
	got := map[string]int{}
	have := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		got[text]++
	}
	answers := make([]int, 40)
	for i := range answers {
		answers[i] = r.IntN(5)
	}
	c := h.prompt()
	n := 0
	inject := func(ctx context.Context, m items.UserMessage) error {
		n++
		switch answers[n%len(answers)] {
		case 0:
			return turns.ErrNotInjected
		case 1:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(3 * time.Millisecond):
			}
		}
		have(m.Text())
		return nil
	}
	c.OnSteer(inject)
	turnID := c.TurnID
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for wait := 0; ; wait = (wait + 2) % 6 { // prompts of the agent
			time.Sleep(time.Duration(wait) * time.Millisecond)
			select {
			case c.out <- turns.Outcome{}:
			case <-c.ctx.Done():
			}
			select {
			case c = <-h.agent.calls:
				for _, m := range c.Input {
					have(m.Text())
				}
				c.OnSteer(inject)
			case <-over:
				for len(h.agent.calls) > 0 { // prompts that were cancelled at once
					for _, m := range (<-h.agent.calls).Input {
						have(m.Text())
					}
				}
				return
			}
		}
	}()
	texts := map[string]string{} // item id → text
	var wg sync.WaitGroup
	for i := range 8 {
		wait, cut, stop := time.Duration(r.IntN(8))*time.Millisecond, r.IntN(6) == 0, r.IntN(12) == 0
		wg.Go(func() {
			time.Sleep(wait)
			if stop {
				_, _, _ = h.engine.Interrupt(bg, turns.Interrupt{TurnID: turnID})
				return
			}
			s := fmt.Sprint("text ", i)
			if a, err := h.engine.Steer(bg, turns.Steer{TurnID: turnID, Input: text(s), Interrupt: cut}); err == nil {
				mu.Lock()
				defer mu.Unlock()
				texts[a.ItemIDs[0]] = s
			}
		})
	}
	wg.Wait()
	e := h.ended(turnID)
	close(over)
	<-done
	for id, s := range texts {
		status, lost := h.item(id).Status, slices.Contains(e.Undelivered, id)
		want := 1
		if lost {
			want = 0
		}
		if got[s] != want || lost != (status == items.StatusInterrupted) {
			h.t.Errorf("%s was delivered %d times, it is %s; undelivered: %s", s, got[s], status, strings.Join(e.Undelivered, " "))
		}
	}
}
