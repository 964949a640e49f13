package overview

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// panel draws what is below the list: what the person is asked or types, else the
// details of the selected thread. It takes at most half of the height, except
// where the person types, or has to see what is asked.
func (m *Model) panel(now time.Time, width, height int) []string {
	switch {
	case m.form != nil:
		return m.form.lines(m.styles, width, height-3)
	case m.naming != nil:
		return m.naming.Lines(m.styles, width)
	case m.sure != nil:
		return boxed(m.styles, screen.Wrap(m.sure.Question, width), width)
	case m.asked != nil:
		room := height - 2
		if height >= 20 { // some of the list stays
			room -= height / 5
		}
		return m.asked.lines(m, now, width, max(room, 4))
	case m.filter.open:
		return []string{m.filter.line(width)}
	}
	if len(m.list.rows) == 0 {
		return nil
	}
	var details []string
	if t := m.list.current(); t != nil {
		details = m.list.details(m.styles, t, now, width)
	}
	// The panel has as many lines whatever there is to say, so that the rows above it stay.
	room := 2
	if height < 12 {
		room = 1
	} else if height >= 20 {
		room = 3
	}
	details = screen.Fill(details, width, room)
	if height < 16 {
		return details
	}
	return boxed(m.styles, details, width)
}

// boxed puts a rule above lines.
func boxed(styles screen.Styles, lines []string, width int) []string {
	return append([]string{styles.Dim.Paint(strings.Repeat("─", width))}, lines...)
}

// details returns the lines about a thread for which its row has no room, the most important
// first.
func (l *list) details(styles screen.Styles, t *Thread, now time.Time, width int) []string {
	s := &t.Summary
	at := s.Cwd
	if s.Git != nil {
		at += " on " + s.Git.Branch
		if open := s.Git.uncommitted(); open != "" {
			at += " (uncommitted: " + open + ")"
		}
	}
	numbers := []string{t.Agent}
	if parent := l.threads[t.Parent.ID]; parent != nil {
		numbers = append(numbers, "child of “"+parent.title()+"”")
	}
	if n := children(t); n != "" {
		numbers = append(numbers, "children: "+n)
	}
	if s.Queued > 0 && !t.onlyQueued() {
		numbers = append(numbers, fmt.Sprintf("%d queued", s.Queued))
	}
	if s.Spent != nil && s.Spent.TotalTokens > 0 {
		text := fmt.Sprintf("%s tokens (%s in, %s out", screen.Tokens(s.Spent.TotalTokens), screen.Tokens(s.Spent.InputTokens), screen.Tokens(s.Spent.OutputTokens))
		if more := s.Spent.TotalTokens - s.Spent.InputTokens - s.Spent.OutputTokens; more > 0 {
			text += ", " + screen.Tokens(more) + " cached or thinking"
		}
		numbers = append(numbers, text+")")
	}
	if c := cost(t); c != "" {
		numbers = append(numbers, c)
	}
	numbers = append(numbers, screen.ShortID(t.ID))
	text := cmpText(t.outcome(), t.title())
	if t.inReview() {
		text = "a shows what the agent said"
	}
	first := t.status(now) + ": " + text
	if says := t.notTold(now.Location()); says != "" && s.Status != statusFailed { // why that failed is nowhere else
		first = t.paused(says) + " · " + screen.WakeKey + " tells it"
	}
	lines := []string{styles.Strong.Paint(screen.Fit(first, width))}
	footer := screen.Fit(strings.Join(numbers, " · "), width)
	if other := l.beside(t); other != "" {
		crowd := "!! “" + screen.Fit(other, max(width/3, 8)) + "” works here too: "
		lines = append(lines, styles.Waiting.Paint(screen.Fit(crowd+screen.FitLeft(at, width-screen.Width(crowd)), width)))
	} else if at != "" {
		lines = append(lines, screen.FitLeft(at, width))
	}
	return append(lines, footer)
}

func cmpText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// status describes in words what the sign of a thread means.
func (t *Thread) status(now time.Time) string {
	word := map[string]string{
		statusWaiting: "Waits for you", statusWorking: "Works", statusFailed: "Failed", statusClosed: "Closed",
	}[t.Summary.Status]
	switch {
	case t.onlyQueued():
		word = screen.Plural(t.Summary.Queued, "turn") + " queued"
	case t.inReview() && t.Summary.Reviews == 1:
		word = "Waits for your review"
	case t.inReview():
		word = screen.Plural(t.Summary.Reviews, "result") + " wait for your review"
	case t.refused():
		word = strings.ToUpper(t.Summary.Review[:1]) + t.Summary.Review[1:]
	case word == "" && t.interrupted():
		word = "Interrupted"
	case word == "" && t.stoppedEarly():
		word = "Stopped early"
	case word == "" && t.ending() == "":
		return "No turn yet"
	case word == "":
		word = "Completed"
	}
	since := t.since()
	if since.IsZero() {
		return word
	}
	span := screen.Span(now.Sub(since))
	if t.group() <= working {
		return word + " for " + span
	}
	return word + " " + span + " ago"
}
