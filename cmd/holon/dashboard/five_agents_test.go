package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
)

// The threads. None of these words is in a path of the test.
const (
	leave    = "Ask for leave"
	build    = "Break the build"
	docs     = "Steer the docs"
	deploy   = "Stop the deploy 漢字 👩"
	joined   = deploy + "\u200d👩\u200d👧" // what it is called: one emoji of three
	children = "Have children"
)

// Five agents work: one asks, one fails, one is steered, one is interrupted and one has a
// child. The server is killed and comes back. Each step is done at one of three terminals,
// and all of them show it.
func TestFiveAgentsOnThreeTerminals(t *testing.T) {
	for _, f := range fifths(t) {
		t.Run(f.name, func(t *testing.T) {
			d := newDesk(t, f)
			d.fiveWork()
			d.childIsEntered()
			d.oneAsks()
			d.oneFails()
			d.oneIsSteered()
			d.oneIsInterrupted()
			d.childAsks()
			d.asksWhileOneTypes()
			asked := d.serverIsKilled()
			d.serverIsBack(asked)
			d.workGoesOn()
			d.leave()
		})
	}
}

// fiveWork starts four turns of echo, and at the large terminal that of the fifth agent,
// which lets a child work. Its page is open when the child begins.
func (d *desk) fiveWork() {
	for _, title := range []string{leave, build, docs, joined} {
		d.idle(title, "echo", "src/docs")
		d.turn(title, "/progress reading\n/sleep 3600000", nil)
	}
	d.turns[deploy], d.threads[deploy] = d.turns[joined], d.threads[joined]
	d.idle(children, d.fifth.name, "src/site")
	d.sit()
	d.tops("nothing needs you · 4 working", d.all()...)
	d.open(d.large, "·", children)
	d.large.AwaitText("Nothing has happened", "starts a turn")
	d.write(d.large)
	d.large.Paste(d.fifth.spawns)
	d.large.AwaitText("> "+firstLine(d.fifth.spawns)[:10], "starts a turn") // a paste sends nothing
	d.large.Keys("Enter")
	d.large.AwaitText("steers the turn")
	if d.fifth.byHand {
		d.large.AwaitText("◆ Another one looks around")
		d.startChild()
	}
	d.large.AwaitText("├ child "+childTitle, "working", "◔ waits for 1 child")
	child := d.newestTurn(map[string]any{"parent_thread_id": d.threads[children]})
	d.turns[childTitle], d.threads[childTitle] = child["turn_id"].(string), child["thread_id"].(string)
	d.home(d.large)
	d.tops("nothing needs you · 5 working", d.all()...)
}

// startChild starts a child in the name of the fifth agent, whose prompt then ends: the turn
// waits for the child.
func (d *desk) startChild() {
	d.turns[children] = d.newestTurn(map[string]any{"thread_id": d.threads[children]})["turn_id"].(string)
	parent := map[string]any{"thread_id": d.threads[children]}
	child := d.call("thread/start", map[string]any{"title": childTitle, "agent": "echo", "parent": parent})
	d.threads[childTitle] = child["thread_id"].(string)
	d.turn(childTitle, childPrompt, map[string]any{"title": childTitle, "parent": parent})
	d.large.AwaitText("├ child " + childTitle) // although the parent does nothing
	d.does(children, "say I wait for it")
}

// childIsEntered sees the child in the overview, and enters it from the small terminal.
func (d *desk) childIsEntered() {
	for _, term := range []*terminaltest.Terminal{d.middle, d.large} {
		d.find(term, ">", children)
		term.AwaitText("children: 1 work")
		term.Keys("Escape") // all threads
	}
	d.large.Await("a column for children", func(screen string) bool { return strings.HasPrefix(line(screen, "  1 work"), "> ") })
	d.open(d.small, ">", children)
	d.selectChild(d.small)
	d.small.Keys("Enter")
	d.small.AwaitText(childTitle+" · echo", "◆ I look around", "steers the turn")
	d.small.Keys("Escape")
	d.small.Await("the parent", func(screen string) bool {
		return !strings.HasPrefix(screen, childTitle) && place(screen) == "page" && strings.Contains(screen, "steers the turn")
	})
	d.home(d.small)
	d.small.Keys("Escape")
}

