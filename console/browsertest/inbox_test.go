package browsertest

import "testing"

// Items come into an inbox: one is posted at once, others wait in a digest, which one
// posts, opens and acknowledges.
func TestAnInbox(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		thread := s.thread("echo", object{"title": "The one with an inbox"})
		p := open(t, s, f, "#/inbox/"+thread)
		p.sees("main", "The inbox is empty.")
		for _, id := range []string{"one", "two", "three"} {
			s.call("inbox/ingest", object{"thread_id": thread, "items": []object{{
				"source": "tickets", "native_id": id, "grouping": object{"event_family": "comment", "resource_ref": "ticket 7"}, "summary": "a comment " + id, "payload": object{"comment": id},
			}}})
		}
		p.press("button", "Post 3 items now")
		p.sees("li.entry", "3 items")
		p.press("li.entry summary", "Contents")
		p.sees("li.entry .raw", "a comment two")
		p.sees("li.entry pre", "\"comment\": \"three\"")
		p.goTo("#/inbox")
		p.sees("li.card", "1 entry")
		p.press("li.card a", "The one with an inbox")
		p.press("li.entry button", "Acknowledge")
		p.seesNot("li.entry", "")
		p.press("label.check", "acknowledged")
		p.sees("li.entry", "acknowledged")
		if rest := s.call("inbox/read", object{"thread_id": thread})["unacked_entries"]; rest != 0.0 {
			t.Errorf("%v entries are not acknowledged", rest)
		}
		p.noWiderThanTheScreen()
	})
}
