package browsertest

import (
	"fmt"
	"testing"
)

// Of 308 threads the oldest needs somebody, the next works and the third has failed: they are
// there, and are what headline, badge and tab count; the filter finds every other one.
func TestTheOldestOf308ThatNeedsYouIsSeen(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		turns := map[string]string{}
		for i, text := range []string{"/say look at it", "/deltas 100000 20 100", "/fail it is broken", "/ask May I"} {
			more := object{}
			if i == 0 {
				more["review"] = "always"
			}
			turns[text] = s.turn(s.thread("echo", object{"title": fmt.Sprintf("Old %d", i)}), text, more)
		}
		s.until(turns["/say look at it"], "completed")
		s.until(turns["/fail it is broken"], "failed")
		s.until(turns["/ask May I"], "waiting")
		for i := range 304 {
			s.call("thread/start", object{"agent": "echo", "title": fmt.Sprintf("Job the %dth", i)})
		}
		p := open(t, s, f, "#/")
		for group, titles := range map[string][]string{"Needs you 2": {"Old 0", "Old 3"}, "Working 1": {"Old 1"}, "Failed 1": {"Old 2"}, "Idle 304": {"Job the 303th"}} {
			for _, title := range titles {
				p.sees("section:has(h2)", group)
				p.until(fmt.Sprintf("[...document.querySelectorAll('section:has(h2)')].some(s => s.querySelector('h2').innerText === %s && [...s.querySelectorAll('li .title')].some(t => t.innerText === %s))", quote(group), quote(title)))
			}
		}
		p.sees("h1", "2 need you")
		p.sees("h1", "1 working")
		p.sees("h1", "1 failed")
		p.sees("nav .badge", "2")
		p.until("document.title === '(2) holon'")
		p.noWiderThanTheScreen()

		// What an agent is saying is in the list, as far as it is.
		text := func() string { return p.text("li.card[data-state=working] .doing") }
		before := text()
		p.until("document.querySelector('li.card[data-state=working] .doing').innerText !== " + quote(before))

		p.write("input[type=search]", "12th job")
		p.sees("h2", "Idle 3")
		for _, title := range []string{"Job the 12th", "Job the 112th", "Job the 212th"} {
			p.sees("li.card", title)
		}
		p.write("input[type=search]", "old")
		p.sees("h2", "Needs you 2")

		p.goTo("#/waiting")
		p.press("section[aria-label^='Review'] button", "Approve")
		p.press("section[aria-label^='Question'] button", "Allow")
		p.sees("main", "Nothing waits.")
		p.seesNot("nav .badge", "")
		p.until("document.title === 'holon'")
		p.goTo("#/")
		p.sees("h1", "Nothing needs you")
	})
}
