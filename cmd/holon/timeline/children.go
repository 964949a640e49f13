package timeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// childTurn is what a turn is beyond others if it works for another one.
type childTurn struct {
	name       string
	background bool // nothing waits for its end
}

// adopt makes the turn a child turn, of this name without a title, if the event says so.
func (t *turn) adopt(name string, p params) {
	if p.Policy == "" {
		return
	}
	if t.child == nil {
		t.child = &childTurn{name: name}
	}
	if title := OneLine(p.Title); title != "" {
		t.child.name = title
	}
	t.child.background = p.Policy == "notify_on_terminal"
}

// adoptOf works like adopt in a timeline of many threads. In that of one thread, only the turns
// that Child shows are child turns.
func (r *Renderer) adoptOf(t *turn, event client.Event, p params) {
	if r.options.Threads {
		t.adopt(r.options.id(event.ThreadID), p)
	}
}

// worksFor names the thread for which a turn works.
func (p params) worksFor(o Options) string {
	if p.Policy == "" {
		return ""
	}
	text := ", for " + o.id(p.Parent.ThreadID)
	if p.Title != "" {
		text += ": " + OneLine(p.Title)
	}
	return text
}

// Child shows an event of a child turn in one line of the timeline of its owner: its
// start, its end, its questions and their answers. The other events only change the
// status. The error is that of the writer.
func (r *Renderer) Child(event client.Event) error {
	var p params
	if json.Unmarshal(event.Params, &p) != nil {
		return nil
	}
	switch event.Method {
	case "turn/queued", "turn/started", "turn/progress":
		r.childRuns(event, p)
	case "turn/completed", "turn/interrupted", "turn/failed":
		r.childEnds(event, p)
	case "turn/reviewed":
		l, text := p.verdict(r.options)
		l.word = labelChild.word
		name := r.childName(event)
		if p.Title != "" {
			name = OneLine(p.Title)
		}
		r.block("", l, name+" was "+text)
	case "turn/detached":
		t := r.begin(event, "")
		t.adopt(r.options.id(event.ThreadID), p)
		r.block("", labelChild, r.childName(event)+" goes on in the background"+because(p.Reason))
	case "item/created", "item/updated":
		r.childItem(event, p)
	}
	return r.update()
}

func (r *Renderer) childName(event client.Event) string {
	if t := r.turns[event.TurnID]; t != nil && t.child != nil {
		return t.child.name
	}
	return r.options.id(event.ThreadID)
}

func (r *Renderer) childRuns(event client.Event, p params) {
	known := r.turns[event.TurnID] != nil
	t := r.begin(event, p.State)
	t.adopt(r.options.id(event.ThreadID), p)
	if t.child == nil {
		t.child = &childTurn{name: r.options.id(event.ThreadID)}
	}
	t.retryAt, _ = time.Parse(time.RFC3339, p.RetryAt) // zero if it has none
	t.waits = len(p.WaitsFor)
	if event.Method == "turn/progress" {
		return
	}
	words := " started"
	switch {
	case event.Method == "turn/queued":
		t.state, words = "queued", " waits to start"
	default:
		t.state, t.since = "running", r.options.Now()
		if !event.Time.IsZero() && event.Time.Before(t.since) {
			t.since = event.Time
		}
		if p.Attempt > 1 {
			words = fmt.Sprintf(" is tried again, attempt %d", p.Attempt)
		} else if known {
			return // it was announced when it was queued
		}
	}
	if t.child.background {
		words += " in the background"
	}
	if name := r.options.id(event.ThreadID); name != t.child.name {
		words += " (" + name + ")"
	}
	r.block("", labelChild, t.child.name+words)
}

// childEnds shows how a child turn has ended.
func (r *Renderer) childEnds(event client.Event, p params) {
	s := TurnState{State: strings.TrimPrefix(event.Method, "turn/"), StopReason: p.StopReason, Why: p.Reason}
	s.Took, _ = p.elapsed()
	if p.Error != nil {
		s.Why = p.Error.Message
	}
	name := r.childName(event)
	if p.Title != "" {
		name = OneLine(p.Title)
	}
	sign, words := s.Words(r.options.Now())
	l := sign.l
	l.word = labelChild.word
	if s.State == "interrupted" {
		words = "was " + words
	}
	if p.inReview() {
		words += ", and waits for a review: holon review " + r.options.id(event.TurnID)
	}
	r.block("", l, name+" "+words)
	delete(r.turns, event.TurnID)
	r.order = slices.DeleteFunc(r.order, func(id string) bool { return id == event.TurnID })
}

// childItem shows a question of a child turn, or its answer.
func (r *Renderer) childItem(event client.Event, p params) {
	c := ReadContent(p.Content)
	if c.Type != "permission_request" && c.Type != "question" {
		return
	}
	if p.Status != "pending" {
		r.block("", labelAnswer, r.childName(event)+": "+c.Resolution(p.Status))
		return
	}
	r.block("", labelAsk, r.question(r.childName(event)+" asks: ", p.Content, c, event.ItemID, true))
}

// maxChildLines bounds the lines of child turns below the status line.
const maxChildLines = 6

// childLines returns the lines of child turns below the status line, each with what it
// does and its time.
func (r *Renderer) childLines(children []*turn) string {
	most := max(1, min(maxChildLines, r.options.Height()/3))
	fork, last, separator := "├ ", "└ ", " · "
	if r.options.ASCII {
		fork, last, separator = "|- ", "`- ", " - "
	}
	var b strings.Builder
	for i, t := range children {
		if i == most-1 && len(children) > most {
			fmt.Fprintf(&b, "\n  %s%d more", last, len(children)-i)
			break
		}
		branch := fork
		if i == len(children)-1 {
			branch = last
		}
		s := TurnState{
			State: "active", Progress: t.state, WaitsFor: t.waits, RetryAt: t.retryAt, Background: t.child.background,
			Took: r.options.Now().Sub(t.since),
		}
		if t.state == "queued" {
			s.State = t.state
		}
		_, words := s.Words(r.options.Now())
		b.WriteString("\n  " + branch + t.child.name + separator + words)
	}
	return b.String()
}
