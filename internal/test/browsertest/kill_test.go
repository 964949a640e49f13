package browsertest

import "testing"

// The server is killed and comes back: the page says that it is offline, keeps what one
// types, and goes on by itself, with every word once.
func TestTheServerIsKilledAndComesBack(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "/deltas 500 20")
		p.exact()
		s.turn(thread, "/deltas 100000 20 1", nil)
		p.sees("article[data-status=in_progress]", "")
		p.write("#composer", "half a thought")

		p.complaints.expect(offline...)
		s.kill()
		p.sees(".banner", "Offline since")
		p.until("document.documentElement.dataset.stream === 'reconnecting'")
		s.start()
		p.until("document.documentElement.dataset.stream === 'connected'")
		p.complaints.expect()
		p.seesNot(".banner", "")
		p.sees(".end", "Interrupted")
		p.exact()
		if got := read[string](p, "document.querySelector('#composer').value"); got != "half a thought" {
			t.Errorf("what was typed is now %q", got)
		}
		p.reload()
		p.sees("#composer", "half a thought")
		p.exact()
	})
}
