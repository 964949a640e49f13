package browsertest

import "testing"

// A turn waits for the turn of a child thread, which one opens, answers and comes back from.
func TestChildren(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		parent := s.thread("echo", object{"title": "The one that delegates"})
		turn := s.turn(parent, "/ask May I go on", nil)
		child := s.thread("echo", object{"title": "The one that works", "parent": object{"thread_id": parent, "turn_id": turn}})
		p := open(t, s, f, "#/thread/"+parent)
		s.until(turn, "waiting")
		s.turn(child, "/ask Which way\n/say found it", object{"parent": object{"thread_id": parent, "turn_id": turn}, "title": "look for it"})
		p.sees("details.children summary", "1 child turn, 1 at work")
		p.sees("details.children li:has([data-state=waiting])", "asks you")
		p.press("section.question button", "Allow")
		p.sees(".progress", "waiting for 1 child turn")
		p.press("details.children a", "look for it")
		p.sees("h1", "The one that works")
		p.sees("nav.crumbs", "The one that delegates")
		p.press("section.question button", "Allow")
		p.sees("article", "found it")
		p.exact()
		p.press("nav.crumbs a", "The one that delegates")
		p.sees("h1", "The one that delegates")
		p.sees(".end", "Done")
		p.sees("article[data-type=user_message]", "The server tells the agent")
		p.exact()
		p.noWiderThanTheScreen()
	})
}
