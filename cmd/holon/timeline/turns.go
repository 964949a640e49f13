package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

func (r *Renderer) threadEvent(event client.Event, p params) {
	text := r.options.id(event.ThreadID)
	switch event.Method {
	case "thread/started":
		r.titled(event.ThreadID, p.Title)
		text += " started"
		if p.Agent != "" {
			text += " with agent " + OneLine(p.Agent)
		}
		if p.Cwd != "" {
			text += " in " + OneLine(p.Cwd)
		}
		if p.Title != "" {
			text += ": " + OneLine(p.Title)
		}
	case "thread/updated":
		r.threadUpdated(event, p)
		return
	default:
		text += " " + event.Method[len("thread/"):]
		if event.Method == "thread/closed" {
			delete(r.config, event.ThreadID)
		}
	}
	r.block(event.ThreadID, labelThread, text+because(p.Reason))
}

// threadUpdated shows the changed attributes of a thread that matter to a
// person: its state and title, and settings of the agent.
func (r *Renderer) threadUpdated(event client.Event, p params) {
	text := r.options.id(event.ThreadID)
	if p.State != "" {
		r.block(event.ThreadID, labelThread, text+" "+OneLine(p.State)+because(p.Reason))
	}
	switch {
	case p.Title != "":
		r.titled(event.ThreadID, p.Title)
		r.block(event.ThreadID, labelThread, text+" is now called "+OneLine(p.Title))
	case p.TitleBy != "": // a client has given it back
		r.titled(event.ThreadID, "")
		r.block(event.ThreadID, labelThread, text+" has no title now")
	}
	if p.Cwd != "" {
		r.block(event.ThreadID, labelThread, text+" works in "+OneLine(p.Cwd)+" now")
	}
	settings := map[string]string{"mode": p.Config.Mode, "model": p.Config.Model}
	for name, value := range p.Config.Options {
		settings[name] = strings.Trim(string(value), `"`)
	}
	known := r.config[event.ThreadID]
	if known == nil {
		known = map[string]string{}
		r.config[event.ThreadID] = known
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if value := settings[name]; value != "" && known[name] != value {
			known[name] = value
			changed = append(changed, OneLine(name)+" "+OneLine(value))
		}
	}
	if len(changed) > 0 {
		r.block(event.ThreadID, labelThread, text+" has "+strings.Join(changed, ", "))
	}
}

func (r *Renderer) turnEvent(event client.Event, p params) {
	id := event.TurnID
	switch event.Method {
	case "turn/queued":
		r.adoptOf(r.begin(event, "queued"), event, p)
		r.block(event.ThreadID, labelTurn, fmt.Sprintf("queued at position %d", p.Position)+because(p.Reason)+p.worksFor(r.options))
		return
	case "turn/started":
		t := r.begin(event, "running")
		t.since, t.note, t.retryAt = r.options.Now(), "", time.Time{}
		if !event.Time.IsZero() && event.Time.Before(t.since) {
			t.since = event.Time // it may be a replay of a long turn
		}
		text := r.options.id(id) + " started"
		r.adoptOf(t, event, p)
		t.waits = 0
		if p.Attempt > 1 {
			text += fmt.Sprintf(", attempt %d", p.Attempt)
		}
		text += p.worksFor(r.options)
		r.block(event.ThreadID, labelTurn, text)
		return
	case "turn/progress":
		t := r.begin(event, p.State)
		t.note, t.waits = strings.TrimPrefix(OneLine(p.Message), p.State+" "), len(p.WaitsFor) // "starting: starting opencode" says it twice
		t.retryAt, _ = time.Parse(time.RFC3339, p.RetryAt)                                     // zero if it has none
		if r.live == nil {
			switch {
			case !t.retryAt.IsZero(): // the note repeats the marker before it
				r.block(event.ThreadID, labelTurn, fmt.Sprintf("waiting for attempt %d until %s", p.Attempt, OneLine(p.RetryAt)))
			case t.waits > 0:
				r.block(event.ThreadID, labelTurn, "waiting for "+CountChildren(t.waits))
			case t.note != "":
				r.block(event.ThreadID, labelTurn, OneLine(p.State)+": "+t.note)
			}
		}
		return
	}
	if event.Method == "turn/reviewed" {
		l, text := p.verdict(r.options)
		r.block(event.ThreadID, l, text)
		return
	}
	if event.Method == "turn/detached" {
		if t := r.turns[event.TurnID]; t != nil && t.child != nil {
			t.child.background = true
		}
		r.block(event.ThreadID, labelTurn, "goes on in the background"+because(p.Reason))
		return
	}
	r.endTurn(event, p)
}

// begin returns the turn, and adds it if it is unknown: a stream may begin in
// the middle of a turn.
func (r *Renderer) begin(event client.Event, state string) *turn {
	t := r.turns[event.TurnID]
	if t == nil {
		t = &turn{since: r.options.Now()}
		r.turns[event.TurnID] = t
		r.order = append(r.order, event.TurnID)
	}
	if state != "" {
		t.state = OneLine(state)
	}
	return t
}

// inReview reports whether an end waits for a review.
func (p params) inReview() bool { return p.Review != nil && p.Review.State == "pending" }

// verdict describes what a review has found.
func (p params) verdict(o Options) (label, string) {
	l, text := labelFail, OneLine(p.Verdict)+" in a review"
	switch {
	case p.Reason == "timeout":
		text = "blocked: nobody has reviewed it in time"
	case p.Reason == "thread_closed":
		text = "blocked: the thread was closed before it was reviewed"
	}
	if p.Verdict == "approved" {
		l = labelDone
	} else if p.Verdict == "blocked" {
		l = labelStop
	}
	if p.Note != "" {
		text += ": " + Clean(p.Note)
	}
	if p.ContinuedBy != "" {
		text += "\n" + o.id(p.ContinuedBy) + " continues it"
	}
	return l, text
}

// endTurn shows how a turn ended.
func (r *Renderer) endTurn(event client.Event, p params) {
	used := p.Usage
	if t := r.turns[event.TurnID]; t != nil && used == nil {
		used = t.usage
	}
	delete(r.turns, event.TurnID)
	r.order = slices.DeleteFunc(r.order, func(id string) bool { return id == event.TurnID })
	took := ""
	if d, known := p.elapsed(); known {
		took = " after " + Elapsed(d)
	}
	switch event.Method {
	case "turn/completed":
		if took != "" {
			took = " in " + took[len(" after "):]
		}
		l, text := labelDone, "completed"+took
		if turns.StopsEarly(p.StopReason) {
			l, text = labelStop, "stopped early"+took+because(p.StopReason)
		}
		if used != nil && used.TotalTokens > 0 {
			text += ", " + used.String()
		}
		r.block(event.ThreadID, l, text)
	case "turn/interrupted":
		r.block(event.ThreadID, labelStop, "interrupted"+took+because(p.Reason))
	default:
		text := "failed" + took
		message := p.Message
		if p.Error != nil {
			message = p.Error.Message
			if p.Error.Kind != "" {
				text += " (" + OneLine(p.Error.Kind) + ")"
			}
		}
		if message != "" {
			text += ": " + Clean(message)
		}
		r.block(event.ThreadID, labelFail, text)
	}
	if p.inReview() {
		r.block(event.ThreadID, labelReview, "waits for a review: holon review "+r.options.id(event.TurnID))
	}
}
