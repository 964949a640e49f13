package conversation

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// How much is shown of a block that is not expanded, and of one that is.
const (
	shortDiff   = 8   // lines of a diff
	tailOfOpen  = 3   // lines of the output of a tool at work
	mostLines   = 500 // of an expanded output
	widestProse = 110 // columns: longer lines are hard to read
)

// painter draws entries. All its rows have at most width columns; each entry begins with
// a sign of one column and a blank, and its other rows are indented by two.
type painter struct {
	styles screen.Styles
	width  int
	now    time.Time
	cwd    string // of the thread: paths in it are shown without it
	queued bool   // the turn of the entry waits for its start
}

// path shows a path in the thread's directory without that.
func (p *painter) path(text string) string {
	if p.cwd == "" || p.cwd == "/" {
		return text
	}
	return strings.ReplaceAll(text, " "+strings.TrimSuffix(p.cwd, "/")+"/", " ")
}

// rows collects the rows of one entry.
type rows struct {
	p    *painter
	list []string
}

// text returns the width of a row behind the sign.
func (p *painter) text() int { return max(p.width-2, 4) }

// head adds the first row: a sign, a text, and what is said at its end.
func (r *rows) head(style screen.Style, sign, text, tail string) {
	room := r.p.text()
	if tail == "" {
		r.list = append(r.list, style.Paint(sign)+" "+screen.Fit(text, room))
		return
	}
	tail = " " + tail
	text = screen.Fit(text, max(room-screen.Width(tail), room/2))
	r.list = append(r.list, screen.Fit(style.Paint(sign)+" "+text+r.p.styles.Dim.Paint(tail), r.p.width))
}

// add adds rows below the first one.
func (r *rows) add(style screen.Style, lines ...string) {
	for _, line := range lines {
		r.list = append(r.list, "  "+style.Paint(screen.Fit(line, r.p.text())))
	}
}

// wrapped adds a cleaned text, with the sign in front of its first row.
func (r *rows) wrapped(signStyle screen.Style, sign string, style screen.Style, text string) {
	for i, line := range screen.Wrap(strings.TrimRight(text, "\n "), min(r.p.text(), widestProse)) {
		if i == 0 {
			r.list = append(r.list, signStyle.Paint(sign)+" "+style.Paint(line))
			continue
		}
		r.list = append(r.list, "  "+style.Paint(line))
	}
}

// entry draws an entry. rendered is its Markdown, nil if it has none; newest tells of a
// plan whether it is the newest of its turn, and of an end whether it is of the last turn.
func (p *painter) entry(e *entry, rendered []string, newest bool) []string {
	r := &rows{p: p}
	switch {
	case e.item != nil:
		p.item(r, e, rendered, newest)
	case e.end != nil:
		p.ending(r, e.end.row, newest)
	case e.rewind != nil:
		p.rewind(r, e)
	case e.child != nil:
		p.child(r, e.child.row)
	default:
		r.wrapped(p.styles.Dim, "·", p.styles.Dim, screen.Clean(e.note))
	}
	return r.list
}

func (p *painter) item(r *rows, e *entry, rendered []string, newest bool) {
	it, s := e.item, p.styles
	switch it.content.Type {
	case "user_message":
		r.list = append(r.list, "")
		r.wrapped(s.Strong, "❯", s.Strong, orNothing(screen.Clean(string(it.body.text))))
		if origin := originOf(it.content.Origin); origin != "" {
			r.add(s.Dim, origin)
		}
		switch {
		case p.queued:
			r.add(s.Dim, "(queued: its turn has not started)")
		case it.status == "in_progress":
			r.add(s.Dim, "the agent does not have it yet")
		case it.status == "interrupted":
			r.add(s.Failed, "! this message did not reach the agent")
		}
		p.rest(r, it)
	case "agent_message":
		p.message(r, it, rendered)
	case "reasoning":
		p.reasoning(r, e)
	case "tool_call", "command_execution":
		p.tool(r, e)
	case "plan":
		p.plan(r, it, newest)
	case "file_change":
		p.files(r, e)
	case "permission_request", "question":
		p.asked(r, it)
	case "error":
		r.wrapped(s.Failed, "✗", screen.Style{}, screen.Clean(it.content.Message))
	case "notice":
		p.notice(r, it)
	default:
		what := it.content.NativeKind
		if what == "" {
			what = it.content.Type
		}
		r.head(s.Dim, "·", s.Dim.Paint(screen.OneLine(what)), "")
	}
	if it.status == "deleted" {
		r.list = nil
		r.head(s.Dim, "·", s.Dim.Paint("an item was withdrawn"), "")
	}
}

