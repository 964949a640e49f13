package overview

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// Thread is a row of thread/list with the view summary.
type Thread struct {
	ID        string `json:"thread_id"`
	Agent     string `json:"agent"`
	Level     int    `json:"level"` // of a child thread, from 1
	LatestSeq int64  `json:"latest_seq"`
	Parent    struct {
		ID string `json:"thread_id"`
	} `json:"parent"`
	Summary Summary `json:"summary"`
}

// Closed reports whether the thread takes no more turns.
func (t *Thread) Closed() bool { return t.Summary.Status == statusClosed }

// Works reports whether a turn of the thread is active or queued, and waits for nobody.
func (t *Thread) Works() bool { return t.Summary.Status == statusWorking }

// Summary is what a person sees of a thread at a glance.
type Summary struct {
	Title        string     `json:"title"`
	Status       string     `json:"status"`
	Since        time.Time  `json:"since"`
	TurnID       string     `json:"turn_id"`
	Queued       int        `json:"queued"`
	Waiting      []Waiting  `json:"waiting"`
	WaitingCount int        `json:"waiting_count"`
	Reviews      int        `json:"reviews"`
	Doing        *Doing     `json:"doing"`
	Progress     string     `json:"progress"`
	Text         string     `json:"text"`
	Children     Children   `json:"children"`
	Spent        *Spent     `json:"spent"`
	Changed      Lines      `json:"changed"` // by its own changes of files
	Error        *Failure   `json:"error"`
	Interrupted  bool       `json:"interrupted"`
	Reason       string     `json:"reason"`      // why it was interrupted
	StopReason   string     `json:"stop_reason"` // why it stopped early although it completed
	SeenSeq      int64      `json:"seen_seq"`
	Cwd          string     `json:"cwd"` // where the agent works; "" = nowhere that is known
	Git          *GitStatus `json:"git"`
}

// The statuses of a thread.
const (
	statusWaiting = "waiting"
	statusWorking = "working"
	statusFailed  = "failed"
	statusClosed  = "closed"
)

// Waiting is a question that nobody has answered.
type Waiting struct {
	ItemID string    `json:"item_id"`
	Title  string    `json:"title"`
	Since  time.Time `json:"since"`
}

// Doing is the tool call that an agent is at.
type Doing struct {
	Title  string `json:"title"`
	Target string `json:"target"`
}

// Children counts child turns.
type Children struct {
	Working int `json:"working"`
	Waiting int `json:"waiting"`
	Failed  int `json:"failed"`
	Total   int `json:"total"`
}

// Spent is what a thread has used.
type Spent struct {
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	TotalTokens  int64  `json:"total_tokens"`
	Cost         *Money `json:"cost"`
}

// Money is an amount.
type Money struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Failure says why a turn failed.
type Failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Lines counts changed lines.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// String is the lines as they are shown, "" for none.
func (l Lines) String() string {
	if l.Added == 0 && l.Removed == 0 {
		return ""
	}
	return fmt.Sprintf("+%d −%d", l.Added, l.Removed)
}

// GitStatus is the branch of a directory, and its changed lines: whoever has changed them.
type GitStatus struct {
	Branch string `json:"branch"`
	Lines
}

// clean makes every text of a server or an agent one harmless line.
func (t *Thread) clean() {
	s := &t.Summary
	texts := []*string{&t.Agent, &s.Cwd, &s.Title, &s.Text, &s.Progress, &s.Reason, &s.StopReason}
	for i := range s.Waiting {
		texts = append(texts, &s.Waiting[i].Title)
	}
	if s.Doing != nil {
		texts = append(texts, &s.Doing.Title, &s.Doing.Target)
	}
	if s.Error != nil {
		texts = append(texts, &s.Error.Kind, &s.Error.Message)
	}
	if s.Git != nil {
		texts = append(texts, &s.Git.Branch)
	}
	if s.Spent != nil && s.Spent.Cost != nil {
		texts = append(texts, &s.Spent.Cost.Currency)
	}
	for _, text := range texts {
		*text = screen.OneLine(*text)
	}
}

// group is a part of the list.
type group int

