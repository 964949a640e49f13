package overview

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/turns"
)

// Thread is a row of thread/list with the view summary.
type Thread struct {
	ID        string `json:"thread_id"`
	Agent     string `json:"agent"`
	State     string `json:"state"`
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
	Title        string       `json:"title"`
	Status       string       `json:"status"`
	Since        time.Time    `json:"since"`
	TurnID       string       `json:"turn_id"`
	Queued       int          `json:"queued"`
	Waiting      []Waiting    `json:"waiting"`
	WaitingCount int          `json:"waiting_count"`
	Reviews      int          `json:"reviews"`
	Text         string       `json:"text"` // what it does now
	Children     Children     `json:"children"`
	Spent        *Spent       `json:"spent"`
	Changed      Lines        `json:"changed"` // by its own changes of files
	Interrupted  bool         `json:"interrupted"`
	Reason       string       `json:"reason"`      // why it was interrupted
	Review       string       `json:"review"`      // blocked or rejected: the review has refused its end
	StopReason   string       `json:"stop_reason"` // why it stopped early although it completed
	UpdatedAt    time.Time    `json:"updated_at"`  // of its newest event
	SeenSeq      int64        `json:"seen_seq"`
	Cwd          string       `json:"cwd"` // where the agent works; "" = nowhere that is known
	Git          *GitStatus   `json:"git"`
	Wakes        *inbox.Wakes `json:"wakes"` // what keeps its inbox from waking it
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
	Since  time.Time `json:"since"`
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

// Lines counts changed lines.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// String returns the lines as they are shown, "" for none.
func (l Lines) String() string {
	if l.Added == 0 && l.Removed == 0 {
		return ""
	}
	return fmt.Sprintf("+%d −%d", l.Added, l.Removed)
}

// GitStatus is the branch of a directory, and what is not committed there: whoever has
// changed it.
type GitStatus struct {
	Branch string `json:"branch"`
	Lines
	New int `json:"new"` // files that git does not track
}

// uncommitted describes what is not committed, "" for nothing.
func (g *GitStatus) uncommitted() string {
	parts := []string{}
	if lines := g.String(); lines != "" {
		parts = append(parts, lines)
	}
	if g.New > 0 {
		parts = append(parts, screen.Plural(g.New, "new file"))
	}
	return strings.Join(parts, ", ")
}

// clean makes every text of a server or an agent one harmless line.
func (t *Thread) clean() {
	s := &t.Summary
	texts := []*string{&t.Agent, &s.Cwd, &s.Title, &s.Text, &s.StopReason, &s.Reason, &s.Review}
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

var groupNames = [groups]string{"Needs you", "Working", "Idle", "Closed"}

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

// since returns when the thread got its status; of one that waits, when its oldest
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

// refused reports whether the thread rests because its review has refused the end.
func (t *Thread) refused() bool { return t.Summary.Status == statusFailed && t.Summary.Review != "" }

// ending returns the state of the turn that ended last, "" if none has, or while the thread
// does not rest.
func (t *Thread) ending() string {
	switch {
	case t.group() != done, t.Summary.TurnID == "":
		return ""
	case t.Summary.Status == statusFailed:
		return "failed"
	case t.interrupted():
		return "interrupted"
	}
	return "completed"
}

// notTold describes how many new entries of its inbox the thread is not told, and why; "" if none.
func (t *Thread) notTold(zone *time.Location) string {
	return screen.OneLine(t.Summary.Wakes.Says(zone))
}

// stuck reports whether only a person has the thread told what is new: what is held is so by
// one, and a rate ends by itself.
func (t *Thread) stuck() bool {
	return t.group() == done && t.notTold(time.UTC) != "" && t.Summary.Wakes.NeedsPerson()
}

// rank returns the order of threads in a group, before that of time.
func (t *Thread) rank() int {
	switch {
	case t.Summary.Status == statusFailed:
		return 0
	case t.stuck():
		return 1
	}
	return 2
}

// interruptible reports whether the thread may have an active turn. Of one in review only its
// page knows.
func (t *Thread) interruptible() bool {
	return t.Summary.TurnID != "" && t.group() <= working && !t.onlyQueued() && (t.Works() || len(t.Summary.Waiting) > 0)
}

// retryable reports whether r runs the last turn of a thread again; not of nil.
func (t *Thread) retryable() bool {
	return t != nil && screen.Retryable(t.ending())
}

// title returns the title to show; it is never empty.
func (t *Thread) title() string {
	if t.Summary.Title != "" {
		return t.Summary.Title
	}
	return "untitled " + screen.ShortID(t.ID)
}

// writes reports whether an agent may be changing files of the directory: not while it waits
// for an answer or a review, and not before its turn starts.
func (t *Thread) writes() bool { return t.Summary.Cwd != "" && t.Works() && !t.onlyQueued() }

// onlyQueued reports whether all turns of a thread that works wait for their start. A summary
// says that in its text alone.
func (t *Thread) onlyQueued() bool {
	return t.Works() && t.Summary.Queued > 0 && t.Summary.Text == turns.WaitsInQueue(t.Summary.Queued)
}

// directory returns the name that two threads of one directory share.
func (t *Thread) directory() string { return filepath.Clean(t.Summary.Cwd) }

// now describes in one line what the thread does, asks or has said, as the server does, and what
// only a list needs besides.
func (t *Thread) now() string {
	s := &t.Summary
	text := s.Text
	if n := s.WaitingCount - 1; s.Status == statusWaiting && n > 0 {
		text += " (and " + screen.Plural(n, "other") + ")"
	}
	return t.paused(text)
}

// paused returns a text of a thread that says that it is paused, if it is.
func (t *Thread) paused(text string) string {
	if t.State == "paused" {
		return strings.TrimSuffix("paused · "+text, " · ")
	}
	return text
}

// inReview reports whether a thread waits for a review and asks nothing.
func (t *Thread) inReview() bool {
	return t.group() == needsYou && len(t.Summary.Waiting) == 0 && t.Summary.Reviews > 0
}

// outcome works like now where status is already shown: how the turn ended, or how many
// wait in the queue or for a review.
func (t *Thread) outcome() string {
	text := t.Summary.Text
	switch {
	case t.onlyQueued(), t.inReview():
		text = ""
	case t.interrupted():
		text = strings.TrimLeft(strings.TrimPrefix(text, "interrupted"), ":; ")
	case t.refused():
		text = strings.TrimLeft(strings.TrimPrefix(text, t.Summary.Review), ":; ")
	case t.stoppedEarly():
		if rest, ok := strings.CutPrefix(text, "stopped early ("); ok {
			text = strings.Replace(rest, ")", "", 1)
		}
	default:
		return t.now()
	}
	return t.paused(text)
}

// sign returns the status as one character, so that no colour is needed.
func (t *Thread) sign() string {
	switch t.Summary.Status {
	case statusWaiting:
		return "?"
	case statusWorking:
		return ">"
	case statusFailed:
		if t.refused() {
			return "⊘"
		}
		return "!"
	case statusClosed:
		return "-"
	}
	switch {
	case t.interrupted(), t.stoppedEarly():
		return "■"
	case t.notTold(time.UTC) != "":
		return "…"
	case t.Summary.TurnID == "":
		return "·"
	}
	return "✓"
}
