package dashboard_test

import (
	"testing"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
)

// Whoever opens a thread and begins to type writes to its agent: no letter is a key, and
// none of them answers what the agent asks.
func TestWhatIsTypedOnAnOpenedThreadIsText(t *testing.T) {
	w := newWorld(t)
	w.serve("data")
	thread := w.thread("Asks", "src/docs", "/ask May I?\n/say I did.")
	term := terminaltest.Start(t, 80, 24, w.env("data"), w.holon)
	term.AwaitText("Needs you (1)")
	term.Keys("Enter")
	term.AwaitText("The agent asks", "Esc a answers", "> write to the agent")
	text := "> "
	for _, letter := range "say yes, I now want it" {
		key := string(letter)
		if text += key; letter == ' ' {
			key = "Space"
		}
		term.Keys(key)
	}
	term.AwaitText(text)
	if w.question(thread) == "" {
		t.Error("the question is answered")
	}
	leaveInput(term)
	term.Keys("a")
	presses(term, "y", "✓ completed")
}
