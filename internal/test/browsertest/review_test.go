package browsertest

import (
	"fmt"
	"testing"
)

// Results are reviewed where they wait: with what the agent said, the longest wait first, among
// the questions; on the page of the thread too.
func TestWaitingAnswersReviews(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		result := func(title, text string) (thread, turn string) {
			thread = s.thread("echo", object{"title": title})
			turn = s.turn(thread, text, object{"review": "always"})
			s.until(turn, "completed")
			return thread, turn
		}
		_, good := result("The good one", "/say All tests pass.")
		asking := s.thread("echo", object{"title": "The one that asks"})
		s.until(s.turn(asking, "/ask May I go on", nil), "waiting")
		poor, short := result("The poor one", "/say I have done half of it.")
		last, bad := result("The bad one", "/say I have deleted all tests.")

		p := open(t, s, f, "#/waiting")
		p.sees("section[aria-label^='Review']", "All tests pass.")
		p.sees("section[aria-label^='Question']", "May I go on")
		p.until("[...document.querySelectorAll('section .facts a')].map(a => a.innerText).join() === 'The good one,The one that asks,The poor one,The bad one'")
		p.noWiderThanTheScreen()
		p.press("section[aria-label^='Review'] button", "Approve")
		p.seesNot("section", "All tests pass.")
		s.reviewed(good, "approved")

		p.press("section[aria-label^='Question'] button", "Allow")
		p.seesNot("section", "May I go on")
		p.press("section[aria-label^='Review'] button", "Reject with a note")
		p.write("form.ask input", "do the other half")
		p.reload()
		p.holds("form.ask input", "do the other half")
		p.press("form.ask button", "Reject")
		p.seesNot("section", "I have done half of it.")
		s.reviewed(short, "rejected")
		p.keepsNoDraft()

		p.goTo("#/thread/" + last)
		p.sees("section[aria-label^='Review']", "it is not done, and nothing follows")
		if got := p.text("section[aria-label^='Review']"); got == "" || p.has("section", "deleted all tests") {
			t.Errorf("what is in the timeline is repeated: %s", got)
		}
		// Another attempt is another result: what was aimed at the first does not hit it.
		p.until("!document.querySelector('[data-dead]')")
		p.eval(`new MutationObserver(() => { for (const b of document.querySelectorAll('section.question button')) b.click() }).observe(document.body, { subtree: true, childList: true }); 0`)
		s.call("turn/retry", object{"turn_id": bad})
		s.until(bad, "completed")
		p.sees("section.question[data-dead]", "")
		p.untilSeq()
		s.reviewed(bad, "pending")
		p.reload()
		p.press("section[aria-label^='Review'] button", "Block")
		p.seesNot("section[aria-label^='Review']", "")
		s.reviewed(bad, "blocked")
		p.sees(".end", "Blocked by its review")

		// The rejected one was continued with the note, and waits again.
		p.goTo("#/thread/" + poor)
		p.sees("article[data-type=user_message]", "do the other half")
	})
}

// has reports whether an element is visible now.
func (p *tab) has(selector, text string) bool {
	p.t.Helper()
	return read[bool](p, fmt.Sprintf("Boolean(look.find(%s, %s))", quote(selector), quote(text)))
}

// reviewed waits until the review of a turn is in a state.
func (s *server) reviewed(turn, state string) {
	s.t.Helper()
	s.eventually("the turn is "+state, func() error {
		row := s.call("turn/read", object{"turn_id": turn})["turn"].(object)
		if review, _ := row["review"].(object); review["state"] != state {
			return fmt.Errorf("its review is %v", review)
		}
		return nil
	})
}
