package browsertest

import (
	"slices"
	"strings"
	"testing"
)

// Who listens to the page hears messages once they are complete, questions, reviews and ends: each
// once, and no piece of a message.
func TestWhatIsAnnounced(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "")
		s.call("thread/rename", object{"thread_id": thread, "title": "The one that is heard"})
		s.turn(thread, "/say hello you\n/deltas 80 20\n/ask Deploy to production\n/say thanks", object{"review": "always"})
		p.press("section.question button", "Allow")
		p.sees(".end", "Done")
		p.untilSeq()
		var want []string
		for _, item := range s.folded(thread) {
			if item.Type == "agent_message" {
				want = append(want, "Agent: "+strings.Join(strings.Fields(item.Text), " "))
			}
		}
		want = append(want, "A question: Deploy to production", "The turn completed.", "A result waits: review the result of “The one that is heard”")
		p.until("document.querySelector('[role=log]').textContent.includes('The turn completed.') && document.querySelector('[role=log]').textContent.includes('A result waits')")
		heard := read[[]string](p, "[...document.querySelectorAll('[role=log] p')].map(e => e.textContent)")
		slices.Sort(want)
		slices.Sort(heard)
		if !slices.Equal(heard, want) {
			t.Errorf("announced:\n%q\nwant:\n%q", heard, want)
		}
	}, desktopLight)
}
