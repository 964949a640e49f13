// Package terminaltest runs a program on a real terminal (tmux) for tests: it
// types keys and reads the screen. Only tests import it.
package terminaltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// patience bounds each wait for a screen. It is long, because the machine may be
// busy: a test that passes never waits for its end.
const patience = time.Minute

// poll is the time between two looks at the screen.
const poll = 20 * time.Millisecond

// Terminal is one program on one terminal. A test's goroutine uses it.
type Terminal struct {
	t      *testing.T
	socket string
}

// Start runs a command on a terminal of this size until the test ends. env is
// added to a small environment of its own. The terminal stays when the program
// has ended.
func Start(t *testing.T, width, height int, env []string, command ...string) *Terminal {
	t.Helper()
	Need(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		hosttest.Need(t, "tmux is missing")
	}
	// The path of a socket is short; those of t.TempDir may be too long.
	dir, err := os.MkdirTemp("", "tmux")
	if err != nil {
		t.Fatal(err)
	}
	term := &Terminal{t: t, socket: dir + "/s"}
	t.Cleanup(func() {
		// The server has ended already if it could not start.
		_ = exec.Command("tmux", "-S", term.socket, "kill-server").Run()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	line := []string{"-f", "/dev/null", "start-server", ";", "set", "-g", "remain-on-exit", "on", ";", "set", "-s", "escape-time", "0", ";",
		"set", "-s", "set-clipboard", "on", ";", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "env", "-i",
		"TERM=tmux-256color", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	line = append(append(line, env...), command...)
	term.tmux(line...)
	return term
}

// Need skips a test of the whole program in short runs, before it builds anything: with
// the race detector, say, which does not see into the program.
func Need(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED in short runs: the program on a real terminal")
	}
}

func (term *Terminal) tmux(args ...string) string {
	term.t.Helper()
	command := exec.Command("tmux", append([]string{"-S", term.socket, "-u"}, args...)...)
	command.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := command.CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Keys presses keys by their names in tmux: a, Enter, Escape, Tab, Up, M-Enter.
func (term *Terminal) Keys(keys ...string) {
	term.t.Helper()
	for _, key := range keys {
		term.tmux("send-keys", key)
	}
}

// Type types a text.
func (term *Terminal) Type(text string) {
	term.t.Helper()
	term.tmux("send-keys", "-l", "--", text)
}

// Paste pastes a text as terminals do: in brackets, if the program wants that.
func (term *Terminal) Paste(text string) {
	term.t.Helper()
	term.tmux("set-buffer", "--", text)
	term.tmux("paste-buffer", "-p")
}

// PasteBare pastes a text as terminals do that know no brackets.
func (term *Terminal) PasteBare(text string) {
	term.t.Helper()
	term.tmux("set-buffer", "--", text)
	term.tmux("paste-buffer")
}

// Resize changes the size of the terminal.
func (term *Terminal) Resize(width, height int) {
	term.t.Helper()
	term.tmux("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
}

// Screen returns the lines of the terminal without the blanks at their ends.
func (term *Terminal) Screen() string {
	term.t.Helper()
	lines := strings.Split(term.tmux("capture-pane", "-p"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Colours returns the screen with the sequences for colours.
func (term *Terminal) Colours() string {
	term.t.Helper()
	return term.tmux("capture-pane", "-p", "-e")
}

// Title returns the title that the program has given the terminal.
func (term *Terminal) Title() string {
	term.t.Helper()
	return strings.TrimSpace(term.tmux("display-message", "-p", "#{pane_title}"))
}

// Alternate reports whether the terminal is on its alternate screen.
func (term *Terminal) Alternate() bool {
	term.t.Helper()
	return strings.TrimSpace(term.tmux("display-message", "-p", "#{alternate_on}")) == "1"
}

// Clipboard returns what the program has put on the clipboard.
func (term *Terminal) Clipboard() string {
	term.t.Helper()
	return term.tmux("show-buffer")
}

// Clipboards lists what any program has put on the clipboard, "" for nothing.
func (term *Terminal) Clipboards() string {
	term.t.Helper()
	return term.tmux("list-buffers")
}

// Await waits until the screen is as a test wants it, and returns it.
func (term *Terminal) Await(what string, is func(screen string) bool) string {
	term.t.Helper()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	limit := time.After(patience)
	for {
		screen := term.Screen()
		if is(screen) {
			return screen
		}
		select {
		case <-ticker.C:
		case <-limit:
			term.t.Fatalf("never: %s. The screen is\n%s", what, screen)
		}
	}
}

// AwaitText waits until all of some texts are on the screen.
func (term *Terminal) AwaitText(texts ...string) string {
	term.t.Helper()
	return term.Await(fmt.Sprintf("%q", texts), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// AwaitEnd waits until the program has ended, and returns its exit code.
func (term *Terminal) AwaitEnd() int {
	term.t.Helper()
	code := -1
	term.Await("the program ends", func(string) bool {
		status := strings.TrimSpace(term.tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}"))
		dead, number, _ := strings.Cut(status, " ")
		if dead != "1" {
			return false
		}
		code, _ = strconv.Atoi(number)
		return true
	})
	return code
}

// Record keeps all that the program writes from now on. The result reads it, after all that
// is on the screen.
func (term *Terminal) Record() (written func() string) {
	term.t.Helper()
	path := filepath.Join(filepath.Dir(term.socket), "written")
	term.tmux("pipe-pane", "-O", "cat > "+path)
	return func() string {
		term.t.Helper()
		var text []byte
		term.Await("what is written is recorded", func(string) bool {
			before := len(text)
			text, _ = os.ReadFile(path) // it may not be there yet
			return len(text) > 0 && len(text) == before
		})
		return string(text)
	}
}

// Modes returns the first and the last line that scroll, and whether the terminal reports the
// mouse, inserts, counts from where it scrolls, and wraps.
func (term *Terminal) Modes() []string {
	term.t.Helper()
	return strings.Fields(term.tmux("display-message", "-p",
		"#{scroll_region_upper} #{scroll_region_lower} #{mouse_any_flag} #{insert_flag} #{origin_flag} #{wrap_flag}"))
}
