package turns

import (
	"strconv"

	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Summary is what a person sees of a thread at a glance. It follows from rows. Texts are
// one line, cut.
type Summary struct {
	Title        string        `json:"title"`
	Status       SummaryStatus `json:"status"`
	Since        notify.Time   `json:"since"`            // since when it has this status
	TurnID       string        `json:"turn_id,omitzero"` // the active turn, else the newest one that ended
	Queued       int           `json:"queued"`           // turns
	Waiting      []WaitingItem `json:"waiting,omitzero"` // open questions, the oldest first
	WaitingCount int           `json:"waiting_count"`    // of all open questions
	Reviews      int           `json:"reviews,omitzero"` // turns whose end waits for a review
	Doing        *Doing        `json:"doing,omitzero"`
	Progress     string        `json:"progress,omitzero"` // what the active turn says that it does
	Text         string        `json:"text"`              // what the thread does now
	Children     ChildCounts   `json:"children"`
	Spent        *Spent        `json:"spent,omitzero"`
	Changed      *items.Lines  `json:"changed,omitzero"`     // by the thread's own changes of files
	Error        *Failure      `json:"error,omitzero"`       // of the newest turn that ended, if that failed
	Interrupted  bool          `json:"interrupted,omitzero"` // the newest turn that ended was interrupted
	Review       ReviewState   `json:"review,omitzero"`      // rejected or blocked, if the newest turn that ended was refused by its review
	Reason       string        `json:"reason,omitzero"`      // why it was interrupted or refused, as far as is known
	StopReason   string        `json:"stop_reason,omitzero"` // of the newest turn that ended, if that completed but stopped early
	UpdatedAt    notify.Time   `json:"updated_at"`           // of the newest event of the thread
	SeenSeq      int64         `json:"seen_seq"`             // how far the caller has looked; 0 = never
	HeldSince    notify.Time   `json:"-"`                    // since when nothing wakes it, because a client interrupted its last turn; zero = it is not held
}

// SummaryStatus is what a thread is doing, for people.
type SummaryStatus string

// The statuses. Of several that apply, the first counts.
const (
	SummaryClosed  SummaryStatus = "closed"  // also while it is closing
	SummaryWaiting SummaryStatus = "waiting" // a person must answer a question, or review an end
	SummaryWorking SummaryStatus = "working" // a turn is active or queued
	SummaryFailed  SummaryStatus = "failed"  // the newest turn that ended has failed, or its review has refused its end
	SummaryIdle    SummaryStatus = "idle"
)

// SummaryStatuses lists the statuses.
var SummaryStatuses = []SummaryStatus{SummaryClosed, SummaryWaiting, SummaryWorking, SummaryFailed, SummaryIdle}

// WaitingItem is a question that a person has not answered.
type WaitingItem struct {
	ItemID string      `json:"item_id"`
	TurnID string      `json:"turn_id"`
	Type   items.Kind  `json:"type"`
	Title  string      `json:"title"`
	Since  notify.Time `json:"since"`
}

// Doing is the tool call that an agent is at. Target is the command, or the file or
// place that it touches.
type Doing struct {
	ItemID string     `json:"item_id"`
	Type   items.Kind `json:"type"`
	Kind   string     `json:"kind,omitzero"` // of tool_call and command_execution
	Title  string     `json:"title"`
	Target string     `json:"target,omitzero"`
}

// ChildCounts counts child turns of a thread.
type ChildCounts struct {
	Working int `json:"working"`
	Waiting int `json:"waiting"`
	Failed  int `json:"failed"`
	Total   int `json:"total"`
}

// Spent is threads.Spent for clients.
type Spent struct {
	InputTokens  int64       `json:"input_tokens"`
	OutputTokens int64       `json:"output_tokens"`
	TotalTokens  int64       `json:"total_tokens"`
	Cost         *items.Cost `json:"cost,omitzero"`
}

// SpentOf returns nil for nil.
func SpentOf(s *threads.Spent) *Spent {
	if s == nil {
		return nil
	}
	out := &Spent{InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, TotalTokens: s.TotalTokens}
	if s.Currency != "" {
		out.Cost = &items.Cost{Amount: float64(s.Millionths) / 1e6, Currency: s.Currency}
	}
	return out
}

// The bounds of summaries. Texts are in characters.
const (
	MaxSummaryTitle    = 80
	MaxSummaryText     = 200
	MaxWaitingItems    = 10
	MaxSummaryTurns    = 20  // the newest turns of a thread, among which the one is found that ended last
	MaxSummaryItems    = 100 // the newest items of a thread, among which its last text is found
	MaxSummaryChildren = 100 // the newest child turns of a thread, which are counted
)

// SummaryQuery selects threads and what is known of them.
type SummaryQuery struct {
	threads.Query
	Statuses []ListStatus // nil = all
	// Matches leaves only threads for which it returns true; title is that of the summary.
	// nil leaves all. It must not read the store.
	Matches func(t *threads.Thread, title string) bool
	// FoldJobs leaves out the threads of jobs, unless they need somebody.
	FoldJobs bool
	// Counts asks for the counts of statuses. They follow from Matches and from State,
	// Agent and Within alone.
	Counts bool
	// Uncounted are agents whose threads are not counted.
	Uncounted []string

	// Known returns the summary of a thread and the latest_seq that it is as of; nil = none.
	Known func(threadID string) (s *Summary, latestSeq int64)
	// Memory keeps what lists of many threads need of each; nil keeps nothing.
	Memory Memory
	// Consumer is whose cursors say what was seen; "" = nobody's.
	Consumer string
}

// Remembered is what a Memory keeps of a thread.
type Remembered struct {
	Prompt string // its first prompt, as a title; "" = not known. It never changes
	Failed bool   // the newest turn that ended has failed, or its review has refused its end
	At     int64  // the latest_seq of the thread that Failed is as of; 0 = not known
}

// Memory keeps some Remembered. It is used from many goroutines.
type Memory interface {
	Get(threadID string) Remembered // the zero value if there is none
	Put(threadID string, r Remembered)
}

// SummaryList is a page of threads with their summaries. Counts is nil if the query does
// not ask for it.
type SummaryList struct {
	List[Summarized]
	Counts *StatusCounts
}

// Summarized is a thread with its summary. The Thread has no Metadata and no Config.
type Summarized struct {
	Thread  threads.Thread
	Summary Summary
}

// Bytes estimates how large it is in JSON besides rowBytes of package persist.
func (s *Summarized) Bytes() int {
	t, u := &s.Thread, &s.Summary
	n := 512 + len(t.Title) + len(t.Cwd) + len(t.Reason) + len(u.Title) + len(u.Text) + len(u.Progress) + len(u.Reason) + len(u.StopReason)
	for i := range u.Waiting {
		n += 192 + len(u.Waiting[i].Title)
	}
	if u.Doing != nil {
		n += 128 + len(u.Doing.Title) + len(u.Doing.Target)
	}
	if u.Error != nil {
		n += 32 + len(u.Error.Message)
	}
	return n
}

// Count counts a child turn.
func (c *ChildCounts) Count(b Brief) {
	c.Total++
	switch {
	case b.Waits || b.Review == ReviewPending:
		c.Waiting++
	case b.Fails():
		c.Failed++
	case !b.State.Ended():
		c.Working++
	}
}

// DoingOf describes a tool call; nil for other content.
func DoingOf(itemID string, c items.Content) *Doing {
	d := &Doing{ItemID: itemID}
	if c == nil {
		return nil
	}
	switch d.Type = c.Kind(); c := c.(type) {
	case items.ToolCall:
		d.Kind, d.Title, d.Target = c.ToolKind, c.Title, firstLocation(c.Locations)
		if d.Title == "" {
			d.Title = c.Name
		}
	case items.CommandExecution:
		d.Kind, d.Title, d.Target = c.ToolKind, c.Title, c.Command
		if d.Title == "" {
			d.Title = c.Name
		}
	case items.FileChange:
		d.Title, d.Target = c.Title, firstLocation(c.Locations)
		if len(c.Changes) > 0 {
			d.Target = c.Changes[0].Path
		}
	default:
		return nil
	}
	d.Kind, d.Title, d.Target = sanitize.Line(d.Kind, MaxSummaryText), sanitize.Line(d.Title, MaxSummaryText), sanitize.Line(d.Target, MaxSummaryText)
	return d
}

// firstLocation returns the first location that a tool touches.
func firstLocation(list []items.Location) string {
	if len(list) == 0 {
		return ""
	}
	if l := list[0]; l.Line > 0 {
		return l.Path + ":" + strconv.Itoa(l.Line)
	}
	return list[0].Path
}
