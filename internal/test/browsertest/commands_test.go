package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// A slash is the page's help and the agent's own commands, which are told apart, completed and
// sent.
func TestASlashIsHelpAndTheAgentsCommands(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, badAgent(t))
		thread := s.thread("coder", nil)
		p := open(t, s, f, "#/thread/"+thread)
		p.say("/help")
		p.sees("section[aria-label=Help]", "coder has named no commands")
		if n := len(s.items(thread)); n != 0 {
			t.Errorf("/help has started a turn of %d items", n)
		}
		p.press("button", "Close the help")
		p.seesNot("section[aria-label=Help]", "")

		s.ended(thread, "commands")
		p.sees(".end", "Done")
		p.write("#composer", "/")
		p.sees("ul[aria-label=Commands] li", "/help")
		p.sees("ul[aria-label=Commands] li", "/compact agent Makes the context smaller")
		p.noWiderThanTheScreen()
		p.write("#composer", "/rev")
		p.seesNot("ul[aria-label=Commands] li", "/compact")
		if f.touch {
			p.press("ul[aria-label=Commands] button", "/review")
		} else {
			p.key(kb.Tab)
		}
		p.holds("#composer", "/review ")
		p.sees("form.composer [role=status]", "A command of the agent: /review")
		p.key(kb.End)
		p.key("it")
		p.holds("#composer", "/review it")
		p.press("form.composer button", "Send")
		p.sees("article[data-type=user_message]", "/review it")

		p.say("/help")
		p.sees("section[aria-label=Help] li", "/review agent Reviews a change")
		p.noWiderThanTheScreen()
	})
}

// A turn that was interrupted does not look like one that is done, in the list as on its page.
func TestAnInterruptedTurnIsNotGreen(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, done, p := openEcho(t, f, "/say all of it")
		stopped := s.thread("echo", object{"title": "The interrupted one"})
		turn := s.turn(stopped, "/sleep 3600000", nil)
		s.until(turn, "running")
		s.call("turn/interrupt", object{"turn_id": turn})
		s.until(turn, "interrupted")
		colour := func(selector string) string {
			p.sees(selector, "")
			return read[string](p, "getComputedStyle(document.querySelector("+quote(selector)+")).color")
		}
		green := colour(".facts .mark[data-state=idle]")
		if end := colour(".end .mark[data-state=completed]"); end != green {
			t.Errorf("what is done is %s, its end %s", green, end)
		}
		p.goTo("#/thread/" + stopped)
		for _, page := range []string{"", "#/"} {
			if page != "" {
				p.goTo(page)
				p.sees("li.card[data-state=idle] a[href$="+quote(done)+"]", "")
				p.sees("li.card[data-state=interrupted] .meta", "interrupted")
			}
			if got := colour(".mark[data-state=interrupted]"); got == green {
				t.Errorf("on %q what was interrupted is as green as what is done", page)
			}
		}
	})
}
