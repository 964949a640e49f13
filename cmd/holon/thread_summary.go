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
	"github.com/seed82539d15/holon/worktree"
)

// summaryListing lists threads with their summaries. Its filter must have viewSummary.
var summaryListing = listing{
	method: "thread/list", member: "threads", flex: 2, flexToo: 3,
	head: []string{"THREAD", "STATUS", "TITLE", "DOING", "AGENT", "BRANCH", "LAST ACTIVITY"},
	drop: []string{"AGENT", "LAST ACTIVITY", "BRANCH", "DOING"},
	none: `There are no threads here. Start one with: holon run "hello"`,
	row: func(raw json.RawMessage) ([]string, error) {
		t, err := readSummary(raw)
		s := t.Summary
		return []string{t.ThreadID, summaryStatus(t.State, t.Summary), s.Title, doing(&t), t.Agent, branch(s.Git), ago(s.UpdatedAt.Time)}, err
	},
}

// withSummary is the filter of thread/list for rows with summaries.
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

// summaryStatus says what a thread is and for how long: "waiting 6m".
func summaryStatus(state threads.State, s *api.ThreadSummary) string {
	text := string(s.Status)
	if state == threads.Closing {
		text = string(state)
	}
	if !s.Since.IsZero() {
		text += " " + age(s.Since.Time)
	}
	return text
}

// doing says in a line what matters of a thread now: the question that waits for a
// person, the tool that its agent is at, or why its last turn has failed; and what does
// not start.
func doing(t *api.ThreadView) string {
	var parts []string
	if hand := atHand(t.Summary); hand != "" {
		parts = append(parts, hand)
	}
	if t.State == threads.Paused { // this is no status: the active turn continues
		parts = append(parts, "paused")
	}
	if n := t.Summary.Queued; n > 0 && t.Summary.Status != turns.SummaryClosed {
		parts = append(parts, fmt.Sprintf("%d queued", n))
	}
	return strings.Join(parts, "; ")
}

// atHand is what the agent waits for or is doing, or how its last turn ended.
func atHand(s *api.ThreadSummary) string {
	switch {
	case len(s.Waiting) > 0:
		text := timeline.OneLine(s.Waiting[0].Title)
		if more := s.WaitingCount - 1; more > 0 {
			text += fmt.Sprintf(" (and %s)", counted(more, "question", "questions"))
		}
		return text
	case s.Reviews > 0:
		return counted(s.Reviews, "result waits", "results wait") + " for a review"
	case s.Status == turns.SummaryFailed && s.Error != nil:
		return timeline.OneLine(s.Error.Message)
	case s.Doing != nil:
		return toolLine(s.Doing)
	case s.Status == turns.SummaryIdle && s.Interrupted:
		return "interrupted"
	case s.Status == turns.SummaryIdle && s.StopReason != "":
		return turns.EarlyStop(s.StopReason)
	}
	return timeline.OneLine(s.Progress)
}

// toolLine is a tool and what it touches, once if one says the other.
func toolLine(d *turns.Doing) string {
	title, target := timeline.OneLine(d.Title), timeline.OneLine(d.Target)
	switch {
	case title == "" || strings.Contains(target, title):
		return target
	case target == "" || strings.Contains(title, target):
		return title
	}
	return title + ": " + target
}

// branch is a branch with the lines that differ from its last commit, "" if nothing is
// known.
func branch(git *worktree.State) string {
	if git == nil {
		return ""
	}
	text := timeline.OneLine(git.Branch)
	if git.Added > 0 {
		text += fmt.Sprintf(" +%d", git.Added)
	}
	if git.Removed > 0 {
		text += fmt.Sprintf(" -%d", git.Removed)
	}
	return text
}

// ago says how long ago something was, "" for an unknown time.
func ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return age(at) + " ago"
}
