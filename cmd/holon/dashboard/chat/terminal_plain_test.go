package chat_test

import (
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/terminaltest"
)

// Lines are chosen by the environment too: by people, and for terminals that can do no
// more.
func TestTheEnvironmentChoosesLines(t *testing.T) {
	w := newWorld(t)
	for variable, lines := range map[string]bool{"HOLON_PLAIN=1": true, "TERM=dumb": true, "HOLON_PLAIN=0": false, "HOLON_PLAIN=": false} {
		term := terminaltest.Start(t, 120, 24, append(w.env[:len(w.env):len(w.env)], variable), w.holon, "chat")
		if !lines {
			term.AwaitText("starts a turn", "Enter")
			if !term.Alternate() {
				t.Errorf("%s: there is no screen:\n%s", variable, term.Screen())
			}
			continue
		}
		term.AwaitText("Each line goes to the agent")
		if term.Alternate() {
			t.Errorf("%s: it is on the alternate screen", variable)
		}
		term.Keys("C-d")
		if code := term.AwaitEnd(); code != 0 {
			t.Errorf("%s: exit %d", variable, code)
		}
	}
}
