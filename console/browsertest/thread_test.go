package browsertest

import "testing"

// A thread from its start in the page to an answered permission, a steer and an interrupt.
func TestAThreadFromItsStart(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		p := open(t, s, f, "#/")
		p.sees("h1", "0 need you")
		p.write("form.new textarea", "/say hello you\n/deltas 300 20")
		p.press("form.new button", "Start")
		p.untilPage("thread")
		p.sees(".end", "Done")
		p.untilSeq()
		p.sees("article[data-type=agent_message]", "hello you")
	})
}
