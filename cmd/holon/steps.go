package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/turns"
)

// turnRow has the shown members of a turn in a list.
type turnRow struct {
	ID              string `json:"turn_id"`
	ThreadID        string `json:"thread_id"`
	State           string `json:"state"`
	Attempt         int    `json:"attempt"`
	Progress        string `json:"progress"`
	ProgressMessage string `json:"progress_message"`
	Worker          string `json:"worker"`
	QueuedAt        string `json:"queued_at"`
	FirstStartedAt  string `json:"first_started_at"`
	StartedAt       string `json:"started_at"`
	CompletedAt     string `json:"completed_at"`
	RetryAt         string `json:"retry_at"`
	Reason          string `json:"reason"`
	StopReason      string `json:"stop_reason"`
	Message         string `json:"message"`
	Error           *struct {
		Message string `json:"message"`
	} `json:"error"`
	Review *struct {
		State  string `json:"state"`
		Note   string `json:"note"`
		Reason string `json:"reason"`
		DueAt  string `json:"due_at"`
	} `json:"review"`
	ContinuedBy string `json:"continued_by"`
	Retry       *struct {
		OnCrash     string `json:"on_crash"`
		MaxAttempts int    `json:"max_attempts"`
	} `json:"retry"`
}

// doing returns the state; for an active turn that is not running, its progress.
func (t turnRow) doing() string {
	if t.State == "active" && t.Progress != "" && t.Progress != "running" {
		return t.Progress
	}
	switch verdict := t.verdict(); verdict {
	case "":
		return t.State
	case "pending":
		return t.State + ", in review"
	default:
		return t.State + ", " + verdict
	}
}

// verdict returns the state of the review of its end; "" if there is none.
func (t turnRow) verdict() string {
	if t.Review == nil {
		return ""
	}
	return t.Review.State
}

// attempts returns the attempt, with the maximum if the turn has a retry policy.
func (t turnRow) attempts() string {
	switch {
	case t.Attempt == 0:
		return "" // it has not started
	case t.Retry != nil && t.Retry.OnCrash == "retry" && t.Retry.MaxAttempts >= t.Attempt:
		return fmt.Sprintf("%d of %d", t.Attempt, t.Retry.MaxAttempts)
	}
	return fmt.Sprint(t.Attempt)
}

// stoppedEarly reports whether the turn has completed without coming to its own end.
func (t turnRow) stoppedEarly() bool {
	return t.State == string(turns.Completed) && turns.StopsEarly(t.StopReason)
}

// why describes how the turn ended, or what it waits for.
func (t turnRow) why() string {
	switch {
	case t.Error != nil:
		return t.Error.Message
	case t.Reason != "":
		return t.Reason
	case t.stoppedEarly():
		return t.StopReason
	case t.Message != "" && t.State != "completed": // for a completed turn it is the answer
		return t.Message
	}
	return t.ProgressMessage
}

// tryRow is one try of a step or of the turn itself.
type tryRow struct {
	Seq          int64  `json:"seq"`
	Step         string `json:"step"`
	Epoch        int    `json:"epoch"`
	Status       string `json:"status"`
	Superseded   bool   `json:"superseded"`
	SupersededBy int64  `json:"superseded_by_seq"`
	Late         int64  `json:"late"`
	StartedAt    string `json:"started_at"`
	EndedAt      string `json:"ended_at"`
}

// note returns a note whether a try is superseded and has late events.
func (t tryRow) note() string {
	var notes []string
	if t.Superseded {
		notes = append(notes, fmt.Sprintf("superseded by %d", t.SupersededBy))
	}
	if t.Late > 0 {
		notes = append(notes, fmt.Sprintf("%d events too late", t.Late))
	}
	return strings.Join(notes, ", ")
}

// turnRead has the shown members of the result of turn/read.
type turnRead struct {
	Turn     turnRow  `json:"turn"`
	Attempts []tryRow `json:"attempts"`
	Steps    []tryRow `json:"steps"`
}

// current returns the newest running step, "" if there is none.
func (r turnRead) current() string {
	for _, step := range slices.Backward(r.Steps) {
		if !step.Superseded && step.Status == "in_progress" {
			text := step.Step
			if step.Epoch > 1 {
				text += fmt.Sprintf(", try %d", step.Epoch)
			}
			return text
		}
	}
	return ""
}

// showTurn prints one turn of this id with its attempts and steps, superseded ones
// included.
func showTurn(c *caller, id string) error {
	raw, read, err := ask[turnRead](c, "turn/read", map[string]any{"turn_id": id, "include_superseded": true})
	if err != nil {
		return err
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	t := read.Turn
	state := t.doing()
	if why := t.why(); why != "" {
		state += " (" + why + ")"
	}
	if err := c.printFields(8, [][2]string{
		{"turn", t.ID}, {"thread", t.ThreadID}, {"state", state}, {"attempt", t.attempts()}, {"worker", t.Worker},
		{"queued", when(t.QueuedAt)}, {"started", when(cmp.Or(t.FirstStartedAt, t.StartedAt))}, {"again at", when(t.RetryAt)}, {"ended", when(t.CompletedAt)},
	}); err != nil {
		return err
	}
	tries := slices.Concat(read.Attempts, read.Steps)
	if len(tries) == 0 {
		return nil
	}
	slices.SortStableFunc(tries, func(a, b tryRow) int { return cmp.Compare(a.Seq, b.Seq) })
	if _, err := fmt.Fprintln(c.out); err != nil {
		return err
	}
	rows := newTable("STEP", "TRY", "STATUS", "STARTED", "TOOK", "NOTE")
	rows.drop = []string{"TOOK", "STARTED"}
	for _, try := range tries {
		rows.add(cmp.Or(try.Step, "(the turn)"), fmt.Sprint(try.Epoch), try.Status, when(try.StartedAt), took(try.StartedAt, try.EndedAt), try.note())
	}
	return rows.write(c.console, 0)
}

// shownActive is how many active turns status shows.
const shownActive = 10

// printActive prints the active turns with their attempts and steps.
func printActive(c *caller) error {
	found, err := turnListing.fetch(c.ctx, c.client, map[string]any{"state": "active"}, shownActive)
	if err != nil || len(found.rows) == 0 {
		return err
	}
	rows := newTable("TURN", "THREAD", "ATTEMPT", "STEP", "DOING", "FOR")
	rows.drop = []string{"THREAD", "FOR"}
	for _, raw := range found.rows {
		var listed turnRow
		if err := json.Unmarshal(raw, &listed); err != nil {
			return fmt.Errorf("read an active turn: %w", err)
		}
		_, read, err := ask[turnRead](c, "turn/read", map[string]any{"turn_id": listed.ID})
		if err != nil {
			return err
		}
		t := read.Turn
		doing := cmp.Or(t.Progress, t.State)
		if t.ProgressMessage != "" {
			doing += ": " + t.ProgressMessage
		}
		rows.add(tableID(c.console)(t.ID), tableID(c.console)(t.ThreadID), t.attempts(), cmp.Or(read.current(), "-"), doing, took(cmp.Or(t.StartedAt, t.FirstStartedAt), t.CompletedAt))
	}
	if _, err := fmt.Fprintln(c.out); err != nil {
		return err
	}
	if err := rows.write(c.console, 4); err != nil {
		return err
	}
	if found.more {
		c.note("These are the newest %d; see all with: holon turns --state active", shownActive)
	}
	return nil
}
