package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// working is an agent whose prompts start a child turn in the thread below, and wait
// for it in its own way.
type working struct {
	name string
	h    *harness
	wait func(w *working, ctx context.Context, p *turns.Prompt) error
}

func (w *working) Info() turns.AgentInfo { return turns.AgentInfo{Name: w.name, Kind: turns.KindACP} }

func (w *working) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	if p.Index == 0 && len(p.ThreadID) < len("o000-1-1") {
		if err := w.wait(w, ctx, p); err != nil {
			return turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: err.Error()}}
		}
	}
	if err := p.Emit(ctx, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage("done " + p.ThreadID)}); err != nil {
		return turns.Outcome{State: turns.Interrupted}
	}
	return turns.Outcome{State: turns.Completed}
}

func (w *working) below(p *turns.Prompt) turns.Start {
	return turns.Start{ThreadID: p.ThreadID + "-1", Input: text("go"), Parent: childOf(p.ThreadID)}
}

// All owners of a deep forest end, although few turns may run at once: those that wait
// give their slots to those that they wait for.
func TestManyOwnersThreeDeepEndOnFewSlots(t *testing.T) {
	owners := 200
	if testing.Short() {
		owners = 30
	}
	for name, wait := range map[string]func(w *working, ctx context.Context, p *turns.Prompt) error{
		"between two prompts": func(w *working, ctx context.Context, p *turns.Prompt) error {
			_, err := w.h.engine.Start(ctx, w.below(p))
			return err
		},
		"inside turn/await": func(w *working, ctx context.Context, p *turns.Prompt) error {
			r, err := w.h.engine.Start(ctx, w.below(p))
			if err != nil {
				return err
			}
			c := turns.Await{OwnerThreadID: p.ThreadID, TurnIDs: []string{r.TurnID}}
			out, sent, err := w.h.engine.Children().Await(ctx, c, p.ThreadID)
			return answeredBy(out.Results, sent, err)
		},
		"inside turn/start": func(w *working, ctx context.Context, p *turns.Prompt) error {
			c := w.below(p)
			c.WaitSeconds = 600
			_, wait, err := w.h.engine.Children().StartAndWait(ctx, c, p.ThreadID)
			if err != nil {
				return err
			}
			r, sent, err := wait(ctx)
			return answeredBy(r.Results, sent, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &working{name: "working", wait: wait}
			bubble(t, setup{agents: []turns.Agent{w}, cfg: engine.Config{MaxActiveTurns: 4}}, func(h *harness) {
				w.h, h.lends = h, true
				for i := range owners {
					id := fmt.Sprintf("o%03d", i)
					h.thread(id, "working")
					h.childThread(id, id+"-1", "working")
					h.childThread(id+"-1", id+"-1-1", "working")
				}
				for i := range owners {
					h.start(fmt.Sprintf("o%03d", i))
				}
				h.until("all ended", func(all []event) bool {
					ended := 0
					for _, e := range all {
						if terminal(e.Method) {
							ended++
						}
					}
					return ended == 3*owners
				})
				h.idleGate()
				if n := len(h.of(func(e event) bool { return e.Method == notify.TurnCompleted })); n != 3*owners {
					t.Errorf("%d of %d turns completed", n, 3*owners)
				}
				if n := len(h.of(func(e event) bool { return e.Method == notify.TurnDetached })); n != 0 {
					t.Errorf("%d detached", n)
				}
				for i := range owners {
					if id := fmt.Sprintf("o%03d", i); len(h.entries(id))+len(h.entries(id+"-1")) != 0 {
						t.Errorf("entries of %s: %s", id, ids(h.entries(id)))
					}
				}
			})
		})
	}
}

// answeredBy marks an answer as written. It has one result that has ended.
func answeredBy(list []turns.Result, sent func(bool), err error) error {
	if err != nil || sent == nil || len(list) != 1 || !strings.HasPrefix(list[0].Text, "done ") {
		return fmt.Errorf("answered %+v: %w", list, err)
	}
	sent(true)
	return nil
}

