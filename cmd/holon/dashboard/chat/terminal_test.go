package chat_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
	"github.com/seed82539d15/holon/rpc/client"
)

func TestMain(m *testing.M) {
	code := m.Run()
	terminaltest.Remove()
	os.Exit(code)
}

// world is a server on a data directory of its own.
type world struct {
	t     *testing.T
	holon string
	env   []string
	*client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	path := terminaltest.Binary(t)
	dir := t.TempDir()
	w := &world{t: t, holon: path, env: []string{"HOLON_DATA=" + filepath.Join(dir, "data"), "XDG_CONFIG_HOME=" + dir, "XDG_RUNTIME_DIR=" + dir}}
	server := exec.Command(path, "serve", "--listen", "127.0.0.1:0")
	server.Env = append(os.Environ(), w.env...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt) // it may have ended
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	w.Client = client.New(client.Discover(filepath.Join(dir, "data")))
	t.Cleanup(w.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.Tick(20 * time.Millisecond); w.Ready(ctx) != nil; {
		select {
		case <-tick:
		case <-ctx.Done():
			t.Fatal("the server is never ready")
		}
	}
	return w
}

// chat opens a conversation on a terminal.
func (w *world) chat(width, height int, args ...string) *terminaltest.Terminal {
	w.t.Helper()
	return terminaltest.Start(w.t, width, height, w.env, append([]string{w.holon, "chat"}, args...)...)
}

// escape leaves the input line. A key right behind Escape would be one with Alt.
func escape(term *terminaltest.Terminal) {
	term.Keys("Escape")
	term.AwaitText("? all keys")
}

func TestAConversationOnATerminal(t *testing.T) {
	w := newWorld(t)
	term := w.chat(80, 24, "--title", "try it")
	term.AwaitText("try it · echo", "idle", "Nothing has happened", "starts a turn")
	if !term.Alternate() {
		t.Error("it is not on the alternate screen")
	}
	term.Type("/say **bold** \x1b]52;c;aGk=\x07words")
	term.Keys("Enter")
	term.AwaitText("◆ bold words", "✓ completed in")
	if !strings.Contains(term.Colours(), "[1mbold") && !strings.Contains(term.Colours(), ";1mbold") {
		t.Errorf("bold is not bold:\n%q", term.Colours())
	}

	term.PasteBare("/progress reading\n/ask Run the tests?\n")
	term.AwaitText("> /progress reading", "  /ask Run the tests?", "idle")
	term.Paste("/sleep 3600000\n")
	term.AwaitText("> /progress reading", "  /ask Run the tests?", "idle")
	term.Keys("Enter")
	term.AwaitText("The agent asks", "? Run the tests?", "1 Allow  [y]", "? waits for you", "steers the turn")
	term.Type("y1 please")
	term.AwaitText("> y1 please", "1 Allow  [y]")
	escape(term)
	term.Keys("a")
	term.Await("the answer arrives", func(screen string) bool {
		if strings.Contains(screen, "→ Allow") {
			return true
		}
		if strings.Contains(screen, "1 Allow") {
			term.Keys("y") // the keys are dead for half a second
		}
		return false
	})
	term.AwaitText("▶ working", "> y1 please")
	term.Keys("Tab", "Enter")
	term.AwaitText("❯ y1 please", "(steered)")

	for _, size := range [][2]int{{40, 10}, {200, 60}, {80, 24}} {
		term.Resize(size[0], size[1])
		term.Await(fmt.Sprintf("the page is drawn in %d columns", size[0]), func(screen string) bool {
			lines := strings.Split(screen, "\n")
			return len(lines) == size[1] && strings.HasPrefix(lines[0], "try it") && len([]rune(lines[0])) == size[0]
		})
	}

	escape(term)
	term.Keys("i")
	term.AwaitText("Interrupt “try it”", "y interrupts it")
	term.Keys("y")
	term.AwaitText("■ interrupted", "idle")
	term.Keys("q")
	if code := term.AwaitEnd(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if term.Alternate() {
		t.Error("it stays on the alternate screen")
	}
}

func TestAConversationThatIsLeftGoesOn(t *testing.T) {
	w := newWorld(t)
	// The shell keeps what is written after the end on the terminal.
	term := terminaltest.Start(t, 120, 24, w.env, "sh", "-c", w.holon+" chat; echo exit $?; read x")
	term.AwaitText("starts a turn")
	term.Type("/sleep 3600000")
	term.Keys("Enter")
	term.AwaitText("▶ working")
	term.Keys("C-c")
	term.AwaitText("The turn continues at the server: holon chat ", "exit 0")
	if strings.Contains(term.Screen(), "holon chat thread_") {
		t.Errorf("a whole id:\n%s", term.Screen())
	}
	again := w.chat(80, 24, "latest")
	again.AwaitText("❯ /sleep 3600000", "▶ working", "steers the turn")
}

// A thread that was closed a moment before the end is closed, and nothing goes on.
func TestAConversationThatIsClosedAtItsEndIsClosed(t *testing.T) {
	for _, end := range []string{"C-c", "q"} {
		w := newWorld(t)
		if err := w.Call(t.Context(), "thread/start", map[string]any{"thread_id": "mine", "title": "mine"}, nil); err != nil {
			t.Fatal(err)
		}
		term := terminaltest.Start(t, 120, 24, w.env, "sh", "-c", w.holon+" chat mine; echo exit $?; read x")
		term.AwaitText("idle", "starts a turn")
		term.Type("/sleep 3600000")
		term.Keys("Enter")
		term.AwaitText("▶ working")
		escape(term)
		term.Keys("x")
		term.AwaitText("Close “mine”? It interrupts its turn.")
		term.Keys("y")
		term.AwaitText("“mine” is closed in")
		term.Keys(end)
		if screen := term.AwaitText("exit 0"); strings.Contains(screen, "continues") {
			t.Errorf("after %s it says\n%s", end, screen)
		}
		var read struct {
			Thread struct{ State string } `json:"thread"`
		}
		if err := w.Call(t.Context(), "thread/read", map[string]any{"thread_id": "mine"}, &read); err != nil {
			t.Fatal(err)
		}
		if read.Thread.State != "closed" {
			t.Errorf("after %s the thread is %s", end, read.Thread.State)
		}
	}
}

// A child is opened, and Esc leads back; what was written stays in each.
func TestChildrenAreOpenedAndLeft(t *testing.T) {
	w := newWorld(t)
	input := func(text string) []any {
		return []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}}
	}
	for method, params := range map[string]map[string]any{"thread/start": {"thread_id": "mother", "title": "the mother"}} {
		if err := w.Call(t.Context(), method, params, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range []struct {
		method string
		params map[string]any
	}{
		{"turn/start", map[string]any{"thread_id": "mother", "input": input("/sleep 3600000")}},
		{"thread/start", map[string]any{"thread_id": "child", "title": "the child", "parent": map[string]any{"thread_id": "mother"}}},
		{"turn/start", map[string]any{"thread_id": "child", "title": "look around", "parent": map[string]any{"thread_id": "mother"}, "input": input("/say I look around\n/sleep 3600000")}},
	} {
		if err := w.Call(t.Context(), call.method, call.params, nil); err != nil {
			t.Fatal(err)
		}
	}
	term := w.chat(80, 24, "mother")
	term.AwaitText("├ child look around", "working")
	term.Type("to the mother")
	escape(term)
	term.Keys("k", "Enter")
	term.AwaitText("the child · echo", "◆ I look around", "steers the turn")
	term.Type("to the child")
	term.AwaitText("> to the child")
	escape(term)
	term.Keys("Escape")
	term.AwaitText("the mother · echo", "> to the mother")
	term.Keys("k", "Enter")
	term.AwaitText("the child · echo", "> to the child")
}

func TestPlainNeedsNoScreen(t *testing.T) {
	w := newWorld(t)
	term := w.chat(80, 24, "--plain")
	term.AwaitText("Each line goes to the agent")
	if term.Alternate() {
		t.Error("plain is on the alternate screen")
	}
	term.Type("hello")
	term.Keys("Enter")
	term.AwaitText("agent: hello", "turn: completed")
	term.Keys("C-d")
	if code := term.AwaitEnd(); code != 0 {
		t.Errorf("exit %d", code)
	}
}
