package engine_test

import (
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// from sends a message to a thread.
func (h *harness) from(sender, thread, text string) {
	h.t.Helper()
	if _, err := h.inboxes().Send(bg, inbox.Send{ThreadID: thread, Text: text, Sender: sender}); err != nil {
		h.t.Fatalf("send to %s: %v", thread, err)
	}
}

// waiting is an owner that waits for a child turn of b, whose prompt it returns. d is
// another child thread of the owner, e one of b, and x none.
func (h *harness) waiting() (owner string, work *call) {
	h.t.Helper()
	c := h.family("b", "d")
	h.childThread("b", "e", "puppet")
	h.thread("x", "")
	child := h.child("a", "b", false)
	h.speakOn(c)
	h.waitsFor(c.TurnID, child.TurnID)
	return c.TurnID, h.next(h.agent)
}

func TestWordsToAnOwnerThatWaits(t *testing.T) {
	// answer ends a prompt of the turn, which waits on then.
	answer := func(h *harness, owner string, p *call, words ...string) {
		h.t.Helper()
		if p.TurnID != owner {
			h.t.Errorf("%s is told, not %s", p.TurnID, owner)
		}
		h.told(p, words...)
		h.speakOn(p)
		h.until("waits on", func([]event) bool { return h.turn(owner).WaitsForChildren() })
	}
	runRaces(t, []race{
		{"R9 a message of a child is its next prompt", setup{}, func(h *harness) {
			owner, work := h.waiting()
			h.from("b", "a", "which colour?")
			answer(h, owner, h.next(h.model), "which colour?")
			h.from("d", "a", "I have nothing to do")
			answer(h, owner, h.next(h.model), "I have nothing to do")
			h.done(work, "the result")
			h.toldInTurn(owner, "the result")
		}},
		{"R9 a message of anybody else waits for the end of the turn", setup{}, func(h *harness) {
			owner, work := h.waiting()
			for _, sender := range []string{"x", "e", "a", "", "a person"} {
				h.from(sender, "a", "hello from "+sender)
			}
			h.idle(h.model)
			h.done(work, "the result")
			p := h.next(h.model)
			if p.TurnID != owner {
				h.t.Errorf("told in %s", p.TurnID)
			}
			h.told(p, "the result")
			h.speak(p)
			h.wokenOnce("hello from x", "hello from e", "hello from a", "hello from ", "hello from a person")
		}},
		{"R17 a message that comes during a prompt is told after it", setup{}, func(h *harness) {
			owner, work := h.waiting()
			h.from("b", "a", "one")
			p := h.next(h.model)
			h.from("b", "a", "two")
			h.idle(h.model)
			h.told(p, "one")
			h.speakOn(p)
			answer(h, owner, h.next(h.model), "two")
			h.done(work, "the result")
			h.toldInTurn(owner, "the result")
		}},
		{"R17 a message during the last prompt wakes", setup{}, func(h *harness) {
			c := h.family("b")
			h.from("b", "a", "by the way")
			h.speak(c)
			h.wokenOnce("by the way")
		}},
		{"R22 a message does not hold up a client's turn", setup{}, func(h *harness) {
			owner, work := h.waiting()
			release := h.hold(has(notify.TurnDetached))
			next := h.start("a")
			h.from("b", "a", "which colour?")
			h.idle(h.model)
			release()
			h.ended(owner)
			p := h.next(h.model)
			if p.TurnID != next.TurnID {
				h.t.Errorf("%s follows", p.TurnID)
			}
			h.speak(p)
			h.wokenOnce("which colour?")
			h.done(work, "the result")
			h.wokenOnce("the result")
		}},
		{"R15 a crash between the message and the prompt", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Retry: retrying()})
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.next(h.agent)
			h.crashBefore(has(notify.InboxTold), func() { h.from("b", "a", "which colour?") })
			answer(h, c.TurnID, h.next(h.model), "which colour?")
			h.done(h.next(h.agent), "the result")
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R24 steered text is its next prompt", setup{}, func(h *harness) {
			owner, work := h.waiting()
			for _, cut := range []bool{false, true} {
				h.steer(owner, "how is it going?", cut)
				p := h.next(h.model)
				if p.TurnID != owner || p.said() != "how is it going?" {
					h.t.Errorf("prompt %+v", p.Prompt)
				}
				h.speakOn(p)
				h.until("waits on", func([]event) bool { return h.turn(owner).WaitsForChildren() })
			}
			h.done(work, "the result")
			h.toldInTurn(owner, "the result")
		}},
		{"R24 text that is steered while the end of a child is told", setup{}, func(h *harness) {
			owner, work := h.waiting()
			release := h.hold(has(notify.InboxTold))
			h.done(work, "the result")
			synctest.Wait()
			steered := make(chan struct{})
			go func() {
				defer close(steered)
				h.steer(owner, "how is it going?", false)
			}()
			h.idle(h.model)
			release()
			<-steered
			p := h.next(h.model)
			h.told(p, "the result")
			h.speakOn(p)
			if p = h.next(h.model); p.TurnID != owner || p.said() != "how is it going?" {
				h.t.Errorf("prompt %+v", p.Prompt)
			}
			h.speak(p)
		}},
	})
}
