package browsertest

import "testing"

// What is typed into a question's form, and the reason of a rejection, is there after a
// reload and on other pages, until somebody answers.
func TestWhatIsTypedSurvivesAReload(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, badAgent(t))
		thread := s.thread("coder", nil)
		s.turn(thread, "elicit Which branch?", nil)
		p := open(t, s, f, "#/thread/"+thread)
		p.write("section.question input", "feature/x")
		p.reload()
		p.holds("section.question input", "feature/x")
		p.goTo("#/waiting")
		p.holds("section.question input", "feature/x")
		s.call("item/respond", object{"item_id": s.pending(thread), "answer": object{"name": "main"}}) // another one is faster
		p.sees("main", "Nothing waits.")
		p.keepsNoDraft()

		reviewed := s.thread("echo", nil)
		s.until(s.turn(reviewed, "/say the end", object{"review": "always"}), "completed")
		p.goTo("#/thread/" + reviewed)
		p.press("button", "Reject with a note")
		p.write("form.ask input", "too short")
		p.reload()
		p.holds("form.ask input", "too short")
		p.press("form.ask button", "Reject")
		p.sees("article[data-type=user_message]", "too short")
		p.seesNot("form.ask", "")
		p.keepsNoDraft()
	})
}

// holds waits until a field has a text.
func (p *tab) holds(selector, text string) {
	p.t.Helper()
	p.until("document.querySelector(" + quote(selector) + ")?.value === " + quote(text))
}

// keepsNoDraft waits until nothing is kept of what was typed.
func (p *tab) keepsNoDraft() {
	p.t.Helper()
	p.until("!Object.keys(localStorage).some(k => k.startsWith('holon.draft.'))")
}

// pending is the question of a thread that waits.
func (s *server) pending(thread string) string {
	s.t.Helper()
	for _, row := range s.items(thread) {
		if row["status"] == "pending" {
			return row["item_id"].(string)
		}
	}
	s.t.Fatal("no question waits")
	return ""
}
