package dashboard_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/terminaltest"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		terminaltest.Remove()
		acptest.Clean()
		os.Exit(code)
	}))
}

// world is a user with a data directory and directories to work in.
type world struct {
	t      *testing.T
	holon  string
	dir    string
	client *client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	path := terminaltest.Binary(t)
	w := &world{t: t, holon: path, dir: t.TempDir()}
	for _, name := range []string{"run", "src/holon", "src/docs", "src/site"} {
		if err := os.MkdirAll(filepath.Join(w.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.client = client.New(client.Discover(w.data("data")))
	t.Cleanup(w.client.Close)
	return w
}

func (w *world) data(name string) string { return filepath.Join(w.dir, name) }

// env is the user's environment. It names the data directory.
func (w *world) env(data string) []string {
	return []string{"HOLON_DATA=" + w.data(data), "XDG_RUNTIME_DIR=" + w.data("run"), "XDG_CONFIG_HOME=" + w.data("config")}
}

// serve starts a server until the test ends.
func (w *world) serve(data string, flags ...string) {
	w.t.Helper()
	w.serveOn("127.0.0.1:0", data, flags...)
}

// serveOn starts a server on an address until the test ends, or kills it.
func (w *world) serveOn(listen, data string, flags ...string) *exec.Cmd {
	w.t.Helper()
	server := exec.Command(w.holon, append([]string{"serve", "--listen", listen}, flags...)...)
	server.Env = append(os.Environ(), w.env(data)...)
	if err := server.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt) // it may have ended
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	w.ready(data)
	return server
}

// ready waits until the server of a data directory answers.
func (w *world) ready(data string) {
	w.t.Helper()
	c := client.New(client.Discover(w.data(data)))
	defer c.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for tick := time.Tick(20 * time.Millisecond); ; {
		if c.Ready(ctx) == nil {
			return
		}
		select {
		case <-tick:
		case <-ctx.Done():
			w.t.Fatal("the server is never ready")
		}
	}
}

func (w *world) call(method string, params any) map[string]any {
	w.t.Helper()
	var result map[string]any
	if err := w.client.Call(w.t.Context(), method, params, &result); err != nil {
		w.t.Fatal(err)
	}
	return result
}

// thread starts an echo thread with a prompt and returns its id.
func (w *world) thread(title, cwd, prompt string) string {
	w.t.Helper()
	id := w.call("thread/start", map[string]any{"title": title, "cwd": w.data(cwd)})["thread_id"].(string)
	w.call("turn/start", map[string]any{"thread_id": id, "input": []any{map[string]any{
		"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": prompt}},
	}}})
	return id
}

// question is the id of the one question of a thread that is open.
func (w *world) question(thread string) string {
	w.t.Helper()
	items, _ := w.call("item/list", map[string]any{"thread_id": thread, "status": "pending"})["items"].([]any)
	if len(items) != 1 {
		w.t.Fatalf("%d questions of the thread are open, want 1: %v", len(items), items)
	}
	return items[0].(map[string]any)["item_id"].(string)
}

// line is the first line of the screen with a text.
func line(screen, text string) string {
	for l := range strings.Lines(screen) {
		if strings.Contains(l, text) {
			return l
		}
	}
	return ""
}