// oneAsks has an agent ask. It is answered at the middle terminal.
func (d *desk) oneAsks() {
	d.does(leave, "/ask May I run the tests?\n/say All tests pass.")
	d.tops("1 needs you · 4 working", d.all()...)
	for _, term := range d.all() {
		term.Await("a title that says so", func(string) bool { return term.Title() == "holon (1)" })
		term.Keys("w")
		term.AwaitText("? "+leave, "Waits for you for", ": May I run")
	}
	d.keysAreDead(d.middle)
	d.middle.Await("the answer arrives", func(screen string) bool {
		switch {
		case strings.Contains(screen, "Sending"):
		case strings.Contains(screen, "1 Allow"):
			d.middle.Keys("1")
		case d.pending(leave) == 0:
			return true
		default:
			d.middle.Keys("a")
		}
		return false
	})
	d.tops("nothing needs you · 4 working", d.all()...)
	for _, term := range d.all() {
		term.Await("a title that says so", func(string) bool { return term.Title() == "holon" })
		term.AwaitText("✓ "+leave, "ago: All tests pass.")
	}
	d.colours()
}

// keysAreDead answers a question as soon as it is shown: that must do nothing. It tries
// again if half a second has passed since the question was opened.
func (d *desk) keysAreDead(term *terminaltest.Terminal) {
	for range 5 {
		opened := time.Now()
		term.Keys("a")
		term.AwaitText("1 Allow", "2 Reject")
		term.Keys("1", "Escape")
		term.Await("the question is left", func(screen string) bool { return !strings.Contains(screen, "1 Allow") })
		dead := time.Since(opened) < 500*time.Millisecond
		answered := d.pending(leave) == 0
		if dead && answered {
			d.t.Error("a key within 500 ms has answered the question")
		}
		if dead || answered {
			return
		}
	}
	d.t.Log("NOT TESTED: keys that are dead for 500 ms; this machine takes longer to press them")
}

// oneFails has a turn fail.
func (d *desk) oneFails() {
	d.does(build, "/fail the model is overloaded")
	d.tops("nothing needs you · 3 working · 1 failed", d.all()...)
	for _, term := range d.all() {
		d.find(term, "!", build)
		term.AwaitText("Failed", "ago: the model is")
	}
}

// oneIsSteered steers a turn from the small terminal. All show its page.
func (d *desk) oneIsSteered() {
	for _, term := range d.all() {
		d.open(term, ">", docs)
	}
	d.write(d.small)
	d.small.Type("/say the docs first")
	d.small.AwaitText("> /say the docs first", "steers the turn")
	d.small.Keys("Enter")
	for _, term := range d.all() {
		term.AwaitText("❯ /say the docs first", "(steered)", "▶ working")
	}
	d.does(docs, "/sleep 3600000")
	for _, term := range d.all() {
		term.AwaitText("◆ the docs first", "▶ working")
	}
	d.colours()
	d.home(d.all()...)
	d.tops("nothing needs you · 3 working · 1 failed", d.all()...)
}

// oneIsInterrupted interrupts a turn from the large terminal, after a confirmation.
func (d *desk) oneIsInterrupted() {
	for _, key := range []string{"x", "y"} { // any key but y does not
		d.find(d.large, ">", deploy)
		d.large.Keys("i")
		d.large.AwaitText("Interrupt “"+deploy+"”", "y interrupts it")
		d.large.Keys(key)
		if key != "y" {
			d.large.AwaitText("Not interrupted.")
		}
	}
	d.tops("nothing needs you · 2 working · 1 failed", d.all()...)
	for _, term := range d.all() {
		d.find(term, "■", deploy)
		term.AwaitText("Interrupted", "ago: ")
		term.Keys("Escape")
	}
}

