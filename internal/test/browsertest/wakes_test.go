package browsertest

import "testing"

// A person interrupts a thread, and then something comes into its inbox: the list and the
// page say that it is not told that, and a button tells it.
func TestAThreadIsNotToldWhatIsNewAndAButtonTellsIt(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", object{"title": "Watch the releases"})
		s.call("inbox/configure", object{"thread_id": thread, "policy": object{"wake": "idle"}})
		turn := s.turn(thread, "/sleep 3600000", nil)
		s.until(turn, "running")
		s.call("turn/interrupt", object{"turn_id": turn})
		p := open(t, s, f, "#/")
		p.sees("li.card", "Watch the releases")
		p.seesNot(".untold", "")
		s.call("inbox/ingest", object{"thread_id": thread, "items": []object{{"source": "releases", "native_id": "1", "summary": "version 2 is out"}}})
		p.sees("li.card .untold", "1 new, not told: it was interrupted")
		p.sees(".sums", "1 not told what is new")
		p.noWiderThanTheScreen()
		p.press("li.card a", "Watch the releases")
		p.sees("header .untold", "1 new, not told: it was interrupted")
		p.noWiderThanTheScreen()
		p.press("header .untold button", "Tell it now")
		p.seesNot(".untold", "")
		p.sees(".lines", "version 2 is out")
	})
}
