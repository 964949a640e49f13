package engine_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The turn and its child turns ask the same question: has it had its prompts?
func TestPromptLimit(t *testing.T) {
	runRaces(t, []race{
		{"R10 steered prompts do not make an owner deaf to its children", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			for range turns.MaxPrompts {
				h.steer(c.TurnID, "more", false)
				h.speakOn(c)
				c = h.next(h.model)
			}
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.done(h.next(h.agent), "the result")
			p := h.next(h.model)
			if p.TurnID != c.TurnID || !strings.Contains(p.said(), "the result") {
				h.t.Errorf("told %s in %s", p.said(), p.TurnID)
			}
			h.speak(p)
		}},
		{"R37 fifty prompts, then the owner is let go", setup{}, func(h *harness) {
			c := h.family("b")
			turnID := c.TurnID
			for i := 1; ; i++ {
				if i > turns.MaxPrompts {
					h.t.Fatalf("after %d prompts there is no end", i)
				}
				child := h.child("a", "b", false)
				h.speakOn(c)
				h.waitsForOrDetaches(turnID, child.TurnID)
				if h.turn(child.TurnID).AttentionPolicy == turns.Notify {
					if i != turns.MaxPrompts {
						h.t.Errorf("after %d prompts", i)
					}
					break
				}
				h.done(h.next(h.agent), "a result")
				if c = h.next(h.model); c.TurnID != turnID || c.Index != i {
					h.t.Fatalf("prompt %d is %d of %s", i, c.Index, c.TurnID)
				}
			}
			if e := h.ended(turnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			if e := h.event(notify.TurnDetached, nil); e.Reason != string(turns.DetachPromptLimit) {
				h.t.Errorf("detached %s", e)
			}
			h.done(h.next(h.agent), "the last result")
			wake := h.next(h.model)
			if wake.TurnID == turnID || len(toldIn(wake)) != 1 || !strings.Contains(wake.said(), "the last result") {
				h.t.Errorf("woken with %s", wake.said())
			}
			h.speak(wake)
		}},
	})
}

// waitsForOrDetaches waits until the turn waits for the child turn, or does not any
// more.
func (h *harness) waitsForOrDetaches(turnID, childID string) {
	h.t.Helper()
	h.until("waits or detaches", func([]event) bool {
		return h.turn(turnID).WaitsForChildren() && !h.turn(turnID).HadItsPrompts() || h.turn(childID).AttentionPolicy == turns.Notify
	})
}

func TestRoomForChildTurns(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		room := func(thread string, want int) {
			h.t.Helper()
			if c, err := h.reader.Children(bg, thread); err != nil || c.Room != want {
				h.t.Errorf("the room of %s is %d (%v), want %d", thread, c.Room, err, want)
			}
		}
		c := h.family("b", "d")
		room("a", turns.MaxChildren)
		room("b", turns.MaxUnendedBelow)
		h.child("a", "b", false)
		work := h.next(h.agent)
		h.child("a", "d", true)
		other := h.next(h.agent)
		room("a", turns.MaxChildren-2)
		room("b", turns.MaxChildren) // its own turn
		h.done(other, "the result")
		room("a", turns.MaxChildren-1)
		room("d", turns.MaxUnendedBelow-1)
		h.done(work, "the result")
		room("a", turns.MaxChildren)
		h.speakOn(c)
		h.speak(h.next(h.model))
		h.change("a", threads.VerbClose)
		h.until("it is closed", func([]event) bool { c, err := h.reader.Children(bg, "a"); return err == nil && c.Room == 0 })
	})
}