// originOf names who wrote a message, if it was not a person here.
func originOf(origin string) string {
	switch origin {
	case "wake":
		return "(from the inbox)"
	case "agent":
		return "(asked by another agent)"
	case "review":
		return "(from the review of the turn before)"
	case "steer":
		return "(steered)"
	}
	return ""
}

func orNothing(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(nothing)"
	}
	return text
}

// rest draws how much of a text is not shown.
func (p *painter) rest(r *rows, it *item) {
	if it.body.after > 0 {
		r.add(p.styles.Dim, fmt.Sprintf("… %s more; all of it: holon call item/read '{\"item_id\":\"%s\"}'", size(it.body.after), screen.OneLine(it.id)))
	}
	if it.truncated {
		r.add(p.styles.Dim, "(the server has kept it without its middle: it was too long)")
	}
}

// size returns a number of bytes for a person.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func (p *painter) message(r *rows, it *item, rendered []string) {
	s := p.styles
	if len(rendered) > 0 {
		for i, line := range rendered {
			sign := "  "
			if i == 0 {
				sign = s.Done.Paint("◆") + " "
			}
			r.list = append(r.list, sign+line)
		}
	} else {
		text := screen.Clean(string(it.body.text))
		if it.body.before > 0 {
			text = "… " + text
		}
		if it.open() && strings.TrimSpace(text) == "" {
			text = "…"
		}
		r.wrapped(s.Done, "◆", screen.Style{}, text)
	}
	p.rest(r, it)
	if it.status == "failed" || it.status == "interrupted" {
		r.add(s.Failed, "! the message ends here: "+it.status)
	}
}

func (p *painter) reasoning(r *rows, e *entry) {
	text := strings.TrimSpace(screen.Clean(string(e.item.body.text)))
	if e.expanded {
		r.wrapped(p.styles.Dim, "∴", p.styles.Dim, text)
		p.rest(r, e.item)
		return
	}
	lines := strings.Split(text, "\n")
	show := lines[0]
	if e.item.open() {
		show = lines[len(lines)-1]
	}
	tail := ""
	if n := len(screen.Wrap(text, min(p.text(), widestProse))); n > 1 {
		tail = fmt.Sprintf("▸ %d lines", n)
	}
	r.head(p.styles.Dim, "∴", p.styles.Dim.Paint(screen.OneLine(show)), tail)
}

func (p *painter) asked(r *rows, it *item) {
	s := p.styles
	title := screen.Clean(it.content.Phrase)
	if it.status == "pending" {
		r.head(s.Waiting, "?", title, "· waits for your answer below")
		return
	}
	r.head(s.Dim, "?", title, "")
	answer := answered(it)
	if by := screen.OneLine(it.content.ResolvedBy); by != "" && by != "client" {
		answer += " (by " + by + ")"
	}
	r.add(screen.Style{}, "→ "+answer)
}

// answered describes what has become of a question.
func answered(it *item) string {
	switch answer := it.resolution(); answer {
	case "cancelled":
		return "not answered, it is no longer asked"
	case "interrupted", "failed":
		return "not answered, its turn ended before"
	case "declined":
		return "declined, no answer was given"
	case "completed", "answered":
		return "answered"
	default:
		return answer
	}
}

func (p *painter) notice(r *rows, it *item) {
	s, sign, style := p.styles, "i", p.styles.Dim
	text := s.Dim
	switch it.content.Severity {
	case "warning":
		sign, style, text = "!", s.Waiting, screen.Style{}
	case "error":
		sign, style, text = "✗", s.Failed, screen.Style{}
	}
	r.wrapped(style, sign, text, screen.Clean(it.content.Message))
}