// A developer with five agents sees which one needs them, answers, starts another
// one, interrupts, retries and closes.
func TestFiveAgents(t *testing.T) {
	w := newWorld(t)
	w.serve("data")
	w.thread("Fix the test", "src/holon", "/ask May I run the tests?")
	w.thread("Write the migration", "src/holon", "/sleep 3600000")
	w.thread("Count", "src/holon", "/clock 1000000 500")
	w.thread("Deploy 漢字 👩\u200d👩\u200d👧 site", "src/site", "/fail the model is\x1b]52;c;aGk=\a overloaded")
	spelled := w.thread("Spell-check", "src/docs", "Four words fixed.")
	term := terminaltest.Start(t, 100, 30, w.env("data"), w.holon)

	seen := term.AwaitText("1 needs you · 2 working · 1 failed", "Needs you (1)", "Working (2)", "Idle (1), failed (1)", " overload", "Four words fixed.")
	if !term.Alternate() {
		t.Error("it is not on the alternate screen")
	}
	titled := func(want string) {
		t.Helper()
		term.Await("the title "+want, func(string) bool { return term.Title() == want }) // it is written apart from the text
	}
	titled("holon (1)")
	for _, title := range []string{"Count", "Write the migration"} {
		if !strings.Contains(line(seen, title), "!! holon") {
			t.Errorf("%q is not marked as writing where another one writes:\n%s", title, seen)
		}
	}
	if strings.Contains(line(seen, "Fix the test"), "!!") {
		t.Errorf("a thread that asks is marked as writing:\n%s", seen)
	}

	term.Keys("a")
	term.AwaitText("Fix the test asks", "? May I run the tests?", "1 Allow  [y]", "2 Reject  [n]")
	term.Await("the answer arrives", func(screen string) bool {
		if !strings.Contains(screen, "1 Allow") {
			return true
		}
		term.Keys("1") // the keys are dead for half a second
		return false
	})
	term.AwaitText("nothing needs you", "Idle (2), failed (1)")
	titled("holon")

	term.Keys("n")
	term.AwaitText("New thread")
	term.Paste("one\ntwo\n")
	term.Type("three")
	term.AwaitText("one", "two", "three", "New thread") // a paste starts nothing
	term.Keys("Enter")
	term.AwaitText("Idle (3), failed (1)", "one two three")
	term.Await("the form is gone", func(screen string) bool { // the thread may be done before
		return !strings.Contains(screen, "New thread") && !strings.Contains(screen, "Starting …")
	})

	term.Keys("g", "i")
	term.AwaitText("Interrupt “Write the migration”")
	term.Keys("y")
	term.Await("the interrupted turn is done", func(screen string) bool { return strings.Contains(screen, "Working (1)") })

	filter := func(text string) { // step by step: Enter and a key in one read would be a paste
		t.Helper()
		term.Keys("/")
		term.AwaitText("Enter keep")
		term.Type(text)
		term.AwaitText("Filter: " + text)
		term.Keys("Enter")
		term.AwaitText("Filter: " + text + " · 1 of ")
	}
	filter("Deploy")
	term.Keys("r")
	term.AwaitText("It is tried again.")
	term.Keys("Escape")
	term.Await("all threads", func(screen string) bool { return !strings.Contains(screen, "Filter: ") })
	filter("Spell")
	term.Keys("y")
	term.AwaitText("Copied " + spelled)
	if got := term.Clipboard(); got != spelled {
		t.Errorf("copied is %q, want %q", got, spelled)
	}
	term.Keys("x")
	term.AwaitText("closes in")
	term.Keys("u")
	term.AwaitText("“Spell-check” stays open.")
	term.Keys("x")
	term.Keys("q") // the close that was not undone is sent
	if code := term.AwaitEnd(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	if term.Alternate() {
		t.Error("the alternate screen stays")
	}
	thread := w.call("thread/read", map[string]any{"thread_id": spelled})["thread"].(map[string]any)
	if thread["state"] != "closed" {
		t.Errorf("the thread that was closed is %v", thread["state"])
	}
}

// Columns stay straight: the times of all rows end in the same column.
func TestColumnsAreStraightOnEveryScreen(t *testing.T) {
	w := newWorld(t)
	w.serve("data")
	for _, title := range []string{"plain", "漢字漢字漢字", "family 👩\u200d👩\u200d👧\u200d👦", "flag 🇩🇪 and ❤️", "skin 👍🏽", "e\u0301 combining"} {
		w.thread(title, "src/docs", "done")
	}
	term := terminaltest.Start(t, 80, 24, w.env("data"), w.holon)
	for _, size := range [][2]int{{80, 24}, {40, 16}, {200, 60}} {
		term.Resize(size[0], size[1])
		screen := term.Await(fmt.Sprintf("six rows in %d columns", size[0]), func(screen string) bool {
			rows := regexp.MustCompile(`(?m)^✓ .* (s|min)$`).FindAllString(screen, -1)
			return len(rows) == 6 && strings.Contains(screen, "Idle (6)") && width(rows[0]) == size[0]
		})
		for _, row := range regexp.MustCompile(`(?m)^✓ .* (s|min)$`).FindAllString(screen, -1) {
			if width(row) != size[0] {
				t.Errorf("in %d columns a row ends in column %d:\n%s", size[0], width(row), screen)
			}
		}
	}
	term.Resize(20, 5)
	term.AwaitText("This window is too")
}

// width is how many columns tmux draws a text in.
func width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r == 0x301:
		case r >= 0x1100 && r < 0x2000, r >= 0x3000 && r < 0xd7ff, r >= 0x1f000:
			n += 2
		default:
			n++
		}
	}
	return n
}

// endServer ends the server of a data directory, if one runs there, and waits for it.
func endServer(t *testing.T, data string) {
	record, err := client.ReadServerFile(data)
	if err != nil {
		return // none was started
	}
	server, err := os.FindProcess(record.PID)
	if err != nil || !record.Alive() {
		return
	}
	_ = server.Signal(os.Interrupt) // it may be ending
	limit := time.After(20 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); record.Alive(); {
		select {
		case <-tick:
		case <-limit:
			t.Errorf("the server %d does not end", record.PID)
			return
		}
	}
}

