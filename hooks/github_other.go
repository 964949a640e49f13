package hooks

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
)

func (e *event) push() bool {
	ref := e.payload.text("ref")
	if ref == "" {
		return false
	}
	branch := strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
	if strings.HasPrefix(ref, "refs/tags/") {
		branch = "tag " + branch
	}
	branch = sanitize.Line(branch, maxTitle)
	if repo := e.payload.object("repository").text("full_name"); repo != "" {
		branch += " in " + sanitize.Line(repo, maxTitle)
	}
	head := e.payload.object("head_commit")
	e.item.OccurredAt = head.time("timestamp")
	if e.who == "" {
		e.who = sanitize.Line(e.payload.object("pusher").text("name"), 100)
		e.item.Sender = e.who
	}
	switch deleted, _ := e.payload["deleted"].(bool); {
	case deleted:
		return e.say("deleted "+branch, "")
	case strings.HasPrefix(branch, "tag "):
		return e.say("pushed "+branch, "")
	}
	commits, _ := e.payload["commits"].([]any)
	first, _, _ := strings.Cut(head.text("message"), "\n")
	switch n := len(commits); {
	case n == 0:
		return e.say("pushed to "+branch, first)
	case n == 1:
		return e.say("pushed 1 commit to "+branch, first)
	default:
		return e.say(fmt.Sprintf("pushed %d commits to %s", n, branch), first)
	}
}

// other sets the summary of an event that has no group: "github: release published
// in octo/parser".
func (e *event) other(name string) {
	if name == "" {
		name = "event"
	}
	s := "github: " + name
	if e.action != "" {
		s += " " + e.action
	}
	where := e.payload.object("repository").text("full_name")
	if where == "" {
		where = e.payload.object("organization").text("login")
	}
	if where != "" {
		s += " in " + where
	}
	e.item.Summary = sanitize.Line(s, inbox.MaxSummary)
}
