package dashboard_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
)

// A person interrupts a thread, and then something comes into its inbox: the list and the page
// say that it is not told that, as soon as it has come, and a key tells it.
func TestAThreadIsNotToldWhatIsNewAndAKeyTellsIt(t *testing.T) {
	w := newWorld(t)
	w.serve("data")
	thread := w.thread("Watches the releases", "src/docs", "/sleep 3600000")
	w.call("inbox/configure", map[string]any{"thread_id": thread, "policy": map[string]any{"wake": "idle"}})
	term := terminaltest.Start(t, 100, 24, w.env("data"), w.holon)
	comes := func(id string) {
		w.call("inbox/ingest", map[string]any{"thread_id": thread, "items": []any{map[string]any{"source": "releases", "native_id": id, "summary": "version " + id + " is out"}}})
	}
	term.AwaitText("Working (1)")
	term.Keys("i")
	presses(term, "y", "■ Watches the releases")
	comes("1")
	term.AwaitText("1 not told", "■ Watches the releases", "1 new, not told: it was interrupted · W tells it", "W tell it")
	term.Keys("W")
	term.AwaitText("Woken: its agent is told")
	term.Await("no stop of wakes", func(screen string) bool { return !strings.Contains(screen, "not told") })

	turn := w.call("turn/start", map[string]any{"thread_id": thread, "input": input("/sleep 3600000")})["turn_id"]
	term.AwaitText("Working (1)")
	term.Keys("Enter")
	term.AwaitText("> write to the agent", "▶ working")
	w.call("turn/interrupt", map[string]any{"turn_id": turn})
	comes("2")
	term.AwaitText("1 new, not told: it was interrupted · Esc, then W tells it")
	leaveInput(term)
	term.AwaitText("1 new, not told: it was interrupted · W tells it")
	term.Keys("W")
	term.AwaitText("y starts a turn that does")
	presses(term, "y", "version 2 is out")
	term.Await("no stop of wakes", func(screen string) bool { return !strings.Contains(screen, "not told:") })
}
