package dashboard_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
)

// A terminal that knows no sequences gets the help, as a pipe does.
func TestADumbTerminalGetsHelp(t *testing.T) {
	w := newWorld(t)
	term := terminaltest.Start(t, 100, 120, append(w.env("data"), "TERM=dumb"), w.holon)
	if code := term.AwaitEnd(); code != 0 || term.Alternate() || !strings.Contains(term.Screen(), "Usage:") {
		t.Errorf("with TERM=dumb it ends with %d:\n%s", code, term.Screen())
	}
}