// An agent whose every wake starts a background child stops at the bound of chains,
// and a restart does not lift it.
func TestAgentThatWakesItselfStops(t *testing.T) {
	t.Run("R36 W-M7", func(t *testing.T) {
		var h *harness
		prompts := 0
		busy := agentFunc{"busy", func(ctx context.Context, p *turns.Prompt) turns.Outcome {
			prompts++
			_, err := h.engine.Start(ctx, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), Background: true})
			if err == nil {
				err = p.Emit(ctx, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage("more")})
			}
			if err != nil {
				return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
			}
			return turns.Outcome{State: turns.Completed}
		}}
		bubble(t, setup{agents: []turns.Agent{busy}}, func(is *harness) {
			h = is
			h.thread("a", "busy")
			h.configure("a", inbox.Policy{Wake: inbox.WakeIdle})
			h.childThread("a", "b", "quick")
			check := func(want, stalls int) {
				t.Helper()
				time.Sleep(6 * time.Hour)
				synctest.Wait()
				if prompts != want {
					t.Errorf("%d prompts, want %d", prompts, want)
				}
				if s := h.stalls("a"); len(s) != stalls || s[0] != inbox.StallChain {
					t.Errorf("stalled %v", s)
				}
			}
			h.start("a")
			check(inbox.MaxChain, 1) // the client's turn, and the wakes of the chains 1 to 15
			h.restart()
			check(inbox.MaxChain, 1)
			h.start("a") // lifts the bound, and is told what is new
			check(2*inbox.MaxChain, 2)
			if l := h.entries("a"); len(l) != 1 {
				t.Errorf("entries %s", ids(l))
			}
		})
	})
}

// Wakes by ends of child turns count in the bound of an hour, like all wakes.
func TestEndsOfChildrenCountInTheBoundOfAnHour(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		for wakes := 0; wakes < inbox.MaxWakesAnHour; wakes++ {
			if wakes%10 == 0 {
				h.send("a", "hello") // what follows this wake is a chain of its own
			} else {
				h.child("a", "b", true)
				h.done(h.next(h.agent), "the result")
			}
			h.speak(h.next(h.model))
		}
		h.child("a", "b", true)
		h.done(h.next(h.agent), "one more")
		h.idle(h.model)
		if s := h.stalls("a"); len(s) != 1 || s[0] != inbox.StallRate {
			t.Fatalf("stalled %v", s)
		}
		time.Sleep(time.Hour)
		h.wokenOnce("one more")
	})
}

// An owner and its child that answer each message with a message stop too.
func TestAgentsThatAnswerEachOtherStop(t *testing.T) {
	var h *harness
	other := map[string]string{"a": "b", "b": "a"}
	talker := agentFunc{"talker", func(ctx context.Context, p *turns.Prompt) turns.Outcome {
		err := p.Emit(ctx, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage("I write")})
		if err == nil {
			_, err = h.inboxes().Send(ctx, inbox.Send{ThreadID: other[p.ThreadID], Text: "and you?", Sender: p.ThreadID})
		}
		if err != nil {
			return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
		}
		return turns.Outcome{State: turns.Completed}
	}}
	bubble(t, setup{agents: []turns.Agent{talker}}, func(is *harness) {
		h = is
		h.thread("a", "talker")
		h.childThread("a", "b", "talker")
		for id := range other {
			h.configure(id, inbox.Policy{Wake: inbox.WakeIdle})
		}
		h.start("a")
		time.Sleep(6 * time.Hour)
		if n := h.wakes("a") + h.wakes("b"); n != inbox.MaxChain-1 {
			t.Errorf("%d wakes", n)
		}
		if s := append(h.stalls("a"), h.stalls("b")...); len(s) != 1 || s[0] != inbox.StallChain {
			t.Errorf("stalled %v", s)
		}
	})
}
