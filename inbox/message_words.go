package inbox

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/turns"
)

// notWhole lists what a prompt does not have in full.
type notWhole struct {
	turns   []string // whose last message was cut, or left out
	entries []string // whose text was cut
}

// hint describes in one line how to get it; "" if nothing was cut.
func (c *notWhole) hint() string {
	var s []string
	if len(c.turns) > 0 {
		s = append(s, fmt.Sprintf("Not all that was said in %s is here: turn/read, or the tool work_list, has more.", names(c.turns)))
	}
	if len(c.entries) > 0 {
		s = append(s, fmt.Sprintf("Not all of %s is here: inbox/expand, or the tool inbox_read, has more.", names(c.entries)))
	}
	if len(s) == 0 {
		return ""
	}
	return "\n" + strings.Join(s, " ") + "\n"
}

// names lists ids, at most maxHinted.
func names(ids []string) string {
	const maxHinted = 16
	if n := len(ids); n > maxHinted {
		return fmt.Sprintf("%s and %d others", strings.Join(ids[:maxHinted], ", "), n-maxHinted)
	}
	return strings.Join(ids, ", ")
}

func count(n int) string { return fmt.Sprintf("%d %s", n, plural("items", n)) }

// endLine describes in one line how a child turn ended, or what it does.
func endLine(label string, r *turns.Result) string {
	s := fmt.Sprintf("- %s: the turn %s", label, r.TurnID)
	if r.Title != "" {
		s += fmt.Sprintf(" %q", sanitize.Line(r.Title, MaxSummary))
	}
	s += fmt.Sprintf(" in thread %s %s", r.ThreadID, endWords[r.State])
	if r.StoppedEarly() {
		s += ", but it " + turns.EarlyStop(r.StopReason)
	}
	if r.Error != nil {
		s += ": " + sanitize.Line(r.Error.Kind+": "+r.Error.Message, MaxSummary)
	}
	if words := verdictWords(r); words != "" {
		s += "; " + words
		if r.Review.Note != "" {
			s += ": " + sanitize.Line(r.Review.Note, MaxSummary)
		}
	}
	return s + "\n"
}

// endLineWithin works like endLine, in at most limit bytes. The title is cut first: what the turn
// does, or how it ended, stands behind it.
func endLineWithin(label string, r *turns.Result, limit int) string {
	const (
		least = 32 // bytes of a title
		dots  = "…"
	)
	line := endLine(label, r)
	if over := len(line) - limit; over > 0 {
		short := *r
		if short.Title = cutText(r.Title, max(least, len(r.Title)-over-len(dots))); short.Title != r.Title {
			short.Title += dots
		}
		line = endLine(label, &short)
	}
	if end := dots + "\n"; len(line) > limit {
		line = cutText(line, max(0, limit-len(end))) + end
	}
	return line
}

// cutText returns at most the first limit bytes of s, in whole characters.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

var endWords = map[turns.State]string{
	turns.Completed: "completed", turns.Failed: "failed", turns.Interrupted: "was interrupted",
	turns.Queued: "waits to start", turns.Active: "is running", turns.Retrying: "will be tried again",
	turns.InReview: "has ended and waits for a review",
}

// verdictWords returns the verdict of a review in words; "" = there is none yet.
func verdictWords(r *turns.Result) string {
	if r.Review == nil || r.Review.State == turns.ReviewPending {
		return ""
	}
	return string(r.Review.State) + " in a review"
}

// resultText returns the result of a turn under a heading; "" if it has said nothing.
func resultText(heading string, r *turns.Result) string {
	text := plainText(r)
	if text == "" {
		return ""
	}
	return fmt.Sprintf("\n%s, %s:\n%s\n", heading, r.LastMessage(), text)
}

func plainText(r *turns.Result) string { return strings.TrimRight(sanitize.Plain(r.Text), "\n") }

// textOf returns the text of a message or of a timer, without control characters except
// line feeds and tabs, and cut to maxToldText.
func textOf(r *Received) (text string, cut bool) {
	var p struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(r.Payload, &p) != nil {
		return "", false
	}
	s := sanitize.Plain(p.Text)
	if len(s) <= maxToldText {
		return strings.TrimRight(s, "\n"), false
	}
	n := maxToldText
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…", true
}