const (
	needsYou group = iota
	working
	done
	closed
	groups // how many there are
)

var groupNames = [groups]string{"Needs you", "Working", "Done", "Closed"}

func (t *Thread) group() group {
	switch t.Summary.Status {
	case statusWaiting:
		return needsYou
	case statusWorking:
		return working
	case statusClosed:
		return closed
	}
	return done
}

// since is when the thread got its status; of one that waits, when its oldest
// question was asked.
func (t *Thread) since() time.Time {
	if len(t.Summary.Waiting) > 0 {
		return t.Summary.Waiting[0].Since
	}
	return t.Summary.Since
}

// interrupted reports whether the thread rests because its turn was interrupted.
func (t *Thread) interrupted() bool {
	return t.group() == done && t.Summary.Status != statusFailed && t.Summary.Interrupted
}

// stoppedEarly reports whether the thread rests because its turn completed but stopped
// early.
func (t *Thread) stoppedEarly() bool {
	return t.group() == done && t.Summary.Status != statusFailed && t.Summary.StopReason != ""
}

// ending is the state of the turn that ended last, "" while the thread does not rest.
func (t *Thread) ending() string {
	switch {
	case t.group() != done:
		return ""
	case t.Summary.Status == statusFailed:
		return "failed"
	case t.interrupted():
		return "interrupted"
	}
	return "completed"
}

// retryable reports whether r runs the last turn of a thread again; not of nil.
func (t *Thread) retryable() bool {
	return t != nil && screen.Retryable(t.ending()) && t.Summary.TurnID != ""
}

// title is never empty.
func (t *Thread) title() string {
	if t.Summary.Title != "" {
		return t.Summary.Title
	}
	return "untitled " + screen.ShortID(t.ID)
}

// writes reports whether an agent may be changing files of the directory.
func (t *Thread) writes() bool {
	return t.Summary.Cwd != "" && (t.Summary.Status == statusWorking || t.Summary.Status == statusWaiting)
}

// directory is the name that two threads of one directory share.
func (t *Thread) directory() string { return filepath.Clean(t.Summary.Cwd) }

// now says in one line what the thread does, asks or has said.
func (t *Thread) now() string {
	s := &t.Summary
	switch {
	case s.Status == statusWaiting && len(s.Waiting) > 0:
		if n := s.WaitingCount - 1; n > 0 {
			return s.Waiting[0].Title + " (and " + screen.Plural(n, "other") + ")"
		}
		return s.Waiting[0].Title
	case s.Status == statusWaiting:
		return "its result waits for your review"
	case s.Status == statusFailed && s.Error != nil:
		return s.Error.Message
	case s.Status == statusWorking && s.Doing != nil && s.Doing.Target != "" && s.Doing.Target != s.Doing.Title:
		return s.Doing.Title + ": " + s.Doing.Target
	case s.Status == statusWorking && s.Doing != nil:
		return s.Doing.Title
	case s.Status == statusWorking && s.Progress != "":
		return s.Progress
	case s.Status == statusWorking && s.Text == "":
		return "has begun"
	case t.interrupted() && s.Reason != "":
		return "interrupted: " + t.outcome()
	case t.interrupted():
		return strings.TrimSuffix("interrupted; "+t.outcome(), "; ")
	case t.stoppedEarly():
		return "stopped early: " + t.outcome()
	}
	return s.Text
}

// outcome is now where the status is said already.
func (t *Thread) outcome() string {
	parts := []string{t.Summary.Reason}
	switch {
	case t.stoppedEarly():
		parts[0] = t.Summary.StopReason
	case !t.interrupted():
		return t.now()
	}
	if t.Summary.Text != "" {
		parts = append(parts, "last: "+t.Summary.Text)
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), "; ")
}

// sign is the status as one character, so that no colour is needed.
func (t *Thread) sign() string {
	switch t.Summary.Status {
	case statusWaiting:
		return "?"
	case statusWorking:
		return ">"
	case statusFailed:
		return "!"
	case statusClosed:
		return "-"
	}
	if t.interrupted() || t.stoppedEarly() {
		return "■"
	}
	return "✓"
}
