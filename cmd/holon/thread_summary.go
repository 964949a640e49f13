package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// summaryListing lists threads with their summaries. Its filter must have viewSummary.
var summaryListing = listing{
	method: "thread/list", member: "threads", flex: 2, flexToo: 3,
	head: []string{"THREAD", "STATUS", "TITLE", "NOW", "AGENT", "BRANCH", "LAST ACTIVITY"},
	drop: []string{"AGENT", "LAST ACTIVITY", "BRANCH", "NOW"},
	none: `There are no threads here. Start one with: holon run "hello"`,
	say:  sayNotTold,
	begin: func() func(raw json.RawMessage) ([]string, error) {
		said := map[string]bool{} // directories
		return func(raw json.RawMessage) ([]string, error) {
			t, err := readSummary(raw)
			s := t.Summary
			where := branch(s, !said[s.Cwd])
			said[s.Cwd] = s.Cwd != ""
			return []string{t.ThreadID, summaryStatus(t.State, t.Summary), s.Title, doing(&t), t.Agent, where, ago(s.UpdatedAt.Time)}, err
		}
	},
}

// withSummary returns the filter of thread/list for rows with summaries.
func withSummary(filter map[string]any) map[string]any {
	filter["view"] = api.ViewSummary
	return filter
}

// readSummary reads a row of thread/list. Its Summary is never nil.
func readSummary(raw json.RawMessage) (t api.ThreadView, err error) {
	if err = jsonv2.Unmarshal(raw, &t); err != nil {
		err = fmt.Errorf("read a row of thread/list: %w", err)
	}
	if t.Summary == nil {
		t.Summary = &api.ThreadSummary{}
	}
	return t, err
}

// summaryStatus describes what a thread is and for how long: "waiting 6m".
func summaryStatus(state threads.State, s *api.ThreadSummary) string {
	text := string(s.Status)
	switch {
	case state == threads.Closing:
		text = string(state)
	case s.Status == turns.SummaryFailed && s.Review != "":
		text = string(s.Review)
	}
	if !s.Since.IsZero() {
		text += " " + age(s.Since.Time)
	}
	return text
}

// doing describes in a line what a thread does now, as the server says it, and what its sentence
// does not hold.
func doing(t *api.ThreadView) string {
	var parts []string
	if text := notTold(t.Summary); text != "" {
		parts = append(parts, text)
	}
	now := nowOf(t.Summary)
	if now != "" {
		parts = append(parts, now)
	}
	if t.State == threads.Paused { // this is no status: the active turn continues
		parts = append(parts, "paused")
	}
	if n := t.Summary.Queued; n > 0 && t.Summary.Status != turns.SummaryClosed && now != turns.WaitsInQueue(n) {
		parts = append(parts, fmt.Sprintf("%d queued", n))
	}
	return strings.Join(parts, "; ")
}

// nowOf returns what a thread does now. The server's sentence is about the oldest question.
func nowOf(s *api.ThreadSummary) string {
	text := timeline.OneLine(s.Text)
	if s.Review != "" && s.Status == turns.SummaryFailed { // STATUS says it
		text = strings.TrimLeft(strings.TrimPrefix(text, string(s.Review)), ":; ")
	}
	if turns.Silent(s.Status, s.Text, s.Children.Working+s.Children.Waiting, s.UpdatedAt.Time, time.Now()) {
		return "silent for " + age(s.UpdatedAt.Time) + ": holon doctor checks its agent"
	}
	if more := s.WaitingCount - 1; more > 0 && text != "" {
		text += fmt.Sprintf(" (and %s)", counted(more, "other", "others"))
	}
	return text
}

// branch returns a branch, the lines that the thread itself has changed, and, if whole, in
// parentheses what is not committed in the directory, by anybody; "" if nothing is known.
func branch(s *api.ThreadSummary, whole bool) string {
	var parts, open []string
	if s.Git != nil {
		parts = append(parts, timeline.OneLine(s.Git.Branch))
		if text := linesText(int64(s.Git.Added), int64(s.Git.Removed)); text != "" {
			open = append(open, text)
		}
		if s.Git.New > 0 {
			open = append(open, fmt.Sprintf("%d new", s.Git.New))
		}
	}
	if s.Changed != nil {
		parts = append(parts, linesText(s.Changed.Added, s.Changed.Removed))
	}
	if whole && len(open) > 0 {
		parts = append(parts, "("+strings.Join(open, ", ")+")")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// linesText formats the numbers of added and removed lines, "" for none.
func linesText(added, removed int64) string {
	var parts []string
	if added > 0 {
		parts = append(parts, fmt.Sprintf("+%d", added))
	}
	if removed > 0 {
		parts = append(parts, fmt.Sprintf("-%d", removed))
	}
	return strings.Join(parts, " ")
}

// ago describes how long ago something was, "" for an unknown time.
func ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return age(at) + " ago"
}