// childAsks has the child ask: it gets a row in the overview, and its parent's page says so.
// A further terminal shows the question.
func (d *desk) childAsks() {
	d.does(childTitle, "/ask May I read the diary?\n/say I have read the diary.")
	d.tops("1 needs you · 2 working · 1 failed", d.all()...)
	for _, term := range d.all() {
		term.Keys("w")
		term.AwaitText("? "+childTitle, "Waits for you for", ": May I read")
	}
	d.open(d.large, ">", children)
	d.large.AwaitText("├ child "+childTitle, "asks you")
	d.beside = terminaltest.Start(d.t, 80, 24, d.env("data"), d.holon)
	d.tops("1 needs you · 2 working · 1 failed", d.beside)
	d.open(d.beside, "?", childTitle)
	d.beside.AwaitText("The agent asks", "? May I read the diary?", "1 Allow", "? waits for you")
}

// asksWhileOneTypes has an agent ask while one types to it at the middle terminal: the
// question takes nothing of the text.
func (d *desk) asksWhileOneTypes() {
	d.open(d.middle, "✓", leave)
	d.write(d.middle)
	d.middle.Type("half a sen")
	d.middle.AwaitText("> half a sen", "starts a turn")
	d.turn(leave, "/ask May I push?\n/say Pushed.", map[string]any{"retry": map[string]any{"on_crash": "retry", "max_attempts": 2}})
	d.middle.AwaitText("The agent asks", "? May I push?", "1 Allow", "> half a sen")
	d.middle.Type("tence 1y")
	d.middle.AwaitText("> half a sentence 1y", "1 Allow")
	if n := d.pending(leave); n != 1 {
		d.t.Errorf("%d questions are open after one has typed, want 1", n)
	}
	d.tops("2 need you · 2 working · 1 failed", d.small)
}

// serverIsKilled kills the server. All terminals say so and keep what they show. It returns
// the questions that were open, by the titles of their threads.
func (d *desk) serverIsKilled() (asked map[string]string) {
	asked = map[string]string{}
	for _, title := range []string{leave, childTitle} {
		asked[title] = d.question(d.threads[title])
	}
	d.kill()
	d.small.AwaitText("as of ", " · 2 need you · 2 working", "trying again")
	d.middle.AwaitText("? May I push?", "> half a sentence 1y", "trying again")
	d.large.AwaitText("├ child "+childTitle, "trying again")
	d.beside.AwaitText("? May I read the diary?", "trying again")
	d.colours()
	return asked
}

// serverIsBack starts the server again. All terminals show the truth, without a key: the
// turns that asked still wait, under the same questions, and so does the one that waits for
// its child. The one that worked is interrupted. That is said until it is dismissed.
func (d *desk) serverIsBack(asked map[string]string) {
	d.serve()
	d.tops("2 need you · 1 working · 1 failed", d.small)
	d.small.AwaitText("\n1 turn ended: R retry, D dismiss\n")
	d.small.Await("a title that says so", func(string) bool { return d.small.Title() == "holon (2)" })
	for _, term := range append(d.all(), d.beside) {
		term.Await("the connection is back", func(screen string) bool { return !strings.Contains(screen, "trying again") })
	}
	d.middle.Await("the same question, once", func(screen string) bool {
		return strings.Contains(screen, "The agent asks ─") && strings.Count(screen, "1 Allow") == 1 && strings.Count(screen, "May I push? · waits") == 1 &&
			strings.Contains(screen, "? waits for you") && strings.Contains(screen, "> half a sentence 1y") && !strings.Contains(screen, "given up")
	})
	d.large.Await("the parent waits for the child, which asks", func(screen string) bool {
		return strings.Contains(line(screen, "├ child "+childTitle), "asks you") && strings.Contains(screen, "◔ waits for 1 child")
	})
	d.beside.AwaitText("The agent asks", "? May I read the diary?", "1 Allow", "? waits for you", "The server was restarted.")
	for title, id := range asked {
		if now := d.question(d.threads[title]); now != id {
			d.t.Errorf("the question of %q is %s after the restart, it was %s", title, now, id)
		}
	}
	for title, sign := range map[string]string{leave: "?", build: "!", docs: "■", deploy: "■", children: ">", childTitle: "?"} {
		d.find(d.small, sign, title)
	}
	d.small.Keys("Escape")
	d.small.Await("all threads, and what ended", func(screen string) bool {
		return strings.Contains(screen, "\n1 turn ended: R retry, D dismiss\n") && !strings.Contains(screen, "Esc shows all")
	})
	d.small.Keys("D")
	d.small.Await("what ended is dismissed", func(screen string) bool { return !strings.Contains(screen, "1 turn ended") })
}