func TestWithoutAServerOneIsStarted(t *testing.T) {
	w := newWorld(t)
	w.serve("other")
	term := terminaltest.Start(t, 80, 24, w.env("data"), w.holon)
	term.AwaitText("No server runs on this data directory", w.data("data"), "/other  http://127.0.0.1:")
	term.Keys("q")
	if code := term.AwaitEnd(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	if screen := term.Screen(); strings.Contains(screen, "holon stop") {
		t.Errorf("without a server one goes on:\n%s", screen)
	}
	if _, err := os.Stat(w.data("data")); !os.IsNotExist(err) {
		t.Errorf("q leaves the data directory behind: %v", err)
	}

	term = terminaltest.Start(t, 80, 24, w.env("data"), w.holon, "top")
	term.AwaitText("> Start a server there")
	t.Cleanup(func() { endServer(t, w.data("data")) }) // also if the test ends early
	term.Keys("Enter")
	term.AwaitText("nothing needs you", "n starts one")
	record, err := client.ReadServerFile(w.data("data"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := filepath.Glob(w.data("run/holon/*.json"))
	if err != nil || len(entries) != 2 {
		t.Errorf("the registry has %v, %v", entries, err)
	}
	term.Keys("q")
	if code := term.AwaitEnd(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	term.AwaitText("To stop it: holon stop") // below a line that tmux has scrolled away
	if !record.Alive() {
		t.Error("the server ended with the dashboard")
	}
}

// The server is killed and comes back elsewhere. A question outlives that: it is answered on
// the page that has shown it all the time, and its turn goes on.
func TestTheServerGoesAndComesBack(t *testing.T) {
	w := newWorld(t)
	server := exec.Command(w.holon, "serve", "--listen", "127.0.0.1:0")
	server.Env = append(os.Environ(), w.env("data")...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	w.ready("data")
	w.thread("One", "src/docs", "done")
	asks := w.thread("Two", "src/docs", "/ask May I?\n/say I did.")
	term := terminaltest.Start(t, 80, 24, w.env("data"), w.holon)
	page := terminaltest.Start(t, 80, 24, w.env("data"), w.holon)
	page.AwaitText("Needs you (1)")
	page.Keys("Enter")
	page.AwaitText("The agent asks", "1 Allow  [y]")
	term.AwaitText("Idle (1)", "Needs you (1)")
	question := w.question(asks)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
	term.AwaitText("The server is gone since", "Idle (1)")
	page.AwaitText("offline", "The server is gone since", "1 Allow  [y]")
	w.serve("data")
	back := func(screen string) bool {
		return !strings.Contains(screen, "gone") && !strings.Contains(screen, "offline")
	}
	term.Await("the connection is back", back)
	page.Await("the connection is back", back)
	w.client = client.New(client.Discover(w.data("data"))) // it listens elsewhere now
	t.Cleanup(w.client.Close)
	page.AwaitText("? waits for you", "The agent asks", "1 Allow  [y]", "steers the turn", "The server was restarted.")
	if seen := term.AwaitText("Needs you (1)", "Idle (1)"); strings.Contains(seen, "D dismiss") {
		t.Errorf("a turn has ended with the restart:\n%s", seen)
	}
	if now := w.question(asks); now != question {
		t.Errorf("the question is %s after the restart, it was %s", now, question)
	}
	leaveInput(page)
	page.Keys("a")
	page.Await("the answer arrives", func(screen string) bool {
		if strings.Contains(screen, "1 Allow") {
			page.Keys("1") // the keys are dead for half a second
			return false
		}
		return strings.Contains(screen, "✓ completed")
	})
	page.AwaitText("? May I?", "→ Allow", `◆ "May I?" was answered after a restart: Allow`, "◆ I did.", "starts a turn")
	term.AwaitText("nothing needs you", "Idle (2)")
	w.thread("Three", "src/docs", "done")
	term.AwaitText("Idle (3)", "Three")
}

func TestHelpWhereNobodyIsThere(t *testing.T) {
	w := newWorld(t)
	term := terminaltest.Start(t, 100, 120, append(w.env("data"), "CI=true"), w.holon)
	if code := term.AwaitEnd(); code != 0 || !strings.Contains(term.Screen(), "Usage:") {
		t.Errorf("with CI set it ends with %d:\n%s", code, term.Screen())
	}
	piped := exec.Command(w.holon)
	piped.Env = append(os.Environ(), w.env("data")...)
	if out, err := piped.CombinedOutput(); err != nil || !strings.Contains(string(out), "Usage:") {
		t.Errorf("without a terminal it ends with %v:\n%s", err, out)
	}
	top := exec.Command(w.holon, "top")
	top.Env = append(os.Environ(), w.env("data")...)
	if out, _ := top.CombinedOutput(); top.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "needs a terminal") {
		t.Errorf("holon top without a terminal ends with %d:\n%s", top.ProcessState.ExitCode(), out)
	}
}
