package browsertest

import (
	"fmt"
	"testing"
)

// Mailboxes that are older than the newest 200 threads are on the page of inboxes, those beyond
// the newest 200 mailboxes after a press.
func TestEveryMailboxIsOnThePageOfInboxes(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		box := func(title string) string { return s.thread("mailbox", object{"title": title, "cwd": nil}) }
		for i := range 20 {
			box(fmt.Sprintf("Old mail %d", i))
		}
		s.call("thread/close", object{"thread_id": box("Closed mail")})
		for i := range 190 {
			box(fmt.Sprintf("Mail %d", i))
		}
		for i := range 210 {
			s.call("thread/start", object{"agent": "echo", "title": fmt.Sprintf("Job %d", i)})
		}
		p := open(t, s, f, "#/inbox")
		p.sees("li.card", "Mail 0")
		p.sees("li.card", "Old mail 19")
		p.seesNot("li.card", "Old mail 2")
		p.press("button", "Show older mailboxes")
		p.sees("li.card", "Old mail 0")
		p.seesNot("li.card", "Closed mail")
		p.seesNot("button", "Show older mailboxes")
		p.noWiderThanTheScreen()
	}, phoneLight)
}