// workGoesOn answers the questions and starts a turn, on pages that have seen the restart.
func (d *desk) workGoesOn() {
	d.middle.Keys("Escape")
	d.middle.AwaitText("? all keys")
	d.middle.Keys("a")
	d.middle.Await("the answer arrives", func(screen string) bool {
		if strings.Contains(screen, "1 Allow") {
			d.middle.Keys("y") // the keys are dead for half a second
		}
		return strings.Contains(screen, "◆ Pushed.")
	})
	d.middle.AwaitText("? May I push?", "→ Allow", `◆ "May I push?" was answered after a restart: Allow`, "✓ completed", "> half a sentence 1y")
	d.tops("1 needs you · 1 working · 1 failed", d.small)
	d.beside.Keys("a")
	d.beside.Await("the answer arrives", func(screen string) bool {
		if strings.Contains(screen, "1 Allow") {
			d.beside.Keys("y") // the keys are dead for half a second
		}
		return strings.Contains(screen, "◆ I have read the diary.")
	})
	d.beside.AwaitText("? May I read the diary?", "→ Allow", `◆ "May I read the diary?" was answered after a restart: Allow`, "✓ completed", "starts a turn")
	// The turn that waited for the child goes on when that has ended.
	d.large.AwaitText("(from the inbox)", "✓ completed", "starts a turn")
	d.large.Await("the child is done", func(screen string) bool {
		return strings.Contains(line(screen, "├ child "+childTitle), "completed")
	})
	d.write(d.large)
	d.large.Type(d.fifth.says)
	d.large.Keys("Enter")
	d.large.AwaitText("❯ "+d.fifth.says, "◆ I say apple.", "✓ completed", "starts a turn")
	for _, title := range []string{leave, childTitle} { // without another attempt
		turn := d.call("turn/read", map[string]any{"turn_id": d.turns[title]})["turn"].(map[string]any)
		if turn["state"] != "completed" || turn["attempt"] != 1.0 {
			d.t.Errorf("the turn of %q is %v in attempt %v, want completed in 1", title, turn["state"], turn["attempt"])
		}
	}
	d.home(d.all()...)
	d.tops("nothing needs you · 0 working · 1 failed", d.all()...)
	for _, term := range d.all() {
		term.Await("what ended stays dismissed", func(screen string) bool { return !strings.Contains(screen, "1 turn ended") })
	}
	for title, sign := range map[string]string{leave: "✓", docs: "■", children: "✓", childTitle: "✓"} {
		d.find(d.small, sign, title)
	}
	d.small.Keys("Escape")
}

// leave ends the dashboards. Each gives its terminal back.
func (d *desk) leave() {
	d.home(d.beside)
	for _, term := range append(d.all(), d.beside) {
		term.Keys("q")
		if code := term.AwaitEnd(); code != 0 || term.Alternate() {
			d.t.Errorf("it ends with %d, on the alternate screen: %v", code, term.Alternate())
		}
	}
}
