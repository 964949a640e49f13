package dashboard_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
)

// desk is a person with three terminals, which show one server. The small one has no
// colours.
type desk struct {
	*world
	fifth                *fifth
	server               *exec.Cmd
	small, middle, large *terminaltest.Terminal
	beside               *terminaltest.Terminal // opened later, as large as the middle one
	threads, turns       map[string]string      // ids by the titles of threads
}

// newDesk starts a server that knows the fifth agent. It has no terminals yet.
func newDesk(t *testing.T, f *fifth) *desk {
	t.Helper()
	d := &desk{world: newWorld(t), fifth: f, threads: map[string]string{}, turns: map[string]string{}}
	if err := os.WriteFile(d.data("holon.toml"), []byte(f.config(t, d.dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	d.serve()
	return d
}

// serve starts the server, each time at the same address.
func (d *desk) serve() {
	d.t.Helper()
	d.server = d.serveOn("unix:"+d.data("s"), "data", "--config", d.data("holon.toml"))
}

// kill ends the server at once, without a shutdown.
func (d *desk) kill() {
	d.t.Helper()
	if err := d.server.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	_ = d.server.Wait() // it was killed
}

// sit opens the dashboard on the three terminals.
func (d *desk) sit() {
	d.t.Helper()
	d.small = terminaltest.Start(d.t, 40, 10, append(d.env("data"), "NO_COLOR=1"), d.holon)
	d.middle = terminaltest.Start(d.t, 80, 24, d.env("data"), d.holon)
	d.large = terminaltest.Start(d.t, 200, 60, d.env("data"), d.holon)
}

// all are the terminals.
func (d *desk) all() []*terminaltest.Terminal {
	return []*terminaltest.Terminal{d.small, d.middle, d.large}
}

// idle starts a thread without a turn.
func (d *desk) idle(title, agent, cwd string) {
	d.t.Helper()
	id := fmt.Sprintf("thread-%d", len(d.threads)+1)
	d.call("thread/start", map[string]any{"thread_id": id, "title": title, "agent": agent, "cwd": d.data(cwd)})
	d.threads[title] = id
}

// turn starts a turn. more are further params.
func (d *desk) turn(title, prompt string, more map[string]any) {
	d.t.Helper()
	params := map[string]any{"thread_id": d.threads[title], "input": input(prompt)}
	for name, value := range more {
		params[name] = value
	}
	d.turns[title] = d.call("turn/start", params)["turn_id"].(string)
}

// newestTurn is the newest of some turns.
func (d *desk) newestTurn(of map[string]any) map[string]any {
	d.t.Helper()
	of["order"], of["limit"] = "desc", 1
	turns, _ := d.call("turn/list", of)["turns"].([]any)
	if len(turns) != 1 {
		d.t.Fatalf("%v has %d turns, want 1", of, len(turns))
	}
	return turns[0].(map[string]any)
}

// does has the agent of a thread do something else, in the middle of its turn.
func (d *desk) does(title, prompt string) {
	d.t.Helper()
	d.call("turn/steer", map[string]any{"turn_id": d.turns[title], "mode": "interrupt", "input": input(prompt)})
}

func input(text string) []any {
	return []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}}
}

// pending is how many questions of a thread are open.
func (d *desk) pending(title string) int {
	d.t.Helper()
	items, _ := d.call("item/list", map[string]any{"thread_id": d.threads[title], "status": "pending"})["items"].([]any)
	return len(items)
}

// firstLine is the first line of a screen.
func firstLine(screen string) string {
	first, _, _ := strings.Cut(screen, "\n")
	return first
}

// tops waits until the first line of some terminals, which show the overview, is this one,
// and their rows are straight.
func (d *desk) tops(want string, terms ...*terminaltest.Terminal) {
	d.t.Helper()
	for _, term := range terms {
		screen := term.Await(fmt.Sprintf("%q at the top", want), func(screen string) bool {
			line := firstLine(screen)
			return line == want || strings.HasPrefix(line, want+" · oldest wait") || strings.HasPrefix(line, want+" · <$") || strings.HasPrefix(line, want+" · $")
		})
		straight(d.t, screen)
	}
}

var (
	row   = regexp.MustCompile(`(?m)^[?>!■✓·] .*?  +\d+ (s|min)\b`)
	paint = regexp.MustCompile(`\x1b\[(\d+;)*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]`)
)

// straight checks that the times of all rows end in one column.
func straight(t *testing.T, screen string) {
	t.Helper()
	columns := map[int]bool{}
	for _, found := range row.FindAllString(screen, -1) {
		columns[width(found)] = true
	}
	if len(columns) > 1 {
		t.Errorf("the rows are not straight: they end in the columns %v:\n%s", columns, screen)
	}
}

// colours checks that colours are where they are wanted, and only there.
func (d *desk) colours() {
	d.t.Helper()
	if screen := d.small.Colours(); paint.MatchString(screen) {
		d.t.Errorf("with NO_COLOR there are colours:\n%q", screen)
	}
	if screen := d.large.Colours(); !paint.MatchString(screen) {
		d.t.Errorf("without NO_COLOR there are no colours:\n%q", screen)
	}
}

// place is what a screen shows: the overview, the input line of a page, or the page.
func place(screen string) string {
	switch {
	case strings.Contains(firstLine(screen), "need"): // who needs the person
		return "overview"
	case strings.Contains(screen, "Esc keys"):
		return "input line"
	}
	return "page"
}

// home leads terminals back to the overview. Two Escapes that come at once are one key with
// Alt, so each is pressed when the one before is seen, or must be lost.
func (d *desk) home(terms ...*terminaltest.Terminal) {
	d.t.Helper()
	for _, term := range terms {
		left, looks := "", 0
		term.Await("the overview", func(screen string) bool {
			at := place(screen)
			if at == "overview" {
				return true
			}
			if looks++; at != left || looks%100 == 0 {
				left = at
				term.Keys("Escape")
			}
			return false
		})
	}
}

// find filters the overview of a terminal, until the row of one thread is left, and waits
// until that begins with a sign. It returns the title in the row.
func (d *desk) find(term *terminaltest.Terminal, sign, title string) string {
	d.t.Helper()
	d.home(term)
	term.Keys("Escape") // ends the filter of before, or what is on the screen would fit at once
	term.Await("all threads", func(screen string) bool { return !strings.Contains(screen, "Filter:") })
	term.Keys("/")
	term.AwaitText("Filter:")
	term.Type(d.threads[title])
	term.Keys("Enter")
	begin := "\n" + sign + " "
	if title != children { // to which its agent may have given another title
		begin += title
	}
	screen := term.Await(sign+" "+title+", alone", func(screen string) bool {
		return strings.Count(screen, begin) == 1 && len(row.FindAllString(screen, -1)) == 1 && strings.Contains(screen, " · Esc shows all")
	})
	straight(d.t, screen)
	found, _, _ := strings.Cut(strings.TrimPrefix(row.FindString(screen), sign+" "), "  ")
	return found
}

// open opens the page of a thread, and waits until the thread has been read.
// It leaves the input line, in which a page begins, so that keys are commands.
func (d *desk) open(term *terminaltest.Terminal, sign, title string) {
	d.t.Helper()
	begins := []rune(d.find(term, sign, title))
	begins = begins[:min(7, len(begins))] // the page has less room for it
	term.Keys("Enter")
	term.Await(fmt.Sprintf("the page of %s, which begins with %q", title, string(begins)), func(screen string) bool {
		return strings.HasPrefix(screen, string(begins)) && (strings.Contains(screen, "─ Enter ") || strings.Contains(screen, "─ A text ")) && !strings.Contains(firstLine(screen), "reading")
	})
	leaveInput(term)
}

// leaveInput makes keys commands on a page that was opened from the list.
func leaveInput(term *terminaltest.Terminal) {
	term.AwaitText("Esc keys")
	term.Keys("Escape")
	term.Await("keys are commands", func(screen string) bool { return !strings.Contains(screen, "Esc keys") })
}

// write goes to the input line of a page.
func (d *desk) write(term *terminaltest.Terminal) {
	d.t.Helper()
	screen := term.Await("an empty input line", func(screen string) bool {
		return strings.Contains(screen, "> Tab") || strings.Contains(screen, "> write to")
	})
	if strings.Contains(screen, "> Tab") {
		term.Keys("Tab")
	}
	term.AwaitText("> write to the agent")
}

var (
	reversed = regexp.MustCompile(`\x1b\[(\d+;)*7[;m]`)
	sequence = regexp.MustCompile(`\x1b\[[\d;]*m|\d+`)
)

// selected is the line that is selected on a screen, without colours and numbers.
func selected(term *terminaltest.Terminal) string {
	for line := range strings.Lines(term.Colours()) {
		if reversed.MatchString(line) {
			return sequence.ReplaceAllString(line, "")
		}
	}
	return ""
}

// selectChild selects the child on a page: upwards, each step when the one before is seen.
func (d *desk) selectChild(term *terminaltest.Terminal) {
	d.t.Helper()
	for at := selected(term); !strings.Contains(at, "├ child"); {
		term.Keys("k")
		term.Await("another block is selected", func(string) bool { return selected(term) != at })
		at = selected(term)
	}
	term.AwaitText("open the child")
}
