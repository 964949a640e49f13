package browsertest

import "testing"

// A step that is started again takes back, before one's eyes, what its first try has said;
// so does another attempt of a turn. What was taken back can still be opened.
func TestARewindTakesBackWhatIsSeen(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "")
		s.turn(thread, "/say outside\n/step build\n/say the first try\n/ask Once more\n/step build\n/say the second try\n/end\n/ask Fail now\n/transient 1\n/say the end",
			object{"retry": object{"on_crash": "retry", "backoff_seconds": 1}})
		p.sees("article[data-type=agent_message]", "the first try")
		p.press("section.question button", "Allow")
		p.sees("article[data-type=agent_message]", "the second try")
		p.seesNot("article[data-type=agent_message]", "the first try")
		p.sees("details.rewind", "Step build, try 1 was given up")
		p.press("details.rewind summary", "Step build")
		p.sees("details.rewind article[data-type=agent_message]", "the first try")
		p.exact()

		p.press("section.question button", "Allow")
		p.sees("details.rewind", "Attempt 1 was given up")
		p.sees("article[data-type=agent_message]", "the first try") // of the second attempt
		p.press("section.question button", "Allow")
		p.press("section.question button", "Allow")
		p.sees("article[data-type=agent_message]", "the end")
		p.sees(".end", "attempt 2")
		p.exact()
		const lines = "JSON.stringify([...document.querySelectorAll('details.rewind summary')].map(e => e.textContent))"
		live := read[string](p, lines)
		p.reload()
		p.sees("details.rewind", "Attempt 1 was given up")
		p.until(lines + " === " + quote(live)) // which try, and why, also of what was read
		p.sees(".end", "attempt 2")
		p.exact()
	})
}
