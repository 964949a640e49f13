package browsertest

import (
	"fmt"
	"testing"
)

// Turns that wait in the queue are on the page of their thread, in their order, and each prompt is
// there once. When one begins, its prompt is in the timeline.
func TestAQueueIsOnThePageOfItsThread(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s, thread, p := openEcho(t, f, "/say hello")
		working := s.turn(thread, "/sleep 3600000", nil)
		s.until(working, "running")
		for _, text := range []string{"/progress tidying\n/sleep 3600000", "then the second thing"} {
			s.turn(thread, text, nil)
		}
		prompts := func(want string) string {
			return "[...document.querySelectorAll('section[aria-label=Queue] li')].map(li => li.innerText.replace(/ for .*/s, '')).join(' | ') === " + quote(want)
		}
		p.until(prompts("/progress tidying /sleep 3600000 | then the second thing"))
		p.sees(".facts", "2 queued")
		p.seesNot("article[data-type=user_message]", "then the second thing")
		p.noWiderThanTheScreen()
		s.call("turn/interrupt", object{"turn_id": working})
		p.until(prompts("then the second thing"))
		p.sees("article[data-type=user_message]", "/progress tidying")
		p.press("header button", "Interrupt")
		p.sees("article[data-type=agent_message]", "then the second thing")
		p.seesNot("section[aria-label=Queue]", "")

		// What a paused thread waits for is said, and one can let it go on.
		s.call("thread/pause", object{"thread_id": thread})
		s.turn(thread, "the third thing", nil)
		p.sees(".progress", "until the thread is resumed")
		p.sees(".facts", "queued")
		p.press(".facts button", "Resume")
		p.sees("article[data-type=agent_message]", "the third thing")
		p.exact()
	})
}

// A card says each thing once: what its state and its queue say is not in its text.
func TestACardSaysEachThingOnce(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		start := func(title, text string) (thread, turn string) {
			thread = s.thread("echo", object{"title": title})
			turn = s.turn(thread, text, nil)
			return thread, turn
		}
		thread, stopped := start("The interrupted one", "/say Half of it.\n/sleep 3600000")
		s.said(thread) // a turn runs before its agent has said anything
		s.call("turn/interrupt", object{"turn_id": stopped})
		s.until(stopped, "interrupted")
		_, begun := start("The silent one", "/sleep 3600000")
		s.until(begun, "running")
		busy, first := start("The busy one", "/sleep 3600000")
		s.until(first, "running")
		held := s.thread("echo", object{"title": "The held one"})
		s.call("thread/pause", object{"thread_id": held})
		for _, thread := range []string{busy, held} {
			for i := range 2 {
				s.turn(thread, fmt.Sprintf("later %d", i), nil)
			}
		}
		s.thread("echo", object{"title": "The new one"})
		p := open(t, s, f, "#/")
		for title, want := range map[string]string{
			"The interrupted one": "■ interrupted # ago|last: Half of it.", "The silent one": "▸ working #|", "The busy one": "▸ working # · 2 queued|",
			"The held one": "… queued # · 2 turns · paused|", "The new one": "· new # ago|",
		} {
			p.until(fmt.Sprintf(`(card => [card.querySelector('.meta').innerText.replace(/\d+ (s|min)/, '#').replace(/\s+/g, ' '), card.querySelector('.doing').innerText].join('|') === %s)(look.find('li.card', %s))`, quote(want), quote(title)))
		}
		p.sees("h1", "3 working")
		p.sees("h2", "Working 3")
	})
}
