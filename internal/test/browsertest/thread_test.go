package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// A thread from its start in the page: what the agent says, a permission, a steer, an
// interrupt, a retry, the close.
func TestAThreadFromItsStartToItsEnd(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		p := open(t, s, f, "#/")
		p.sees("h1", "Nothing needs you")
		p.write("form.new textarea", "/say hello you\n/deltas 300 20\n/ask Deploy to production")
		p.press("form.new button", "Start")
		p.untilPage("thread")
		p.sees("article[data-type=agent_message]", "hello you")
		p.sees("section.question", "Deploy to production")
		p.exact()

		p.press("section.question button", "Allow")
		p.seesNot("section.question", "")
		p.sees("p.answered", "Deploy to production")
		p.sees("article[data-type=agent_message]", "allow_once")
		p.sees(".end", "Done")
		p.exact()

		p.say("/sleep 600000")
		p.sees(".progress", "working")
		p.say("look at the tests too")
		p.sees("article[data-type=user_message]", "look at the tests too")
		p.press("button", "Interrupt")
		p.sees(".end", "Interrupted")
		p.exact()

		p.press("button", "Retry")
		p.sees(".progress", "attempt 2")
		p.seesNot(".end", "Interrupted")
		p.press("button", "Close")
		p.press("button", "Interrupt and close")
		p.sees("p.composer", "This thread is closed")
		p.exact()
	})
}

// say writes into the line of a thread and sends it.
func (p *tab) say(text string) {
	p.t.Helper()
	p.write("#composer", text)
	if p.form.touch {
		p.press("form.composer > button", "")
	} else {
		p.key(kb.Enter)
	}
	p.until("document.querySelector('#composer').value === ''")
}

// What an agent does besides talking: thoughts, a plan, tools with input and output, diffs,
// usage.
func TestWhatAnAgentDoes(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, badAgent(t))
		thread := s.thread("coder", nil)
		s.turn(thread, "think Let me see.\nsay I **begin**.\nplan\ntool Reading main.go\nexecute seq 100\nedit main.go\nusage\nsay Done.", nil)
		p := open(t, s, f, "#/thread/"+thread)
		p.sees(".end", "Done")
		p.sees("details.thought summary", "Thought")
		p.press("details.thought summary", "")
		p.sees("details.thought", "Let me see.")
		p.sees("article strong", "begin")
		p.sees(".plan", "1 of 2")
		p.sees(".tool", "Reading main.go")
		p.sees(".tool code", "seq 100")
		p.press(".tool button", "more lines above")
		p.sees(".tool pre", "one\ntwo\nthree\n1\n2\n")
		p.press("details.diff summary", "main.go")
		p.sees("details.diff", "new")
		p.sees(".end", "tokens")
		p.sees("header .facts", "this thread +") // what its own changes have added
		p.exact()
		p.noWiderThanTheScreen()
	})
}

// A form that an agent asks to be filled in, and a permission for a command, both answered
// where all questions are.
func TestQuestionsAreAnsweredWhereTheyWait(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, badAgent(t))
		thread := s.thread("coder", object{"title": "The one that asks"})
		s.turn(thread, "elicit Which branch?\nask Push to main", nil)
		p := open(t, s, f, "#/waiting")
		p.sees("section.question", "Which branch?")
		p.press("section.question button", "Answer")
		p.sees("section.question [role=alert]", "Name: this is needed.")
		p.write("section.question input", "feature/x")
		p.press("section.question button", "Answer")
		p.sees("section.question .asked", "run git push")
		p.press("section.question button", "No")
		p.sees("main", "Nothing waits.")
		p.goTo("#/thread/" + thread)
		p.sees("article[data-type=agent_message]", "feature/x")
		p.sees("article[data-type=agent_message]", "selected no")
		p.exact()
	})
}

// Markdown that is easily drawn wrong.
func TestMarkdownIsDrawn(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		_, _, p := openEcho(t, f, "- [x] tests\n- [ ] documents\n\n1. one\n2. two\n\n![a cat](https://example.com/cat.png) &lt;b&gt; **a**_b_`c`")
		p.sees("article[data-type=agent_message]", "one")
		for _, want := range []string{"☑ tests", "☐ documents", "one", "two", "🖼 a cat https://example.com/cat.png <b> abc"} {
			p.sees("article[data-type=agent_message] li, article[data-type=agent_message] p", want)
		}
		if raw := p.text("article[data-type=agent_message]"); strings.Contains(raw, "[") {
			t.Errorf("it is shown as it was written: %s", raw)
		}
	}, desktopDark)
}
