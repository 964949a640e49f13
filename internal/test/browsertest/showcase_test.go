package browsertest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// showcase is a server on which every page has something to show.
type showcase struct {
	*world
	rich, asking, reviewed, parent, box string // threads
}

func newShowcase(t *testing.T) *showcase {
	t.Helper()
	c := &showcase{world: newWorld(t, badAgent(t))}
	c.world.all()
	project := c.path("src/dates")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}

	c.rich = c.thread("coder", object{"title": "Mend the parser of dates", "cwd": project})
	c.ended(c.rich, "think The test waits for a fixed time. It should wait for the event.\n"+
		"say I look at the **tests** first, then at `dates.go`.\nplan\ntool Reading main.go\nexecute seq 30\nfail-tool Opening a socket\nedit main.go\ncommands\nusage\nsay Done.")
	c.ended(c.rich, strings.ReplaceAll(`update {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"# What I found\n\n1. The parser takes *two digits* for a year.\n2. [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339) does not.\n\n| input | before | after |\n|---|---|---|\n| 26-11-23 | 1926 | refused |\n\n`+"```go\\nfunc parse(s string) (time.Time, error) {\\n\\treturn time.Parse(time.RFC3339, s)\\n}\\n```"+`\n\n> It never worked for years before 1970.\n\n- [x] tests\n- [ ] documents"}}`, `\n`, `\u000a`)) // the agent reads \n as the end of a command

	c.asking = c.thread("coder", object{"title": "Release 2.4", "cwd": project})
	c.until(c.turn(c.asking, "say I am ready.\nask Push to main", nil), "waiting")
	form := c.thread("coder", object{"title": "Name the branch", "cwd": project})
	c.until(c.turn(form, "elicit Which branch should I use?", nil), "waiting")

	c.reviewed = c.thread("echo", object{"title": "Write the notes of the release", "cwd": project})
	c.until(c.turn(c.reviewed, "/say I have written them: three features, two fixes.", object{"review": "always"}), "completed")

	c.parent = c.thread("echo", object{"title": "Compare three libraries", "cwd": project})
	turn := c.turn(c.parent, "/say I ask three others.\n/step build\n/say the first try\n/step build\n/say the second try\n/end\n/sleep 3600000", nil)
	for _, name := range []string{"chroma", "pygments", "highlight.js"} {
		child := c.thread("echo", object{"title": "Look at " + name, "cwd": project, "parent": object{"thread_id": c.parent}})
		c.turn(child, "/progress reading its documents\n/sleep 3600000", object{"parent": object{"thread_id": c.parent, "turn_id": turn}, "title": "look at " + name})
	}
	failed := c.thread("echo", object{"title": "Deploy to staging", "cwd": project})
	c.until(c.turn(failed, "/say I begin.\n/fail the host does not answer: connection refused", nil), "failed")

	c.box = c.thread("mailbox", object{"title": "Mail for me"})
	for i := range 5 {
		c.call("inbox/ingest", object{"thread_id": c.box, "items": []object{{
			"source": "github", "native_id": fmt.Sprint(i), "summary": fmt.Sprintf("comment %d on the pull request about dates", i+1),
			"payload":  object{"action": "created", "number": 7, "comment": object{"id": i, "body": "Looks good to me."}},
			"grouping": object{"event_family": "comments", "resource_ref": "example/dates#7"},
		}}})
	}
	c.call("inbox/flush", object{"thread_id": c.box})
	c.call("inbox/send", object{"thread_id": c.box, "text": "The nightly build is red.", "sender": "ci"})
	c.call("token/create", object{"name": "phone", "role": "respond"})
	return c
}

// scenes are the pages with what is opened on them, by name.
func (c *showcase) scenes() []scene {
	return []scene{
		{"overview", "#/", func(p *tab) { p.sees("h1", "need you") }},
		{"new-thread", "#/", func(p *tab) { p.press("button", "New thread"); p.sees("form.new", "") }},
		{"thread", "#/thread/" + c.rich, func(p *tab) { p.sees("article table", "refused") }},
		{"thread-tools", "#/thread/" + c.rich, func(p *tab) {
			p.press("details.diff summary", "main.go")
			p.press("details.thought summary", "")
			p.press("button", "more lines above")
		}},
		{"thread-text", "#/thread/" + c.rich, func(p *tab) { p.press("button", "Show all as text"); p.sees("[role=status]", "as of") }},
		{"thread-help", "#/thread/" + c.rich, func(p *tab) {
			p.say("/help")
			p.sees("section[aria-label=Help]", "/review")
			p.write("#composer", "/")
			p.sees("ul[aria-label=Commands]", "/compact")
			p.write("#composer", "/review it")
		}},
		{"thread-question", "#/thread/" + c.asking, func(p *tab) { p.sees("section.question .asked", "run git push") }},
		{"thread-review", "#/thread/" + c.reviewed, func(p *tab) {
			p.press("section.question button", "Reject with a note")
			p.sees("form.ask", "")
		}},
		{"thread-children", "#/thread/" + c.parent, func(p *tab) { p.sees("details.children", "3 at work"); p.press("details.rewind summary", "") }},
		{"waiting", "#/waiting", func(p *tab) {
			p.sees("section.question", "three features")
			p.sees("section.question input", "")
			p.sees("section.question .asked", "run git push")
		}},
		{"inboxes", "#/inbox", func(p *tab) { p.sees("li.card", "Mail for me") }},
		{"inbox", "#/inbox/" + c.box, func(p *tab) { p.press("li.entry:has(.meta) summary", "Contents"); p.sees("li.entry .raw", "") }},
		{"bridges", "#/bridges", func(p *tab) { p.sees("li.subscription", "nothing delivered yet") }},
		{"bridges-deliveries", "#/bridges", func(p *tab) {
			p.press("li[data-subscription=failing] summary", "Deliveries")
			p.sees("li[data-subscription=failing] ul.deliveries li", "final")
			p.press("li[data-subscription=failing] button", "Reset …")
		}},
		{"agents", "#/agents", func(p *tab) { p.sees("li.card", "echo") }},
		{"server", "#/server", func(p *tab) { p.sees("table", "Running since"); p.press("summary", "Limits") }},
		{"signin", "#/signin", func(p *tab) { p.sees("h1", "Sign in") }},
	}
}

// scene is a page, and what is done on it before one looks.
type scene struct {
	name, fragment string
	prepare        func(p *tab)
}

// show goes to a scene.
func (p *tab) show(s scene) {
	p.t.Helper()
	p.goTo("#/server") // so that each scene begins anew
	p.goTo(s.fragment)
	s.prepare(p)
	p.until("!document.querySelector('[data-dead]')") // questions can be answered, and look so
}
