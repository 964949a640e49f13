package hooks

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/notify"
)

// The event families of GitHub's events.
const (
	familyReviews        = "reviews"
	familyReviewComments = "review_comments"
	familyComments       = "comments"
	familyLifecycle      = "lifecycle"
	familyCI             = "ci_updates"
)

// object is an object of a payload. Absent members and those of another type
// read as empty values, because what GitHub sends differs with its version.
type object map[string]any

func (o object) object(name string) object {
	v, _ := o[name].(map[string]any)
	return v
}

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

// id returns a positive whole number, 0 if there is none.
func (o object) id(name string) int {
	n, _ := o[name].(int)
	return max(0, n)
}

// time returns the first of the members that is a time.
func (o object) time(names ...string) notify.Time {
	for _, name := range names {
		if t, err := time.Parse(time.RFC3339, o.text(name)); err == nil {
			return notify.TimeOf(t)
		}
	}
	return notify.Time{}
}

// event is one event of GitHub while an item is made of it.
type event struct {
	payload object
	action  string
	who     string // "" = GitHub does not say
	prefix  string // of a resource_ref, see repository
	runs    *runs
	item    *inbox.Item
}

// github fills an item in from an event of GitHub and reports whether it is not
// to be stored. The event's name and the target are headers, which no signature
// covers: they choose a summary and a group, never an identity.
func (c *Compiled) github(m *made, name, target string) (drop bool) {
	p := object(m.input.payload)
	e := &event{
		payload: p, action: p.text("action"), who: sanitize.Line(p.object("sender").text("login"), 100),
		prefix: c.repository.prefix(p.object("repository"), target), runs: &c.runs, item: &m.item,
	}
	e.item.Sender = e.who
	known := false
	switch name {
	case "ping":
		return true
	case "pull_request_review":
		known = e.review()
	case "pull_request_review_comment":
		known = e.reviewComment()
	case "issue_comment":
		known = e.comment()
	case "pull_request":
		known = e.pullRequest()
	case "issues":
		known = e.issue()
	case "workflow_run":
		known = e.workflowRun()
	case "workflow_job":
		known = e.workflowJob()
	case "check_run":
		known = e.checkRun()
	case "check_suite":
		known = e.checkSuite()
	case "push":
		known = e.push()
	}
	if !known {
		e.other(name)
	}
	if m.item.Grouping == nil {
		m.item.Variant = variant(name, e.action)
	}
	e.item.Link = e.link()
	return false
}

// linked are the objects of a payload that an item can be about and that GitHub has a page for: the
// first that is there is what it is about.
var linked = []string{"comment", "review", "workflow_job", "check_run", "workflow_run", "pull_request", "issue"}

// link returns the page of what the item is about, if it is on the host of its repository; "" =
// none. That of a comment that was deleted is gone.
func (e *event) link() string {
	_, here, ok := sanitize.Link(e.payload.object("repository").text("html_url"))
	if !ok {
		return ""
	}
	for _, name := range linked {
		o := e.payload.object(name)
		if len(o) == 0 || name == "comment" && e.action == "deleted" {
			continue
		}
		if link, host, ok := sanitize.Link(o.text("html_url")); ok && host == here {
			return link
		}
		return ""
	}
	return ""
}

// variant returns the kind of the event, such as issues.labeled; "" if it has no name.
func variant(name, action string) string {
	if name == "" {
		return ""
	}
	if action != "" {
		name += "." + action
	}
	if !validID(name) {
		return ""
	}
	return name
}

