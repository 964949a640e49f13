package conversation

import (
	"slices"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/notify"
	rules "github.com/seed82539d15/holon/turns"
)

// turnRow is a turn as lists give it, as far as the page shows it. Events of turns
// have the same members.
type turnRow struct {
	TurnID          string   `json:"turn_id"`
	ThreadID        string   `json:"thread_id"`
	State           string   `json:"state"`
	Attempt         int      `json:"attempt"`
	Progress        string   `json:"progress"`
	ProgressMessage string   `json:"progress_message"`
	Reason          string   `json:"reason"`
	StopReason      string   `json:"stop_reason"`
	Title           string   `json:"title"`
	WaitsFor        []string `json:"waits_for"`
	AttentionPolicy string   `json:"attention_policy"`
	Outside         bool     `json:"outside"` // its thread is not below the one for which it works
	Error           *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
	Usage *struct {
		TotalTokens int64 `json:"total_tokens"`
		Cost        *struct {
			Amount   float64 `json:"amount"`
			Currency string  `json:"currency"`
		} `json:"cost"`
	} `json:"usage"`
	Review      *reviewRow `json:"review"`
	QueuedAt    time.Time  `json:"queued_at,omitzero"`
	StartedAt   time.Time  `json:"started_at,omitzero"`
	CompletedAt time.Time  `json:"completed_at,omitzero"`
	RetryAt     time.Time  `json:"retry_at,omitzero"`
	CreatedSeq  int64      `json:"created_seq"`
	UpdatedSeq  int64      `json:"updated_seq"`
}

// reviewRow is the review of a turn.
type reviewRow struct {
	State string `json:"state"`
	Note  string `json:"note"`
	By    string `json:"by"`
}

// refuses reports whether the review says that the end is not good enough.
func (r *reviewRow) refuses() bool { return rules.ReviewState(r.State).Refuses() }

func (t turnRow) ended() bool {
	return t.State == "completed" || t.State == "interrupted" || t.State == "failed"
}

// stoppedEarly reports whether it has completed without coming to its own end.
func (t turnRow) stoppedEarly() bool {
	return t.State == "completed" && rules.StopsEarly(t.StopReason)
}

// took returns how long an ended turn ran.
func (t turnRow) took() time.Duration {
	if t.StartedAt.IsZero() || t.CompletedAt.IsZero() {
		return 0
	}
	return max(0, t.CompletedAt.Sub(t.StartedAt))
}

// keptTurns is how many turns of the thread are remembered.
const keptTurns = 300

// turns are the newest turns of the thread.
type turns struct {
	rows  map[string]*turnRow
	order []string // by their beginning
	older string   // the cursor of the page before them; "" = there is none

	early []*turnRow // of the beginning of the thread, as far as it was read from there …
	next  string     // … and the cursor of those behind them
}

func newTurns() *turns { return &turns{rows: map[string]*turnRow{}} }

// get returns a turn; it is added if it is not known.
func (t *turns) get(id string) *turnRow {
	row := t.rows[id]
	if row == nil {
		row = &turnRow{TurnID: id}
		t.put(row, false)
	}
	return row
}

// put adds a turn as the newest one, or as the oldest.
func (t *turns) put(row *turnRow, oldest bool) {
	if t.rows[row.TurnID] != nil {
		return
	}
	t.rows[row.TurnID] = row
	if oldest {
		t.order = slices.Insert(t.order, 0, row.TurnID)
		return
	}
	t.order = append(t.order, row.TurnID)
	for len(t.order) > keptTurns {
		delete(t.rows, t.order[0])
		t.order = t.order[1:]
	}
}

// active returns the turn that runs, nil if none does. A thread has at most one.
func (t *turns) active() *turnRow {
	for _, id := range slices.Backward(t.order) {
		if row := t.rows[id]; row.State == "active" {
			return row
		}
	}
	return nil
}

// queued returns how many turns wait for their start.
func (t *turns) queued() (n int) {
	for _, row := range t.rows {
		if row.State == "queued" {
			n++
		}
	}
	return n
}

// last returns the turn that began last, nil if there is none.
func (t *turns) last() *turnRow {
	if len(t.order) == 0 {
		return nil
	}
	return t.rows[t.order[len(t.order)-1]]
}

// retryable returns the turn that r runs again, nil if there is none.
func (t *turns) retryable() *turnRow {
	if last := t.last(); last != nil && t.active() == nil && (screen.Retryable(last.State) || last.Review != nil && last.Review.refuses()) {
		return last
	}
	return nil
}

// isEnd reports whether a method is the end of a turn.
func isEnd(method string) bool {
	return method == notify.TurnCompleted || method == notify.TurnInterrupted || method == notify.TurnFailed
}
