package conversation

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// withCommands is a page of an agent that has commands.
func withCommands(t *testing.T, names ...string) *page {
	p := newPage(t, 100, 40).open()
	var commands []object
	for _, name := range names {
		commands = append(commands, object{"name": name, "description": "does " + name, "hint": "[what]"})
	}
	p.event("thread/updated", object{"config": object{"mode": "code", "commands": commands}})
	return p
}

func TestHelpIsNotForTheAgent(t *testing.T) {
	p := withCommands(t, "compact", "bad name", "x\x1b[31m")
	p.keys("/help")
	p.shows("─ Enter shows the keys ─")
	p.keys("<enter>")
	p.shows("Keys", "While you write")
	p.keys("<pgdown>")
	p.shows("/compact", "[what] does compact", "Commands of the agent")
	p.keys("<esc>")
	p.hides("Commands of the agent", "/help")
	p.wants()
	p.keys("/helpful", "<enter>")
	p.wants(screen.Start{Thread: thread, Text: "/helpful"})
}

func TestTabCompletesACommandOfTheAgent(t *testing.T) {
	for typed, want := range map[string]string{
		"/com": "/commit", "/commits": "/commits-of ", "/rev": "/review ", "/h": "/help", "/x": "/x", "com": "com", "/review now": "/review now", "/review": "/review ", " /rev": " /rev",
	} {
		p := withCommands(t, "commit", "commits-of", "review", "bad name", "re\x1bd")
		p.keys(typed, "<tab>")
		if got := p.m.input.text; got != want || p.m.input.caret != len(want) {
			t.Errorf("%q becomes %q, want %q", typed, got, want)
		}
		if left := p.m.focus != onInput; left != (typed == want) {
			t.Errorf("%q: Tab has left the line: %v", typed, left)
		}
	}
}

func TestACommandOfTheAgentIsMarked(t *testing.T) {
	p := withCommands(t, "commit", "compact")
	p.m.options.Styles = screen.NewStyles(true)
	p.keys("/com")
	p.shows("─ Tab completes /commit /compact ─")
	p.keys("mit")
	p.shows("─ Enter starts a turn with the agent's command /commit [what]: does commit ─", p.m.options.Styles.Working.Paint("/commit"))
	p.keys(" all")
	p.shows(p.m.options.Styles.Working.Paint("/commit") + " all")
	p.keys("<backspace>", "<backspace>", "<backspace>", "<backspace>", "s")
	p.shows("─ Enter starts a turn ─")
	if strings.Contains(p.text(), p.m.options.Styles.Working.Paint("/commit")) {
		t.Error("a word that is no command is marked")
	}
	p.event("thread/updated", object{"config": object{"commands": []object{}}})
	p.keys("<backspace>")
	p.shows("─ Enter starts a turn ─")
}
