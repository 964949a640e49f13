package chat_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
)

// A terminal whose session ends, or whose connection is lost, is as it was before.
func TestAClosedTerminalIsRestored(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{"chat", "top"} {
		pid := filepath.Join(t.TempDir(), "pid")
		term := terminaltest.Start(t, 120, 24, w.env, "sh", "-c", `echo $$ > "$1.new"; mv "$1.new" "$1"; exec "$2" "$3"`, "sh", pid, w.holon, command)
		term.Await(command+" is on the alternate screen", func(string) bool { return term.Alternate() })
		text, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(number, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		term.AwaitEnd()
		if term.Alternate() {
			t.Errorf("%s leaves the alternate screen behind:\n%s", command, term.Screen())
		}
	}
}

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
