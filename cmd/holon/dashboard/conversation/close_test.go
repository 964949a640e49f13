package conversation

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// A close that interrupts work asks first: a letter of a sentence is no order.
func TestAThreadWithWorkIsClosedAfterAConfirmation(t *testing.T) {
	for name, begin := range map[string]func(p *page){
		"a turn runs":    func(p *page) { p.started("t1") },
		"a turn waits":   func(p *page) { p.event("turn/queued", object{"turn_id": "t1"}) },
		"a question":     func(p *page) { p.item("q1", "t1", "pending", permission("Edit", nil)) },
		"not read yet":   func(p *page) { p.m.loader.ready = false },
		"a typed answer": func(p *page) { p.item("q1", "t1", "pending", object{"type": "question", "message": "Which?"}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPage(t, 80, 24).open()
			begin(p)
			p.keys("<esc>")
			for _, key := range []string{"p", "x", "<enter>", "<esc>"} {
				p.did()
				p.keys("x")
				p.shows("! Close “mend the build”? "+map[bool]string{false: "It interrupts its turn", true: "What is queued never starts"}[name == "a turn waits"]+". y closes it, any", "keeps it.", "y close  any other key keep")
				p.keys(key)
				p.wants(screen.Say{Text: "“mend the build” stays open."})
				p.hides("Close “", "is closed in")
			}
			p.keys("xy")
			p.shows("“mend the build” is closed in 5 s. u keeps it open.")
			p.later(time.Second)
			p.keys("x") // it closes already
			p.hides("Close “")
			p.did()
			p.later(undoFor)
			if got := p.did(); len(got) == 0 || got[0] != (screen.Close{Thread: thread}) {
				t.Errorf("after y the page asks for %v", got)
			}
		})
	}
}

// “u keeps it open” is true as long as it is shown: where u is a letter, nothing closes.
func TestWhoWritesKeepsTheThreadOpen(t *testing.T) {
	for name, enter := range map[string]func(p *page){
		"Tab":               func(p *page) { p.keys("<tab>") },
		"Enter":             func(p *page) { p.keys("<enter>") },
		"a paste":           func(p *page) { p.send(paste("text")) },
		"a":                 func(p *page) { p.keys("a") },
		"u in the children": func(p *page) { p.keys("c", "u", "<esc>") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPage(t, 80, 24)
			p.below = []object{child("a", thread, 1, "idle", 1)}
			p.open()
			p.item("q1", "t1", "pending", object{"type": "question", "message": "Which?"})
			p.later(time.Second)
			p.keys("<esc>", "xy")
			p.shows("u keeps it open.")
			enter(p)
			if name != "u in the children" {
				p.shows("“mend the build” stays open.")
			}
			p.hides("is closed in")
			p.keys("u")
			p.did()
			p.later(2 * undoFor)
			p.wants()
			if got := p.m.Pending(); got != nil {
				t.Errorf("when the page is left these are sent: %v", got)
			}
		})
	}
}
