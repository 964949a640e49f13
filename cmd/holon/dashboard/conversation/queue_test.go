package conversation

import (
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// What waits behind a turn at work is on its page, and is not shown as if the agent had it.
func TestAQueuedTurnIsSeen(t *testing.T) {
	p := newPage(t, 100, 24).open()
	p.started("t1")
	p.item("i1", "t1", "completed", object{"type": "user_message", "content": []object{{"type": "input_text", "text": "do this"}}})
	p.event("turn/queued", object{"turn_id": "t2"})
	p.item("i2", "t2", "completed", object{"type": "user_message", "content": []object{{"type": "input_text", "text": "then that"}}})
	p.shows("▶ working", " · 1 queued", "❯ then that", "(queued: its turn has not started)")
	p.event("thread/paused", object{})
	p.shows(" · 1 queued · paused")
	p.event("turn/completed", object{"turn_id": "t1"})
	p.shows("1 queued · paused", "─ Enter is queued until holon resume "+screen.ShortID(thread)+" ─")
	p.keys("<esc>", "<tab>")
	p.shows("Enter queue a turn")
	p.event("thread/resumed", object{})
	p.started("t2")
	p.hides("queued", "paused")
	p.event("turn/completed", object{"turn_id": "t2"})
	p.event("thread/paused", object{})
	p.shows("paused", "Enter is queued until")
	p.hides("idle")
}