// about sets what the item is about within its group: one thing of a kind. A long name is cut.
func (e *event) about(kind string, id int, name string) {
	if id == 0 {
		return
	}
	s := strings.TrimSpace(fmt.Sprintf("%s:%d %s", kind, id, sanitize.Line(name, inbox.MaxIDBytes)))
	for len(s) > inbox.MaxIDBytes {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	e.item.About = strings.TrimSpace(s)
}

// group puts the item into a group.
func (e *event) group(ref, family string) {
	if validID(ref) {
		e.item.Grouping = &inbox.Grouping{ResourceRef: ref, EventFamily: family}
	}
}

// say sets the summary: who did something, and a text such as the beginning of a
// comment.
func (e *event) say(does, text string) bool {
	who := e.who
	if who == "" {
		who = "somebody"
	}
	s := who + " " + does
	if text = strings.TrimSpace(text); text != "" {
		s += ": " + text
	}
	e.item.Summary = sanitize.Line(s, inbox.MaxSummary)
	return true
}

// maxTitle is how much of a title a summary shows, so that there is room for the
// comment.
const maxTitle = 120

// named returns a name with a title: pr:135 "Fix the parser".
func named(ref, title string) string {
	if title = sanitize.Line(title, maxTitle); title == "" {
		return ref
	}
	return ref + ` "` + title + `"`
}

// pull returns the pull request of the event: its resource_ref, "" if there is none,
// and how a summary names it.
func (e *event) pull() (ref, name string) {
	pr := e.payload.object("pull_request")
	n := pr.id("number")
	if n == 0 {
		return "", ""
	}
	ref = fmt.Sprintf("%spr:%d", e.prefix, n)
	return ref, named(ref, pr.text("title"))
}

func (e *event) review() bool {
	ref, name := e.pull()
	review := e.payload.object("review")
	if ref == "" || len(review) == 0 {
		return false
	}
	e.item.OccurredAt = review.time("updated_at", "submitted_at")
	if e.action == "dismissed" || e.action == "edited" { // submitted_at is that of the review itself
		e.item.OccurredAt = review.time("updated_at")
	}
	e.group(ref, familyReviews)
	e.about("review", review.id("id"), "")
	switch {
	case e.action == "dismissed":
		return e.say("dismissed a review of "+name, "")
	case e.action == "edited":
		return e.say("edited a review of "+name, review.text("body"))
	}
	switch review.text("state") {
	case "approved", "APPROVED":
		return e.say("approved "+name, review.text("body"))
	case "changes_requested", "CHANGES_REQUESTED":
		return e.say("requested changes on "+name, review.text("body"))
	}
	return e.say("reviewed "+name, review.text("body"))
}

// onComment describes what was done to a comment.
func (e *event) onComment(comment object, where string) bool {
	e.about("comment", comment.id("id"), "")
	switch e.action {
	case "edited":
		e.item.OccurredAt = comment.time("updated_at", "created_at")
		return e.say("edited a comment on "+where, comment.text("body"))
	case "deleted":
		return e.say("deleted a comment on "+where, "")
	}
	e.item.OccurredAt = comment.time("created_at")
	return e.say("commented on "+where, comment.text("body"))
}

func (e *event) reviewComment() bool {
	ref, name := e.pull()
	comment := e.payload.object("comment")
	if ref == "" || len(comment) == 0 {
		return false
	}
	e.group(ref, familyReviewComments)
	if path := sanitize.Line(comment.text("path"), maxTitle); path != "" {
		name = path + " in " + name
	}
	return e.onComment(comment, name)
}

// issueName returns the resource_ref of an issue and how a summary names it. A pull
// request is an issue as well; its comments belong to the pull request.
func (e *event) issueName() (ref, name string) {
	issue := e.payload.object("issue")
	n := issue.id("number")
	if n == 0 {
		return "", ""
	}
	kind := "issue"
	if len(issue.object("pull_request")) > 0 {
		kind = "pr"
	}
	ref = fmt.Sprintf("%s%s:%d", e.prefix, kind, n)
	return ref, named(ref, issue.text("title"))
}

func (e *event) comment() bool {
	ref, name := e.issueName()
	comment := e.payload.object("comment")
	if ref == "" || len(comment) == 0 {
		return false
	}
	e.group(ref, familyComments)
	return e.onComment(comment, name)
}

// lifecycle groups what begins or ends a pull request or an issue. Its end ends
// the group too.
func (e *event) lifecycle(ref string, ends bool) {
	if e.group(ref, familyLifecycle); ends && e.item.Grouping != nil {
		e.item.Grouping.Flush, e.item.Grouping.Breaks = inbox.FlushImmediate, inbox.BreaksAfter
	}
}

func (e *event) pullRequest() bool {
	ref, name := e.pull()
	if ref == "" {
		return false
	}
	pr := e.payload.object("pull_request")
	e.item.OccurredAt = pr.time("updated_at")
	switch e.action {
	case "opened":
		e.lifecycle(ref, false)
		e.item.OccurredAt = pr.time("created_at")
		return e.say("opened "+name, pr.text("body"))
	case "reopened":
		e.lifecycle(ref, false)
		return e.say("reopened "+name, "")
	case "closed":
		e.lifecycle(ref, true)
		if merged, _ := pr["merged"].(bool); merged {
			e.item.OccurredAt = pr.time("merged_at", "closed_at", "updated_at")
			return e.say("merged "+name, "")
		}
		e.item.OccurredAt = pr.time("closed_at", "updated_at")
		return e.say("closed "+name+" without merging", "")
	case "synchronize":
		return e.say("pushed commits to "+name, "")
	case "ready_for_review":
		return e.say("marked "+name+" as ready for review", "")
	case "converted_to_draft":
		return e.say("made a draft of "+name, "")
	case "review_requested":
		return e.say("asked for a review of "+name, e.detail())
	case "review_request_removed":
		return e.say("no longer asks for a review of "+name, e.detail())
	}
	return e.changed(name)
}

func (e *event) issue() bool {
	ref, name := e.issueName()
	if ref == "" {
		return false
	}
	issue := e.payload.object("issue")
	e.item.OccurredAt = issue.time("updated_at")
	switch e.action {
	case "opened":
		e.lifecycle(ref, false)
		e.item.OccurredAt = issue.time("created_at")
		return e.say("opened "+name, issue.text("body"))
	case "reopened":
		e.lifecycle(ref, false)
		return e.say("reopened "+name, "")
	case "closed":
		e.lifecycle(ref, true)
		e.item.OccurredAt = issue.time("closed_at", "updated_at")
		if issue.text("state_reason") == "not_planned" {
			return e.say("closed "+name+" as not planned", "")
		}
		return e.say("closed "+name, "")
	}
	return e.changed(name)
}

// changed sets the summary of what changes a pull request or an issue in any other
// way: such items are not grouped.
func (e *event) changed(name string) bool {
	action := sanitize.Line(strings.ReplaceAll(e.action, "_", " "), maxTitle)
	if action == "" {
		action = "changed"
	}
	return e.say(action+" "+name, e.detail())
}

// detail returns what a change is about, such as a label.
func (e *event) detail() string {
	for _, member := range []struct{ object, name string }{
		{"label", "name"}, {"assignee", "login"}, {"requested_reviewer", "login"}, {"requested_team", "name"}, {"milestone", "title"},
	} {
		if s := e.payload.object(member.object).text(member.name); s != "" {
			return s
		}
	}
	return ""
}