func (p *painter) ending(r *rows, t turnRow, newest bool) {
	s := p.styles
	var facts []string
	if took := t.took(); took > 0 {
		facts = append(facts, "in "+timeline.Elapsed(took))
	}
	if t.Usage != nil && t.Usage.TotalTokens > 0 {
		facts = append(facts, screen.Tokens(t.Usage.TotalTokens)+" tokens")
		if c := t.Usage.Cost; c != nil {
			if money := screen.Money(c.Amount, c.Currency); money != "" {
				facts = append(facts, money)
			}
		}
	}
	more := ""
	if len(facts) > 0 {
		more = " " + strings.Join(facts, " · ")
	}
	reason := screen.OneLine(t.Reason)
	switch t.State {
	case "completed":
		if t.stoppedEarly() {
			r.wrapped(s.Waiting, "■", screen.Style{}, "stopped early"+more+": "+screen.OneLine(t.StopReason))
		} else {
			r.head(s.Done, "✓", s.Dim.Paint("completed"+more), "")
		}
	case "interrupted":
		if reason != "" {
			more += ": " + reason
		}
		r.wrapped(s.Waiting, "■", screen.Style{}, "interrupted"+more)
	default:
		text := "failed" + more
		if t.Error != nil {
			why := screen.Clean(t.Error.Message)
			if strings.TrimSpace(why) == "" {
				why = strings.ReplaceAll(screen.OneLine(t.Error.Kind), "_", " ")
			}
			text += ": " + why
		}
		r.wrapped(s.Failed, "✗", screen.Style{}, text)
		if newest {
			r.add(s.Dim, "r tries it again")
		}
	}
	switch {
	case t.Review == nil:
	case t.Review.State == "pending":
		r.add(s.Waiting, "? it waits for your review below")
	case t.Review.refuses():
		text := screen.OneLine(t.Review.State) + " by its review"
		if note := screen.Clean(t.Review.Note); strings.TrimSpace(note) != "" {
			text += ": " + note
		}
		r.wrapped(s.Failed, "⊘", screen.Style{}, text)
		if newest {
			r.add(s.Dim, "r tries it again")
		}
	}
}

func (p *painter) rewind(r *rows, e *entry) {
	w := e.rewind
	text := fmt.Sprintf("attempt %d", w.tried)
	if w.step != "" {
		text = fmt.Sprintf("step %s, try %d,", screen.OneLine(w.step), w.tried)
	}
	text += " was given up"
	if why := strings.ReplaceAll(screen.OneLine(w.reason), "_", " "); why != "" {
		text += " (" + why + ")"
	}
	tail := ""
	if w.items > 0 {
		tail = "▸ " + screen.Plural(w.items, "item") + " superseded"
	}
	r.head(p.styles.Waiting, "↺", p.styles.Dim.Paint(text), tail)
	if !e.expanded {
		return
	}
	for _, line := range w.lines {
		r.add(p.styles.Dim, "~ "+screen.OneLine(line))
	}
	if more := w.items - len(w.lines); more > 0 {
		r.add(p.styles.Dim, fmt.Sprintf("~ … %d more", more))
	}
}

func (p *painter) child(r *rows, t turnRow) {
	name := screen.OneLine(t.Title)
	if name == "" {
		name = screen.OneLine(t.ThreadID)
	}
	s := p.styles
	style, state := s.Working, "working"
	var took time.Duration
	switch {
	case t.ended():
		took = t.took()
	case !t.StartedAt.IsZero():
		took = p.now.Sub(t.StartedAt)
	}
	switch {
	case t.State == "queued":
		style, state = s.Dim, "waits to start"
	case t.State == "active" && t.Progress == "waiting" && len(t.WaitsFor) == 0:
		style, state = s.Waiting, "asks you"
	case t.State == "idle":
		style, state = s.Dim, "has not begun"
	case t.State == "closed":
		style, state = s.Dim, "closed"
	case t.stoppedEarly():
		style, state = s.Waiting, "stopped early: "+screen.OneLine(t.StopReason)
	case t.State == "completed":
		style, state = s.Done, "completed"
	case t.State == "failed":
		style, state = s.Failed, "failed"
	case t.State == "interrupted":
		style, state = s.Waiting, "interrupted"
	}
	if took > 0 {
		state += " · " + screen.Span(took)
	}
	switch {
	case t.Outside:
		state += " · in a thread that is not below"
	case t.AttentionPolicy == "notify_on_terminal" && !t.ended():
		state += " · in the background"
	}
	r.head(style, "├", "child "+name, state+" ▸")
}
