package dashboard_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
)

// A result is rejected from the list, and what follows from it approved on the page of its
// thread.
func TestResultsAreReviewedOnATerminal(t *testing.T) {
	terminaltest.Need(t)
	w := newWorld(t)
	w.serve("data")
	thread := w.call("thread/start", map[string]any{"title": "Mend the build", "cwd": w.data("src/holon")})["thread_id"].(string)
	w.call("turn/start", map[string]any{"thread_id": thread, "input": input("first result"), "review": "always"})
	term := terminaltest.Start(t, 80, 24, w.env("data"), w.holon)
	term.AwaitText("1 needs you", "? Mend the build")
	term.Keys("a")
	term.AwaitText("─ Mend the build waits for your review", "? review the result", "│ first result", "2 Reject with a note")
	presses(term, "n", "Enter reject")
	term.Keys("C-u") // an n may be in the note
	term.Type("second result")
	term.Keys("Enter")
	term.AwaitText("Rejected: the agent continues with your note.", "1 needs you")
	term.Keys("Enter")
	term.AwaitText("(from the review of the turn before)", "─ A result waits for your review")
	leaveInput(term)
	term.Keys("a")
	presses(term, "y", " idle")
	term.AwaitText("✓ completed")
	turns := w.call("turn/list", map[string]any{"thread_id": thread})["turns"].([]any)
	for i, want := range []string{"rejected", "approved"} {
		if got := turns[i].(map[string]any)["review"].(map[string]any)["state"]; got != want {
			t.Errorf("turn %d is %v, want %s", i, got, want)
		}
	}
}

// presses presses a key until a text is on the screen: the keys are dead for half a second.
func presses(term *terminaltest.Terminal, key, text string) {
	term.Await(text, func(screen string) bool {
		if strings.Contains(screen, text) {
			return true
		}
		term.Keys(key)
		return false
	})
}
