package conversation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/internal/test/keytest"
	"github.com/seed82539d15/holon/rpc/client"
)

// busy is a page in the middle of a thread that has something for every key.
func busy(t *testing.T, question object) *page {
	p := newPage(t, 80, 24)
	p.below = []object{child("a", thread, 1, "idle", 1), child("b", thread, 1, "idle", 2), child("c", thread, 1, "idle", 3)}
	for i := range 60 {
		p.stored(fmt.Sprintf("i%d", i), "completed", object{"type": "tool_call", "title": fmt.Sprint("Read ", i), "output": "a\nb\n"})
	}
	p.open()
	p.started("t1")
	if question != nil {
		p.item("q1", "t1", "pending", question)
	}
	p.later(deadFor)
	p.keys("<esc>", "<pgup>")
	return p
}

// does tells whether a key changes the page or has it ask for something.
func (p *page) does(key tea.KeyPressMsg) bool {
	before := strings.Join(p.check(), "\n") + p.m.input.text
	cursor := p.m.input.caret
	p.did()
	p.send(key)
	if p.m.status == writesHere || p.m.status == NoAnswer {
		return false
	}
	return len(p.did()) > 0 || before != strings.Join(p.check(), "\n")+p.m.input.text || cursor != p.m.input.caret
}

func nothingTyped(string) bool { return false }

func TestEveryKeyThatWorksIsInTheHelp(t *testing.T) {
	long := permission("Edit", object{"description": strings.Repeat("very long\n", 50)})
	for i := range 6 {
		long["options"] = append(long["options"].([]object), object{"option_id": fmt.Sprint("more", i), "name": "More", "kind": "allow_once"})
	}
	for heading, situations := range map[string][]func() *page{
		"": {
			func() *page { return busy(t, long) },
			func() *page { p := busy(t, nil); p.keys("k"); return p },
			func() *page { p := busy(t, nil); p.keys("xy"); return p },
		},
		"While you write": {func() *page {
			p := busy(t, nil)
			p.keys("<tab>", "one two three", "<alt-enter>", "four five six", "<alt-enter>", "seven eight nine", "<up>", "<left>", "<left>", "<left>", "<left>")
			return p
		}},
		"While you answer": {
			func() *page { p := busy(t, long); p.keys("a"); return p },
			func() *page { p := busy(t, long); p.keys("a", "<down>", "<pgdown>"); return p },
		},
		"In the list of threads below": {
			func() *page { p := busy(t, nil); p.keys("c"); return p },
			func() *page { p := busy(t, nil); p.keys("c", "j"); return p },
		},
	} {
		t.Run(heading, func(t *testing.T) {
			typed := nothingTyped
			if heading == "While you write" {
				typed = func(name string) bool { return len(name) == 1 || name == "Space" }
			}
			listed := keytest.Listed(allKeys, heading)
			if heading == "While you write" { // named beside their likes
				listed = append(listed, "Ctrl-←", "Ctrl-→", "Alt-B", "Alt-F", "Ctrl-H", "Alt-Backspace")
			}
			keytest.Check(t, listed, len(situations), typed, func(i int, key tea.KeyPressMsg) bool { return situations[i]().does(key) })
		})
	}
}

// The help line names keys that scroll only where something does.
func TestScrollingIsNamedWhereSomethingScrolls(t *testing.T) {
	p := newPage(t, 120, 24).open()
	p.started("t1")
	p.hides("PgUp", "scroll")
	p.keys("<esc>")
	p.hides("↑ ↓", "g G", "Space")
	p.item("q1", "t1", "pending", permission("Edit", nil))
	p.later(deadFor)
	p.keys("a")
	p.hides("PgDn")
	p.item("q1", "t1", "pending", permission("Edit", object{"description": strings.Repeat("very long\n", 50)}))
	p.shows("PgDn more")
	p.item("q1", "t1", "pending", object{"type": "question", "message": "Which?"})
	p.hides("PgDn")
	for i := range 30 {
		p.item(fmt.Sprint("i", i), "t1", "completed", object{"type": "tool_call", "title": "Read", "output": "a\nb\n"})
	}
	p.keys("<esc>")
	p.shows("↑ ↓ scroll")
	p.keys("<tab>")
	p.shows("PgUp scroll")
}

// What says what has happened, and what to do, is readable in the smallest window.
func TestASmallWindowSaysAllOfASentence(t *testing.T) {
	p := newPage(t, 40, 10).open()
	p.keys("<esc>", "u")
	p.shows("Nothing to undo: u keeps a thread open", "for 5 s after x.")
	p.keys("w")
	p.shows("w next", "? all keys")
	p.send(screen.Connection{State: client.State{Kind: client.Lost}})
	p.shows("The server is gone; trying again")
	p.send(screen.Connection{State: client.State{Kind: client.Resumed}})
	p.started("t1")
	p.keys("i")
	p.shows("Interrupt “mend the build” (turn t1)?", "y interrupts it.", "any other key do not")
	p.keys("n", "x", "y")
	p.shows("is closed in 5 s. u", "keeps it open.")
}

// A letter that is no command was meant for the agent: it does not vanish in silence.
func TestALetterThatIsNoCommandSaysWhereOneWrites(t *testing.T) {
	p := newPage(t, 40, 10).open()
	p.keys("<esc>")
	for _, key := range []string{"e", "E", "1", "ü", ".", "eeee"} {
		p.keys("<tab>", "<esc>")
		p.hides("Tab writes to the agent.")
		p.keys(key)
		p.shows("Tab writes to the agent.")
		p.wants()
	}
	p.keys("<pgup>")
	p.hides("Tab writes to the agent.")
	p.event("thread/closed", object{})
	p.keys("e")
	p.shows("? shows the keys.")
}

// The letters of a word that is typed where they are keys answer no question.
func TestTypedWordsAnswerNothing(t *testing.T) {
	asked := func() *page {
		p := newPage(t, 80, 24).open()
		p.started("t1")
		p.keys("<esc>")
		p.item("q1", "t1", "pending", permission("Read a file", nil))
		p.later(time.Minute)
		p.did()
		return p
	}
	for _, word := range []string{"say no", "may", "please allow it: yes", "maybe y1", "okay yes"} {
		for _, pause := range []time.Duration{0, 300 * time.Millisecond, deadFor - 1} {
			p := asked()
			for _, letter := range strings.Split(word, "") {
				p.now = p.now.Add(pause)
				p.keys(strings.ReplaceAll(letter, " ", "<space>"))
			}
			for _, action := range p.did() {
				if _, is := action.(screen.Respond); is {
					t.Errorf("%q, a letter each %v: %#v", word, pause, action)
				}
			}
		}
	}
	p := asked()
	p.keys("a", "y") // who means it need not wait
	p.wants(screen.Respond{Item: "q1", Option: "once"})
}

// Somebody who believes to write types words, whose letters are keys here.
func TestTypedWordsChangeNothing(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.event("turn/failed", object{"turn_id": "t1", "error": object{"kind": "agent_failed", "message": "no luck"}})
	p.keys("<esc>")
	p.shows("─ A text starts a turn ─", "> Tab or Enter writes to the agent")
	p.did()
	for _, word := range []string{"leave c alone", "xerxes", "explain", "error", "fix", "run"} {
		p.keys(strings.Split(word, "")...)
		p.keys("<enter>", "<esc>")
	}
	p.later(time.Minute)
	for _, action := range p.did() {
		switch action.(type) {
		case screen.Say, screen.Back, screen.Next:
		default:
			t.Errorf("words ask for %#v", action)
		}
	}
}
